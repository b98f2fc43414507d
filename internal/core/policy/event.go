package policy

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Event is what a policy did in one run, or to the assets that existed before it.
type Event struct {
	ID            string
	TeamID        string
	PolicyID      string
	PolicyName    string
	Type          string // Applied or Alerted
	Status        string // succeeded, failed or pending
	EnumerationID string // empty: existing assets
	Run           int64
	Affected      int
	Sample        []asset.Brief
	ConfigID      string // of an alert: the alerting configuration
	Note          string // why it failed
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// The types of events.
const (
	Applied = "asset_policy_applied"
	Alerted = "asset_policy_alert_sent"
)

const (
	succeeded = "succeeded"
	failed    = "failed"
	pending   = "pending"
)

const selectEvent = `SELECT e.id, e.team_id, e.policy_id, p.name, e.type, e.status, e.enumeration_id, e.run, e.affected, e.sample,
	e.config_id, e.note, e.created_at, e.updated_at FROM asset_policy_event e JOIN asset_policy p ON p.id = e.policy_id`

func scanEvent(r db.Row) (e Event, err error) {
	err = r.Scan(&e.ID, &e.TeamID, &e.PolicyID, &e.PolicyName, &e.Type, &e.Status, &e.EnumerationID, &e.Run, &e.Affected,
		db.Into(&e.Sample), &e.ConfigID, &e.Note, db.Into(&e.CreatedAt), db.Into(&e.UpdatedAt))
	return e, err
}

// Events lists what a policy of the caller's team did, the newest first, with the total.
func (ps *Policies) Events(ctx context.Context, id string, w page.Window) (found []Event, total int, err error) {
	p, err := ps.Find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("e.policy_id = ?", p.ID)
	return db.Page(ctx, ps.db, scanEvent, selectEvent, `asset_policy_event e`, where,
		` ORDER BY e.created_at DESC, e.id DESC`, w)
}

const insertEvent = `INSERT INTO asset_policy_event (id, team_id, policy_id, type, status, enumeration_id, run, affected, sample,
	config_id, note, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?) ON CONFLICT `

// record stores that a policy did something in a run; done in parts, it stays one event.
func (ps *Policies) record(
	ctx context.Context, tx *db.Tx, p Policy, enumerationID string, run int64, m asset.Matches,
) error {
	if m.Count == 0 {
		return nil
	}
	now := db.At(ps.now())
	if _, err := tx.Exec(ctx, insertEvent+`(policy_id, enumeration_id, run, type, config_id)
		DO UPDATE SET affected = asset_policy_event.affected + excluded.affected, updated_at = excluded.updated_at`,
		ids.New(), p.TeamID, p.ID, Applied, succeeded, enumerationID, run, m.Count, db.Doc(m.Sample), "", now,
		now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE asset_policy SET executed_at = ? WHERE id = ?`, now, p.ID)
	return err
}

// AlertArgs is the job that sends the alert of an event.
type AlertArgs struct {
	EventID string `json:"event_id"`
}

// Kind implements queue.Args.
func (AlertArgs) Kind() string { return "asset.alert" }

// alert queues the alerts of a run: one for each alerting policy that matched something and each
// of its configurations.
func (ps *Policies) alert(ctx context.Context, tx *db.Tx, policies []Policy, enumerationID string, run int64) error {
	for _, p := range policies {
		if p.Type != Alert {
			continue
		}
		applied, err := scanEvent(tx.QueryRow(ctx,
			selectEvent+` WHERE e.policy_id = ? AND e.enumeration_id = ? AND e.run = ? AND e.type = ?`,
			p.ID, enumerationID, run, Applied))
		if db.IsNoRows(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, config := range p.AlertConfigs {
			id, now := ids.New(), db.At(ps.now())
			added, err := tx.Exec(ctx, insertEvent+`DO NOTHING`,
				id, p.TeamID, p.ID, Alerted, pending, enumerationID, run, applied.Affected, db.Doc(applied.Sample), config, now,
				now)
			if err == nil && added > 0 && ps.queue != nil {
				_, err = ps.queue.Insert(ctx, tx, p.TeamID, AlertArgs{id})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// FindAlert finds an alert that is still to be sent; ok is false when there is none.
func (ps *Policies) FindAlert(ctx context.Context, eventID string) (e Event, ok bool, err error) {
	e, err = scanEvent(ps.db.QueryRow(ctx, selectEvent+` WHERE e.id = ? AND e.status = ?`, eventID, pending))
	if db.IsNoRows(err) {
		return e, false, nil
	}
	return e, err == nil, err
}

// EndAlert records that an alert was sent or, with a note, why it failed.
func (ps *Policies) EndAlert(ctx context.Context, eventID, note string) error {
	status := succeeded
	if note != "" {
		status = failed
	}
	_, err := ps.db.Exec(ctx, `UPDATE asset_policy_event SET status = ?, note = ?, updated_at = ? WHERE id = ? AND status = ?`,
		status, note, db.At(ps.now()), eventID, pending)
	return err
}
