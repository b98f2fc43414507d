// Package project stores projects: tasks, files, secrets, memory and spending of a team that belong together, with
// settings that the agents of its tasks read.
//
// A project is for everybody in the team, or for its members only. Admins of the team see every project; a member who
// is restricted sees only those to which they were invited. What belongs to a project is seen by those who see the
// project.
package project

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Type is what a project is for; it stays as it was created.
type Type string

// The types.
const (
	Shared   Type = "shared"   // may have members, or be everybody's in the team
	Personal Type = "personal" // without other members
)

// The limits of projects (agent API, Projects).
const (
	maxProjects = 1000 // of a team
	maxName     = 128  // characters
	maxTags     = 20
	maxTag      = 32     // characters
	maxSettings = 35_000 // characters; longer ones are cut
	cutSuffix   = "\n… (cut)"
)

// Project is a project as its viewers see it.
type Project struct {
	ID        string
	TeamID    string
	OwnerID   string
	Owner     string // email
	Name      string // empty: it will be that of the first task
	Type      Type
	Settings  string
	Tags      []string
	Shared    bool
	CapCents  *int64 // nil: none
	Spent     int64  // in millionths of a US dollar
	Members   int
	Tasks     int
	CreatedAt time.Time
	UpdatedAt time.Time
	Issues    []Count // verified ones, by severity
	Statuses  []Count // the same, by status
}

// Count is how many issues have a label.
type Count struct {
	Label string `json:"label" doc:"A severity, or a status."`
	Count int    `json:"count" doc:"How many verified issues have it."`
}

// Projects is the service of projects.
type Projects struct {
	db  *db.DB
	now func() time.Time
}

// New makes the service.
func New(d *db.DB) *Projects { return &Projects{db: d, now: time.Now} }

// SpendingKind is the kind of a project's row in the table spending.
const SpendingKind = "project"

const query = `SELECT p.id, p.team_id, p.owner_id, u.email, p.name, p.type, p.settings, p.tags, p.shared, p.cap_cents,
	coalesce((SELECT s.spent FROM spending s WHERE s.kind = 'project' AND s.id = p.id), 0),
	(SELECT count(*) FROM project_member pm WHERE pm.project_id = p.id),
		(SELECT count(*) FROM task t WHERE t.project_id = p.id),
	p.created_at, p.updated_at FROM project p JOIN user_account u ON u.id = p.owner_id`

func scan(r db.Row) (p Project, err error) {
	err = r.Scan(
		&p.ID,
		&p.TeamID,
		&p.OwnerID,
		&p.Owner,
		&p.Name,
		&p.Type,
		&p.Settings,
		db.Into(&p.Tags),
		&p.Shared,
		&p.CapCents,
		&p.Spent,
		&p.Members,
		&p.Tasks,
		db.Into(&p.CreatedAt),
		db.Into(&p.UpdatedAt),
	)
	return p, err
}

// Sees is the condition in SQL that a user sees the project with the id in a column. Its argument is the user's id.
func Sees(column string) string {
	return `EXISTS (SELECT 1 FROM project sp JOIN member sm ON sm.team_id = sp.team_id WHERE sp.id = ` + column + ` AND sm.user_id = ?
		AND (sm.role = 'admin' OR sp.shared AND NOT sm.restricted OR EXISTS (SELECT 1 FROM project_member pm
		WHERE pm.project_id = sp.id AND pm.user_id = sm.user_id)))`
}

// Check refuses a project that a user does not see; empty is none. The error is about the field project_id.
func Check(ctx context.Context, q db.Querier, teamID, userID, id string) error {
	if id == "" {
		return nil
	}
	n, err := db.Value[int](
		ctx,
		q,
		`SELECT count(*) FROM project p WHERE p.id = ? AND p.team_id = ? AND `+Sees("p.id"),
		db.Clean(id),
		teamID,
		userID,
	)
	if err == nil && n == 0 {
		err = errs.Field("project_id", "project_id names no project of yours.")
	}
	return err
}

// NameAfter gives a project without a name one.
func NameAfter(ctx context.Context, tx *db.Tx, id, name string) error {
	if id == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE project SET name = ? WHERE id = ? AND name = ''`, name, id)
	return err
}

// Update has the sent fields of a project: nil leaves one.
type Update struct {
	Name     *string
	Settings *string
	Tags     *[]string
	Shared   *bool
}

func (up Update) apply(p *Project) error {
	if up.Name != nil {
		p.Name = db.Clean(strings.TrimSpace(*up.Name))
	}
	if up.Settings != nil {
		p.Settings = db.Clean(*up.Settings)
		if r := []rune(p.Settings); len(r) > maxSettings {
			p.Settings = string(r[:maxSettings]) + cutSuffix
		}
	}
	if up.Tags != nil {
		p.Tags = append([]string{}, *up.Tags...)
	}
	if up.Shared != nil {
		p.Shared = *up.Shared
	}
	switch {
	case len([]rune(p.Name)) > maxName:
		return errs.Field("name", "name must have at most %d characters.", maxName)
	case len(p.Tags) > maxTags:
		return errs.Field("tags", "tags must be at most %d.", maxTags)
	case slices.ContainsFunc(p.Tags, func(t string) bool { return strings.TrimSpace(t) == "" || len([]rune(t)) > maxTag }):
		return errs.Field("tags", "tags must each have 1 to %d characters.", maxTag)
	case p.Shared && p.Type == Personal:
		return errs.Field("shared_with_team", "A personal project cannot be shared.")
	}
	return nil
}

// NewProject describes a project to create.
type NewProject struct {
	ID   string // a uuid of the caller's choice; empty: a new one
	Type Type   // empty: Shared
	Update
}

// Create makes a project, of which the caller is the owner and its first member. An id that is taken is a Conflict.
func (ps *Projects) Create(ctx context.Context, n NewProject) (Project, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Project{}, err
	}
	now := db.At(ps.now())
	p := Project{ID: strings.ToLower(n.ID), TeamID: c.TeamID, Type: n.Type, Tags: []string{}}
	if p.ID == "" {
		p.ID = ids.New()
	}
	if p.Type == "" {
		p.Type = Shared
	}
	if !ids.IsUUID(p.ID) {
		return p, errs.Field("id", "id must be a uuid of 36 characters.")
	}
	if p.Type != Shared && p.Type != Personal {
		return p, errs.Field("type", "type must be shared or personal.")
	}
	if err := n.apply(&p); err != nil {
		return p, err
	}
	err = ps.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM project WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		if count >= maxProjects {
			return errs.New(errs.Conflict, "too_many_projects", "There are %d projects; delete one first.", count)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO project (id, team_id, owner_id, name, type, settings, tags, shared, memory, created_at,
			updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, p.ID, c.TeamID, c.UserID, p.Name, p.Type, p.Settings, db.Doc(p.Tags),
			p.Shared, db.Doc(Memory{}), now, now); err != nil {
			return err
		}
		if err := addMember(ctx, tx, p, c.UserID, Admin, now.Time); err != nil {
			return err
		}
		p, err = scan(tx.QueryRow(ctx, query+` WHERE p.id = ?`, p.ID))
		return err
	})
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "project_exists", "There is a project with this id.").At("id")
	}
	return p, err
}

// FindAll lists the projects that the caller sees, newest first.
func (ps *Projects) FindAll(ctx context.Context) ([]Project, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(
		ctx,
		ps.db,
		scan,
		query+` WHERE p.team_id = ? AND `+Sees("p.id")+` ORDER BY p.id DESC`,
		c.TeamID,
		c.UserID,
	)
}

// Find is a project that the caller sees, with counts of its verified issues.
func (ps *Projects) Find(ctx context.Context, id string) (Project, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Project{}, err
	}
	p, err := ps.find(ctx, ps.db, c, id)
	if err != nil {
		return p, err
	}
	const issues = ` FROM issue i JOIN task t ON t.id = i.task_id WHERE t.project_id = ? AND i.verification = 'verified'
		AND (t.user_id = ? OR t.visibility <> 'private') GROUP BY 1 ORDER BY 1`
	count := func(r db.Row) (n Count, err error) { return n, r.Scan(&n.Label, &n.Count) }
	if p.Issues, err = db.Select(ctx, ps.db, count, `SELECT i.severity, count(*)`+issues, p.ID, c.UserID); err != nil {
		return p, err
	}
	p.Statuses, err = db.Select(
		ctx,
		ps.db,
		count,
		`SELECT coalesce((SELECT f.status FROM finding f WHERE f.id = i.finding_id), i.status), count(*)`+issues,
		p.ID,
		c.UserID,
	)
	return p, err
}

func (ps *Projects) find(ctx context.Context, q db.Querier, c account.Caller, id string) (Project, error) {
	p, err := scan(
		q.QueryRow(ctx, query+` WHERE p.id = ? AND p.team_id = ? AND `+Sees("p.id"), db.Clean(id), c.TeamID, c.UserID),
	)
	return p, db.OrMissing(err, "project")
}

// manage runs fn on a project that the caller owns, or as an admin of the team, in a transaction that holds it.
func (ps *Projects) manage(
	ctx context.Context,
	id string,
	fn func(tx *db.Tx, c account.Caller, p *Project) error,
) (p Project, err error) { //nolint:unparam // callers may want it
	c, err := account.Writer(ctx)
	if err != nil {
		return p, err
	}
	err = ps.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE project SET id = id WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID); err != nil {
			return err
		}
		if p, err = ps.find(ctx, tx, c, id); err != nil {
			return err
		}
		if p.OwnerID != c.UserID && c.Role != account.Admin {
			return errs.New(
				errs.Forbidden,
				"project_owner_required",
				"Only the owner of the project, or an admin of the team, can do this.",
			)
		}
		return fn(tx, c, &p)
	})
	return p, err
}

// Update changes a project.
func (ps *Projects) Update(ctx context.Context, id string, up Update) (Project, error) {
	_, err := ps.manage(ctx, id, func(tx *db.Tx, _ account.Caller, p *Project) error {
		if err := up.apply(p); err != nil {
			return err
		}
		if up.Name != nil && p.Name == "" {
			return errs.Field("name", "name must not be empty.")
		}
		_, err := tx.Exec(
			ctx,
			`UPDATE project SET name = ?, settings = ?, tags = ?, shared = ?, updated_at = ? WHERE id = ?`,
			p.Name,
			p.Settings,
			db.Doc(p.Tags),
			p.Shared,
			db.At(ps.now()),
			p.ID,
		)
		return err
	})
	if err != nil {
		return Project{}, err
	}
	return ps.Find(ctx, id)
}

// SetCap sets what the tasks of a project may spend on models, in US cents; nil removes the cap, 0 blocks.
func (ps *Projects) SetCap(ctx context.Context, id string, cents *int64) (Project, error) {
	_, err := ps.manage(ctx, id, func(tx *db.Tx, _ account.Caller, p *Project) error {
		_, err := tx.Exec(ctx, `UPDATE project SET cap_cents = ?, updated_at = ? WHERE id = ?`, cents, db.At(ps.now()), p.ID)
		return err
	})
	if err != nil {
		return Project{}, err
	}
	return ps.Find(ctx, id)
}

// Cap is the cap of a project in US cents; nil: none.
func Cap(ctx context.Context, q db.Querier, id string) (*int64, error) {
	var cents *int64
	err := q.QueryRow(ctx, `SELECT cap_cents FROM project WHERE id = ?`, id).Scan(&cents)
	if db.IsNoRows(err) {
		err = nil // it was deleted
	}
	return cents, err
}

// Delete deletes a project. Its tasks, files, secrets and schedules stay with those who made them, in no project; the
// tasks of one that was not everybody's become private.
func (ps *Projects) Delete(ctx context.Context, id string) error {
	_, err := ps.manage(ctx, id, func(tx *db.Tx, _ account.Caller, p *Project) error {
		statements := []string{
			`UPDATE file SET project_id = '' WHERE project_id = ?`,
			`UPDATE task_schedule SET project_id = '' WHERE project_id = ?`,
			`UPDATE task SET project_id = '' WHERE project_id = ?`,
			`DELETE FROM secret WHERE project_id = ? AND EXISTS (SELECT 1 FROM secret o WHERE o.team_id = secret.team_id
				AND o.user_id = secret.user_id AND o.name = secret.name AND o.project_id = '')`,
			`UPDATE secret SET project_id = '' WHERE project_id = ?`,
			`DELETE FROM project WHERE id = ?`,
		}
		if !p.Shared {
			statements = append([]string{`UPDATE task SET visibility = 'private' WHERE project_id = ? AND visibility = 'team'`},
				statements...)
		}
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement, p.ID); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `DELETE FROM spending WHERE kind = ? AND id = ?`, SpendingKind, p.ID)
		return err
	})
	return err
}
