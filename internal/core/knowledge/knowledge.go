// Package knowledge stores texts that people and their tasks search: notes, uploaded files, pages and git
// repositories. A source is its owner's or, shared by an admin who is still in the team, the team's; no other team's
// search sees it.
//
// A job reads a source (fetch.go), cuts it into chunks that know their place (chunk.go), and stores them as a round of
// their own, some hundred in a transaction; the last transaction makes the round the one that is searched. So a search
// sees a source as it was before or after, and a job that is killed begins its round again. Addresses are fetched
// through the guard, without credentials.
//
// Where the team has an embedding model, a second job (embed.go) has it make vectors of the chunks that have none of
// it, some at a time, each batch stored when it is there: a job that is killed goes on where it was. A search ranks the
// chunks by words, and by the cosine of their vectors with that of the query in one pass over all (vector.go), and adds
// up 1/(60+rank) of both (search.go).
package knowledge

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/fulltext"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Kind is what a source is read from.
type Kind string

// The kinds.
const (
	Text Kind = "text"
	File Kind = "file" // of the owner's uploaded files, or of a project's that they see
	URL  Kind = "url"  // of a page or a text
	Git  Kind = "git"  // a remote over https or http
)

// State is how far a source is.
type State string

// The states.
const (
	Waiting State = "waiting" // for its job, or it is being indexed
	Ready   State = "ready"   // what is searched is what was read last
	Failed  State = "failed"  // Error says why; what was indexed before is still searched
)

// Source is something that is searched.
type Source struct {
	ID        string
	TeamID    string
	UserID    string
	Shared    bool
	Name      string
	Kind      Kind
	URL       string
	FileKey   string
	Ref       string // of a git remote
	State     State
	Error     string
	Revision  string
	Bytes     int64
	Chunks    int
	CreatedAt time.Time
	IndexedAt time.Time // zero: never

	content []byte
	round   int64
}

// New are sources to add: a text, pages, uploaded files, a repository.
type New struct {
	Name     string // of the only one; empty: made from the text, the key or the URL
	Content  string
	URLs     []string
	FileKeys []string
	GitURL   string
	Ref      string // of GitURL
	Shared   bool
}

// Bounds.
const (
	MaxContent = 1 << 20  // bytes of a text that is sent
	maxSource  = 16 << 20 // bytes of the texts of a source
	maxBytes   = 256 << 20
	maxChunks  = 200_000 // of a team
	maxSources = 500     // of a team
	maxName    = 200
	maxURL     = 2048
)

// Knowledge is the service.
type Knowledge struct {
	db    *db.DB
	queue *queue.Queue
	files *file.Files
	guard *netguard.Guard
	embedder
	now func() time.Time
}

// NewService makes the service. guard makes the dials. models (nil: none) have the embedding models of teams, which get
// texts without the values of their secrets.
func NewService(
	d *db.DB, q *queue.Queue, files *file.Files, guard *netguard.Guard, models *model.Models, secrets *secret.Secrets,
) *Knowledge {
	e := embedder{models: models, secrets: secrets, most: maxChunks, passes: make(chan struct{}, passesAtOnce)}
	return &Knowledge{d, q, files, guard, e, time.Now}
}

var index = fulltext.Index{Name: "knowledge", Table: "knowledge_chunk"}

// IndexArgs are the arguments of the job that indexes a source.
type IndexArgs struct {
	SourceID string `json:"source_id"`
	Round    int64  `json:"round"`
}

// Kind implements queue.Args.
func (IndexArgs) Kind() string { return "knowledge.index" }

// creator is the caller, if they may add to the base. Only an admin adds to the team's: every task reads it.
func creator(ctx context.Context, shared bool) (account.Caller, error) {
	if shared {
		return account.TeamAdmin(ctx)
	}
	return account.Writer(ctx)
}

func missing() error { return errs.Missing("knowledge_source") }

// sources are what a request adds.
func (n New) sources() (out []Source, err error) {
	if n.Ref != "" && n.GitURL == "" {
		return nil, errs.Field("ref", "ref is for git_url.")
	}
	if n.Content != "" {
		out = append(out, Source{Kind: Text, content: []byte(n.Content)})
	}
	for _, u := range n.URLs {
		out = append(out, Source{Kind: URL, URL: u})
	}
	for _, key := range n.FileKeys {
		out = append(out, Source{Kind: File, FileKey: key})
	}
	if n.GitURL != "" {
		out = append(out, Source{Kind: Git, URL: n.GitURL, Ref: n.Ref})
	}
	if len(out) == 0 {
		return nil, errs.Field("content", "Send content, urls, file_keys or git_url.")
	}
	if n.Name != "" && len(out) > 1 {
		return nil, errs.Field("name", "name is for one source, and there are %d.", len(out))
	}
	for i := range out {
		out[i].Shared, out[i].Name = n.Shared, n.Name
		if err := out[i].check(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (n *Source) check() error {
	n.Name = strings.Join(strings.Fields(db.Clean(n.Name)), " ")
	switch n.Kind {
	case Text:
		text := db.Clean(string(n.content))
		if strings.TrimSpace(text) == "" || len(text) > MaxContent {
			return errs.Field("content", "content must have text, at most %d bytes.", MaxContent)
		}
		n.content = []byte(text)
		if n.Name == "" {
			n.Name, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
			n.Name = errs.ClipChars(strings.TrimSpace(n.Name), 80)
		}
	case File:
		if n.FileKey = db.Clean(n.FileKey); n.Name == "" {
			n.Name = errs.Clip(n.FileKey, maxName)
		}
	case URL, Git:
		u, err := url.Parse(n.URL)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(n.URL) > maxURL:
			return errs.Field("url", "url must be an https or http URL of at most %d bytes.", maxURL)
		case u.User != nil:
			return errs.Field("url", "url holds credentials, which would be stored and shown.")
		case len(n.Ref) > maxName:
			return errs.Field("ref", "ref must have at most %d bytes.", maxName)
		}
		u.Fragment = ""
		n.URL, n.Ref = u.String(), db.Clean(n.Ref)
		if n.Name == "" {
			n.Name = errs.Clip(n.URL, maxName)
		}
	}
	if len(n.Name) > maxName {
		return errs.Field("name", "name must have at most %d bytes.", maxName)
	}
	return nil
}

// Add adds sources of the caller's, all or none, which jobs then index.
func (k *Knowledge) Add(ctx context.Context, n New) (out []Source, err error) {
	c, err := creator(ctx, n.Shared)
	if err != nil {
		return nil, err
	}
	all, err := n.sources()
	if err != nil {
		return nil, err
	}
	if err := k.files.Check(ctx, "file_keys", n.FileKeys); err != nil {
		return nil, err
	}
	err = k.db.Tx(ctx, func(tx *db.Tx) error {
		out = nil
		for _, s := range all {
			count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM knowledge_source WHERE team_id = ?`, c.TeamID)
			if err != nil {
				return err
			}
			if count >= maxSources {
				return errs.New(errs.Conflict, "too_many_sources", "Your team has %d sources already; delete one first.", count)
			}
			s.ID, s.TeamID, s.UserID, s.State, s.round = ids.New(), c.TeamID, c.UserID, Waiting, 1
			s.CreatedAt = db.At(k.now()).Time
			if s.content == nil {
				s.content = []byte{}
			}
			if _, err := tx.Exec(ctx, `INSERT INTO knowledge_source (id, team_id, user_id, shared, name, kind, url, file_key, ref, content,
				state, error, revision, bytes, chunks, round, shown, created_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', 0, 0, 1, 0, ?)`, s.ID, s.TeamID, s.UserID, s.Shared, s.Name, s.Kind,
				s.URL, s.FileKey, s.Ref, s.content, s.State, db.At(s.CreatedAt)); err != nil {
				return err
			}
			if _, err := k.queue.Insert(ctx, tx, s.TeamID, IndexArgs{s.ID, 1}); err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

const columns = `id, team_id, user_id, shared, name, kind, url, file_key, ref, state, error, revision, bytes, chunks,
	created_at, indexed_at, round`

// visible is the condition of a query of sources (called s) for what a user sees of a team's.
var visible = sharing.Visible("s")

func scanSource(r db.Row) (s Source, err error) {
	var indexed db.Time
	err = r.Scan(&s.ID, &s.TeamID, &s.UserID, &s.Shared, &s.Name, &s.Kind, &s.URL, &s.FileKey, &s.Ref, &s.State,
		&s.Error, &s.Revision, &s.Bytes, &s.Chunks, db.Into(&s.CreatedAt), &indexed, &s.round)
	s.IndexedAt = indexed.Time
	return s, err
}

// FindAll are the sources that the caller's searches see, the newest first.
func (k *Knowledge) FindAll(ctx context.Context) ([]Source, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, k.db, scanSource, `SELECT `+columns+` FROM knowledge_source s`+visible+`
		ORDER BY created_at DESC, id DESC`, c.TeamID, c.UserID)
}

// Find is one of them. NotFound: there is none, or it is somebody else's.
func (k *Knowledge) Find(ctx context.Context, id string) (s Source, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return s, err
	}
	s, err = scanSource(k.db.QueryRow(ctx, `SELECT `+columns+` FROM knowledge_source s`+visible+` AND s.id = ?`,
		c.TeamID, c.UserID, db.Clean(id)))
	if db.IsNoRows(err) {
		err = missing()
	}
	return s, err
}

// change is Find for those who may change a source: its owner, and admins of the team where it is shared.
func (k *Knowledge) change(ctx context.Context, id string) (Source, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Source{}, err
	}
	s, err := k.Find(ctx, id)
	if err == nil && s.UserID != c.UserID && c.Role != account.Admin {
		err = errs.New(errs.Forbidden, "not_the_owner", "Only its owner, or an admin of the team, can change this source.")
	}
	return s, err
}

// Delete deletes a source with all that was indexed of it.
func (k *Knowledge) Delete(ctx context.Context, id string) error {
	s, err := k.change(ctx, id)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, k.db, missing(), `DELETE FROM knowledge_source WHERE id = ? AND team_id = ?`, s.ID, s.TeamID)
}

// Reindex has a source read again.
func (k *Knowledge) Reindex(ctx context.Context, id string) (s Source, err error) {
	if s, err = k.change(ctx, id); err != nil {
		return s, err
	}
	err = k.db.Tx(ctx, func(tx *db.Tx) error {
		if err := db.ExecOr(ctx, tx, missing(), `UPDATE knowledge_source SET round = round + 1, state = ?, error = ''
			WHERE id = ? AND team_id = ?`, Waiting, s.ID, s.TeamID); err != nil {
			return err
		}
		if s, err = scanSource(tx.QueryRow(ctx, `SELECT `+columns+` FROM knowledge_source WHERE id = ?`, s.ID)); err != nil {
			return err
		}
		_, err := k.queue.Insert(ctx, tx, s.TeamID, IndexArgs{s.ID, s.round})
		return err
	})
	return s, err
}
