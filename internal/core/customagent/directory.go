package customagent

import (
	"context"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

//go:embed shipped/*.md
var files embed.FS

// shippedAt is the time of the shipped agents, which have none of their own.
var shippedAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// shipped are the agents that come with the server, by name. Their ids stay the same from release to release.
func shipped() (all []Agent) {
	entries, err := files.ReadDir("shipped")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, entry := range entries {
		text, err := files.ReadFile("shipped/" + entry.Name())
		if err != nil {
			panic(err)
		}
		head, body, err := yamltext.Front(string(text))
		if err != nil {
			panic(fmt.Errorf("%s: %w", entry.Name(), err))
		}
		words := func(field string) []string {
			list, err := yamltext.Words(head[field])
			if err != nil {
				panic(fmt.Errorf("%s: %s: %w", entry.Name(), field, err))
			}
			return append([]string{}, list...)
		}
		all = append(all, Agent{
			ID: "vedette-" + strings.TrimSuffix(
				path.Base(entry.Name()),
				".md",
			),
			Origin:           sharing.Shipped,
			Version:          1,
			PublishedVersion: 1,
			PublishedAt:      shippedAt,
			CreatedAt:        shippedAt,
			UpdatedAt:        shippedAt,
			Shared:           true,
			Text: Text{
				Name: fmt.Sprint(
					head["name"],
				),
				Description:   fmt.Sprint(head["description"]),
				WhenToUse:     fmt.Sprint(head["when_to_use"]),
				SystemContext: body,
				Tags:          words("tags"),
				NativeTools:   words("native_tools"),
				Skills:        words("skills"),
			},
		})
	}
	slices.SortFunc(all, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Filter picks agents of the directory; empty fields pick all.
type Filter struct {
	Search string // a text in the name, description or tags
	Tag    string
	Origin sharing.Origin // Shipped or Published
	Limit  int
	Offset int
}

func (f Filter) picks(a Agent) bool {
	text := strings.ToLower(strings.Join(append([]string{a.Name, a.Description, a.WhenToUse}, a.Tags...), "\n"))
	return strings.Contains(text, strings.ToLower(f.Search)) && (f.Tag == "" || slices.ContainsFunc(a.Tags,
		func(tag string) bool { return strings.EqualFold(tag, f.Tag) }))
}

const maxPublished = 200 // of a team

const publishedQuery = `SELECT p.agent_id, p.team_id, p.user_id, p.version, p.doc, p.published_at, a.created_at,
	(SELECT count(*) FROM user_agent f WHERE f.original_agent_id = p.agent_id)
	FROM published_agent p JOIN user_agent a ON a.id = p.agent_id`

// scanPublished reads what everybody may see of a published agent.
func scanPublished(r db.Row) (a Agent, err error) {
	err = r.Scan(
		&a.ID,
		&a.TeamID,
		&a.OwnerID,
		&a.Version,
		db.Into(&a.Text),
		db.Into(&a.PublishedAt),
		db.Into(&a.CreatedAt),
		&a.Forks,
	)
	a.Origin, a.PublishedVersion, a.UpdatedAt = sharing.Published, a.Version, a.PublishedAt
	return a, err
}

// Directory lists the agents that everybody on the server may copy: those that come with it, then those that teams have
// published, each by name; and how many there are.
func (as *Agents) Directory(ctx context.Context, f Filter) (found []Agent, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	found = []Agent{}
	for _, a := range as.shipped {
		if f.Origin == sharing.Published || !f.picks(a) {
			continue
		}
		if total++; total > f.Offset && len(found) < f.Limit {
			if a, err = as.withUses(ctx, as.db, c.TeamID, a); err != nil {
				return nil, 0, err
			}
			found = append(found, a)
		}
	}
	if f.Origin == sharing.Shipped {
		return found, total, nil
	}
	var w db.Where
	if f.Search != "" {
		cond, arg := as.db.Dialect().Contains("p.words", f.Search)
		w.And(cond, arg)
	}
	if f.Tag != "" {
		cond, arg := as.db.Dialect().Contains("p.tags", ","+strings.ToLower(f.Tag)+",")
		w.And(cond, arg)
	}
	count, err := db.Value[int](ctx, as.db, `SELECT count(*) FROM published_agent p`+w.String(), w.Args...)
	if err != nil {
		return nil, 0, err
	}
	more, err := db.Select(
		ctx,
		as.db,
		scanPublished,
		publishedQuery+w.String()+` ORDER BY p.name, p.agent_id LIMIT ? OFFSET ?`,
		append(w.Args, f.Limit-len(found), max(f.Offset-total, 0))...)
	return append(found, more...), total + count, err
}

// Listed finds an agent of the directory.
func (as *Agents) Listed(ctx context.Context, id string) (Agent, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Agent{}, err
	}
	if i := slices.IndexFunc(as.shipped, func(a Agent) bool { return a.ID == id }); i >= 0 {
		return as.withUses(ctx, as.db, c.TeamID, as.shipped[i])
	}
	a, err := scanPublished(as.db.QueryRow(ctx, publishedQuery+` WHERE p.agent_id = ?`, db.Clean(id)))
	return a, db.OrMissing(err, "agent")
}

// Fork makes a copy for the caller: of an agent that they may use or, listed, of one of the directory. name is that of
// the copy; empty: the same. Conflict: they have an agent with the name.
func (as *Agents) Fork(ctx context.Context, id, name string, listed bool) (Agent, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Agent{}, err
	}
	find := as.Find
	if listed {
		find = as.Listed
	}
	from, err := find(ctx, id)
	if err != nil {
		return Agent{}, err
	}
	a := Agent{Text: from.Text, OriginalID: from.ID, OriginalOwner: from.OwnerID}
	if name = strings.TrimSpace(db.Clean(name)); name != "" {
		a.Name = name
	}
	return as.create(ctx, a)
}

// Publish puts the present version of an agent of the caller's into the directory of the server, where every team may
// see and copy it. Later versions are not seen there until they are published. Only admins of the team publish.
func (as *Agents) Publish(ctx context.Context, id string) (a Agent, err error) {
	if _, err := account.Writer(ctx); err != nil {
		return a, err
	}
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return a, err
	}
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		if a, err = as.own(ctx, tx, c, id); err != nil {
			return err
		}
		count, err := db.Value[int](
			ctx,
			tx,
			`SELECT count(*) FROM published_agent WHERE team_id = ? AND agent_id <> ?`,
			c.TeamID,
			a.ID,
		)
		if err != nil {
			return err
		}
		if count >= maxPublished {
			return errs.New(errs.Conflict, "too_many_agents", "The team has published %d agents; take one back first.", count)
		}
		if err := as.keepVersion(ctx, tx, a); err != nil {
			return err
		}
		words := strings.Join(append([]string{a.Name, a.Description, a.WhenToUse}, a.Tags...), "\n")
		tags := "," + strings.ToLower(strings.Join(a.Tags, ",")) + ","
		_, err = tx.Exec(
			ctx,
			`INSERT INTO published_agent (agent_id, team_id, user_id, version, name, words, tags, doc, published_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id) DO UPDATE SET version = excluded.version,
			name = excluded.name,
			words = excluded.words, tags = excluded.tags, doc = excluded.doc, published_at = excluded.published_at`,
			a.ID,
			c.TeamID,
			c.UserID,
			a.Version,
			a.Name,
			words,
			tags,
			db.Doc(a.Text),
			db.At(as.now()),
		)
		if err == nil {
			a, err = as.find(ctx, tx, c.TeamID, c.UserID, a.ID)
		}
		return err
	})
	return a, err
}

// Unpublish takes an agent out of the directory: of the caller's or, for an admin of the team, of the team's; for an
// operator, anybody's. Copies stay.
func (as *Agents) Unpublish(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	n, err := as.db.Exec(ctx, `DELETE FROM published_agent WHERE agent_id = ? AND (team_id = ? AND (user_id = ? OR ?) OR ?)`,
		db.Clean(id), c.TeamID, c.UserID, c.Role == account.Admin, c.SystemAdmin)
	if err != nil || n > 0 {
		return err
	}
	a, err := as.find(ctx, as.db, c.TeamID, c.UserID, id)
	switch {
	case err != nil:
		return err
	case a.Origin == sharing.Team || a.Origin == sharing.Shipped:
		return errs.New(errs.Forbidden, "not_the_owner", "Only its owner, or an admin of the team, can take this agent back.")
	}
	return nil // it was not there
}
