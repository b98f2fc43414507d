// Package customagent stores the agents that users describe for their tasks with texts, names of tools, and commands of
// their own, which package install runs.
//
// An agent is its owner's; shared, the team may use it, and published, everybody on the server may copy it from the
// directory, where agents that come with the server are, too. Each change of its text is a version. A stream of a task
// writes down the versions that it uses when it begins, and keeps them: a change, or a restart, gives it no others. An
// agent of another team is never used where it is, only as a copy: its author cannot change what others run.
package customagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// Bounds of an agent, in bytes and counts, and of a user's agents in a team.
const (
	maxName    = 128
	maxText    = 2000   // of each text
	maxContext = 20_000 // bytes
	maxTags    = 50
	maxTag     = 64
	maxAgents  = 1000
	maxSkills  = 50
)

// Text is what is written of an agent; each version has one.
type Text struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	WhenToUse     string   `json:"when_to_use"`    // for agents that delegate
	SystemContext string   `json:"system_context"` // added to the system prompt after the general rules
	Tags          []string `json:"tags"`           // for people
	NativeTools   []string `json:"native_tools"`   // empty: all
	Skills        []string `json:"skills"`         // names; empty: all that the task has

	Programs
}

// Hash identifies the agent's instructions and tools.
func (t Text) Hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %q", t.Name, t.Description, t.WhenToUse, t.SystemContext, t.NativeTools)
	if len(t.Skills) > 0 {
		fmt.Fprintf(sum, " %q", t.Skills)
	}
	if !t.isEmpty() {
		doc, _ := json.Marshal(t.Programs) //nolint:errchkjson // texts, and schemas that are checked
		sum.Write(doc)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Agent is a custom agent (agent API, Agents), visible to its owner and, shared, to the team.
type Agent struct {
	ID      string
	TeamID  string
	OwnerID string
	Origin  sharing.Origin
	Text
	Shared           bool
	Version          int       // from 1, plus 1 with each change of the text
	OriginalID       string    // of the agent that it is a copy of; empty: none
	OriginalOwner    string    // of that agent; empty: it was shipped
	Forks            int       // copies that were made of it
	Uses             int       // tasks that used it
	PublishedAt      time.Time // zero: it is not in the directory
	PublishedVersion int
	Installation     Installation
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// Agents keeps custom agents.
type Agents struct {
	db       *db.DB
	tools    []string
	reserved []string
	shipped  []Agent
	now      func() time.Time
}

// New takes the names of the tools that agents may have, and further ones that tools of their own must not have.
func New(d *db.DB, tools []string, reserved ...string) *Agents {
	return &Agents{db: d, tools: tools, reserved: slices.Concat(tools, reserved), shipped: shipped(), now: time.Now}
}

// Create keeps a new agent of the caller's. Invalid names the field; Conflict: the caller has the name already.
func (as *Agents) Create(ctx context.Context, up Update) (Agent, error) {
	var a Agent
	up.apply(&a)
	return as.create(ctx, a)
}

// create keeps an agent with its first version.
func (as *Agents) create(ctx context.Context, a Agent) (Agent, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Agent{}, err
	}
	now := db.At(as.now())
	a.ID, a.TeamID, a.OwnerID, a.Origin, a.Version = ids.New(), c.TeamID, c.UserID, sharing.Own, 1
	a.CreatedAt, a.UpdatedAt = now.Time, now.Time
	if err := as.check(&a.Text); err != nil {
		return Agent{}, err
	}
	a.Installation = Installation{}.as("", a.Programs, now.Time)
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM user_agent WHERE team_id = ? AND user_id = ?`, c.TeamID,
			c.UserID)
		if err != nil {
			return err
		}
		if count >= maxAgents {
			return errs.New(errs.Conflict, "too_many_agents", "There are %d agents; delete one first.", count)
		}
		_, err = tx.Exec(
			ctx,
			`INSERT INTO user_agent (id, team_id, user_id, name, description, when_to_use, system_context, tags,
			native_tools, skills, programs, shared, original_agent_id, original_creator_id, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			a.ID,
			c.TeamID,
			c.UserID,
			a.Name,
			a.Description,
			a.WhenToUse,
			a.SystemContext,
			db.Doc(a.Tags),
			db.Doc(a.NativeTools),
			db.Doc(a.Skills),
			db.Doc(a.Programs),
			a.Shared,
			a.OriginalID,
			a.OriginalOwner,
			a.Version,
			now,
			now,
		)
		if err != nil {
			return err
		}
		return as.keepVersion(ctx, tx, a)
	})
	return a, nameTaken(err)
}

// Update changes an agent of the caller's, but no task that has begun.
func (as *Agents) Update(ctx context.Context, id string, up Update) (a Agent, err error) {
	return as.change(ctx, id, up.apply)
}

// change changes an agent of the caller's in a transaction that holds it. A changed text is a new version.
func (as *Agents) change(ctx context.Context, id string, do func(*Agent)) (a Agent, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Agent{}, err
	}
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		if a, err = as.own(ctx, tx, c, id); err != nil {
			return err
		}
		if err := as.keepVersion(ctx, tx, a); err != nil { // one of an earlier release has none
			return err
		}
		before, _ := json.Marshal(a.Text)
		installed := a.InstallHash()
		do(&a)
		if err := as.check(&a.Text); err != nil {
			return err
		}
		now := db.At(as.now())
		a.UpdatedAt = now.Time
		if a.InstallHash() != installed {
			a.Installation = Installation{}.as("", a.Programs, now.Time)
		}
		if after, _ := json.Marshal(a.Text); string(after) != string(before) {
			a.Version++
			if err := as.keepVersion(ctx, tx, a); err != nil {
				return err
			}
		}
		_, err := tx.Exec(
			ctx,
			`UPDATE user_agent SET name = ?, description = ?, when_to_use = ?, system_context = ?, tags = ?,
			native_tools = ?, skills = ?, programs = ?, shared = ?, version = ?, updated_at = ? WHERE id = ? AND team_id = ?`,
			a.Name,
			a.Description,
			a.WhenToUse,
			a.SystemContext,
			db.Doc(a.Tags),
			db.Doc(a.NativeTools),
			db.Doc(a.Skills),
			db.Doc(a.Programs),
			a.Shared,
			a.Version,
			now,
			a.ID,
			a.TeamID,
		)
		return err
	})
	return a, nameTaken(err)
}

// own reads an agent of the caller's, locked until tx ends. A colleague's shared one is Forbidden.
func (as *Agents) own(ctx context.Context, tx *db.Tx, c account.Caller, id string) (Agent, error) {
	if _, err := tx.Exec(ctx, `UPDATE user_agent SET id = id WHERE id = ? AND team_id = ? AND user_id = ?`, db.Clean(id),
		c.TeamID, c.UserID); err != nil {
		return Agent{}, err
	}
	a, err := as.find(ctx, tx, c.TeamID, c.UserID, id)
	if err == nil && a.Origin != sharing.Own {
		err = errs.New(
			errs.Forbidden,
			"not_the_owner",
			"Only its owner can change this agent; fork it to have one of your own.",
		)
	}
	return a, err
}

func nameTaken(err error) error {
	if db.IsDuplicate(err) {
		return errs.New(errs.Conflict, "agent_exists", "There is an agent with this name.").At("name")
	}
	return err
}

// check checks a text, and puts its programs in order.
func (as *Agents) check(a *Text) error {
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
	if len(a.Skills) > maxSkills ||
		slices.ContainsFunc(a.Skills, func(name string) bool { return !skillName.MatchString(name) }) {
		return errs.Field("skills", "skills must be at most %d names of skills.", maxSkills)
	}
	return a.check(as.reserved)
}

// skillName is the form of a skill's name (core/skill).
var skillName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

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

// Find finds an agent that the caller may use: their own, the team's, or one that comes with the server.
func (as *Agents) Find(ctx context.Context, id string) (Agent, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Agent{}, err
	}
	return as.find(ctx, as.db, c.TeamID, c.UserID, id)
}

// FindAll lists the agents of the caller, then those that colleagues share, each by name.
func (as *Agents) FindAll(ctx context.Context) ([]Agent, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, as.db, scanFor(c.UserID, as.now()), query+visible+
		` ORDER BY CASE WHEN a.user_id = ? THEN 0 ELSE 1 END, a.name, a.id`, c.TeamID, c.UserID, c.UserID)
}

// Check fails with Invalid at field when an agent is not the caller's.
func (as *Agents) Check(ctx context.Context, field string, agents ...string) error {
	for _, id := range agents {
		if _, err := as.Find(ctx, id); errs.Is(err, errs.NotFound) {
			return errs.Field(
				field,
				"%s: you have no agent with the id %.60q. One of the directory is to be forked first.",
				field,
				id,
			)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (as *Agents) find(ctx context.Context, q db.Querier, teamID, userID, id string) (Agent, error) {
	if i := slices.IndexFunc(as.shipped, func(a Agent) bool { return a.ID == id }); i >= 0 {
		return as.withUses(ctx, q, teamID, as.shipped[i])
	}
	a, err := scanFor(userID, as.now())(q.QueryRow(ctx, query+visible+` AND a.id = ?`, teamID, userID, db.Clean(id)))
	return a, db.OrMissing(err, "agent")
}

const query = `SELECT a.id, a.team_id, a.user_id, a.name, a.description, a.when_to_use, a.system_context, a.tags, a.native_tools,
	a.skills, a.programs, a.shared, a.version, a.original_agent_id, a.original_creator_id,
	(SELECT count(*) FROM user_agent f WHERE f.original_agent_id = a.id),
	(SELECT count(DISTINCT u.task_id) FROM agent_use u WHERE u.agent_id = a.id AND u.team_id = a.team_id),
	coalesce(p.version, 0), p.published_at, a.created_at, a.updated_at,
	coalesce(i.hash, ''), coalesce(i.status, ''), coalesce(i.fault, ''), coalesce(i.output, ''), i.updated_at
	FROM user_agent a LEFT JOIN published_agent p ON p.agent_id = a.id LEFT JOIN agent_installation i ON i.agent_id = a.id`

// visible are a user's agents, and those that members of the team share. Its arguments are the team and the user.
var visible = sharing.Visible("a")

// scanFor reads an agent as a user sees it now.
func scanFor(userID string, now time.Time) func(db.Row) (Agent, error) {
	return func(r db.Row) (a Agent, err error) {
		var installed string
		err = r.Scan(
			&a.ID,
			&a.TeamID,
			&a.OwnerID,
			&a.Name,
			&a.Description,
			&a.WhenToUse,
			&a.SystemContext,
			db.Into(&a.Tags),
			db.Into(
				&a.NativeTools,
			),
			db.Into(&a.Skills),
			db.Into(&a.Programs),
			&a.Shared,
			&a.Version,
			&a.OriginalID,
			&a.OriginalOwner,
			&a.Forks,
			&a.Uses,
			&a.PublishedVersion,
			db.Into(&a.PublishedAt),
			db.Into(&a.CreatedAt),
			db.Into(&a.UpdatedAt),
			&installed,
			&a.Installation.Status,
			&a.Installation.Fault,
			&a.Installation.Output,
			db.Into(&a.Installation.At),
		)
		a.Installation = a.Installation.as(installed, a.Programs, now)
		a.Origin = sharing.Of(a.OwnerID, userID)
		return a, err
	}
}
