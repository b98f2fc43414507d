// Package exclusion keeps what a team excludes from its scans and enumerations: patterns of targets
// (hostpattern.Patterns), and templates.
package exclusion

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
)

// Type is the kind of value that a rule excludes.
type Type string

// The types.
const (
	Target            Type = "scan_target"        // of scans: a host with *, an address, a range
	Template          Type = "template"           // an id, exactly
	EnumerationTarget Type = "enumeration_target" // of enumerations, as of scans
)

// Rule excludes a value from later runs, of all or of one scan or enumeration.
type Rule struct {
	ID            int64
	Type          Type
	Value         string
	ScanID        string // empty: all
	EnumerationID string // empty: all
	CreatedAt     time.Time
}

const (
	maxExclusions = 10_000 // rules of a team
	maxTemplateID = 255
)

// Exclusions is the service.
type Exclusions struct {
	db  *db.DB
	now func() time.Time
}

// New makes the service.
func New(d *db.DB) *Exclusions { return &Exclusions{d, time.Now} }

// Add adds a rule for each value and each named scan or enumeration; existing rules stay. The
// caller checks that the team has those scans and enumerations.
func (es *Exclusions) Add(ctx context.Context, kind Type, values, scanIDs, enumerationIDs []string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if err := checkRules(kind, values); err != nil {
		return err
	}
	everywhere := []string{""}
	if len(scanIDs) == 0 {
		scanIDs = everywhere
	}
	if len(enumerationIDs) == 0 {
		enumerationIDs = everywhere
	}
	tooMany := errs.Field("values", "values: a team has at most %d exclusions.", maxExclusions)
	if len(values)*len(scanIDs)*len(enumerationIDs) > maxExclusions {
		return tooMany
	}
	var rules []Rule
	for _, value := range values {
		for _, scanID := range scanIDs {
			for _, enumerationID := range enumerationIDs {
				rules = append(rules, Rule{
					Type: kind, Value: strings.TrimSpace(value), ScanID: scanID, EnumerationID: enumerationID,
				})
			}
		}
	}
	return es.db.Tx(ctx, func(tx *db.Tx) error {
		// one at a time
		if _, err := tx.Exec(ctx, `UPDATE team SET updated_at = updated_at WHERE id = ?`, c.TeamID); err != nil {
			return err
		}
		var last, count int64
		err := tx.QueryRow(ctx, `SELECT coalesce(max(id), 0), count(*) FROM scan_exclusion WHERE team_id = ?`, c.TeamID).
			Scan(&last, &count)
		if err != nil {
			return err
		}
		for _, rule := range rules {
			last++
			if count++; count > maxExclusions {
				return tooMany
			}
			if _, err := tx.Exec(ctx, `INSERT INTO scan_exclusion (id, team_id, value, exclude_type, scan_id,
				enumeration_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				last, c.TeamID, rule.Value, rule.Type, rule.ScanID, rule.EnumerationID, db.At(es.now())); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkRules refuses invalid values.
func checkRules(kind Type, values []string) error {
	if len(values) == 0 {
		return errs.Field("values", "values is required.")
	}
	for _, value := range values {
		if kind != Template {
			if _, err := hostpattern.Parse([]string{value}); err != nil {
				return errs.From(err).At("values")
			}
		} else if strings.TrimSpace(value) == "" || len(value) > maxTemplateID {
			return errs.Field("values", "values must be ids of templates.")
		}
	}
	return nil
}

// FindAll lists the rules of the caller's team, the oldest first.
func (es *Exclusions) FindAll(ctx context.Context) ([]Rule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return es.Of(ctx, c.TeamID)
}

// Of lists the rules of a team, the oldest first.
func (es *Exclusions) Of(ctx context.Context, teamID string) ([]Rule, error) {
	return db.Select(ctx, es.db, func(r db.Row) (x Rule, err error) {
		err = r.Scan(&x.ID, &x.Type, &x.Value, &x.ScanID, &x.EnumerationID, db.Into(&x.CreatedAt))
		return x, err
	}, `SELECT id, exclude_type, value, scan_id, enumeration_id, created_at
		FROM scan_exclusion WHERE team_id = ? ORDER BY id`, teamID)
}

// Patterns are the hosts that all of a team's work leaves out: without what is excluded for one scan or enumeration.
func (es *Exclusions) Patterns(ctx context.Context, teamID string) (p hostpattern.Patterns, err error) {
	rules, err := es.Of(ctx, teamID)
	if err != nil {
		return p, err
	}
	var excluded []string
	for _, rule := range rules {
		if rule.Type == Target && rule.ScanID == "" && rule.EnumerationID == "" {
			excluded = append(excluded, rule.Value)
		}
	}
	return hostpattern.Parse(excluded)
}

// Delete deletes rules: all, or none if one is not the team's.
func (es *Exclusions) Delete(ctx context.Context, ids []int64) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 || len(ids) > maxExclusions {
		return errs.Field("ids", "ids must name 1 to %d exclusions.", maxExclusions)
	}
	return es.db.Tx(ctx, func(tx *db.Tx) error {
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
