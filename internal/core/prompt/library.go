package prompt

import (
	"context"
	"embed"
	"fmt"
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

// shipped are the prompts that come with the server, by name.
func shipped() (all []Prompt) {
	entries, err := files.ReadDir("shipped")
	if err != nil {
		panic(err) // the files are embedded
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, entry := range entries {
		text, err := files.ReadFile("shipped/" + entry.Name())
		if err != nil {
			panic(err)
		}
		p, err := parse(string(text))
		if err == nil {
			err = p.check()
		}
		if err != nil {
			panic(fmt.Errorf("the prompt %s: %w", entry.Name(), err))
		}
		all = append(
			all,
			Prompt{ID: "vedette-" + strings.TrimSuffix(entry.Name(), ".md"), Origin: sharing.Shipped, Text: p, Shared: true,
				Version: 1, CreatedAt: at, UpdatedAt: at},
		)
	}
	return all
}

// parse reads a Markdown file with the fields of a prompt at its beginning.
func parse(text string) (t Text, err error) {
	head, body, err := yamltext.Front(text)
	if err != nil {
		return t, err
	}
	t = Text{Name: fmt.Sprint(head["name"]), Description: fmt.Sprint(head["description"]), Text: body}
	if t.Tags, err = yamltext.Words(head["tags"]); err != nil {
		return t, err
	}
	variables, _ := head["variables"].(map[string]any)
	for name, value := range variables {
		fields, _ := value.(map[string]any)
		v := Variable{Name: name, Description: fmt.Sprint(fields["description"])}
		if fields["default"] != nil {
			v.Default = fmt.Sprint(fields["default"])
		}
		if v.Choices, err = yamltext.Words(fields["choices"]); err != nil {
			return t, err
		}
		t.Variables = append(t.Variables, v)
	}
	return t, nil
}

// Filter picks prompts of a list; empty fields pick all.
type Filter struct {
	Origin sharing.Origin
	Search string // a text in the name, description or text
	Tag    string
}

// FindAll lists the prompts of the caller, those that the team shares and those that come with the server, each by
// name.
func (ps *Prompts) FindAll(ctx context.Context, f Filter) ([]Prompt, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	all, err := db.Select(ctx, ps.db, scanFor(c.UserID), `SELECT `+columns+` FROM prompt p`+visible+
		` ORDER BY CASE WHEN p.user_id = ? THEN 0 ELSE 1 END, p.name, p.id`, c.TeamID, c.UserID, c.UserID)
	if err != nil {
		return nil, err
	}
	for _, p := range ps.shipped {
		if p, err = ps.withUses(ctx, ps.db, c.TeamID, p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return slices.DeleteFunc(all, func(p Prompt) bool {
		text := strings.ToLower(p.Name + "\n" + p.Description + "\n" + p.Text.Text)
		return f.Origin != "" && p.Origin != f.Origin || !strings.Contains(text, strings.ToLower(f.Search)) ||
			f.Tag != "" && !slices.ContainsFunc(p.Tags, func(tag string) bool { return strings.EqualFold(tag, f.Tag) })
	}), nil
}

func (ps *Prompts) withUses(ctx context.Context, q db.Querier, teamID string, p Prompt) (_ Prompt, err error) {
	p.Uses, err = db.Value[int](
		ctx,
		q,
		`SELECT count(*) FROM prompt_use WHERE prompt_id = ? AND team_id = ?`,
		p.ID,
		teamID,
	)
	return p, err
}

// Find finds a prompt that the caller may use.
func (ps *Prompts) Find(ctx context.Context, id string) (Prompt, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Prompt{}, err
	}
	return ps.find(ctx, ps.db, c, id)
}

func (ps *Prompts) find(ctx context.Context, q db.Querier, c account.Caller, id string) (Prompt, error) {
	if i := slices.IndexFunc(ps.shipped, func(p Prompt) bool { return p.ID == id }); i >= 0 {
		return ps.withUses(ctx, q, c.TeamID, ps.shipped[i])
	}
	p, err := scanFor(
		c.UserID,
	)(
		q.QueryRow(ctx, `SELECT `+columns+` FROM prompt p`+visible+` AND p.id = ?`, c.TeamID, c.UserID, db.Clean(id)),
	)
	return p, db.OrMissing(err, "prompt")
}

// Version is what a prompt was.
type Version struct {
	Version int
	Text
	CreatedAt time.Time
}

// Versions lists what a prompt that the caller may use was, the newest first.
func (ps *Prompts) Versions(ctx context.Context, id string) ([]Version, error) {
	p, err := ps.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.Origin == sharing.Shipped {
		return []Version{{p.Version, p.Text, p.UpdatedAt}}, nil
	}
	return db.Select(ctx, ps.db, func(r db.Row) (v Version, err error) {
		return v, r.Scan(&v.Version, db.Into(&v.Text), db.Into(&v.CreatedAt))
	}, `SELECT version, doc, created_at FROM prompt_version WHERE prompt_id = ? AND team_id = ? ORDER BY version DESC`, p.ID, p.TeamID)
}

// Call names a prompt and its values.
type Call struct {
	ID      string
	Version int // 0: the present one
	Values  map[string]string
}

// Filled is the text of a prompt with values.
type Filled struct {
	PromptID string
	Version  int
	Text     string
}

// Fill fills in a prompt that the caller may use. Invalid names a field of Call: prompt_id, version or values.
func (ps *Prompts) Fill(ctx context.Context, call Call) (f Filled, err error) {
	if _, err := account.Writer(ctx); err != nil {
		return f, err
	}
	p, err := ps.Find(ctx, call.ID)
	if err != nil {
		return f, err
	}
	text := p.Text
	if call.Version != 0 && call.Version != p.Version {
		all, err := ps.Versions(ctx, p.ID)
		if err != nil {
			return f, err
		}
		i := slices.IndexFunc(all, func(v Version) bool { return v.Version == call.Version })
		if i < 0 {
			return f, errs.Field("version", "version: the prompt has no version %d, or it is no longer kept.", call.Version)
		}
		p.Version, text = call.Version, all[i].Text
	}
	f.PromptID, f.Version = p.ID, p.Version
	f.Text, err = text.Fill(call.Values)
	return f, err
}

// Made writes down that a stream of a task, or a schedule, was made from a prompt.
func (ps *Prompts) Made(ctx context.Context, f Filled, madeID string) error {
	c, err := account.From(ctx)
	if err != nil {
		return err
	}
	_, err = ps.db.Exec(ctx, `INSERT INTO prompt_use (prompt_id, made_id, team_id, version, used_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (prompt_id, made_id) DO NOTHING`, f.PromptID, madeID, c.TeamID, f.Version, db.At(ps.now()))
	return err
}
