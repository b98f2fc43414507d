package knowledge

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Hit is a chunk that a search found.
type Hit struct {
	SourceID, Source, URL string
	Revision              string
	Place                 string // the file or the page
	Line                  int
	Text                  string
}

const (
	maxQuery = 1000 // bytes
	// MaxHits is how many hits a search can have.
	MaxHits = 50
)

// Search finds chunks that have words of a query, the best first, in what the caller sees. sourceID narrows it to one
// source; empty: all.
func (k *Knowledge) Search(ctx context.Context, query, sourceID string, limit int) ([]Hit, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	if sourceID != "" {
		if _, err := k.Find(ctx, sourceID); err != nil {
			return nil, err
		}
	}
	return k.search(ctx, c.TeamID, c.UserID, query, sourceID, limit)
}

// ForTask is Search for a task of a user.
func (k *Knowledge) ForTask(ctx context.Context, teamID, userID, query string, limit int) ([]Hit, error) {
	return k.search(ctx, teamID, userID, query, "", limit)
}

// Has reports whether a user's tasks have anything to search.
func (k *Knowledge) Has(ctx context.Context, teamID, userID string) (bool, error) {
	n, err := db.Value[int](ctx, k.db, `SELECT count(*) FROM knowledge_source s`+visible+` AND s.shown > 0`, teamID, userID)
	return n > 0, err
}

func (k *Knowledge) search(ctx context.Context, teamID, userID, query, sourceID string, limit int) ([]Hit, error) {
	if strings.TrimSpace(query) == "" || len(query) > maxQuery {
		return nil, errs.Field("query", "query must have 1 to %d bytes.", maxQuery)
	}
	where, args := `t.team_id = ? AND EXISTS (SELECT 1 FROM knowledge_source s`+visible+` AND s.id = t.source_id
		AND s.shown = t.round)`, []any{teamID, teamID, userID}
	if sourceID != "" {
		where, args = where+` AND t.source_id = ?`, append(args, sourceID)
	}
	numbers, err := index.Search(ctx, k.db, query, where, args, max(1, min(limit, MaxHits)))
	if err != nil || len(numbers) == 0 {
		return []Hit{}, err
	}
	byNo := map[int64]Hit{}
	w := db.InTeam(teamID, "no", numbers)
	err = db.Each(ctx, k.db, func(r db.Row) error {
		var no int64
		var h Hit
		err := r.Scan(&no, &h.SourceID, &h.Source, &h.URL, &h.Revision, &h.Place, &h.Line, &h.Text)
		byNo[no] = h
		return err
	}, `SELECT c.no, s.id, s.name, s.url, s.revision, c.place, c.line, c.text
		FROM (SELECT no, source_id, place, line, text FROM knowledge_chunk`+w.String()+`) c JOIN knowledge_source s ON s.id = c.source_id`, w.Args...)
	out := make([]Hit, 0, len(numbers))
	for _, no := range numbers {
		if h, there := byNo[no]; there {
			out = append(out, h)
		}
	}
	return out, err
}
