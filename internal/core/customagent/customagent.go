// Package customagent stores the agents that users describe for their tasks with texts and names of tools.
package customagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Bounds of an agent, in bytes and counts, and of a user's agents in a team.
const (
	maxName    = 128
	maxText    = 2000   // of each text
	maxContext = 20_000 // bytes
	maxTags    = 50
	maxTag     = 64
	maxAgents  = 1000
)

// Agent is a custom agent (agent API, Agents), visible only to its owner.
type Agent struct {
	ID            string
	Name          string
	Description   string
	WhenToUse     string   // for agents that delegate
	SystemContext string   // added to the system prompt after the general rules
	Tags          []string // for people
	NativeTools   []string // empty: all
	Version       int      // from 1, plus 1 with each change
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Hash identifies the agent's instructions and tools.
func (a Agent) Hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", a.Name, a.Description, a.WhenToUse, a.SystemContext,
		a.NativeTools))
	return hex.EncodeToString(sum[:])
}

// Update has the sent fields of an agent: nil leaves one.
type Update struct {
	Name          *string
	Description   *string
	WhenToUse     *string
	SystemContext *string
	Tags          *[]string
	NativeTools   *[]string
}

// Agents keeps custom agents.
type Agents struct {
	db    *db.DB
	tools []string
	now   func() time.Time
}

// New takes the names of the tools that agents may have.
func New(d *db.DB, tools []string) *Agents { return &Agents{db: d, tools: tools, now: time.Now} }

// Create keeps a new agent of the caller's. Invalid names the field; Conflict: the caller has the name already.
func (as *Agents) Create(ctx context.Context, up Update) (Agent, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Agent{}, err
	}
	now := db.At(as.now())
	a := Agent{ID: ids.New(), Version: 1, CreatedAt: now.Time, UpdatedAt: now.Time}
	up.apply(&a)
	if err := as.check(a); err != nil {
		return Agent{}, err
	}
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM user_agent WHERE team_id = ? AND user_id = ?`, c.TeamID,
			c.UserID)
		if err != nil {
			return err
		}
		if count >= maxAgents {
			return errs.New(errs.Conflict, "too_many_agents", "There are %d agents; delete one first.", count)
		}
		_, err = tx.Exec(ctx, `INSERT INTO user_agent (id, team_id, user_id, name, description, when_to_use, system_context, tags, native_tools,
			version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.ID, c.TeamID, c.UserID, a.Name, a.Description, a.WhenToUse, a.SystemContext, db.Doc(a.Tags), db.Doc(a.NativeTools),
			a.Version, now, now)
		return err
	})
	return a, nameTaken(err)
}

// Update changes an agent of the caller's, but no task that has begun.
func (as *Agents) Update(ctx context.Context, id string, up Update) (a Agent, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Agent{}, err
	}
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		if a, err = as.find(ctx, tx, c.TeamID, c.UserID, id); err != nil {
			return err
		}
		up.apply(&a)
		if err := as.check(a); err != nil {
			return err
		}
		now := db.At(as.now())
		a.Version, a.UpdatedAt = a.Version+1, now.Time
		_, err := tx.Exec(ctx, `UPDATE user_agent SET name = ?, description = ?, when_to_use = ?, system_context = ?, tags = ?, native_tools = ?, version = ?, updated_at = ? WHERE id = ?`,
			a.Name, a.Description, a.WhenToUse, a.SystemContext, db.Doc(a.Tags), db.Doc(a.NativeTools), a.Version, now, a.ID)
		return err
	})
	return a, nameTaken(err)
}

func nameTaken(err error) error {
	if db.IsDuplicate(err) {
		return errs.New(errs.Conflict, "agent_exists", "There is an agent with this name.").At("name")
	}
	return err
}

func (up Update) apply(a *Agent) {
	for to, sent := range map[*string]*string{
		&a.Name: up.Name, &a.Description: up.Description, &a.WhenToUse: up.WhenToUse, &a.SystemContext: up.SystemContext,
	} {
		if sent != nil {
			*to = strings.TrimSpace(db.Clean(*sent))
		}
	}
	for to, sent := range map[*[]string]*[]string{&a.Tags: up.Tags, &a.NativeTools: up.NativeTools} {
		if sent != nil {
			*to = *sent
		}
		if *to == nil {
			*to = []string{}
		}
	}
}

func (as *Agents) check(a Agent) error {
	if a.Name == "" || len(a.Name) > maxName || strings.ContainsAny(a.Name, "\r\n") {
		return errs.Field("name", "name must be one line of 1 to %d bytes.", maxName)
	}
	for _, text := range []struct {
		field, text string
		most        int
	}{{"description", a.Description, maxText}, {"when_to_use", a.WhenToUse, maxText},
		{"system_context", a.SystemContext, maxContext}} {
		if len(text.text) > text.most {
			return errs.Field(text.field, "%s must have at most %d bytes.", text.field, text.most)
		}
	}
	if len(a.Tags) > maxTags || slices.ContainsFunc(a.Tags,
		func(tag string) bool { return strings.TrimSpace(tag) == "" || len(tag) > maxTag }) {
		return errs.Field("tags", "tags must be at most %d, each of 1 to %d bytes.", maxTags, maxTag)
	}
	for _, tool := range a.NativeTools {
		if !slices.Contains(as.tools, tool) {
			return errs.Field("native_tools", "native_tools: there is no tool %.60q. The tools are: %s.", tool,
				strings.Join(as.tools, ", "))
		}
	}
	return nil
}

// Delete deletes an agent of the caller's.
func (as *Agents) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, as.db, errs.Missing("agent"),
		`DELETE FROM user_agent WHERE id = ? AND team_id = ? AND user_id = ?`,
		db.Clean(id), c.TeamID, c.UserID)
}

// Find finds an agent of the caller's.
func (as *Agents) Find(ctx context.Context, id string) (Agent, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Agent{}, err
	}
	return as.find(ctx, as.db, c.TeamID, c.UserID, id)
}

// FindAll lists the caller's agents by name.
func (as *Agents) FindAll(ctx context.Context) ([]Agent, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, as.db, scan,
		`SELECT `+columns+` FROM user_agent WHERE team_id = ? AND user_id = ? ORDER BY name, id`, c.TeamID, c.UserID)
}

// Check fails with Invalid at field when an agent is not the caller's.
func (as *Agents) Check(ctx context.Context, field string, agents ...string) error {
	for _, id := range agents {
		if _, err := as.Find(ctx, id); errs.Is(err, errs.NotFound) {
			return errs.Field(field, "%s: you have no agent with the id %.60q.", field, id)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// ForTask returns the agents that a task names, each once, and the ids that no longer exist.
func (as *Agents) ForTask(
	ctx context.Context, teamID, userID string, agents ...string,
) (found []Agent, missing []string, err error) {
	for _, id := range agents {
		a, err := as.find(ctx, as.db, teamID, userID, id)
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

func (as *Agents) find(ctx context.Context, q db.Querier, teamID, userID, id string) (Agent, error) {
	a, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM user_agent WHERE id = ? AND team_id = ? AND user_id = ?`,
		db.Clean(id), teamID, userID))
	return a, db.OrMissing(err, "agent")
}

const columns = `id, name, description, when_to_use, system_context, tags, native_tools, version, created_at, updated_at`

func scan(r db.Row) (a Agent, err error) {
	err = r.Scan(&a.ID, &a.Name, &a.Description, &a.WhenToUse, &a.SystemContext, db.Into(&a.Tags), db.Into(&a.NativeTools),
		&a.Version,
		db.Into(&a.CreatedAt), db.Into(&a.UpdatedAt))
	return a, err
}
