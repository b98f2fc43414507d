// Package triage helps a team to decide about its findings: queues of what is to be looked at, rules that decide what
// is decided the same way each time, and suggestions.
//
// # How rules work
//
// A rule has a selection of findings and what it sets. Rules have an order. All of them look at a finding as it was
// before any of them: no rule can trigger another, so that nothing loops. Each field is set by the first rule in order
// that sets it; labels add up; a rule with stop ends the looking (plan.go, a pure function).
//
// Rules look at what arrives: new sightings, and what was fixed and is back. A storing transaction queues one job for
// the team (core/finding, tellRules). The job walks forward over the numbers of findings and the change log, both of
// which grow in the order of commits, and moves its cursor in the transaction that applies the rules: nothing is lost,
// and nothing is looked at twice. Rules look at older findings only when a person runs them; a dry run plans the same
// and writes nothing.
//
// People win: a rule leaves alone a status that a person decided and a severity that a finding has of its own. A rule
// is applied to a weakness once, until the rule is changed or the weakness comes back after it was fixed.
package triage

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Triage is the service.
type Triage struct {
	db       *db.DB
	queue    *queue.Queue // nil: no tickets and no alerts
	findings *finding.Findings
	works    *work.Works
	settings *setting.Settings
	models   *model.Models // nil: no model suggests anything
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service.
func New(
	d *db.DB, q *queue.Queue, fs *finding.Findings, works *work.Works, settings *setting.Settings, models *model.Models,
	logger *slog.Logger,
) *Triage {
	return &Triage{d, q, fs, works, settings, models, logger, time.Now}
}

// Selection says which findings are meant, as the filters of lists do: a finding matches every field that is there, by
// any of its values.
type Selection struct {
	Severities []string `json:"severity,omitempty" maxItems:"6" doc:"Of critical, high, medium, low, info, unknown."`
	Statuses   []string `json:"vuln_status,omitempty" maxItems:"7" doc:"Of open, false_positive, fixed, duplicate, fix_in_progress, accepted_risk, triaged. Without it: open."`
	Hosts      []string `json:"host,omitempty" maxItems:"100" doc:"Exact, in any case."`
	Domains    []string `json:"domain,omitempty" maxItems:"100" doc:"Hosts at and below them."`
	Ports      []int    `json:"port,omitempty" maxItems:"100"`
	Templates  []string `json:"templates,omitempty" maxItems:"100" doc:"Ids of templates."`
	Categories []string `json:"category,omitempty" maxItems:"100" doc:"Protocols and folders of templates."`
	Tags       []string `json:"tags,omitempty" maxItems:"100" doc:"Tags of templates."`
	Labels     []string `json:"labels,omitempty" maxItems:"100" doc:"Labels of findings."`
	Search     string   `json:"search,omitempty" maxLength:"200" doc:"A part of the host, the template's id or its name, in any case."`
	Internal   *bool    `json:"is_internal,omitempty" doc:"Whether its address is not of the public internet."`
	Regression *bool    `json:"is_regression,omitempty" doc:"Whether it was fixed and came back."`
	Ticket     *bool    `json:"is_ticket,omitempty" doc:"Whether an issue tracker knows it."`
}

// filter is the selection as a filter.
func (s Selection) filter() finding.Filter {
	f := finding.Filter{
		Severities: s.Severities, Hosts: s.Hosts, Domains: s.Domains, Ports: s.Ports, Templates: s.Templates,
		Categories: s.Categories, Tags: s.Tags, Labels: s.Labels, Search: s.Search, Internal: s.Internal,
		Regression: s.Regression, Ticket: s.Ticket,
	}
	for _, status := range s.Statuses {
		f.Statuses = append(f.Statuses, finding.Status(status))
	}
	if len(f.Statuses) == 0 {
		f.Statuses = []finding.Status{finding.Open}
	}
	return f
}

// check refuses values that no finding can have.
func (s Selection) check(field string) error {
	for _, one := range s.Severities {
		if !slices.Contains(finding.Severities, one) {
			return errs.Field(field+".severity", "%s.severity must be of %s.", field, strings.Join(finding.Severities, ", "))
		}
	}
	for _, one := range s.Statuses {
		if !slices.Contains(finding.Statuses, finding.Status(one)) {
			return errs.Field(field+".vuln_status", "%s.vuln_status names no status of findings.", field)
		}
	}
	for _, one := range s.Ports {
		if one < 1 || one > 65535 {
			return errs.Field(field+".port", "%s.port must be of 1 to 65535.", field)
		}
	}
	total := 0
	for _, list := range [][]string{s.Hosts, s.Domains, s.Templates, s.Categories, s.Tags, s.Labels} {
		for _, word := range list {
			if total += len(word); strings.TrimSpace(word) == "" || strings.ContainsRune(word, 0) || total > maxSelection {
				return errs.Field(field, "%s must have no empty words, and at most %d bytes in all.", field, maxSelection)
			}
		}
	}
	return nil
}

const maxSelection = 8 << 10 // bytes of the words of a selection

const maxName = 120 // characters

// checkName trims a name.
func checkName(name string) (string, error) {
	name = strings.TrimSpace(db.Clean(name))
	if n := len([]rune(name)); n == 0 || n > maxName {
		return "", errs.Field("name", "name must have 1 to %d characters.", maxName)
	}
	return name, nil
}

// tooMany refuses one more of something.
func tooMany(most int, what string) error {
	return errs.New(errs.Conflict, "too_many", "A team has at most %d %s.", most, what)
}

// count is the number of rows of a team in a table of this package.
func count(ctx context.Context, q db.Querier, table, teamID string) (int, error) {
	return db.Value[int](ctx, q, `SELECT count(*) FROM `+table+` WHERE team_id = ?`, teamID)
}
