package triage

import (
	"context"
	"maps"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/amend"
	"github.com/vedette-sec/vedette/internal/core/finding/override"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Decided is what rules do, or would do, to one finding.
type Decided struct {
	Finding finding.Finding
	Planned []Planned
}

// evaluate plans what rules do to findings of a team: for each weakness once, by the first of its findings here. A
// weakness that is back is looked at as if no rule had been applied to it. It writes nothing.
//
//nolint:gocognit // each rule on each finding, in order
func (ts *Triage) evaluate(
	ctx context.Context, q db.Querier, teamID string, rules []Rule, found []finding.Finding, back map[string]bool,
) (out []Decided, err error) {
	if len(found) == 0 || len(rules) == 0 {
		return nil, nil
	}
	numbers := make([]int64, len(found))
	for i, f := range found {
		numbers[i] = f.No()
	}
	matching := make([]map[string]bool, len(rules)) // by rule: weaknesses
	for i, r := range rules {
		matching[i] = map[string]bool{}
		if !r.Enabled {
			continue
		}
		picked, err := ts.findings.Picked(ctx, q, teamID, r.Match.filter(), numbers)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if slices.Contains(picked, f.No()) {
				matching[i][f.Weakness] = true
			}
		}
	}
	done, err := ts.applied(ctx, q, teamID, found)
	if err != nil {
		return nil, err
	}
	known, err := ts.factsOf(ctx, q, teamID, rules, found)
	if err != nil {
		return nil, err
	}
	room, err := count(ctx, q, "finding_severity", teamID)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, f := range found {
		if seen[f.Weakness] {
			continue
		}
		seen[f.Weakness] = true
		known[i].hasRoom = room < override.Max
		planned := plan(rules, known[i], func(rule int) bool { return matching[rule][f.Weakness] }, func(rule int) bool {
			return !back[f.Weakness] && done[appliedKey{f.Weakness, rules[rule].ID, rules[rule].Version}]
		})
		if len(planned) == 0 {
			continue
		}
		out = append(out, Decided{f, planned})
		for _, p := range planned {
			for _, e := range p.Effects {
				if e.Field == FieldSeverity && e.Kept == "" {
					room++
				}
			}
		}
	}
	return out, nil
}

type appliedKey struct {
	weakness, rule string
	version        int64
}

// applied are the rules that were applied to the weaknesses of findings.
func (ts *Triage) applied(
	ctx context.Context, q db.Querier, teamID string, found []finding.Finding,
) (map[appliedKey]bool, error) {
	weaknesses := make([]string, len(found))
	for i, f := range found {
		weaknesses[i] = f.Weakness
	}
	out := map[appliedKey]bool{}
	w := db.InTeam(teamID, "hash", weaknesses)
	return out, db.Each(ctx, q, func(r db.Row) error {
		var k appliedKey
		err := r.Scan(&k.weakness, &k.rule, &k.version)
		out[k] = true
		return err
	}, `SELECT hash, rule_id, version FROM triage_application`+w.String(), w.Args...)
}

// factsOf are the facts about findings, of the same indices.
func (ts *Triage) factsOf(
	ctx context.Context, q db.Querier, teamID string, rules []Rule, found []finding.Finding,
) ([]facts, error) {
	held, err := amend.HeldOf(ctx, q, teamID, found)
	if err != nil {
		return nil, err
	}
	var suggested map[string][]Suggestion
	if slices.ContainsFunc(rules, func(r Rule) bool { return r.Enabled && r.Set.Accept != nil }) {
		if suggested, err = ts.suggested(ctx, q, teamID, found); err != nil {
			return nil, err
		}
	}
	strangers, err := ts.strangers(ctx, q, teamID, rules)
	if err != nil {
		return nil, err
	}
	out := make([]facts, len(found))
	for i, f := range found {
		out[i] = facts{status: f.Status, severity: f.Severity, labels: f.Labels, assignee: f.Assignee,
			strangers: strangers, hasTicket: f.IsTicket, isPinned: held[i].IsPinned, suggestions: suggested[f.Weakness]}
		if isPerson(held[i].DecidedBy) {
			out[i].decidedBy = held[i].DecidedBy
		}
	}
	return out, nil
}

// strangers are those whom rules assign findings to and who are no members any more, or guests.
func (ts *Triage) strangers(ctx context.Context, q db.Querier, teamID string, rules []Rule) (out []string, err error) {
	var named []string
	for _, r := range rules {
		if r.Set.Assignee != "" {
			named = append(named, r.Set.Assignee)
		}
	}
	if len(named) == 0 {
		return nil, nil
	}
	members, err := roster.Find(ctx, q, teamID, named)
	for _, email := range named {
		if m, is := members[email]; !is || m.Role == account.Guest {
			out = append(out, email)
		}
	}
	return out, err
}

// apply does what was planned, in the caller's transaction. actor is the email of who ran the rules; empty: something
// arrived.
func (ts *Triage) apply(ctx context.Context, tx *db.Tx, teamID, actor string, decided []Decided) error {
	batch, told := ids.New(), map[string]bool{}
	for _, d := range decided {
		for _, p := range d.Planned {
			if err := ts.applyOne(ctx, tx, teamID, actor, batch, d.Finding, p); err != nil {
				return err
			}
			told[p.Rule.ID] = told[p.Rule.ID] || len(p.Rule.Set.Notify) > 0
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(told)) {
		if told[rule] && ts.queue != nil {
			if _, err := ts.queue.Insert(ctx, tx, teamID, NotifyArgs{teamID, rule, batch}); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyOne applies one rule to one weakness, and notes it for the audit. A rule that changes nothing because
// others hold
// what it sets is noted, too: it does not come back to the weakness.
func (ts *Triage) applyOne(
	ctx context.Context, tx *db.Tx, teamID, actor, batch string, f finding.Finding, p Planned,
) error {
	changes := 0
	if p.changes() {
		changes = 1
		if err := ts.change(ctx, tx, teamID, f, p); err != nil {
			return err
		}
	}
	now := db.At(ts.now())
	seq, err := db.Value[int64](ctx, tx, `INSERT INTO triage_progress (team_id, has_rules, last_no, last_rev, last_seq)
		VALUES (?, ?, 0, 0, 1) ON CONFLICT (team_id) DO UPDATE SET last_seq = triage_progress.last_seq + 1
		RETURNING last_seq`, teamID, false)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO triage_application (team_id, seq, rule_id, rule_name, version, hash, finding_id,
		batch, effects, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, teamID, seq, p.Rule.ID, p.Rule.Name,
		p.Rule.Version, f.Weakness, f.ID, batch, db.Doc(p.Effects), actor, now); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE triage_rule SET applied = applied + ?, applied_at = ? WHERE id = ? AND team_id = ?`,
		changes, now, p.Rule.ID, teamID)
	return err
}

// change does what a rule changes: the finding with its timeline, the ticket, and the suggestions that were taken.
func (ts *Triage) change(ctx context.Context, tx *db.Tx, teamID string, f finding.Finding, p Planned) error {
	change := amend.Change{Rule: p.Rule.Name, Actor: actorPrefix + p.Rule.Name}
	for _, e := range p.Effects {
		if e.Kept != "" {
			continue
		}
		switch e.Field {
		case FieldStatus:
			change.Status = finding.Status(e.To)
		case FieldSeverity:
			change.Severity = e.To
		case FieldLabels:
			change.Labels = p.Rule.Set.Labels
		case FieldAssignee:
			by := account.Caller{TeamID: teamID, Email: actorPrefix + p.Rule.Name}
			if _, err := ts.works.AssignTo(ctx, tx, by, []string{f.ID}, e.To); err != nil {
				return err
			}
		case FieldTicket:
			if err := ts.file(ctx, tx, teamID, f, p.Rule); err != nil {
				return err
			}
		}
	}
	if err := amend.Apply(ctx, ts.findings, tx, teamID, f, change); err != nil {
		return err
	}
	if p.Rule.Set.Accept == nil {
		return nil
	}
	return ts.take(ctx, tx, teamID, f.Weakness, change)
}

// file queues the filing of a finding in the trackers of a rule's configuration. One that was deleted files nothing.
func (ts *Triage) file(ctx context.Context, tx *db.Tx, teamID string, f finding.Finding, r Rule) error {
	if ts.queue == nil {
		return nil
	}
	applied, err := ts.settings.Apply(ctx, tx, teamID, setting.Reporting, []string{r.Set.Ticket}, false, "")
	if err != nil || len(applied) == 0 {
		return err
	}
	config, err := tracker.Parse(applied[0].Text)
	if err != nil {
		ts.logger.WarnContext(ctx, "a reporting configuration cannot be read", "config_id", r.Set.Ticket, "error", err)
		return nil
	}
	for _, t := range config.Trackers {
		if !t.Wants(f.Severity) {
			continue
		}
		if _, err := ts.queue.Insert(ctx, tx, teamID, finding.FileArgs{TeamID: teamID, FindingID: f.ID,
			ConfigID: applied[0].ID, Provider: t.Provider, SeenIn: "rule/" + r.ID}); err != nil {
			return err
		}
	}
	return nil
}

// Run says which rules look at which findings that are there already.
type Run struct {
	RuleIDs []string   // empty: all that are enabled
	Draft   *Rule      // a rule that is not stored, instead; only dry
	Among   *Selection // nil: the selection of the only rule, or else all findings of the statuses that rules can have
	Before  int64      // the Next of an earlier run; 0: from the newest
	Limit   int        // findings that are looked at
	Dry     bool       // nothing is changed
}

// Result is what rules did, or would do.
type Result struct {
	Looked  int       // at how many findings
	Decided []Decided // those that change, or would be changed if nobody held them
	Next    int64     // the Before of the next run; 0: there are no more
}

// MaxRun is how many findings one run looks at.
const MaxRun = 500

// Run lets rules look at findings of the caller's team, the newest first. What a dry run plans is what a run then does,
// unless something changes in between.
func (ts *Triage) Run(ctx context.Context, r Run) (out Result, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return out, err
	}
	rules, err := ts.rulesOf(ctx, c.TeamID, r)
	if err != nil {
		return out, err
	}
	f := finding.Filter{Before: r.Before}
	switch {
	case r.Among != nil:
		if err := r.Among.check("among"); err != nil {
			return out, err
		}
		f = r.Among.filter()
	case len(rules) == 1:
		f = rules[0].Match.filter()
	}
	f.Before, f.Once = r.Before, true
	p, err := ts.findings.FindPage(ctx, f, nil, page.Window{Limit: r.Limit})
	if err != nil {
		return out, err
	}
	out.Looked, out.Next = len(p.Results), p.Next
	if r.Dry {
		out.Decided, err = ts.evaluate(ctx, ts.db, c.TeamID, rules, p.Results, nil)
		return out, err
	}
	numbers := make([]int64, len(p.Results))
	for i, f := range p.Results {
		numbers[i] = f.No()
	}
	return out, ts.db.Tx(ctx, func(tx *db.Tx) error {
		if err := ts.findings.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		found, err := ts.findings.Load(ctx, tx, c.TeamID, numbers)
		if err != nil {
			return err
		}
		decided, err := ts.evaluate(ctx, tx, c.TeamID, rules, found, nil)
		if err == nil {
			err = ts.apply(ctx, tx, c.TeamID, c.Email, decided)
		}
		out.Decided = decided
		return err
	})
}

// rulesOf are the rules of a run, in their order. Named ones run whether they are enabled or not.
func (ts *Triage) rulesOf(ctx context.Context, teamID string, r Run) ([]Rule, error) {
	if r.Draft != nil {
		draft := *r.Draft
		draft.Enabled, draft.ID = true, ""
		return []Rule{draft}, ts.checkDefinition(ctx, teamID, &draft.Definition)
	}
	rules, err := ts.rules(ctx, ts.db, teamID)
	if err != nil {
		return nil, err
	}
	if len(r.RuleIDs) == 0 {
		return slices.DeleteFunc(rules, func(one Rule) bool { return !one.Enabled }), nil
	}
	for _, id := range r.RuleIDs {
		if !slices.ContainsFunc(rules, func(one Rule) bool { return one.ID == id }) {
			return nil, errs.Missing("rule")
		}
	}
	rules = slices.DeleteFunc(rules, func(one Rule) bool { return !slices.Contains(r.RuleIDs, one.ID) })
	for i := range rules {
		rules[i].Enabled = true
	}
	return rules, nil
}
