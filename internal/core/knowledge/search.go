package knowledge

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
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
	Words, Vectors        bool // by which it was found
}

// FoundBy is words, vectors, or both.
func (h Hit) FoundBy() (by []string) {
	if h.Words {
		by = append(by, "words")
	}
	if h.Vectors {
		by = append(by, "vectors")
	}
	return by
}

// Found is what a search found, the best first.
type Found struct {
	Hits    []Hit
	Vectors Vectors
}

const (
	maxQuery = 1000 // bytes
	// MaxHits is how many hits a search can have.
	MaxHits = 50
	depth   = 2 * MaxHits // of each ranking, where there are two

	// fusion is k of reciprocal rank fusion: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and
	// individual Rank Learning Methods", SIGIR 2009.
	fusion = 60
)

// Search finds chunks that have words of a query, or whose vectors are near to that of the query, in what the caller
// sees. sourceID narrows it to one source; empty: all.
func (k *Knowledge) Search(ctx context.Context, query, sourceID string, limit int) (Found, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Found{}, err
	}
	if sourceID != "" {
		if _, err := k.Find(ctx, sourceID); err != nil {
			return Found{}, err
		}
	}
	return k.search(ctx, model.Account{TeamID: c.TeamID, UserID: c.UserID}, query, sourceID, limit)
}

// ForTask is Search for a task, whose account pays for the vector of the query.
func (k *Knowledge) ForTask(ctx context.Context, who model.Account, query string, limit int) (Found, error) {
	return k.search(ctx, who, query, "", limit)
}

// Has reports whether a user's tasks have anything to search.
func (k *Knowledge) Has(ctx context.Context, teamID, userID string) (bool, error) {
	n, err := db.Value[int](ctx, k.db, `SELECT count(*) FROM knowledge_source s`+visible+` AND s.shown > 0`, teamID, userID)
	return n > 0, err
}

func (k *Knowledge) search(
	ctx context.Context, who model.Account, query, sourceID string, limit int,
) (f Found, err error) {
	if strings.TrimSpace(query) == "" || len(query) > maxQuery {
		return f, errs.Field("query", "query must have 1 to %d bytes.", maxQuery)
	}
	teamID := who.TeamID
	limit = max(1, min(limit, MaxHits))
	near, v, err := k.nearest(ctx, who, query, sourceID)
	if err != nil {
		return f, err
	}
	f.Vectors, f.Hits = v, []Hit{}
	deep := limit
	if v.Used {
		deep = depth
	}
	where, args := `t.team_id = ? AND EXISTS (SELECT 1 FROM knowledge_source s`+visible+` AND s.id = t.source_id
		AND s.shown = t.round)`, []any{teamID, teamID, who.UserID}
	if sourceID != "" {
		where, args = where+` AND t.source_id = ?`, append(args, sourceID)
	}
	byWords, err := index.Search(ctx, k.db, query, where, args, deep)
	if err != nil {
		return f, err
	}
	numbers := fuse(byWords, near)
	numbers = numbers[:min(len(numbers), limit)]
	if len(numbers) == 0 {
		return f, nil
	}
	byNo := map[int64]Hit{}
	w := db.InTeam(teamID, "no", numbers)
	err = db.Each(ctx, k.db, func(r db.Row) error {
		var no int64
		var h Hit
		err := r.Scan(&no, &h.SourceID, &h.Source, &h.URL, &h.Revision, &h.Place, &h.Line, &h.Text)
		h.Words, h.Vectors = slices.Contains(byWords, no), slices.Contains(near, no)
		byNo[no] = h
		return err
	}, `SELECT c.no, s.id, s.name, s.url, s.revision, c.place, c.line, c.text
		FROM (SELECT no, source_id, place, line, text FROM knowledge_chunk`+w.String()+`) c
		JOIN knowledge_source s ON s.id = c.source_id`, w.Args...)
	for _, no := range numbers {
		if h, there := byNo[no]; there {
			f.Hits = append(f.Hits, h)
		}
	}
	return f, err
}

// fuse merges rankings by the sum of 1/(60+rank); what comes out equal stays in the order of the numbers.
func fuse(rankings ...[]int64) []int64 {
	sums := map[int64]float64{}
	var all []int64
	for _, ranking := range rankings {
		for i, no := range ranking {
			if _, seen := sums[no]; !seen {
				all = append(all, no)
			}
			sums[no] += 1 / float64(fusion+i+1)
		}
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	return all
}
