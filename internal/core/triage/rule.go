package triage

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Rule decides about findings that match it.
type Rule struct {
	ID        string
	Name      string
	Position  int // among the rules, from 1
	Enabled   bool
	Version   int64 // grows when Definition changes
	Applied   int   // to how many weaknesses
	AppliedAt time.Time
	CreatedBy string // an email
	CreatedAt time.Time
	UpdatedAt time.Time
	Definition
}

// Definition is what a rule matches and does.
type Definition struct {
	Match Selection `json:"match"`
	Set   Set       `json:"set"`
	Stop  bool      `json:"stop,omitempty"`
}

// Set is what a rule sets; at least one field is there.
type Set struct {
	Status   string   `json:"vuln_status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"The status, unless a person decided one."`
	Severity string   `json:"severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"The severity, unless the finding has one of its own."`
	Assignee string   `json:"assignee,omitempty" maxLength:"254" doc:"The address of a member, who gets what nobody has, and is told."`
	Labels   []string `json:"labels,omitempty" maxItems:"20" doc:"Are added."`
	Ticket   string   `json:"reporting_config_id,omitempty" maxLength:"100" doc:"A reporting configuration, in whose trackers the finding is filed unless a tracker knows it."`
	Notify   []string `json:"alerting_config_ids,omitempty" maxItems:"20" doc:"Alerting configurations that are told."`
	Accept   *Accept  `json:"accept_suggestions,omitempty" doc:"Takes suggestions that are sure enough."`
}

// Accept says which suggestions a rule takes.
type Accept struct {
	MinConfidence float64  `json:"min_confidence" minimum:"0.5" maximum:"1" doc:"The least confidence."`
	Sources       []string `json:"sources,omitempty" maxItems:"2" doc:"Of builtin and model. Without it: builtin."`
	Fields        []string `json:"fields,omitempty" maxItems:"2" doc:"Of vuln_status and severity. Without it: both."`
}

// takes reports whether a suggestion is taken.
func (a Accept) takes(s Suggestion) bool {
	sources := a.Sources
	if len(sources) == 0 {
		sources = []string{SourceBuiltin}
	}
	return float64(s.Confidence) >= a.MinConfidence*100 && slices.Contains(sources, s.Source) &&
		(len(a.Fields) == 0 || slices.Contains(a.Fields, s.Field))
}

const maxRules = 100 // of a team

// checkDefinition refuses a rule that cannot work.
func (ts *Triage) checkDefinition(ctx context.Context, teamID string, d *Definition) (err error) {
	if err := d.Match.check("match"); err != nil {
		return err
	}
	s := &d.Set
	if s.Labels, err = label.Check(s.Labels); err != nil {
		return err
	}
	switch {
	case s.Status == "" && s.Severity == "" && s.Assignee == "" && len(s.Labels)+len(s.Notify) == 0 && s.Ticket == "" && s.Accept == nil:
		return errs.Field("set", "set must say what the rule sets.")
	case s.Status != "" && !slices.Contains(finding.Statuses, finding.Status(s.Status)):
		return errs.Field("set.vuln_status", "set.vuln_status names no status of findings.")
	case s.Severity != "" && !slices.Contains(finding.Severities, s.Severity):
		return errs.Field("set.severity", "set.severity names no severity.")
	}
	if a := s.Accept; a != nil {
		for _, source := range a.Sources {
			if source != SourceBuiltin && source != SourceModel {
				return errs.Field("set.accept_suggestions.sources", "set.accept_suggestions.sources must be of builtin and model.")
			}
		}
		for _, field := range a.Fields {
			if field != FieldStatus && field != FieldSeverity {
				return errs.Field("set.accept_suggestions.fields",
					"set.accept_suggestions.fields must be of vuln_status and severity.")
			}
		}
	}
	if s.Assignee != "" {
		m, err := roster.Worker(ctx, ts.db, teamID, "set.assignee", s.Assignee)
		if err != nil {
			return err
		}
		s.Assignee = m.Email
	}
	if s.Ticket != "" {
		if _, err := ts.settings.Apply(ctx, nil, teamID, setting.Reporting, []string{s.Ticket}, false,
			"set.reporting_config_id"); err != nil {
			return err
		}
	}
	if len(s.Notify) > 0 {
		_, err = ts.settings.Apply(ctx, nil, teamID, setting.Alerting, s.Notify, false, "set.alerting_config_ids")
	}
	return err
}

const ruleColumns = `id, name, position, enabled, version, rule, applied, applied_at, created_by, created_at, updated_at`

func scanRule(r db.Row) (o Rule, err error) {
	return o, r.Scan(
		&o.ID,
		&o.Name,
		&o.Position,
		&o.Enabled,
		&o.Version,
		db.Into(&o.Definition),
		&o.Applied,
		db.Into(&o.AppliedAt),
		&o.CreatedBy,
		db.Into(&o.CreatedAt),
		db.Into(&o.UpdatedAt),
	)
}

// Rules are those of the caller's team, in their order.
func (ts *Triage) Rules(ctx context.Context) ([]Rule, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	return ts.rules(ctx, ts.db, c.TeamID)
}

func (ts *Triage) rules(ctx context.Context, q db.Querier, teamID string) ([]Rule, error) {
	return db.Select(ctx, q, scanRule, `SELECT `+ruleColumns+` FROM triage_rule WHERE team_id = ? ORDER BY position, id`,
		teamID)
}

// Rule is a rule of the caller's team.
func (ts *Triage) Rule(ctx context.Context, id string) (Rule, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return Rule{}, err
	}
	return ts.rule(ctx, ts.db, c.TeamID, id)
}

func (ts *Triage) rule(ctx context.Context, q db.Querier, teamID, id string) (Rule, error) {
	r, err := scanRule(
		q.QueryRow(ctx, `SELECT `+ruleColumns+` FROM triage_rule WHERE id = ? AND team_id = ?`, db.Clean(id),
			teamID),
	)
	return r, db.OrMissing(err, "rule")
}

// CreateRule makes a rule, the last in the order. It needs Name and Definition; Enabled counts.
func (ts *Triage) CreateRule(ctx context.Context, r Rule) (Rule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return r, err
	}
	if r.Name, err = checkName(r.Name); err != nil {
		return r, err
	}
	if err := ts.checkDefinition(ctx, c.TeamID, &r.Definition); err != nil {
		return r, err
	}
	err = ts.changeRules(ctx, c.TeamID, func(tx *db.Tx) error {
		if n, err := count(ctx, tx, "triage_rule", c.TeamID); err != nil || n >= maxRules {
			return cmpErr(err, tooMany(maxRules, "rules"))
		}
		now := db.At(ts.now())
		r.ID, r.Version, r.CreatedBy, r.CreatedAt, r.UpdatedAt = ids.New(), 1, c.Email, now.Time, now.Time
		r.Position, err = db.Value[int](
			ctx,
			tx,
			`INSERT INTO triage_rule (id, team_id, name, position, enabled, version, rule,
			created_by, created_at, updated_at) VALUES (?, ?, ?,
			(SELECT coalesce(max(position), 0) + 1 FROM triage_rule WHERE team_id = ?), ?, ?, ?, ?, ?, ?) RETURNING position`,
			r.ID,
			c.TeamID,
			r.Name,
			c.TeamID,
			r.Enabled,
			r.Version,
			db.Doc(r.Definition),
			c.Email,
			now,
			now,
		)
		return err
	})
	return r, err
}

// cmpErr is err, or else the other error.
func cmpErr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// RuleUpdate changes a rule; nil fields stay as they are.
type RuleUpdate struct {
	Name    *string
	Enabled *bool
	Match   *Selection
	Set     *Set
	Stop    *bool
}

// UpdateRule changes a rule of the caller's team. One whose definition changes may be applied again to what it was
// applied to.
func (ts *Triage) UpdateRule(ctx context.Context, id string, up RuleUpdate) (r Rule, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return r, err
	}
	err = ts.changeRules(ctx, c.TeamID, func(tx *db.Tx) (err error) {
		if r, err = ts.rule(ctx, tx, c.TeamID, id); err != nil {
			return err
		}
		if up.Name != nil {
			if r.Name, err = checkName(*up.Name); err != nil {
				return err
			}
		}
		if up.Enabled != nil {
			r.Enabled = *up.Enabled
		}
		if up.Match != nil || up.Set != nil || up.Stop != nil {
			r.Version++
			if up.Match != nil {
				r.Match = *up.Match
			}
			if up.Set != nil {
				r.Set = *up.Set
			}
			if up.Stop != nil {
				r.Stop = *up.Stop
			}
			if err := ts.checkDefinition(ctx, c.TeamID, &r.Definition); err != nil {
				return err
			}
		}
		now := db.At(ts.now())
		r.UpdatedAt = now.Time
		_, err = tx.Exec(ctx, `UPDATE triage_rule SET name = ?, enabled = ?, version = ?, rule = ?, updated_at = ?
			WHERE id = ? AND team_id = ?`, r.Name, r.Enabled, r.Version, db.Doc(r.Definition), now, r.ID, c.TeamID)
		return err
	})
	return r, err
}

// DeleteRule deletes a rule of the caller's team. What it did stays, and its applications stay in the audit.
func (ts *Triage) DeleteRule(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return ts.changeRules(ctx, c.TeamID, func(tx *db.Tx) error {
		return db.ExecOr(ctx, tx, errs.Missing("rule"), `DELETE FROM triage_rule WHERE id = ? AND team_id = ?`, db.Clean(id),
			c.TeamID)
	})
}

// OrderRules puts the rules of the caller's team in an order; all of them are named once.
func (ts *Triage) OrderRules(ctx context.Context, order []string) ([]Rule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return nil, err
	}
	err = ts.changeRules(ctx, c.TeamID, func(tx *db.Tx) error {
		have, err := db.Values[string](ctx, tx, `SELECT id FROM triage_rule WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		slices.Sort(have)
		if !slices.Equal(have, slices.Sorted(slices.Values(order))) {
			return errs.Field("rule_ids", "rule_ids must name each rule of your team once.")
		}
		for i, id := range order {
			if _, err := tx.Exec(ctx, `UPDATE triage_rule SET position = ? WHERE id = ? AND team_id = ?`, i+1, id,
				c.TeamID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ts.rules(ctx, ts.db, c.TeamID)
}

// changeRules changes rules of a team. When it gets its first enabled one, rules begin to look at what arrives from
// then
// on; without one, they end.
func (ts *Triage) changeRules(ctx context.Context, teamID string, change func(tx *db.Tx) error) error {
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if err := ts.findings.Lock(ctx, tx, teamID); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		enabled, err := db.Value[int](ctx, tx, `SELECT count(*) FROM triage_rule WHERE team_id = ? AND enabled`, teamID)
		if err != nil {
			return err
		}
		var no, rev int64
		if err := tx.QueryRow(ctx, `SELECT last_no, last_rev FROM finding_log WHERE team_id = ?`, teamID).
			Scan(&no, &rev); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO triage_progress (team_id, has_rules, last_no, last_rev) VALUES (?, ?, ?, ?)
			ON CONFLICT (team_id) DO UPDATE SET has_rules = excluded.has_rules,
			last_no = CASE WHEN triage_progress.has_rules THEN triage_progress.last_no ELSE excluded.last_no END,
			last_rev = CASE WHEN triage_progress.has_rules THEN triage_progress.last_rev ELSE excluded.last_rev END`,
			teamID, enabled > 0, no, rev)
		return err
	})
}
