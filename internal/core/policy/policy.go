// Package policy keeps a team's rules about its assets: whenever an asset comes to match the
// filters of a policy, the policy labels it, deletes it or alerts.
//
// Package asset decides which assets match, with the code that answers lists. This package
// stores the policies, applies them while a run's assets are stored and when a run ends, and
// records as events what they did.
package policy

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Type is what a policy does with matching assets.
type Type string

// The types.
const (
	Alert       Type = "alert"
	Delete      Type = "delete"
	SetLabel    Type = "set_label"
	RemoveLabel Type = "remove_label"
)

// Policy is one rule.
type Policy struct {
	ID         string
	TeamID     string
	Name       string
	Type       Type
	Filters    asset.Filters
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExecutedAt time.Time // when it last did something
	Details
}

// Details is what a policy needs besides its filters.
type Details struct {
	Labels         []string `json:"labels,omitempty"`              // for set_label and remove_label
	AlertConfigs   []string `json:"alerting_config_ids,omitempty"` // for alert
	EnumerationIDs []string `json:"enumeration_ids,omitempty"`     // only assets of these; empty: of all
	Existing       bool     `json:"apply_to_existing,omitempty"`   // also applies to assets older than the policy
}

// Policies is the service.
type Policies struct {
	db       *db.DB
	queue    *queue.Queue // nil: no alerts, and existing assets stay as they are
	assets   *asset.Assets
	settings *setting.Settings
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, assets *asset.Assets, settings *setting.Settings) *Policies {
	return &Policies{d, q, assets, settings, time.Now}
}

const (
	maxPolicies     = 1000 // of a team
	maxEnumerations = 1000 // of a policy
)

// check refuses a policy that cannot work.
func (ps *Policies) check(ctx context.Context, p *Policy) (err error) {
	if p.Name, err = asset.CheckName(p.Name); err != nil {
		return err
	}
	if p.Name == "" {
		p.Name = "Policy of " + ps.now().UTC().Format(time.DateOnly)
	}
	if !slices.Contains([]Type{Alert, Delete, SetLabel, RemoveLabel}, p.Type) {
		return errs.Field("policy_type", "policy_type must be one of alert, delete, set_label, remove_label.")
	}
	if err := p.Filters.Check("policies", ps.now()); err != nil {
		return err
	}
	if p.Labels, err = label.Check(p.Labels); err != nil {
		return err
	}
	if len(p.Labels) == 0 && (p.Type == SetLabel || p.Type == RemoveLabel) {
		return errs.Field("labels", "labels is required for a policy of the type %s.", p.Type)
	}
	if len(p.AlertConfigs) == 0 && p.Type == Alert {
		return errs.Field("alerting_config_ids", "alerting_config_ids is required for a policy of the type alert.")
	}
	if len(p.AlertConfigs) > label.Max || len(p.EnumerationIDs) > maxEnumerations {
		return errs.Field("enumeration_ids", "A policy names at most %d enumerations and %d alerting configurations.",
			maxEnumerations, label.Max)
	}
	for _, id := range p.EnumerationIDs {
		known, err := ps.assets.HasEnumeration(ctx, p.TeamID, id)
		if err != nil {
			return err
		}
		if !known {
			return errs.Field("enumeration_ids", "enumeration_ids names an enumeration that does not exist.")
		}
	}
	if len(p.AlertConfigs) > 0 {
		_, err = ps.settings.Apply(ctx, nil, p.TeamID, setting.Alerting, p.AlertConfigs, false, "alerting_config_ids")
	}
	return err
}

const selectPolicy = `SELECT id, team_id, name, type, filters, details, created_at, updated_at, executed_at FROM asset_policy`

func scanPolicy(r db.Row) (p Policy, err error) {
	err = r.Scan(&p.ID, &p.TeamID, &p.Name, &p.Type, db.Into(&p.Filters), db.Into(&p.Details),
		db.Into(&p.CreatedAt), db.Into(&p.UpdatedAt), db.Into(&p.ExecutedAt))
	return p, err
}

// Create makes a policy of the caller's team from its name, type, filters and details. The type
// is Alert unless given.
func (ps *Policies) Create(ctx context.Context, p Policy) (id string, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return "", err
	}
	if p.Type == "" {
		p.Type = Alert
	}
	p.ID, p.TeamID = ids.New(), c.TeamID
	if err := ps.check(ctx, &p); err != nil {
		return "", err
	}
	return p.ID, ps.db.Tx(ctx, func(tx *db.Tx) error {
		var n int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM asset_policy WHERE team_id = ?`, c.TeamID).Scan(&n); err != nil {
			return err
		}
		if n >= maxPolicies {
			return errs.New(errs.Conflict, "too_many", "A team can have at most %d of these.", maxPolicies)
		}
		now := db.At(ps.now())
		if _, err := tx.Exec(ctx, `INSERT INTO asset_policy (id, team_id, name, type, filters, details, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			p.ID, c.TeamID, p.Name, p.Type, db.Doc(p.Filters), db.Doc(p.Details), now, now); err != nil {
			return err
		}
		return ps.applyExisting(ctx, tx, p)
	})
}

// applyExisting queues a job that applies a policy to existing assets, if it is to be.
func (ps *Policies) applyExisting(ctx context.Context, tx *db.Tx, p Policy) error {
	if !p.Existing || ps.queue == nil {
		return nil
	}
	_, err := ps.queue.Insert(ctx, tx, p.TeamID, RunArgs{p.TeamID, p.ID})
	return err
}

// Update changes a policy of the caller's team. With replace everything is set, and what the type
// needs is required. Otherwise empty fields stay as they are, and labels and alerting
// configurations are added.
func (ps *Policies) Update(ctx context.Context, id string, up Policy, existing *bool, replace bool) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	old, err := ps.Find(ctx, id)
	if err != nil {
		return err
	}
	if replace {
		up.ID, up.TeamID = old.ID, c.TeamID
	} else {
		up = old.merged(up)
	}
	if existing != nil {
		up.Existing = *existing
	}
	if err := ps.check(ctx, &up); err != nil {
		return err
	}
	return ps.db.Tx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE asset_policy SET name = ?, type = ?, filters = ?, details = ?, updated_at = ?
			WHERE id = ? AND team_id = ?`,
			up.Name, up.Type, db.Doc(up.Filters), db.Doc(up.Details), db.At(ps.now()), old.ID, c.TeamID)
		if err == nil && n == 0 {
			err = errs.Missing("policy")
		}
		if err != nil {
			return err
		}
		return ps.applyExisting(ctx, tx, up)
	})
}

// merged is a policy with the fields that another has set.
func (p Policy) merged(up Policy) Policy {
	if up.Name != "" {
		p.Name = up.Name
	}
	if up.Type != "" {
		p.Type = up.Type
	}
	p.Filters = p.Filters.With(up.Filters)
	p.Labels, p.AlertConfigs = asset.Union(p.Labels, up.Labels), asset.Union(p.AlertConfigs, up.AlertConfigs)
	if len(up.EnumerationIDs) > 0 {
		p.EnumerationIDs = up.EnumerationIDs
	}
	return p
}

// Delete deletes a policy of the caller's team, and its events.
func (ps *Policies) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	n, err := ps.db.Exec(ctx, `DELETE FROM asset_policy WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
	if err == nil && n == 0 {
		err = errs.Missing("policy")
	}
	return err
}

// Find finds a policy of the caller's team.
func (ps *Policies) Find(ctx context.Context, id string) (Policy, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Policy{}, err
	}
	p, err := scanPolicy(ps.db.QueryRow(ctx, selectPolicy+` WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID))
	if db.IsNoRows(err) {
		err = errs.Missing("policy")
	}
	return p, err
}

// FindAll lists the policies of the caller's team, the newest first, with their total.
func (ps *Policies) FindAll(ctx context.Context, w page.Window) (found []Policy, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	return db.Page(ctx, ps.db, scanPolicy, selectPolicy, `asset_policy`, where, ` ORDER BY created_at DESC, id`, w)
}
