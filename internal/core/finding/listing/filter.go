package listing

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Filter picks findings that match every field, each by any of its values. An empty field matches all.
type Filter struct {
	IDs        []string
	ScanIDs    []string
	Severities []string
	Statuses   []Status
	Hosts      []string // exact, in any case
	Domains    []string // hosts at and below them
	Ports      []int
	Templates  []string // ids
	Categories []string
	Tags       []string
	Labels     []string
	Assignees  []string // emails; Nobody: those without
	Search     string   // a part of the host, the template's id or its name, in any case
	Internal   *bool
	Regression *bool
	Ticket     *bool
	KEV        *bool     // it is known to be exploited
	Due        []string  // how late it is: of due.States
	MinEPSS    float64   // its probability of EPSS is at least this, in thousandths; 0: any, or none
	Since      time.Time // when it was found first
	Until      time.Time // before this
	Before     int64     // only findings with a lower number: they arrived earlier; 0: all
	Once       bool      // of each weakness only the finding that stands for it
	Sightings  bool      // lists without scans have each sighting, instead of each weakness once
}

// Nobody in Filter.Assignees is for findings without an assignee.
const Nobody = "none"

// AsList is the filter of a list: without scans or ids, it has each weakness once.
func (f Filter) AsList() Filter {
	f.Once = f.Once || !f.Sightings && len(f.ScanIDs) == 0 && f.IDs == nil
	return f
}

// MatchesAll reports whether a filter has no condition.
func (f Filter) MatchesAll() bool {
	return len(f.IDs)+len(f.ScanIDs)+len(f.Severities)+len(f.Statuses)+len(f.Hosts)+len(f.Domains)+len(f.Ports)+
		len(f.Templates)+
		len(f.Categories)+len(f.Tags)+len(f.Labels)+len(f.Assignees)+len(f.Search)+len(f.Due) == 0 &&
		f.KEV == nil && f.MinEPSS == 0 &&
		f.Internal == nil && f.Regression == nil && f.Ticket == nil && f.Since.IsZero() && f.Until.IsZero() && f.Before == 0
}

// Conditions are the filter's conditions on facets (see Entry): all but those on ids and numbers.
func (f Filter) Conditions() list.Filter {
	var ports, domains []string
	for _, port := range f.Ports {
		ports = append(ports, PortText(port))
	}
	for _, domain := range lower(f.Domains) {
		domains = append(domains, strings.Trim(domain, ".*"))
	}
	conditions := []list.Filter{f.severities()}
	for _, one := range []struct {
		facet  string
		values []string
	}{
		{"scan", f.ScanIDs}, {"status", Words(f.Statuses)}, {"host", lower(f.Hosts)}, {"domain", domains}, {"port", ports},
		{"template", f.Templates}, {"category", lower(f.Categories)}, {"tag", lower(f.Tags)}, {"label", lower(f.Labels)},
		{"due", f.Due},
	} {
		if len(one.values) > 0 {
			conditions = append(conditions, list.Has(one.facet, one.values...))
		}
	}
	for _, one := range []struct {
		flag string
		want *bool
	}{{"internal", f.Internal}, {"regression", f.Regression}, {"ticket", f.Ticket}, {"kev", f.KEV}} {
		switch is := list.Has("is", one.flag); {
		case one.want == nil:
		case *one.want:
			conditions = append(conditions, is)
		default:
			conditions = append(conditions, list.Not(is))
		}
	}
	if len(f.Assignees) > 0 {
		to := list.Has("assignee", lower(f.Assignees)...)
		if slices.Contains(f.Assignees, Nobody) {
			to = list.Any(to, list.Not(list.Has("is", "assigned")))
		}
		conditions = append(conditions, to)
	}
	if f.MinEPSS > 0 {
		least := epssText(int64(math.Ceil(f.MinEPSS*1000)) * PerOne / 1000)
		conditions = append(conditions, list.Match("epss", "", func(value string) bool { return value >= least }))
	}
	if f.Once {
		conditions = append(conditions, list.Not(list.Has("is", "repeat")))
	}
	if f.Search != "" {
		conditions = append(conditions, list.Contains(strings.ToLower(f.Search), "host", "text"))
	}
	return list.All(conditions...)
}

// severities is the condition on severities, by those that are wanted or those that are not, whichever are fewer: to
// exclude one value is faster than to join five.
func (f Filter) severities() list.Filter {
	if len(f.Severities) == 0 {
		return nil
	}
	var with, without []string
	for _, severity := range Severities {
		if slices.Contains(lower(f.Severities), severity) {
			with = append(with, rankText(severity))
		} else {
			without = append(without, rankText(severity))
		}
	}
	switch {
	case len(without) == 0:
		return nil
	case len(without) < len(with):
		return list.Not(list.Has("severity", without...))
	}
	return list.Has("severity", with...)
}

func lower(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strings.ToLower(strings.TrimSpace(v))
	}
	return out
}

// Words are values as texts.
func Words[S ~string](values []S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
