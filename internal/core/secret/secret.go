// Package secret stores values that agents need but must not see: sealed, shown masked, and passed only to a run whose
// task names them.
package secret

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// The limits of secrets (agent API, Secrets).
const (
	maxName    = 128    // bytes
	maxValue   = 10_000 // characters
	maxSecrets = 1000   // of a user in a team
)

// Secret is what its owner sees of it.
type Secret struct {
	ID               string    `json:"id"`
	Name             string    `json:"name"`
	MaskedValue      string    `json:"masked_value"`
	DefaultAvailable bool      `json:"default_available"`
	CreatedByAgent   bool      `json:"created_by_agent"`
	ProjectID        string    `json:"project_id,omitempty"`
	CreatedAt        time.Time `json:"created_at"`
	UpdatedAt        time.Time `json:"updated_at"`
}

// NewSecret describes a secret to store.
type NewSecret struct {
	Name             string
	Value            string
	DefaultAvailable bool
	CreatedByAgent   bool
	ProjectID        string // empty: none
}

// Secrets is the service of users' secrets.
type Secrets struct {
	db  *db.DB
	box *seal.Box
	now func() time.Time
}

// New makes the service.
func New(d *db.DB, box *seal.Box) *Secrets { return &Secrets{db: d, box: box, now: time.Now} }

// Create seals and stores a secret of the caller's. Invalid names the field; a name that the caller has
// already is a Conflict.
func (s *Secrets) Create(ctx context.Context, n NewSecret) (Secret, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Secret{}, err
	}
	if err := n.check(); err != nil {
		return Secret{}, err
	}
	now := db.At(s.now())
	made := Secret{
		ID: ids.New(), Name: n.Name, MaskedValue: Mask(n.Value), DefaultAvailable: n.DefaultAvailable,
		CreatedByAgent: n.CreatedByAgent, ProjectID: n.ProjectID, CreatedAt: now.Time, UpdatedAt: now.Time,
	}
	sealed, err := s.box.Seal([]byte(n.Value), sealContext(made.ID))
	if err != nil {
		return Secret{}, err
	}
	err = s.db.Tx(ctx, func(tx *db.Tx) error {
		if err := s.checkProject(ctx, tx, c, n); err != nil {
			return err
		}
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM secret WHERE team_id = ? AND user_id = ?`, c.TeamID,
			c.UserID)
		if err != nil {
			return err
		}
		if count >= maxSecrets {
			return errs.New(errs.Conflict, "too_many_secrets", "There are %d secrets; delete one first.", count)
		}
		_, err = tx.Exec(ctx, `INSERT INTO secret (id, team_id, user_id, project_id, name, sealed, masked, default_available,
			created_by_agent, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, made.ID, c.TeamID, c.UserID,
			made.ProjectID, made.Name, sealed, made.MaskedValue, made.DefaultAvailable, made.CreatedByAgent, now, now)
		return err
	})
	if db.IsDuplicate(err) {
		return Secret{}, errs.New(errs.Conflict, "secret_exists", "There is a secret with this name.").At("name")
	}
	return made, err
}

func (n NewSecret) check() error {
	if len(n.Name) > maxName || !regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`).MatchString(n.Name) {
		return errs.Field("name",
			"name must be capitals, digits and underscores, begin with a letter, and have at most %d characters.", maxName)
	}
	if n.Value == "" || len([]rune(n.Value)) > maxValue {
		return errs.Field("value", "value must have 1 to %d characters.", maxValue)
	}
	return nil
}

// sealContext binds a sealed value to its row.
func sealContext(id string) string { return "secret/" + id }

// Mask shows the first three and the last four characters of a long value.
func Mask(value string) string {
	const bullets, least = "••••••••", 16
	r := []rune(value)
	if len(r) < least {
		return bullets
	}
	clean := func(r []rune) string { return db.Clean(string(r)) }
	return clean(r[:3]) + bullets + clean(r[len(r)-4:])
}

// checkProject refuses a project that the caller does not see, and a name that a secret of the project has already.
func (s *Secrets) checkProject(ctx context.Context, tx *db.Tx, c account.Caller, n NewSecret) error {
	if n.ProjectID == "" {
		return nil
	}
	if err := project.Check(ctx, tx, c.TeamID, c.UserID, n.ProjectID); err != nil {
		return err
	}
	taken, err := db.Value[int](ctx, tx, `SELECT count(*) FROM secret WHERE team_id = ? AND project_id = ? AND name = ?`, c.TeamID,
		n.ProjectID, n.Name)
	if err == nil && taken > 0 {
		err = errs.New(errs.Conflict, "secret_exists", "The project has a secret with this name.").At("name")
	}
	return err
}

// FindAll lists the secrets of a project that the caller sees, or their own of none, by name.
func (s *Secrets) FindAll(ctx context.Context, projectID string) ([]Secret, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, s.db, scan, query+` WHERE team_id = ? AND project_id = ? AND (user_id = ? OR `+project.Sees("project_id")+`)
		ORDER BY name, id`, c.TeamID, projectID, c.UserID, c.UserID)
}

// Update sets whether every task may use a secret of the caller's; nil leaves it as it is.
func (s *Secrets) Update(ctx context.Context, id string, defaultAvailable *bool) (found Secret, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Secret{}, err
	}
	err = db.ExecOr(ctx, s.db, errs.Missing("secret"), `UPDATE secret SET
		default_available = coalesce(?, default_available), updated_at = ? WHERE id = ? AND team_id = ? AND user_id = ?`,
		defaultAvailable, db.At(s.now()), db.Clean(id), c.TeamID, c.UserID)
	if err != nil {
		return Secret{}, err
	}
	return scan(s.db.QueryRow(ctx, query+` WHERE id = ?`, id))
}

// Delete deletes a secret of the caller's.
func (s *Secrets) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, s.db, errs.Missing("secret"), `DELETE FROM secret WHERE id = ? AND team_id = ? AND user_id = ?`,
		db.Clean(id), c.TeamID, c.UserID)
}

// ForTask are the values that a user's task may use, by name: those it names, and those that every task may
// use. A project's own win. missing are the names without a secret.
func (s *Secrets) ForTask(
	ctx context.Context, teamID, userID, projectID string, names []string,
) (values map[string]string, missing []string, err error) {
	type row struct {
		id, name string
		sealed   []byte
		always   bool
	}
	scan := func(r db.Row) (x row, err error) { return x, r.Scan(&x.id, &x.name, &x.sealed, &x.always) }
	all, err := db.Select(ctx, s.db, scan, `SELECT id, name, sealed, default_available FROM secret
		WHERE team_id = ? AND project_id IN ('', ?) AND (user_id = ? OR `+project.Sees("project_id")+`)
		ORDER BY project_id, name`, teamID, projectID, userID, userID)
	if err != nil {
		return nil, nil, err
	}
	values = map[string]string{}
	for _, x := range all { // those of the project come last, and replace the others
		if !x.always && !slices.Contains(names, x.name) {
			continue
		}
		plain, err := s.box.Open(x.sealed, sealContext(x.id))
		if err != nil {
			return nil, nil, err
		}
		values[x.name] = string(plain)
	}
	for _, name := range names {
		if _, ok := values[name]; !ok && !slices.Contains(missing, name) {
			missing = append(missing, strings.ToValidUTF8(name, ""))
		}
	}
	return values, missing, nil
}

// OfOwner is the value of a secret of the owner of a team, of no project. NotFound when there is none of this name; the
// error is safe to show.
func (s *Secrets) OfOwner(ctx context.Context, teamID, name string) (string, error) {
	var id string
	var sealed []byte
	err := s.db.QueryRow(ctx, `SELECT s.id, s.sealed FROM secret s JOIN team t ON t.id = s.team_id AND t.owner_id = s.user_id
		WHERE s.team_id = ? AND s.name = ? AND s.project_id = ''`, teamID, db.Clean(name)).Scan(&id, &sealed)
	if db.IsNoRows(err) {
		return "", errs.New(errs.NotFound, "secret_not_found", "The owner of the team has no secret named %s.",
			db.Clean(errs.Clip(name, maxName)))
	}
	if err != nil {
		return "", err
	}
	plain, err := s.box.Open(sealed, sealContext(id))
	return string(plain), err
}

const query = `SELECT id, name, masked, default_available, created_by_agent, project_id, created_at, updated_at FROM secret`

func scan(r db.Row) (x Secret, err error) {
	err = r.Scan(&x.ID, &x.Name, &x.MaskedValue, &x.DefaultAvailable, &x.CreatedByAgent, &x.ProjectID,
		db.Into(&x.CreatedAt), db.Into(&x.UpdatedAt))
	return x, err
}

// OfTeam are the values of all secrets of a team, so that they can be taken out of what leaves it. They are shown to
// nobody.
func (s *Secrets) OfTeam(ctx context.Context, teamID string) ([]string, error) {
	type row struct {
		id     string
		sealed []byte
	}
	all, err := db.Select(ctx, s.db, func(r db.Row) (x row, err error) { return x, r.Scan(&x.id, &x.sealed) },
		`SELECT id, sealed FROM secret WHERE team_id = ? ORDER BY id`, teamID)
	if err != nil {
		return nil, err
	}
	var values []string
	for _, x := range all {
		plain, err := s.box.Open(x.sealed, sealContext(x.id))
		if err != nil {
			return nil, err
		}
		values = append(values, string(plain))
	}
	return values, nil
}
