package policy

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// forEnumeration lists the policies about an enumeration, the oldest first.
func (ps *Policies) forEnumeration(ctx context.Context, tx *db.Tx, teamID, enumerationID string) ([]Policy, error) {
	all, err := db.Select(ctx, tx, scanPolicy, selectPolicy+` WHERE team_id = ? ORDER BY created_at, id`, teamID)
	return slices.DeleteFunc(all, func(p Policy) bool {
		return len(p.EnumerationIDs) > 0 && !slices.Contains(p.EnumerationIDs, enumerationID)
	}), err
}

// rule is what a policy does to assets that match a filter.
func (p Policy) rule(f asset.Filter) asset.Rule {
	r := asset.Rule{Filter: f, Delete: p.Type == Delete}
	switch p.Type {
	case SetLabel:
		r.AddLabels = p.Labels
	case RemoveLabel:
		r.RemoveLabels = p.Labels
	}
	return r
}

// Store stores what a run saw, and applies the policies to assets that came to match. See
// asset.Store.
func (ps *Policies) Store(ctx context.Context, tx *db.Tx, ready asset.Prepared) (asset.Observed, error) {
	s := ready.Seen
	all, err := ps.forEnumeration(ctx, tx, s.TeamID, s.EnumerationID)
	if err != nil {
		return asset.Observed{}, err
	}
	var policies []Policy
	var rules []asset.Rule
	for _, p := range all {
		f, err := p.Filters.Parse(ps.now())
		if err == nil && f.Unseen.IsZero() { // EndRun applies the others
			policies, rules = append(policies, p), append(rules, p.rule(f))
		}
	}
	o, err := ps.assets.Store(ctx, tx, ready, rules...)
	for i, p := range policies {
		if err == nil {
			err = ps.record(ctx, tx, p, s.EnumerationID, s.Run, o.Matches[i])
		}
	}
	return o, err
}

// EndRun ends a run in the inventory, applies the policies about assets that have not been seen
// for some time, and queues the alerts of the run.
func (ps *Policies) EndRun(ctx context.Context, tx *db.Tx, e asset.End) error {
	ended, err := ps.assets.EndRun(ctx, tx, e)
	if err != nil || !ended {
		return err
	}
	policies, err := ps.forEnumeration(ctx, tx, e.TeamID, e.EnumerationID)
	if err != nil {
		return err
	}
	for _, p := range policies {
		f, err := p.Filters.Parse(e.At)
		if err != nil || f.Unseen.IsZero() || !e.Covered {
			continue
		}
		numbers, err := ps.assets.Unseen(ctx, e, f)
		if err != nil {
			return err
		}
		if err := ps.apply(ctx, tx, p, numbers, e.EnumerationID, e.Run); err != nil {
			return err
		}
	}
	return ps.alert(ctx, tx, policies, e.EnumerationID, e.Run)
}

func (ps *Policies) apply(
	ctx context.Context, tx *db.Tx, p Policy, numbers []int64, enumerationID string, run int64,
) error {
	m, err := ps.assets.Apply(ctx, tx, p.TeamID, p.rule(asset.Filter{}), numbers)
	if err != nil {
		return err
	}
	return ps.record(ctx, tx, p, enumerationID, run, m)
}

// RunArgs is the job that applies a policy to existing assets.
type RunArgs struct {
	TeamID   string `json:"team_id"`
	PolicyID string `json:"policy_id"`
}

// Kind implements queue.Args.
func (RunArgs) Kind() string { return "asset.policy" }

// batchSize is how many assets one transaction of Run changes.
const batchSize = 500

// Run does the job of RunArgs. Run again, it changes nothing more.
func (ps *Policies) Run(ctx context.Context, job queue.Job[RunArgs]) error {
	return ps.run(ctx, job.Args)
}

func (ps *Policies) run(ctx context.Context, a RunArgs) error {
	p, err := scanPolicy(ps.db.QueryRow(ctx, selectPolicy+` WHERE id = ? AND team_id = ?`, a.PolicyID, a.TeamID))
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := p.Filters.Parse(ps.now())
	if err != nil {
		return queue.Abandon(err)
	}
	if len(p.EnumerationIDs) > 0 {
		f.And = append(f.And, asset.Filter{Enumerations: p.EnumerationIDs})
	}
	numbers, err := ps.assets.Numbers(ctx, a.TeamID, f)
	if err != nil {
		return err
	}
	once := p.UpdatedAt.UnixMicro() // as the run, so that all parts are one event
	for part := range slices.Chunk(numbers, batchSize) {
		if err := ps.db.Tx(ctx, func(tx *db.Tx) error { return ps.apply(ctx, tx, p, part, "", once) }); err != nil {
			return err
		}
	}
	return ps.db.Tx(ctx, func(tx *db.Tx) error { return ps.alert(ctx, tx, []Policy{p}, "", once) })
}
