// Package memory is what a task, or a user, remembers: its form and its limits.
package memory

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Memory is stored for a task, or for all tasks of a user.
type Memory struct {
	Facts        []string      `json:"facts" maxItems:"100" doc:"Facts that a person stated."`
	Insights     []string      `json:"insights" maxItems:"100" doc:"Conclusions of the agent, not statements of a person."`
	Todos        []Todo        `json:"todos" maxItems:"100" doc:"Tasks to do."`
	TrackedFiles []TrackedFile `json:"tracked_files" maxItems:"500" doc:"Relevant files."`
	RuntimeInput []string      `json:"user_runtime_input" maxItems:"100" doc:"What a person wrote while the task ran."`
}

// A Todo is something to be done.
type Todo struct {
	Content string `json:"content" doc:"What to do."`
	Index   int    `json:"index" doc:"Its position in the list."`
	Status  string `json:"status,omitempty" enum:"pending,in_progress,completed,cancelled" doc:"Its progress."`
}

// TrackedFile is a relevant file.
type TrackedFile struct {
	Path    string `json:"path" doc:"Its path."`
	Type    string `json:"type,omitempty" doc:"file, or another type."`
	Summary string `json:"summary,omitempty" doc:"A summary of its content."`
}

// The limits of memory (agent API, Memory).
const (
	MaxEntries      = 100    // entries of a list
	maxTrackedFiles = 500    // entries
	MaxSize         = 50_000 // characters of a task's and its user's memory together
)

// Normalized is m with empty lists instead of nil, and text that every database stores.
func (m Memory) Normalized() Memory {
	for _, list := range []*[]string{&m.Facts, &m.Insights, &m.RuntimeInput} {
		clean := make([]string, len(*list))
		for i, s := range *list {
			clean[i] = db.Clean(s)
		}
		*list = clean
	}
	m.Todos, m.TrackedFiles = append([]Todo{}, m.Todos...), append([]TrackedFile{}, m.TrackedFiles...)
	for i := range m.Todos {
		if m.Todos[i].Status == "" {
			m.Todos[i].Status = "pending"
		}
	}
	return m
}

// Size is the number of characters that count for the limit.
func (m Memory) Size() (n int) {
	for _, s := range slices.Concat(m.Facts, m.Insights, m.RuntimeInput) {
		n += len([]rune(s))
	}
	for _, t := range m.Todos {
		n += len([]rune(t.Content))
	}
	for _, f := range m.TrackedFiles {
		n += len([]rune(f.Path)) + len([]rune(f.Summary))
	}
	return n
}

// Check refuses a memory that is too large, together with other characters.
func (m Memory) Check(others int) error {
	for _, list := range []struct {
		name      string
		n, atMost int
	}{
		{"facts", len(m.Facts), MaxEntries}, {"insights", len(m.Insights), MaxEntries},
		{"todos", len(m.Todos), MaxEntries}, {"tracked_files", len(m.TrackedFiles), maxTrackedFiles},
		{"user_runtime_input", len(m.RuntimeInput), MaxEntries},
	} {
		if list.n > list.atMost {
			return errs.Field(list.name, "%s must have at most %d entries.", list.name, list.atMost)
		}
	}
	if m.Size()+others > MaxSize {
		return errs.New(errs.Invalid, "memory_full",
			"A task's memory and its user's together hold at most %d characters.", MaxSize).At("facts")
	}
	return nil
}
