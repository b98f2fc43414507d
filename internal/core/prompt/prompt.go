// Package prompt stores prompts: instructions of tasks with variables, which are filled in when a task or a schedule is
// made from them.
//
// {{name}} in the text is a variable; {{$NAME}} is a secret's reference and stays. Values are put in once and as they
// are: what looks like a variable in a value is none. A prompt is its owner's or, shared, the team's to use; some come
// with the server. Each change of its text is a version, and what was made from which version is written down.
package prompt

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Variable is what is filled in when a prompt is used.
type Variable struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Default     string   `json:"default"`
	Required    bool     `json:"required"` // there is no default
	Choices     []string `json:"choices"`  // the only values; empty: any
}

// Text is what is written of a prompt; each version has one.
type Text struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Text        string     `json:"text"`
	Variables   []Variable `json:"variables"` // in the order of the text
	Tags        []string   `json:"tags"`
}

// Prompt is an instruction with variables.
type Prompt struct {
	ID      string
	TeamID  string
	OwnerID string
	Origin  sharing.Origin
	Text
	Shared    bool
	Version   int // from 1, plus 1 with each change of its text
	Uses      int // tasks and schedules of the team that were made from it
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Change has the sent fields of a prompt: nil leaves one.
type Change struct {
	Name, Description, Text *string
	Variables               *[]Variable
	Tags                    *[]string
	Shared                  *bool
}

// Bounds of a prompt.
const (
	maxName      = 128      // bytes
	maxText      = 2000     // bytes, of a description
	maxBody      = 32 << 10 // bytes
	maxVariables = 50
	maxChoices   = 50
	maxValue     = 8 << 10 // bytes
	maxTags      = 50
	maxTag       = 64   // bytes
	maxPrompts   = 1000 // of a user in a team
	keptVersions = 200
)

// Prompts is the service of prompts.
type Prompts struct {
	db      *db.DB
	shipped []Prompt
	now     func() time.Time
}

// New makes the service.
func New(d *db.DB) *Prompts { return &Prompts{db: d, shipped: shipped(), now: time.Now} }

var (
	placeholder  = regexp.MustCompile(`\{\{\s*([a-z][a-z0-9_]{0,63})\s*\}\}`)
	variableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// check refuses a text and puts its variables in order: each that the text has is one.
func (t *Text) check() error {
	t.Name, t.Description = strings.TrimSpace(db.Clean(t.Name)), strings.TrimSpace(db.Clean(t.Description))
	t.Text = strings.TrimSpace(db.Clean(t.Text))
	if t.Tags == nil {
		t.Tags = []string{}
	}
	switch {
	case t.Name == "" || len(t.Name) > maxName || strings.ContainsAny(t.Name, "\r\n"):
		return errs.Field("name", "name must be one line of 1 to %d bytes.", maxName)
	case len(t.Description) > maxText:
		return errs.Field("description", "description must have at most %d bytes.", maxText)
	case t.Text == "" || len(t.Text) > maxBody:
		return errs.Field("text", "text must have 1 to %d bytes.", maxBody)
	case len(t.Tags) > maxTags || slices.ContainsFunc(t.Tags,
		func(tag string) bool { return strings.TrimSpace(tag) == "" || len(tag) > maxTag }):
		return errs.Field("tags", "tags must be at most %d, each of 1 to %d bytes.", maxTags, maxTag)
	}
	return t.checkVariables()
}

func (t *Text) checkVariables() error {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(t.Text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if len(names) > maxVariables || len(t.Variables) > maxVariables {
		return errs.Field("variables", "variables: at most %d.", maxVariables)
	}
	ordered := make([]Variable, len(names))
	for i, name := range names {
		ordered[i] = Variable{Name: name, Required: true}
	}
	described := map[string]bool{}
	for _, v := range t.Variables {
		i := slices.Index(names, v.Name)
		switch {
		case !variableName.MatchString(v.Name):
			return errs.Field(
				"variables",
				"variables: %q is no name: small letters, digits and underscores, a letter first.",
				errs.Clip(v.Name, 64),
			)
		case i < 0:
			return errs.Field("variables", "variables: the text has no {{%s}}.", v.Name)
		case described[v.Name]:
			return errs.Field("variables", "variables: %s is there twice.", v.Name)
		case len(v.Description) > maxText || len(v.Default) > maxValue || len(v.Choices) > maxChoices:
			return errs.Field("variables", "variables: %s has a description, a default or choices that are too long.", v.Name)
		case slices.ContainsFunc(v.Choices, func(c string) bool { return c == "" || len(c) > maxValue }):
			return errs.Field("variables", "variables: a choice of %s is empty or too long.", v.Name)
		case v.Default != "" && len(v.Choices) > 0 && !slices.Contains(v.Choices, v.Default):
			return errs.Field("variables", "variables: the default of %s is none of its choices.", v.Name)
		}
		described[v.Name] = true
		v.Description, v.Default, v.Required = db.Clean(v.Description), db.Clean(v.Default), v.Default == ""
		ordered[i] = v
	}
	for i := range ordered {
		ordered[i].Choices = append([]string{}, ordered[i].Choices...)
	}
	t.Variables = ordered
	return nil
}

// Fill puts values into the text. Invalid names the field values: a variable without a value, a value that is none of
// its choices or too long, or one that there is no variable for.
func (t Text) Fill(values map[string]string) (string, error) {
	given := map[string]string{}
	for _, v := range t.Variables {
		value, sent := values[v.Name]
		switch {
		case !sent && v.Required:
			return "", errs.Field("values", "values: %s is missing%s.", v.Name, colon(v.Description))
		case !sent:
			value = v.Default
		case len(v.Choices) > 0 && !slices.Contains(v.Choices, value):
			return "", errs.Field(
				"values",
				"values: %s must be one of %s.",
				v.Name,
				errs.Clip(strings.Join(v.Choices, ", "), 300),
			)
		case len(value) > maxValue:
			return "", errs.Field("values", "values: %s has more than %d bytes.", v.Name, maxValue)
		case strings.TrimSpace(value) == "" && v.Required:
			return "", errs.Field("values", "values: %s is empty.", v.Name)
		}
		given[v.Name] = db.Clean(value)
	}
	for name := range values {
		if _, known := given[name]; !known {
			return "", errs.Field("values", "values: the prompt has no variable %q.", errs.Clip(name, 64))
		}
	}
	return placeholder.ReplaceAllStringFunc(t.Text, func(found string) string {
		return given[placeholder.FindStringSubmatch(found)[1]]
	}), nil
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + errs.Clip(strings.TrimSuffix(text, "."), 200)
}

const columns = `p.id, p.team_id, p.user_id, p.name, p.description, p.text, p.variables, p.tags, p.shared, p.version, p.created_at,
	p.updated_at, (SELECT count(*) FROM prompt_use u WHERE u.prompt_id = p.id AND u.team_id = p.team_id)`

// visible are a user's prompts and those that members share. Its arguments are the team and the user.
var visible = sharing.Visible("p")

func scanFor(userID string) func(db.Row) (Prompt, error) {
	return func(r db.Row) (p Prompt, err error) {
		err = r.Scan(
			&p.ID,
			&p.TeamID,
			&p.OwnerID,
			&p.Name,
			&p.Description,
			&p.Text.Text,
			db.Into(&p.Variables),
			db.Into(&p.Tags),
			&p.Shared,
			&p.Version,
			db.Into(&p.CreatedAt),
			db.Into(&p.UpdatedAt),
			&p.Uses,
		)
		p.Origin = sharing.Of(p.OwnerID, userID)
		return p, err
	}
}

func (c Change) apply(p *Prompt) {
	for to, sent := range map[*string]*string{&p.Name: c.Name, &p.Description: c.Description, &p.Text.Text: c.Text} {
		if sent != nil {
			*to = *sent
		}
	}
	if c.Variables != nil {
		p.Variables = *c.Variables
	} else if c.Text != nil { // those that the text no longer has go
		p.Variables = slices.DeleteFunc(slices.Clone(p.Variables), func(v Variable) bool {
			return !slices.ContainsFunc(
				placeholder.FindAllStringSubmatch(*c.Text, -1),
				func(m []string) bool { return m[1] == v.Name },
			)
		})
	}
	if c.Tags != nil {
		p.Tags = *c.Tags
	}
	if c.Shared != nil {
		p.Shared = *c.Shared
	}
}

// Create keeps a new prompt of the caller's. Invalid names the field; Conflict: the caller has the name already.
func (ps *Prompts) Create(ctx context.Context, change Change) (Prompt, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Prompt{}, err
	}
	now := db.At(ps.now())
	p := Prompt{
		ID:        ids.New(),
		TeamID:    c.TeamID,
		OwnerID:   c.UserID,
		Origin:    sharing.Own,
		Version:   1,
		CreatedAt: now.Time,
		UpdatedAt: now.Time,
	}
	change.apply(&p)
	if err := p.check(); err != nil {
		return p, err
	}
	err = ps.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](
			ctx,
			tx,
			`SELECT count(*) FROM prompt WHERE team_id = ? AND user_id = ?`,
			c.TeamID,
			c.UserID,
		)
		if err != nil {
			return err
		}
		if count >= maxPrompts {
			return errs.New(errs.Conflict, "too_many_prompts", "There are %d prompts; delete one first.", count)
		}
		if _, err := tx.Exec(
			ctx,
			`INSERT INTO prompt (id, team_id, user_id, name, description, text, variables, tags, shared, version,
			created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.ID,
			c.TeamID,
			c.UserID,
			p.Name,
			p.Description,
			p.Text.Text,
			db.Doc(p.Variables),
			db.Doc(p.Tags),
			p.Shared,
			p.Version,
			now,
			now,
		); err != nil {
			return err
		}
		return ps.keepVersion(ctx, tx, p)
	})
	return p, nameTaken(err)
}

func nameTaken(err error) error {
	if db.IsDuplicate(err) {
		return errs.New(errs.Conflict, "prompt_exists", "You have a prompt with this name.").At("name")
	}
	return err
}

// keepVersion stores the present text of a prompt as a version.
func (ps *Prompts) keepVersion(ctx context.Context, tx *db.Tx, p Prompt) error {
	_, err := tx.Exec(
		ctx,
		`INSERT INTO prompt_version (prompt_id, team_id, version, doc, created_at) VALUES (?, ?, ?, ?, ?)`,
		p.ID,
		p.TeamID,
		p.Version,
		db.Doc(p.Text),
		db.At(p.UpdatedAt),
	)
	if err != nil || p.Version <= keptVersions {
		return err
	}
	_, err = tx.Exec(
		ctx,
		`DELETE FROM prompt_version WHERE prompt_id = ? AND team_id = ? AND version <= ?`,
		p.ID,
		p.TeamID,
		p.Version-keptVersions,
	)
	return err
}

// Update changes a prompt of the caller's, and no task or schedule that was made from it.
func (ps *Prompts) Update(ctx context.Context, id string, change Change) (p Prompt, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return p, err
	}
	err = ps.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(
			ctx,
			`UPDATE prompt SET id = id WHERE id = ? AND team_id = ? AND user_id = ?`,
			db.Clean(id),
			c.TeamID,
			c.UserID,
		); err != nil {
			return err
		}
		if p, err = ps.find(ctx, tx, c, id); err != nil {
			return err
		}
		if p.Origin != sharing.Own {
			return errs.New(errs.Forbidden, "not_the_owner", "Only its owner can change this prompt.")
		}
		before, _ := json.Marshal(p.Text)
		change.apply(&p)
		if err := p.check(); err != nil {
			return err
		}
		p.UpdatedAt = db.At(ps.now()).Time
		if after, _ := json.Marshal(p.Text); string(after) != string(before) {
			p.Version++
			if err := ps.keepVersion(ctx, tx, p); err != nil {
				return err
			}
		}
		_, err := tx.Exec(
			ctx,
			`UPDATE prompt SET name = ?, description = ?, text = ?, variables = ?, tags = ?, shared = ?, version = ?,
			updated_at = ? WHERE id = ? AND team_id = ?`,
			p.Name,
			p.Description,
			p.Text.Text,
			db.Doc(p.Variables),
			db.Doc(p.Tags),
			p.Shared,
			p.Version,
			db.At(p.UpdatedAt),
			p.ID,
			p.TeamID,
		)
		return err
	})
	return p, nameTaken(err)
}

// Delete deletes a prompt of the caller's or, for an admin, a shared one. What was made from it stays.
func (ps *Prompts) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ps.shipped, func(p Prompt) bool { return p.ID == id }) {
		return errs.New(errs.Conflict, "prompt_is_shipped", "A prompt that comes with the server cannot be deleted.")
	}
	return db.ExecOr(
		ctx,
		ps.db,
		errs.Missing("prompt"),
		`DELETE FROM prompt WHERE id = ? AND team_id = ? AND (user_id = ? OR shared AND ?)`,
		db.Clean(id),
		c.TeamID,
		c.UserID,
		c.Role == account.Admin,
	)
}
