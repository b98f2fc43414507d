package skill

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Stream is a stream of a user's task.
type Stream struct{ TeamID, UserID, TaskID, ID string }

// ForTask are the enabled skills of a user's tasks: their own, the team's and the server's, of two with one name the
// first; only those that are named in chosen, unless that is nil. missing are the names that there is no skill for.
func (ss *Skills) ForTask(
	ctx context.Context,
	teamID, userID string,
	chosen []string,
) (found []Skill, missing []string, err error) {
	all, err := ss.all(ctx, teamID, userID)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if s.Enabled && (chosen == nil || slices.Contains(chosen, s.Name)) &&
			!slices.ContainsFunc(found, func(other Skill) bool { return other.Name == s.Name }) {
			found = append(found, s)
		}
	}
	for _, name := range chosen {
		if !slices.Contains(missing, name) && !slices.ContainsFunc(found, func(s Skill) bool { return s.Name == name }) {
			missing = append(missing, name)
		}
	}
	return found, missing, nil
}

// Loaded is a skill as a task loads it.
type Loaded struct {
	Skill
	First bool // it is the first time in the stream
}

// Load is a skill with its instructions and the paths of its files. That the stream used it is written down. NotFound:
// it was deleted, or is no longer shared.
func (ss *Skills) Load(ctx context.Context, at Stream, id string) (l Loaded, err error) {
	if l.Skill, err = ss.find(ctx, ss.db, at.TeamID, at.UserID, id); err != nil {
		return l, err
	}
	if !l.Enabled {
		return l, errs.Missing("skill")
	}
	n, err := ss.db.Exec(ctx, `INSERT INTO skill_use (stream_id, skill_id, task_id, team_id, name, version, hash, used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream_id, skill_id) DO NOTHING`, at.ID, l.ID, at.TaskID, at.TeamID, l.Name,
		l.Version, l.Hash, db.At(ss.now()))
	l.First = n > 0
	return l, err
}

// Text is a file of a loaded skill; ok: it is text.
func (ss *Skills) Text(ctx context.Context, at Stream, id, path string) (text string, ok bool, err error) {
	s, err := ss.find(ctx, ss.db, at.TeamID, at.UserID, id)
	if err != nil {
		return "", false, err
	}
	content, err := ss.content(ctx, s, path)
	return string(content), utf8.Valid(content), err
}

// Use says that a stream of a task loaded a version of a skill.
type Use struct {
	StreamID string
	SkillID  string
	Name     string
	Version  int
	Hash     string
	UsedAt   time.Time
}

// Uses lists the skills that a task loaded, in the order of their use. The caller has seen the task.
func (ss *Skills) Uses(ctx context.Context, taskID string) ([]Use, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, ss.db, func(r db.Row) (u Use, err error) {
		return u, r.Scan(&u.StreamID, &u.SkillID, &u.Name, &u.Version, &u.Hash, db.Into(&u.UsedAt))
	}, `SELECT stream_id, skill_id, name, version, hash, used_at FROM skill_use WHERE task_id = ? AND team_id = ?
		ORDER BY used_at, skill_id`, taskID, c.TeamID)
}
