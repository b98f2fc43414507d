// Package amend changes weaknesses in the name of a rule, or of an issue of a task: several things at once, in one
// transaction, each with its entry in the timeline. It also says what of a weakness people hold fast.
package amend

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/override"
	"github.com/vedette-sec/vedette/internal/core/finding/tally"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Change is a change of one weakness. Empty fields stay as they are.
type Change struct {
	Status   finding.Status
	Severity string
	Labels   []string // are added
	Rule     string   // the name of the rule, for the timeline
	Actor    string   // an email, or what acts instead of a person; empty: the service
}

// Apply changes the weakness of a finding of a team, in the caller's transaction. NotFound when there is no such
// finding, and Invalid (too_many_severity_mappings) when the team has no room for another severity of its own.
func Apply(ctx context.Context, fs *finding.Findings, tx *db.Tx, teamID string, f finding.Finding, c Change) error {
	by := account.Caller{TeamID: teamID, Email: c.Actor}
	numbers := []int64{f.No()}
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return err
	}
	if c.Rule != "" {
		if err := fs.Note(ctx, tx, teamID, f.Weakness, timeline.Entry{Kind: timeline.RuleApplied, Field: "rule", To: c.Rule,
			Actor: c.Actor}); err != nil {
			return err
		}
	}
	if c.Severity != "" {
		if err := pin(ctx, fs, tx, by, f, c.Severity); err != nil {
			return err
		}
	}
	if len(c.Labels) > 0 {
		if _, err := fs.Edit(ctx, tx, by, numbers, finding.Edit{Column: "labels", Field: timeline.Labels,
			Kind: timeline.LabelsChange, Value: func(old finding.Finding) (from, to string) {
				return listing.Join(old.Labels), listing.Join(slices.Concat(old.Labels, c.Labels))
			}}); err != nil {
			return err
		}
	}
	if c.Status == "" {
		return nil
	}
	return fs.Decide(ctx, tx, teamID, f.ID, c.Status, c.Actor)
}

// pin gives all sightings of a weakness a severity that later sightings of their hashes keep.
func pin(
	ctx context.Context, fs *finding.Findings, tx *db.Tx, by account.Caller, f finding.Finding, severity string,
) (err error) {
	counts, overrides := tally.Counts{}, map[[2]string]finding.Override{}
	if _, err := fs.Edit(ctx, tx, by, []int64{f.No()}, finding.Edit{Column: "severity", Field: timeline.Severity,
		Kind: timeline.SeverityChange, Value: func(old finding.Finding) (from, to string) {
			counts.Add(old.ScanID, old.Severity, -1)
			counts.Add(old.ScanID, severity, 1)
			if old.TemplateID != "" {
				overrides[[2]string{old.TemplateID, override.OfHash(old.ID)}] = finding.Override{TemplateID: old.TemplateID,
					FindingID: old.ID, Original: finding.TemplateSeverity(old.Event), Custom: severity}
			}
			return old.Severity, severity
		}}); err != nil {
		return err
	}
	keys := make([][2]string, 0, len(overrides))
	for key := range overrides {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[1], b[1]) })
	for _, key := range keys {
		if _, err := override.Store(ctx, tx, by.TeamID, overrides[key], db.At(time.Now())); err != nil {
			return err
		}
	}
	return counts.Store(ctx, tx, by.TeamID)
}

// Held is what is held fast of a finding.
type Held struct {
	DecidedBy string // who gave it its status; empty: nobody, or the service
	IsPinned  bool   // it has a severity of its own
}

// HeldOf says for each of some findings of a team what is held fast of it, in the same order.
func HeldOf(ctx context.Context, q db.Querier, teamID string, found []finding.Finding) ([]Held, error) {
	out := make([]Held, len(found))
	if len(found) == 0 {
		return out, nil
	}
	weaknesses, templates := make([]string, len(found)), make([]string, len(found))
	for i, f := range found {
		weaknesses[i], templates[i] = f.Weakness, f.TemplateID
	}
	decided, pinned := map[string]string{}, map[[2]string]bool{}
	w := db.InTeam(teamID, "hash", weaknesses)
	err := db.Each(ctx, q, func(r db.Row) error {
		var weakness, actor string
		err := r.Scan(&weakness, &actor)
		decided[weakness] = actor
		return err
	}, `SELECT hash, actor FROM finding_decision`+w.String(), w.Args...)
	if err != nil {
		return nil, err
	}
	w = db.InTeam(teamID, "template_id", templates)
	err = db.Each(ctx, q, func(r db.Row) error {
		var template, id string
		err := r.Scan(&template, &id)
		pinned[[2]string{template, override.OfHash(id)}] = true
		return err
	}, `SELECT template_id, finding_id FROM finding_severity`+w.String()+` AND finding_id <> ''`, w.Args...)
	for i, f := range found {
		out[i] = Held{decided[f.Weakness], pinned[[2]string{f.TemplateID, override.OfHash(f.ID)}]}
	}
	return out, err
}
