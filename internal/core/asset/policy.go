package asset

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// PolicyType is what a policy does with the assets it is about.
type PolicyType string

// The types.
const (
	AlertPolicy       PolicyType = "alert"
	DeletePolicy      PolicyType = "delete"
	SetLabelPolicy    PolicyType = "set_label"
	RemoveLabelPolicy PolicyType = "remove_label"
)

// PolicyTypes are all types.
var PolicyTypes = []PolicyType{AlertPolicy, DeletePolicy, SetLabelPolicy, RemoveLabelPolicy}

// Policy is a rule: whenever an asset comes to be as the filters say, something is done
// with it.
type Policy struct {
	ID         string
	TeamID     string
	Name       string
	Type       PolicyType
	Filters    Filters
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExecutedAt time.Time // when it did something last
	PolicyDetails
}

// PolicyDetails is what a policy needs besides its filters.
type PolicyDetails struct {
	Labels         []string `json:"labels,omitempty"`              // of set_label and remove_label
	AlertConfigs   []string `json:"alerting_config_ids,omitempty"` // of alert
	EnumerationIDs []string `json:"enumeration_ids,omitempty"`     // it is about these only; none: about all
	Existing       bool     `json:"apply_to_existing,omitempty"`   // also what was there when it was made
}

// check refuses a policy that could not do what it says.
func (as *Assets) check(ctx context.Context, q db.Querier, p *Policy) (err error) {
	if p.Name, err = checkName(p.Name); err != nil {
		return err
	}
	if p.Name == "" {
		p.Name = "Policy of " + as.now().UTC().Format(time.DateOnly)
	}
	if !slices.Contains(PolicyTypes, p.Type) {
		return errs.Field("policy_type", "policy_type must be one of alert, delete, set_label, remove_label.")
	}
	if err := as.checkFilters("policies", p.Filters); err != nil {
		return err
	}
	if p.Labels, err = checkLabels(p.Labels); err != nil {
		return err
	}
	if len(p.Labels) == 0 && (p.Type == SetLabelPolicy || p.Type == RemoveLabelPolicy) {
		return errs.Field("labels", "labels is required for a policy of the type %s.", p.Type)
	}
	if len(p.AlertConfigs) == 0 && p.Type == AlertPolicy {
		return errs.Field("alerting_config_ids", "alerting_config_ids is required for a policy of the type alert.")
	}
	if len(p.AlertConfigs) > MaxLabels || len(p.EnumerationIDs) > maxWords {
		return errs.Field("enumeration_ids", "A policy names at most %d enumerations and %d alerting configurations.", maxWords, MaxLabels)
	}
	for _, id := range p.EnumerationIDs {
		known, err := as.Known(ctx, p.TeamID, id)
		if err != nil {
			return err
		}
		if !known {
			return errs.Field("enumeration_ids", "enumeration_ids names an enumeration that does not exist.")
		}
	}
	if len(p.AlertConfigs) > 0 {
		_, err = as.settings.Apply(ctx, q, p.TeamID, setting.Alerting, p.AlertConfigs, false, "alerting_config_ids")
	}
	return err
}

const policyColumns = `id, team_id, name, type, filters, details, created_at, updated_at, executed_at`

func scanPolicy(r db.Row) (p Policy, err error) {
	var filters db.JSON[Filters]
	var details db.JSON[PolicyDetails]
	var created, updated, executed db.Time
	err = r.Scan(&p.ID, &p.TeamID, &p.Name, &p.Type, &filters, &details, &created, &updated, &executed)
	p.Filters, p.PolicyDetails, p.CreatedAt, p.UpdatedAt, p.ExecutedAt = filters.V, details.V, created.Time, updated.Time, executed.Time
	return p, err
}

// CreatePolicy makes a policy of the caller's team: its name, type, filters and details.
// Without a type it is an alert.
func (as *Assets) CreatePolicy(ctx context.Context, p Policy) (id string, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return "", err
	}
	if p.Type == "" {
		p.Type = AlertPolicy
	}
	p.ID, p.TeamID = ids.New(), c.TeamID
	if err := as.check(ctx, nil, &p); err != nil {
		return "", err
	}
	return p.ID, as.db.Tx(ctx, func(tx *db.Tx) error {
		if err := spare(ctx, tx, "asset_policy", c.TeamID); err != nil {
			return err
		}
		now := db.At(as.now())
		if _, err := tx.Exec(ctx, `INSERT INTO asset_policy (id, team_id, name, type, filters, details, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			p.ID, c.TeamID, p.Name, p.Type, db.Doc(p.Filters), db.Doc(p.PolicyDetails), now, now); err != nil {
			return err
		}
		return as.askExisting(ctx, tx, p)
	})
}

// askExisting lets a policy be applied to what is there, by a job.
func (as *Assets) askExisting(ctx context.Context, tx *db.Tx, p Policy) error {
	if !p.Existing || as.queue == nil {
		return nil
	}
	_, err := as.queue.Insert(ctx, tx, PolicyArgs{p.TeamID, p.ID})
	return err
}

// UpdatePolicy changes a policy of the caller's team. With Append, what is empty stays,
// and labels and alerting configurations are added; with Replace, everything is set, and
// what the type needs must be there.
func (as *Assets) UpdatePolicy(ctx context.Context, id string, up Policy, existing *bool, mode UpdateMode) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	old, err := as.Policy(ctx, id)
	if err != nil {
		return err
	}
	up.ID, up.TeamID = old.ID, c.TeamID
	if existing != nil {
		up.Existing = *existing
	}
	if mode == Append {
		up = old.with(up, existing)
	}
	if err := as.check(ctx, nil, &up); err != nil {
		return err
	}
	return as.db.Tx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE asset_policy SET name = ?, type = ?, filters = ?, details = ?, updated_at = ? WHERE id = ? AND team_id = ?`,
			up.Name, up.Type, db.Doc(up.Filters), db.Doc(up.PolicyDetails), db.At(as.now()), old.ID, c.TeamID)
		if err == nil && n == 0 {
			err = errs.Missing("policy")
		}
		if err != nil {
			return err
		}
		return as.askExisting(ctx, tx, up)
	})
}

// with is a policy with what another says.
func (p Policy) with(up Policy, existing *bool) Policy {
	if up.Name != "" {
		p.Name = up.Name
	}
	if up.Type != "" {
		p.Type = up.Type
	}
	p.Filters = p.Filters.With(up.Filters)
	p.Labels, p.AlertConfigs = union(p.Labels, up.Labels), union(p.AlertConfigs, up.AlertConfigs)
	if len(up.EnumerationIDs) > 0 {
		p.EnumerationIDs = up.EnumerationIDs
	}
	if existing != nil {
		p.Existing = *existing
	}
	return p
}

// union is all of both, each once, in order.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// DeletePolicy deletes a policy of the caller's team, and what it says of itself.
func (as *Assets) DeletePolicy(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	n, err := as.db.Exec(ctx, `DELETE FROM asset_policy WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
	if err == nil && n == 0 {
		err = errs.Missing("policy")
	}
	return err
}

// Policy is one policy of the caller's team.
func (as *Assets) Policy(ctx context.Context, id string) (Policy, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Policy{}, err
	}
	p, err := scanPolicy(as.db.QueryRow(ctx, `SELECT `+policyColumns+` FROM asset_policy WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID))
	if db.IsNoRows(err) {
		err = errs.Missing("policy")
	}
	return p, err
}

// Policies are those of the caller's team, the newest first, and how many there are.
func (as *Assets) Policies(ctx context.Context, w page.Window) (found []Policy, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := as.db.QueryRow(ctx, `SELECT count(*) FROM asset_policy WHERE team_id = ?`, c.TeamID).Scan(&total); err != nil {
		return nil, 0, err
	}
	limit, args := db.Limit(w)
	rows, err := as.db.Query(ctx, `SELECT `+policyColumns+` FROM asset_policy WHERE team_id = ? ORDER BY created_at DESC, id`+limit, append([]any{c.TeamID}, args...)...)
	found, err = db.Collect(rows, err, scanPolicy)
	return found, total, err
}

// PolicyEvent is what a policy did in one run, or to what was there when it was made.
type PolicyEvent struct {
	ID            string
	PolicyID      string
	PolicyName    string
	Type          string // one of the words below
	Status        string // succeeded, failed or pending
	EnumerationID string // empty: all that was there
	Run           int64
	Affected      int
	Sample        []Brief
	ConfigID      string // of an alert: where it goes
	Note          string // why it failed
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// The types of events, and their states.
const (
	PolicyApplied = "asset_policy_applied"
	PolicyAlerted = "asset_policy_alert_sent"

	succeeded = "succeeded"
	failed    = "failed"
	pending   = "pending"
)

const eventColumns = `e.id, e.policy_id, p.name, e.type, e.status, e.enumeration_id, e.run, e.affected, e.sample, e.config_id, e.note, e.created_at, e.updated_at`

func scanEvent(r db.Row) (e PolicyEvent, err error) {
	var sample db.JSON[[]Brief]
	var created, updated db.Time
	err = r.Scan(&e.ID, &e.PolicyID, &e.PolicyName, &e.Type, &e.Status, &e.EnumerationID, &e.Run, &e.Affected, &sample, &e.ConfigID, &e.Note, &created, &updated)
	e.Sample, e.CreatedAt, e.UpdatedAt = sample.V, created.Time, updated.Time
	return e, err
}

// PolicyEvents are what a policy of the caller's team did, the newest first, and how much
// there is.
func (as *Assets) PolicyEvents(ctx context.Context, id string, w page.Window) (found []PolicyEvent, total int, err error) {
	p, err := as.Policy(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if err := as.db.QueryRow(ctx, `SELECT count(*) FROM asset_policy_event WHERE policy_id = ?`, p.ID).Scan(&total); err != nil {
		return nil, 0, err
	}
	limit, args := db.Limit(w)
	rows, err := as.db.Query(ctx, `SELECT `+eventColumns+` FROM asset_policy_event e JOIN asset_policy p ON p.id = e.policy_id WHERE e.policy_id = ? ORDER BY e.created_at DESC, e.id DESC`+limit,
		append([]any{p.ID}, args...)...)
	found, err = db.Collect(rows, err, scanEvent)
	return found, total, err
}
