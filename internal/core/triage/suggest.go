package triage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/amend"
	"github.com/vedette-sec/vedette/internal/infra/cvss"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Where suggestions come from.
const (
	SourceBuiltin = "builtin"
	SourceModel   = "model"
)

// The states of a suggestion.
const (
	SuggestionOpen      = "open"
	SuggestionAccepted  = "accepted"
	SuggestionDismissed = "dismissed"
	SuggestionOutdated  = "outdated" // another took its place, or the finding is what it suggests
)

// SuggestionStates are all states.
var SuggestionStates = []string{SuggestionOpen, SuggestionAccepted, SuggestionDismissed, SuggestionOutdated}

// Suggestion is what could be decided about a finding, and why. Nothing is changed by it until a person accepts
// it, or a
// rule that says so.
type Suggestion struct {
	ID         string
	FindingID  string
	Weakness   string
	Field      string // FieldStatus or FieldSeverity
	Value      string
	Reason     string
	Confidence int    // percent
	Source     string // SourceBuiltin or SourceModel
	By         string // the built-in rule, or the model
	State      string
	EndedBy    string // an email, or the name of a rule
	CreatedAt  time.Time
	EndedAt    time.Time
}

// The built-in rules of suggestions.
const (
	byPrecedent = "precedent"     // what people decided about the same check
	byScore     = "cvss_score"    // the severity that a CVSS score stands for
	byKind      = "informational" // what it describes is no weakness
)

// maxPrecedents is how many findings of a check are looked at for each status.
const maxPrecedents = 200

// tally are the decisions of people about the findings of one check, by status.
type tally map[finding.Status]int

// suggested are the suggestions for findings, by weakness: those of the built-in rules, and open ones of models.
func (ts *Triage) suggested(
	ctx context.Context, q db.Querier, teamID string, found []finding.Finding,
) (map[string][]Suggestion, error) {
	out, precedents := map[string][]Suggestion{}, map[string]tally{}
	var weaknesses []string
	for _, f := range found {
		if _, known := precedents[f.TemplateID]; !known {
			var err error
			if precedents[f.TemplateID], err = ts.precedents(ctx, q, teamID, f.TemplateID); err != nil {
				return nil, err
			}
		}
		if out[f.Weakness] == nil {
			weaknesses = append(weaknesses, f.Weakness)
			out[f.Weakness] = builtin(f, precedents[f.TemplateID])
		}
	}
	if len(weaknesses) == 0 {
		return out, nil
	}
	w := db.InTeam(teamID, "hash", weaknesses)
	w.And("state = ? AND source = ?", SuggestionOpen, SourceModel)
	stored, err := db.Select(ctx, q, scanSuggestion, `SELECT `+suggestionColumns+` FROM triage_suggestion`+w.String()+
		` ORDER BY id`, w.Args...)
	for _, s := range stored {
		out[s.Weakness] = append(out[s.Weakness], s)
	}
	for _, all := range out {
		slices.SortStableFunc(all, func(a, b Suggestion) int { return b.Confidence - a.Confidence })
	}
	return out, err
}

// precedents counts what people decided about weaknesses that a check has found.
func (ts *Triage) precedents(ctx context.Context, q db.Querier, teamID, templateID string) (tally, error) {
	if templateID == "" {
		return nil, nil
	}
	out := tally{}
	return out, db.Each(ctx, q, func(r db.Row) error {
		var status finding.Status
		var actor string
		err := r.Scan(&status, &actor)
		if isPerson(actor) {
			out[status]++
		}
		return err
	}, `SELECT d.status, d.actor FROM finding f JOIN finding_decision d ON d.team_id = f.team_id
		AND d.hash = CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END
		WHERE f.team_id = ? AND f.template_id = ? AND NOT f.is_repeat AND d.actor <> '' ORDER BY d.at DESC LIMIT ?`, teamID,
		templateID, maxPrecedents)
}

// builtin are the suggestions of the built-in rules for a finding.
func builtin(f finding.Finding, decided tally) []Suggestion {
	out := []Suggestion{}
	add := func(by, field, value, reason string, confidence int) {
		out = append(out, Suggestion{FindingID: f.ID, Weakness: f.Weakness, Field: field, Value: value, Reason: reason,
			Confidence: confidence, Source: SourceBuiltin, By: by, State: SuggestionOpen})
	}
	total := 0
	for _, n := range decided {
		total += n
	}
	for _, status := range []finding.Status{finding.FalsePositive, finding.AcceptedRisk, finding.Duplicate} {
		if n := decided[status]; f.Status == finding.Open && n >= minPrecedents && float64(n) >= mostly*float64(total) {
			add(byPrecedent, FieldStatus, string(status), fmt.Sprintf("People decided about %d other findings of %s, and %d of them are %s.",
				total, f.TemplateID, n, status), lowerBound(n, total))
			break
		}
	}
	if c := f.Event.Info.Classification; c != nil && c.CVSSScore > 0 {
		if severity := cvss.Rating(c.CVSSScore); severity != f.Severity {
			confidence := 80
			if strings.HasPrefix(c.CVSSMetrics, "CVSS:") {
				confidence = 90
			}
			add(byScore, FieldSeverity, severity, fmt.Sprintf("Its CVSS score is %.1f, which is %s; its severity is %s.",
				c.CVSSScore, severity, f.Severity), confidence)
		}
	}
	if f.Severity == "info" && f.Status == finding.Open && len(out) == 0 &&
		slices.ContainsFunc(f.Tags, func(t string) bool { return t == "tech" || t == "detect" || t == "discovery" }) {
		add(byKind, FieldStatus, string(finding.Triaged), "It describes what runs there, and names no weakness.", 60)
	}
	return out
}

const (
	minPrecedents = 3
	mostly        = 0.8
)

// lowerBound is the lower end of Wilson's 95 % interval for a share of n in total, in percent.
func lowerBound(n, total int) int {
	const z = 1.96
	share, all := float64(n)/float64(total), float64(total)
	middle := share + z*z/(2*all)
	width := z * math.Sqrt(share*(1-share)/all+z*z/(4*all*all))
	return int((middle - width) / (1 + z*z/all) * 100)
}

const suggestionColumns = `id, hash, finding_id, field, value, reason, confidence, source, by_what, state, ended_by, created_at,
	ended_at`

func scanSuggestion(r db.Row) (s Suggestion, err error) {
	return s, r.Scan(&s.ID, &s.Weakness, &s.FindingID, &s.Field, &s.Value, &s.Reason, &s.Confidence, &s.Source, &s.By,
		&s.State, &s.EndedBy, db.Into(&s.CreatedAt), db.Into(&s.EndedAt))
}

// MaxSuggested is for how many findings suggestions are made at once.
const MaxSuggested = 100

// Suggest makes suggestions for findings of the caller's team, with the team's model if withModel is set, and stores
// them in place of open ones for the same. It gives them, the surest first. NotFound when a finding is not the team's.
func (ts *Triage) Suggest(ctx context.Context, findingIDs []string, withModel bool) ([]Suggestion, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return nil, err
	}
	if len(findingIDs) > MaxSuggested {
		return nil, errs.Field("vuln_ids", "vuln_ids must name at most %d findings.", MaxSuggested)
	}
	var found []finding.Finding
	precedents := map[string]tally{}
	made := []Suggestion{}
	for _, id := range findingIDs {
		f, err := ts.findings.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(found, func(o finding.Finding) bool { return o.Weakness == f.Weakness }) {
			continue
		}
		found = append(found, f)
		if precedents[f.TemplateID] == nil {
			if precedents[f.TemplateID], err = ts.precedents(ctx, ts.db, c.TeamID, f.TemplateID); err != nil {
				return nil, err
			}
		}
		made = append(made, builtin(f, precedents[f.TemplateID])...)
	}
	if withModel {
		asked, err := ts.ask(ctx, c, found)
		if err != nil {
			return nil, err
		}
		made = append(made, asked...)
	}
	return ts.store(ctx, c.TeamID, found, withModel, made)
}

// store stores suggestions in place of the open ones of the same sources.
func (ts *Triage) store(
	ctx context.Context, teamID string, found []finding.Finding, withModel bool, made []Suggestion,
) ([]Suggestion, error) {
	now := db.At(ts.now())
	err := ts.db.Tx(ctx, func(tx *db.Tx) error {
		if err := ts.findings.Lock(ctx, tx, teamID); err != nil {
			return err
		}
		sources := []string{SourceBuiltin}
		if withModel {
			sources = append(sources, SourceModel)
		}
		for _, f := range found {
			w := db.InTeam(teamID, "source", sources)
			w.And("hash = ? AND state = ?", f.Weakness, SuggestionOpen)
			if _, err := tx.Exec(ctx, `UPDATE triage_suggestion SET state = ?, ended_at = ?`+w.String(),
				append([]any{SuggestionOutdated, now}, w.Args...)...); err != nil {
				return err
			}
		}
		kept := made[:0]
		for _, s := range made {
			s.ID, s.CreatedAt = ids.New(), now.Time
			n, err := tx.Exec(ctx, `INSERT INTO triage_suggestion (id, team_id, hash, finding_id, field, value, reason, confidence,
				source, by_what, state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, s.ID, teamID,
				s.Weakness, s.FindingID, s.Field, s.Value, db.Clean(s.Reason), s.Confidence, s.Source, db.Clean(s.By), s.State, now)
			if err != nil {
				return err
			}
			if n > 0 { // else the source has a surer one for the field
				kept = append(kept, s)
			}
		}
		made = kept
		return nil
	})
	slices.SortStableFunc(made, func(a, b Suggestion) int { return b.Confidence - a.Confidence })
	return made, err
}

// SuggestionFilter picks suggestions; empty fields pick all.
type SuggestionFilter struct {
	State, Source, FindingID string
}

// Suggestions lists suggestions of the caller's team, the newest first, with the total.
func (ts *Triage) Suggestions(ctx context.Context, f SuggestionFilter, w page.Window) ([]Suggestion, int, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	db.Equal(&where, "state", f.State)
	db.Equal(&where, "source", f.Source)
	if f.FindingID != "" {
		one, err := ts.findings.Find(ctx, f.FindingID)
		if err != nil {
			return nil, 0, err
		}
		where.And("hash = ?", one.Weakness)
	}
	return db.Page(ctx, ts.db, scanSuggestion, `SELECT `+suggestionColumns+` FROM triage_suggestion`, `triage_suggestion`, where,
		` ORDER BY id DESC`, w)
}

// EndSuggestion accepts an open suggestion of the caller's team, which changes the finding as the caller, or dismisses
// it. Conflict (suggestion_ended) when it is not open.
func (ts *Triage) EndSuggestion(ctx context.Context, id string, accept bool) (s Suggestion, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return s, err
	}
	return s, ts.db.Tx(ctx, func(tx *db.Tx) error {
		if err := ts.findings.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		s, err = scanSuggestion(tx.QueryRow(ctx, `SELECT `+suggestionColumns+` FROM triage_suggestion
			WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID))
		if err != nil {
			return db.OrMissing(err, "suggestion")
		}
		if s.State != SuggestionOpen {
			return errs.New(errs.Conflict, "suggestion_ended", "The suggestion was %s before.", s.State)
		}
		s.State, s.EndedBy, s.EndedAt = SuggestionDismissed, c.Email, db.At(ts.now()).Time
		if accept {
			s.State = SuggestionAccepted
			f, err := ts.findings.OfWeakness(ctx, tx, c.TeamID, s.Weakness)
			if err != nil {
				return err
			}
			change := amend.Change{Actor: c.Email, Rule: fmt.Sprintf("suggestion of %s: %s", s.Source, s.By)}
			if s.Field == FieldStatus {
				change.Status = finding.Status(s.Value)
			} else {
				change.Severity = s.Value
			}
			if err := amend.Apply(ctx, ts.findings, tx, c.TeamID, f, change); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE triage_suggestion SET state = ?, ended_by = ?, ended_at = ? WHERE id = ? AND team_id = ?`,
			s.State, s.EndedBy, db.At(s.EndedAt), s.ID, c.TeamID)
		return err
	})
}

// take marks the open suggestions that a rule has taken.
func (ts *Triage) take(ctx context.Context, tx *db.Tx, teamID, weakness string, c amend.Change) error {
	for field, value := range map[string]string{FieldStatus: string(c.Status), FieldSeverity: c.Severity} {
		if value == "" {
			continue
		}
		if _, err := tx.Exec(ctx, `UPDATE triage_suggestion SET state = ?, ended_by = ?, ended_at = ?
			WHERE team_id = ? AND hash = ? AND field = ? AND value = ? AND state = ?`, SuggestionAccepted, cmp.Or(c.Actor, c.Rule),
			db.At(ts.now()), teamID, weakness, field, value, SuggestionOpen); err != nil {
			return err
		}
	}
	return nil
}
