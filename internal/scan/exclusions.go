package scan

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
)

// ExcludeType is what an exclusion leaves out.
type ExcludeType string

// The types.
const (
	ExcludeTarget      ExcludeType = "scan_target"        // of scans: a host with *, an address, a range
	ExcludeTemplate    ExcludeType = "template"           // an id, exactly
	ExcludeEnumeration ExcludeType = "enumeration_target" // of enumerations, as of scans
)

// ExcludeTypes are all types.
var ExcludeTypes = []ExcludeType{ExcludeTarget, ExcludeTemplate, ExcludeEnumeration}

// Exclusion is a rule that leaves something out of all later runs, or of those of a scan.
type Exclusion struct {
	ID            int64
	Type          ExcludeType
	Value         string
	ScanID        string // empty: all
	EnumerationID string // empty: all
	CreatedAt     time.Time
}

// maxExclusions is how many rules a team may have.
const maxExclusions = 10_000

// AddExclusions adds a rule for each value, and for each scan or enumeration where any is
// named. A rule that is there already is not added again.
func (ss *Scans) AddExclusions(ctx context.Context, kind ExcludeType, values, scanIDs, enumerationIDs []string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if err := checkRules(kind, values); err != nil {
		return err
	}
	for _, id := range scanIDs {
		if _, err := ss.Find(ctx, id); err != nil {
			return err
		}
	}
	scope := func(ids []string) []string {
		if len(ids) == 0 {
			return []string{""}
		}
		return ids
	}
	if len(values)*max(1, len(scanIDs))*max(1, len(enumerationIDs)) > maxExclusions {
		return errs.Field("values", "values: a team has at most %d exclusions.", maxExclusions)
	}
	var rules []Exclusion
	for _, value := range values {
		for _, scanID := range scope(scanIDs) {
			for _, enumerationID := range scope(enumerationIDs) {
				rules = append(rules, Exclusion{Type: kind, Value: strings.TrimSpace(value), ScanID: scanID, EnumerationID: enumerationID})
			}
		}
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE team SET updated_at = updated_at WHERE id = ?`, c.TeamID); err != nil { // one at a time
			return err
		}
		var last, count int64
		if err := tx.QueryRow(ctx, `SELECT coalesce(max(id), 0), count(*) FROM scan_exclusion WHERE team_id = ?`, c.TeamID).Scan(&last, &count); err != nil {
			return err
		}
		for _, rule := range rules {
			last++
			if count++; count > maxExclusions {
				return errs.Field("values", "values: a team has at most %d exclusions.", maxExclusions)
			}
			if _, err := tx.Exec(ctx, `INSERT INTO scan_exclusion (id, team_id, value, exclude_type, scan_id, enumeration_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				last, c.TeamID, rule.Value, rule.Type, rule.ScanID, rule.EnumerationID, db.At(ss.now())); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkRules refuses values that are none of their kind.
func checkRules(kind ExcludeType, values []string) error {
	if len(values) == 0 {
		return errs.Field("values", "values is required.")
	}
	for _, value := range values {
		if kind != ExcludeTemplate {
			if _, err := parsePattern(value); err != nil {
				return errs.From(err).At("values")
			}
		} else if strings.TrimSpace(value) == "" || len(value) > maxPattern {
			return errs.Field("values", "values must be ids of templates.")
		}
	}
	return nil
}

// FindExclusions lists the rules of the caller's team, the oldest first.
func (ss *Scans) FindExclusions(ctx context.Context) ([]Exclusion, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return ss.rules(ctx, c.TeamID)
}

func (ss *Scans) rules(ctx context.Context, teamID string) ([]Exclusion, error) {
	rows, err := ss.db.Query(ctx, `SELECT id, exclude_type, value, scan_id, enumeration_id, created_at FROM scan_exclusion WHERE team_id = ? ORDER BY id`, teamID)
	return db.Collect(rows, err, func(r db.Row) (x Exclusion, err error) {
		var created db.Time
		err = r.Scan(&x.ID, &x.Type, &x.Value, &x.ScanID, &x.EnumerationID, &created)
		x.CreatedAt = created.Time
		return x, err
	})
}

// DeleteExclusions deletes rules; one that is not the team's, and none is deleted.
func (ss *Scans) DeleteExclusions(ctx context.Context, ids []int64) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 || len(ids) > maxExclusions {
		return errs.Field("ids", "ids must name 1 to %d exclusions.", maxExclusions)
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			n, err := tx.Exec(ctx, `DELETE FROM scan_exclusion WHERE team_id = ? AND id = ?`, c.TeamID, id)
			if err != nil {
				return err
			}
			if n == 0 {
				return errs.Missing("exclusion")
			}
		}
		return nil
	})
}

// excluded is what a team's rules leave out of a scan.
type excluded struct {
	targets   []string // patterns
	templates map[string]bool
}

func (ss *Scans) exclusions(ctx context.Context, teamID, scanID string) (excluded, error) {
	out := excluded{templates: map[string]bool{}}
	rules, err := ss.rules(ctx, teamID)
	for _, x := range rules {
		switch {
		case x.ScanID != "" && x.ScanID != scanID:
		case x.Type == ExcludeTarget:
			out.targets = append(out.targets, x.Value)
		case x.Type == ExcludeTemplate:
			out.templates[x.Value] = true
		}
	}
	return out, err
}

// Excludes reports whether a target or a template is left out of a scan: what a retest
// asks, too.
func (ss *Scans) Excludes(ctx context.Context, teamID, scanID, target, template string) (bool, error) {
	rules, err := ss.exclusions(ctx, teamID, scanID)
	if err != nil {
		return false, err
	}
	patterns, err := ParsePatterns(rules.targets)
	return patterns.Excludes(target) || rules.templates[template], err
}
