package customagent

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// keptVersions of an agent are kept, besides the published one.
const keptVersions = 200

// Version is what an agent was.
type Version struct {
	Version int
	Hash    string
	Text
	CreatedAt time.Time
}

// keepVersion stores the present text of an agent as a version, unless it is there.
func (as *Agents) keepVersion(ctx context.Context, tx *db.Tx, a Agent) error {
	_, err := tx.Exec(ctx, `INSERT INTO user_agent_version (agent_id, team_id, version, hash, doc, created_at)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, version) DO NOTHING`, a.ID, a.TeamID, a.Version, a.Hash(), db.Doc(a.Text),
		db.At(a.UpdatedAt))
	if err != nil || a.Version <= keptVersions {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM user_agent_version WHERE agent_id = ? AND version <= ? AND version <> ?`, a.ID,
		a.Version-keptVersions, a.PublishedVersion)
	return err
}

func scanVersion(r db.Row) (v Version, err error) {
	return v, r.Scan(&v.Version, &v.Hash, db.Into(&v.Text), db.Into(&v.CreatedAt))
}

// Versions lists what an agent that the caller may use was, the newest first.
func (as *Agents) Versions(ctx context.Context, id string) ([]Version, error) {
	a, err := as.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	found, err := db.Select(ctx, as.db, scanVersion, `SELECT version, hash, doc, created_at FROM user_agent_version
		WHERE agent_id = ? AND team_id = ? ORDER BY version DESC`, a.ID, a.TeamID)
	if err == nil && len(found) == 0 { // shipped, or of an earlier release and never changed since
		found = []Version{{a.Version, a.Hash(), a.Text, a.UpdatedAt}}
	}
	return found, err
}

// Restore gives an agent of the caller's the text of an earlier version, as a new one.
func (as *Agents) Restore(ctx context.Context, id string, version int) (Agent, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Agent{}, err
	}
	all, err := as.Versions(ctx, id)
	if err != nil {
		return Agent{}, err
	}
	i := slices.IndexFunc(all, func(v Version) bool { return v.Version == version })
	if i < 0 {
		return Agent{}, errs.Field(
			"config_version",
			"config_version: the agent has no version %d, or it is no longer kept.",
			version,
		)
	}
	return as.change(ctx, id, func(a *Agent) { a.Text = all[i].Text })
}

// Stream is a stream of a user's task.
type Stream struct{ TeamID, UserID, TaskID, ID string }

// Use says that a stream of a task had a version of an agent.
type Use struct {
	StreamID string
	AgentID  string
	Name     string
	Version  int
	Hash     string
	Lead     bool // it worked on the task; else the task's agent could delegate to it
	UsedAt   time.Time
}

// ForStream returns the agents that a stream of a task names, each once, and the ids that no longer exist. It writes
// down which versions these are; when the stream is run again, it gets the same.
func (as *Agents) ForStream(
	ctx context.Context, s Stream, lead bool, agents ...string,
) (found []Agent, missing []string, err error) {
	for _, id := range agents {
		a, err := as.pinned(ctx, s, lead, id)
		switch {
		case errs.Is(err, errs.NotFound):
			missing = append(missing, id)
		case err != nil:
			return nil, nil, err
		case !slices.ContainsFunc(found, func(other Agent) bool { return other.ID == a.ID }):
			found = append(found, a)
		}
	}
	return found, missing, nil
}

func (as *Agents) pinned(ctx context.Context, s Stream, lead bool, id string) (a Agent, err error) {
	return a, as.db.Tx(ctx, func(tx *db.Tx) error {
		if a, err = as.find(ctx, tx, s.TeamID, s.UserID, id); err != nil {
			return err
		}
		if a.Origin != sharing.Shipped {
			if err := as.keepVersion(ctx, tx, a); err != nil {
				return err
			}
		}
		_, err := tx.Exec(
			ctx,
			`INSERT INTO agent_use (stream_id, agent_id, task_id, team_id, name, version, hash, lead, used_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream_id, agent_id) DO NOTHING`,
			s.ID,
			a.ID,
			s.TaskID,
			s.TeamID,
			a.Name,
			a.Version,
			a.Hash(),
			lead,
			db.At(as.now()),
		)
		if err != nil || a.Origin == sharing.Shipped {
			return err
		}
		v, err := scanVersion(tx.QueryRow(ctx, `SELECT v.version, v.hash, v.doc, v.created_at FROM agent_use u
			JOIN user_agent_version v ON v.agent_id = u.agent_id AND v.version = u.version
			WHERE u.stream_id = ? AND u.agent_id = ?`, s.ID, a.ID))
		if db.IsNoRows(err) {
			return nil // the version is no longer kept: the present one
		}
		a.Text, a.Version = v.Text, v.Version
		return err
	})
}

// Uses lists the agents of a task, in the order of their use. The caller has seen the task.
func (as *Agents) Uses(ctx context.Context, taskID string) ([]Use, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, as.db, func(r db.Row) (u Use, err error) {
		return u, r.Scan(&u.StreamID, &u.AgentID, &u.Name, &u.Version, &u.Hash, &u.Lead, db.Into(&u.UsedAt))
	}, `SELECT stream_id, agent_id, name, version, hash, lead, used_at FROM agent_use WHERE task_id = ? AND team_id = ?
		ORDER BY used_at, agent_id`, taskID, c.TeamID)
}

// withUses is a shipped agent with what a team and everybody made of it.
func (as *Agents) withUses(ctx context.Context, q db.Querier, teamID string, a Agent) (Agent, error) {
	err := q.QueryRow(ctx, `SELECT (SELECT count(*) FROM user_agent f WHERE f.original_agent_id = ?),
		(SELECT count(DISTINCT u.task_id) FROM agent_use u WHERE u.agent_id = ? AND u.team_id = ?)`, a.ID, a.ID, teamID).
		Scan(&a.Forks, &a.Uses)
	return a, err
}

// SetInstallation writes down what became of an agent's installation.
func (as *Agents) SetInstallation(ctx context.Context, a Agent, i Installation) error {
	_, err := as.db.Exec(ctx, `INSERT INTO agent_installation (agent_id, team_id, hash, status, fault, output, updated_at)
		SELECT id, team_id, ?, ?, ?, ?, ? FROM user_agent WHERE id = ? AND team_id = ?
		ON CONFLICT (agent_id) DO UPDATE SET hash = excluded.hash, status = excluded.status, fault = excluded.fault,
		output = excluded.output, updated_at = excluded.updated_at`, a.InstallHash(), i.Status, i.Fault, i.Output,
		db.At(as.now()), a.ID, a.TeamID)
	return err
}
