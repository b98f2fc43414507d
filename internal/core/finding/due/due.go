// Package due says until when a finding is to be fixed: by its severity, and by the labels of the asset at its place,
// so many days after it was seen first, or after it came back. The policy is a team's.
//
// Of several labels with a policy of their own the shortest time counts; a severity that a label says nothing about
// has the time that the policy has for all. A finding that nobody is to fix any more (package Open) is never late.
package due

import (
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// From is what days are counted from.
type From string

// The moments that days are counted from.
const (
	FirstSeen From = "first_seen"
	Reopened  From = "reopened" // or first seen, where it was never reopened
)

// Days are, by severity, after how many days a finding is late. 0, and severities without: never.
type Days map[string]int

// Label is the days of findings at assets with a label.
type Label struct {
	Label string `json:"label"`
	Days  Days   `json:"days"`
}

// Policy says when a team wants findings to be fixed. Its zero value: it does not say.
type Policy struct {
	From   From    `json:"count_from"`
	Warn   int     `json:"warn_days"` // so many days before a finding is late people are told; 0: they are not
	Days   Days    `json:"days"`
	Labels []Label `json:"labels"`
}

const (
	maxDays   = 3650
	maxLabels = 100
	day       = 24 * time.Hour
)

// Check refuses what is no policy, and completes what it does not say.
func (p *Policy) Check() error {
	if p.From == "" {
		p.From = FirstSeen
	}
	if p.From != FirstSeen && p.From != Reopened {
		return errs.Field("count_from", "count_from must be first_seen or reopened.")
	}
	if p.Warn < 0 || p.Warn > maxDays {
		return errs.Field("warn_days", "warn_days must be 0 to %d.", maxDays)
	}
	if err := p.Days.check("days"); err != nil {
		return err
	}
	if len(p.Labels) > maxLabels {
		return errs.Field("labels", "labels must name at most %d labels.", maxLabels)
	}
	seen := map[string]bool{}
	for i := range p.Labels {
		one := &p.Labels[i]
		clean, err := label.Check([]string{one.Label})
		if err != nil {
			return err
		}
		if one.Label = clean[0]; seen[strings.ToLower(one.Label)] {
			return errs.Field("labels", "labels names %q twice.", one.Label)
		}
		seen[strings.ToLower(one.Label)] = true
		if err := one.Days.check("labels"); err != nil {
			return err
		}
	}
	return nil
}

func (d Days) check(field string) error {
	for severity, n := range d {
		if !slices.Contains(listing.Severities, severity) {
			return errs.Field(field, "%s: %.40q is no severity. They are %s.", field, severity, strings.Join(listing.Severities, ", "))
		}
		if n < 0 || n > maxDays {
			return errs.Field(field, "%s: the days of %s must be 0 to %d.", field, severity, maxDays)
		}
	}
	return nil
}

// At is when a finding of a severity is late, at an asset with some labels, counted from a time; zero: never.
func (p Policy) At(from time.Time, severity string, labels []string) time.Time {
	days, own := p.Days[severity], 0
	for _, one := range p.Labels {
		n := one.Days[severity]
		is := slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, one.Label) })
		if is && n > 0 && (own == 0 || n < own) {
			own = n
		}
	}
	if own > 0 {
		days = own
	}
	if days == 0 {
		return time.Time{}
	}
	return from.Add(time.Duration(days) * day)
}

// State is how late a finding is.
type State string

// The states.
const (
	None    State = "" // nothing is due, or nobody is to fix it any more
	InTime  State = "due"
	Soon    State = "soon" // within the days in which people are told
	Overdue State = "overdue"
)

// States are all of them but None.
var States = []State{InTime, Soon, Overdue}

// StateAt is how late a finding with a status is that is to be fixed at a time (zero: never).
func (p Policy) StateAt(now, at time.Time, status listing.Status) State {
	switch {
	case at.IsZero() || !IsOpen(status):
		return None
	case !now.Before(at):
		return Overdue
	case p.Warn > 0 && !now.Before(at.Add(-time.Duration(p.Warn)*day)):
		return Soon
	}
	return InTime
}

// IsOpen reports whether somebody is to fix a finding with a status.
func IsOpen(s listing.Status) bool {
	return s == move.Open || s == move.Triaged || s == move.FixInProgress
}
