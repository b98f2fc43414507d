package triage

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/arrival"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// arrivals is how many new findings, and how many that are back, one transaction looks at.
const arrivals = 200

// Arrived lets the rules of a team look at all that has arrived. Each batch moves the cursor in its own transaction:
// when the process dies, the job goes on where it was.
func (ts *Triage) Arrived(ctx context.Context, a arrival.Args) error {
	for more := true; more; {
		err := ts.db.Tx(ctx, func(tx *db.Tx) (err error) {
			more, err = ts.step(ctx, tx, a.TeamID)
			return err
		})
		if err != nil || ctx.Err() != nil {
			return cmpErr(err, ctx.Err())
		}
	}
	return nil
}

// step looks at one batch of what has arrived. Without any, the job is done.
func (ts *Triage) step(ctx context.Context, tx *db.Tx, teamID string) (more bool, err error) {
	if err := ts.findings.Lock(ctx, tx, teamID); err != nil { // so nothing arrives meanwhile
		return false, err
	}
	var has bool
	var lastNo, lastRev, topNo, topRev int64
	err = tx.QueryRow(ctx, `SELECT p.has_rules, p.last_no, p.last_rev, l.last_no, l.last_rev FROM triage_progress p
		JOIN finding_log l ON l.team_id = p.team_id WHERE p.team_id = ?`, teamID).
		Scan(&has, &lastNo, &lastRev, &topNo, &topRev)
	if db.IsNoRows(err) { // the team was deleted
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fresh, err := db.Values[int64](ctx, tx, `SELECT no FROM finding WHERE team_id = ? AND no > ? ORDER BY no LIMIT ?`, teamID,
		lastNo, arrivals)
	if err != nil {
		return false, err
	}
	type change struct{ seq, no int64 }
	reopened, err := db.Select(ctx, tx, func(r db.Row) (c change, err error) { return c, r.Scan(&c.seq, &c.no) },
		`SELECT seq, no FROM finding_change WHERE team_id = ? AND type = 'reopened' AND seq > ? AND actor = ''
		ORDER BY seq LIMIT ?`, teamID, lastRev, arrivals)
	if err != nil {
		return false, err
	}
	if !has || len(fresh)+len(reopened) == 0 {
		_, err = tx.Exec(ctx, `UPDATE triage_progress SET last_no = ?, last_rev = ?, queued_at = NULL WHERE team_id = ?`, topNo,
			topRev, teamID)
		return false, err
	}
	if len(fresh) > 0 {
		lastNo = fresh[len(fresh)-1]
	}
	lastRev = topRev
	if len(reopened) == arrivals {
		lastRev = reopened[arrivals-1].seq
	}
	numbers := slices.Clone(fresh)
	for _, c := range reopened {
		numbers = append(numbers, c.no)
	}
	slices.Sort(numbers)
	if err := ts.look(ctx, tx, teamID, slices.Compact(numbers), func(no int64) bool {
		return slices.ContainsFunc(reopened, func(c change) bool { return c.no == no })
	}); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE triage_progress SET last_no = ?, last_rev = ? WHERE team_id = ?`, lastNo, lastRev, teamID)
	return true, err
}

// look lets the rules of a team look at findings.
func (ts *Triage) look(ctx context.Context, tx *db.Tx, teamID string, numbers []int64,
	isBack func(no int64) bool) error {
	rules, err := ts.rules(ctx, tx, teamID)
	if err != nil {
		return err
	}
	found, err := ts.findings.Load(ctx, tx, teamID, numbers)
	if err != nil {
		return err
	}
	back := map[string]bool{}
	for _, f := range found {
		back[f.Weakness] = back[f.Weakness] || isBack(f.No())
	}
	decided, err := ts.evaluate(ctx, tx, teamID, rules, found, back)
	if err == nil {
		err = ts.apply(ctx, tx, teamID, "", decided)
	}
	return err
}

const (
	sweepEvery = 30 * time.Second
	grace      = 10 * time.Minute // after which a job that was queued is taken for lost
)

// Keep queues jobs that were lost, until ctx ends. It runs on every worker node.
func (ts *Triage) Keep(ctx context.Context) {
	queue.Every(ctx, sweepEvery, ts.logger, "queueing rules of triage", ts.Sweep)
}

// Sweep queues the job of each team whose job was queued long ago and has not ended.
func (ts *Triage) Sweep(ctx context.Context) error {
	now := ts.now()
	late := db.At(now.Add(-grace))
	teams, err := db.Values[string](ctx, ts.db, `SELECT team_id FROM triage_progress WHERE queued_at < ?`, late)
	for _, team := range teams {
		if err != nil {
			break
		}
		err = ts.db.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `UPDATE triage_progress SET queued_at = ? WHERE team_id = ? AND queued_at < ?`, db.At(now), team,
				late)
			if err == nil && n > 0 && ts.queue != nil {
				_, err = ts.queue.Insert(ctx, tx, team, arrival.Args{TeamID: team})
			}
			return err
		})
	}
	return err
}

// NotifyArgs is the job that tells a rule's channels what the rule did in one transaction.
type NotifyArgs struct {
	TeamID string `json:"team_id"`
	RuleID string `json:"rule_id"`
	Batch  string `json:"batch"`
}

// Kind implements queue.Args.
func (NotifyArgs) Kind() string { return "triage.notify" }

// News is what a rule tells.
type News struct {
	RuleName string
	Configs  []string // alerting configurations
	Findings []alert.Vuln
	Total    int
}

// News is what there is to tell; ok is false when the rule was deleted.
func (ts *Triage) News(ctx context.Context, a NotifyArgs) (n News, ok bool, err error) {
	rule, err := ts.rule(ctx, ts.db, a.TeamID, a.RuleID)
	if errs.Is(err, errs.NotFound) {
		return n, false, nil
	}
	if err != nil {
		return n, false, err
	}
	n = News{RuleName: rule.Name, Configs: rule.Set.Notify}
	found, err := db.Select(ctx, ts.db, func(r db.Row) (v alert.Vuln, err error) {
		return v, r.Scan(&v.Name, &v.Severity, &v.Count)
	}, `SELECT f.name, f.severity, count(*) FROM triage_application a JOIN finding f ON f.id = a.finding_id
		WHERE a.team_id = ? AND a.batch = ? AND a.rule_id = ? GROUP BY f.name, f.severity ORDER BY f.name, f.severity`,
		a.TeamID, a.Batch, a.RuleID)
	for _, v := range found {
		n.Total += v.Count
	}
	slices.SortStableFunc(found, func(x, y alert.Vuln) int {
		return slices.Index(finding.Severities, x.Severity) - slices.Index(finding.Severities, y.Severity)
	})
	n.Findings = found
	return n, err == nil && n.Total > 0, err
}

// Application is one rule's application to one weakness.
type Application struct {
	RuleID    string    `json:"rule_id"`
	RuleName  string    `json:"rule_name" doc:"As it was then."`
	Version   int64     `json:"rule_version" doc:"Grows when the rule's definition changes."`
	FindingID string    `json:"vuln_id" doc:"The finding."`
	Effects   []Effect  `json:"effects" doc:"What it did."`
	Actor     string    `json:"run_by,omitempty" doc:"Who ran the rules; absent: the finding arrived."`
	At        time.Time `json:"applied_at"`
}

// Applications lists what a rule of the caller's team did, the newest first, with the total. An empty id: all rules,
// deleted ones too.
func (ts *Triage) Applications(ctx context.Context, ruleID string, w page.Window) ([]Application, int, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	if ruleID != "" {
		rule, err := ts.Rule(ctx, ruleID)
		if err != nil {
			return nil, 0, err
		}
		where.And("rule_id = ?", rule.ID)
	}
	return db.Page(ctx, ts.db, func(r db.Row) (a Application, err error) {
		return a, r.Scan(&a.RuleID, &a.RuleName, &a.Version, &a.FindingID, db.Into(&a.Effects), &a.Actor, db.Into(&a.At))
	}, `SELECT rule_id, rule_name, version, finding_id, effects, actor, at FROM triage_application`, `triage_application`,
		where, ` ORDER BY seq DESC`, w)
}
