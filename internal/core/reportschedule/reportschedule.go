// Package reportschedule makes reports of findings again and again: weekly or monthly, at a time of day in a time zone.
//
// A schedule says what is in a report (a filter, a format, a look), when it is made, how long it is kept, and who is
// told. Worker nodes look for what is due every few seconds. One transaction sets the next time of a schedule and
// queues an export (package core/export), so that each time makes one report, however many nodes there are. Times that
// passed while no worker ran make one report together. It is made with the rights of who set the schedule last, as they
// are then. When the file is there, the channels of the named alerting configurations are told (package jobs); when it
// could not be made, so are the team's global ones.
package reportschedule

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Spec is what a schedule makes.
type Spec struct {
	Format    export.Format
	Filter    finding.Filter // without times
	Found     string         // first found in this time before the report, as page.Since names it; empty: at any time
	Style     report.Style   // of a report; empty fields are those of the team
	Rule      Rule
	ConfigIDs []string // alerting configurations whose channels are told
	KeepDays  int      // how long a report is kept
}

// Schedule makes reports.
type Schedule struct {
	Spec

	ID        string
	TeamID    string
	UserID    string
	Owner     string // email; empty: the account is gone
	Name      string
	Active    bool
	Runs      int64
	LastRun   time.Time    // zero: never
	ExportID  string       // the last report; empty: none
	State     export.State // of the last report; empty: there is none any more
	Note      string       // why the last time made none
	NextRun   time.Time    // zero: it is off
	CreatedAt time.Time
	UpdatedAt time.Time
}

const (
	maxSchedules = 50 // of a team
	maxConfigs   = 20 // of a schedule
)

// Schedules is the service of reports' schedules.
type Schedules struct {
	db       *db.DB
	queue    *queue.Queue
	accounts *account.Accounts
	exports  *export.Exports
	settings *setting.Settings
	notices  *notification.Notifications
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, accounts *account.Accounts, exports *export.Exports, settings *setting.Settings,
	notices *notification.Notifications, logger *slog.Logger,
) *Schedules {
	return &Schedules{d, q, accounts, exports, settings, notices, logger, time.Now}
}

const query = `SELECT s.id, s.team_id, s.user_id, COALESCE(u.email, ''), s.name, s.active, s.spec, s.runs, s.last_run,
	s.last_export_id, COALESCE(e.state, ''), s.note, s.next_run, s.created_at, s.updated_at FROM report_schedule s
	LEFT JOIN user_account u ON u.id = s.user_id LEFT JOIN export e ON e.id = s.last_export_id`

func scan(r db.Row) (s Schedule, err error) {
	err = r.Scan(&s.ID, &s.TeamID, &s.UserID, &s.Owner, &s.Name, &s.Active, db.Into(&s.Spec), &s.Runs,
		db.Into(&s.LastRun), &s.ExportID, &s.State, &s.Note, db.Into(&s.NextRun), db.Into(&s.CreatedAt),
		db.Into(&s.UpdatedAt))
	return s, err
}

// FindAll are the schedules of the caller's team, in the order in which they were made.
func (ss *Schedules) FindAll(ctx context.Context) ([]Schedule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, ss.db, scan, query+` WHERE s.team_id = ? ORDER BY s.created_at, s.id`, c.TeamID)
}

// Find is a schedule of the caller's team.
func (ss *Schedules) Find(ctx context.Context, id string) (Schedule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Schedule{}, err
	}
	s, err := scan(ss.db.QueryRow(ctx, query+` WHERE s.id = ? AND s.team_id = ?`, db.Clean(id), c.TeamID))
	return s, db.OrMissing(err, "report_schedule")
}

// Create makes a schedule of the caller's team. Invalid names the field.
func (ss *Schedules) Create(ctx context.Context, name string, active bool, spec Spec) (Schedule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{ID: ids.New(), TeamID: c.TeamID, CreatedAt: ss.now()}
	if err := ss.set(ctx, c, &s, name, active, spec); err != nil {
		return s, err
	}
	return s, ss.db.Tx(ctx, func(tx *db.Tx) error {
		// The team's row is locked, so that two requests cannot both add the last schedule that is allowed.
		if _, err := tx.Exec(ctx, `UPDATE team SET id = id WHERE id = ?`, c.TeamID); err != nil {
			return err
		}
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM report_schedule WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		if count >= maxSchedules {
			return errs.New(errs.Conflict, "too_many_schedules", "There are %d schedules; delete one first.", count)
		}
		_, err = tx.Exec(ctx, `INSERT INTO report_schedule (id, team_id, user_id, name, active, spec, next_run, created_at,
			updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, s.ID, s.TeamID, s.UserID, s.Name, s.Active, db.Doc(s.Spec),
			moment(s.NextRun), db.At(s.CreatedAt), db.At(s.UpdatedAt))
		return err
	})
}

// Replace sets a schedule of the caller's team anew; its reports are made with the caller's rights from then on.
func (ss *Schedules) Replace(ctx context.Context, id, name string, active bool, spec Spec) (Schedule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Schedule{}, err
	}
	s, err := ss.Find(ctx, id)
	if err != nil {
		return s, err
	}
	if err := ss.set(ctx, c, &s, name, active, spec); err != nil {
		return s, err
	}
	return s, db.ExecOr(ctx, ss.db, errs.Missing("report_schedule"), `UPDATE report_schedule SET user_id = ?, name = ?,
		active = ?, spec = ?, next_run = ?, updated_at = ? WHERE id = ? AND team_id = ?`, s.UserID, s.Name, s.Active,
		db.Doc(s.Spec), moment(s.NextRun), db.At(s.UpdatedAt), s.ID, c.TeamID)
}

// set gives a schedule what a caller says, and its next time.
func (ss *Schedules) set(
	ctx context.Context, c account.Caller, s *Schedule, name string, active bool, spec Spec,
) error {
	s.UserID, s.Owner, s.Name, s.Active, s.Spec = c.UserID, c.Email, db.Clean(strings.TrimSpace(name)), active, spec
	s.UpdatedAt, s.NextRun = ss.now(), time.Time{}
	if s.Name == "" {
		return errs.Field("name", "name is required: what the report is called.")
	}
	if err := s.Style.Check("report."); err != nil {
		return err
	}
	if len(s.ConfigIDs) > maxConfigs {
		return errs.Field("alert_config_ids", "alert_config_ids has at most %d configurations.", maxConfigs)
	}
	for _, id := range s.ConfigIDs {
		found, err := ss.settings.ByID(ctx, id)
		if errs.Is(err, errs.NotFound) || err == nil && found.Type != setting.Alerting {
			return errs.Field("alert_config_ids",
				"alert_config_ids names no alerting configuration of your team: %.100q.", id)
		}
		if err != nil {
			return err
		}
	}
	next, err := s.Rule.Next(s.UpdatedAt)
	if active {
		s.NextRun = next
	}
	return err
}

// Delete deletes a schedule of the caller's team, and what was told of it. Its reports stay until they expire.
func (ss *Schedules) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		if err := db.ExecOr(ctx, tx, errs.Missing("report_schedule"),
			`DELETE FROM report_schedule WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID); err != nil {
			return err
		}
		return ss.notices.Delete(ctx, tx, notification.OfReport, id)
	})
}

// moment is a time in a column that may be NULL.
func moment(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return db.At(at)
}
