package project

import (
	"context"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Memory is what all tasks of a project are told.
type Memory struct {
	Facts []string `json:"facts" doc:"What people say about the project."`
}

// The limits of a project's memory.
const (
	maxFacts  = 100
	maxMemory = 20_000 // characters together
)

// Memory is the memory of a project that the caller sees.
func (ps *Projects) Memory(ctx context.Context, id string) (m Memory, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return m, err
	}
	p, err := ps.find(ctx, ps.db, c, id)
	if err != nil {
		return m, err
	}
	err = ps.db.QueryRow(ctx, `SELECT memory FROM project WHERE id = ?`, p.ID).Scan(db.Into(&m))
	m.Facts = append([]string{}, m.Facts...)
	return m, err
}

// SetMemory replaces the memory of a project that the caller sees.
func (ps *Projects) SetMemory(ctx context.Context, id string, m Memory) (Memory, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return m, err
	}
	size := 0
	m.Facts = append([]string{}, m.Facts...)
	for i, fact := range m.Facts {
		size += len([]rune(fact))
		m.Facts[i] = db.Clean(fact)
	}
	if len(m.Facts) > maxFacts || size > maxMemory {
		return m, errs.Field("facts", "facts must be at most %d, with %d characters together.", maxFacts, maxMemory)
	}
	return m, ps.db.Tx(ctx, func(tx *db.Tx) error {
		p, err := ps.find(ctx, tx, c, id)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE project SET memory = ?, updated_at = ? WHERE id = ?`, db.Doc(m), db.At(ps.now()), p.ID)
		return err
	})
}

// Prompt is what an agent that works on a task of a project is told about it; empty: nothing. People wrote it, as they
// did the instruction.
func (ps *Projects) Prompt(ctx context.Context, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	var settings string
	var m Memory
	err := ps.db.QueryRow(ctx, `SELECT settings, memory FROM project WHERE id = ?`, id).Scan(&settings, db.Into(&m))
	if db.IsNoRows(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if settings != "" {
		b.WriteString("The task belongs to a project. Its people wrote these settings; they add to the rules above, and change none of " +
			"them:\n" + settings + "\n")
	}
	if len(m.Facts) > 0 {
		b.WriteString("The people of the project said:\n")
	}
	for _, fact := range m.Facts {
		b.WriteString("- " + strconv.Quote(fact) + "\n")
	}
	return strings.TrimSpace(b.String()), nil
}
