// Package listing is what lists of findings can filter and sort by: the entry of a finding in the list, and the filters
// and orders that people ask for, in the terms of package list.
package listing

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Status is a decision about a finding.
type Status string

// Severities from the worst to the least.
var Severities = []string{"critical", "high", "medium", "low", "info", "unknown"}

// Split gives the words of a column, never nil.
func Split(column string) []string {
	if column == "" {
		return []string{}
	}
	return strings.Split(column, ",")
}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "severity": "severity", "vuln_status": "status",
	"host": "host", "port": "port", "template_id": "template", "template": "template", "due_at": "due", "epss": "epss",
}

// Orders are the columns behind the values of Sortable. Numbers grow with created_at,
// revisions with updated_at.
var Orders = map[string]list.Order{
	"created_at": {Column: "no"},
	"updated_at": {Column: "rev"},
	"severity":   {Column: rankColumn(), Facet: "severity"},
	"status":     {Column: "status", Facet: "status"},
	"host":       {Column: "host"},
	"port":       {Column: "port", Facet: "port"},
	"template":   {Column: "template_id"},
	"due":        {Column: "due_at"},
	"epss":       {Column: "epss"},
}

// rankColumn is Rank in SQL.
func rankColumn() string {
	var b strings.Builder
	b.WriteString("CASE severity")
	for _, severity := range Severities {
		fmt.Fprintf(&b, " WHEN '%s' THEN %d", severity, Rank(severity))
	}
	return b.String() + " END"
}

// Rank is the position of a severity in an ascending order: the worst is the greatest.
func Rank(severity string) int { return len(Severities) - 1 - slices.Index(Severities, severity) }

// rankText is a severity as a value that sorts by rank.
func rankText(severity string) string { return strconv.Itoa(Rank(severity)) + severity }

// PortText is a port as a value that sorts as the number does.
func PortText(port int) string { return fmt.Sprintf("%05d", port) }

// Facets are the properties of a finding that lists can filter by.
type Facets struct {
	Severity, Scan, Host, Template, Name string
	Status                               Status
	Port                                 int
	Categories, Tags, Labels             string // words joined by commas
	Assignee                             string // an email; empty: nobody
	Internal, Regression, Ticket         bool
	Repeat                               bool // another finding stands for the weakness
	Follows                              Follows
}

// NoDate is the due date of what is never due. It sorts behind all others.
const NoDate = 9_000_000_000_000_000_000

// PerOne is what a score of EPSS of 1 is stored as.
const PerOne = 100_000

// Follows is what of a finding follows from elsewhere: from the policy of its team, and from feeds.
type Follows struct {
	DueAt    int64  // in microseconds since 1970; NoDate: never
	DueState string // one of due.States; empty: it is not due, or nobody is to fix it any more
	EPSS     int64  // the probability of EPSS, of PerOne; -1: there is none
	IsKEV    bool   // it is known to be exploited
}

// Nothing follows.
var Nothing = Follows{DueAt: NoDate, EPSS: -1}

// epssText is a score as a value that sorts as the number does, in thousandths.
func epssText(score int64) string { return fmt.Sprintf("%04d", score*1000/PerOne) }

// maxDomains bounds the domains of one host.
const maxDomains = 32

// Entry is a finding's entry in the list. Its domains are the host and all above it.
func Entry(no int64, f Facets) list.Row {
	values := []list.Value{
		{Facet: "severity", Value: rankText(f.Severity)}, {Facet: "status", Value: string(f.Status)},
		{Facet: "scan", Value: f.Scan},
		{Facet: "host", Value: f.Host}, {Facet: "port", Value: PortText(f.Port)}, {Facet: "template", Value: f.Template},
		{Facet: "text", Value: strings.ToLower(f.Template)}, {Facet: "text", Value: strings.ToLower(f.Name)},
	}
	for _, one := range []struct{ facet, words string }{{"category", f.Categories}, {"tag", f.Tags}, {"label", f.Labels}} {
		for _, word := range Split(one.words) {
			values = append(values, list.Value{Facet: one.facet, Value: strings.ToLower(word)})
		}
	}
	for i, domain := 0, f.Host; i < maxDomains && domain != ""; i++ {
		values = append(values, list.Value{Facet: "domain", Value: domain})
		_, domain, _ = strings.Cut(domain, ".")
	}
	for _, one := range []struct {
		flag string
		is   bool
	}{{"internal", f.Internal}, {"regression", f.Regression}, {"ticket", f.Ticket}, {"repeat", f.Repeat},
		{"kev", f.Follows.IsKEV}} {
		if one.is {
			values = append(values, list.Value{Facet: "is", Value: one.flag})
		}
	}
	if f.Follows.DueState != "" {
		values = append(values, list.Value{Facet: "due", Value: f.Follows.DueState})
	}
	if f.Follows.EPSS >= 0 {
		values = append(values, list.Value{Facet: "epss", Value: epssText(f.Follows.EPSS)})
	}
	if f.Assignee != "" {
		values = append(values, list.Value{Facet: "assignee", Value: f.Assignee}, list.Value{Facet: "is", Value: "assigned"})
	}
	return list.Row{No: no, Values: values}
}

// Columns are the columns of finding that Scan reads.
const Columns = `no, severity, status, scan_id, host, port, template_id, name, categories, tags, labels,
	is_internal, is_regression, is_ticket, is_repeat, assignee, due_at, due_state, epss, is_kev`

// Scan reads Columns, and before those the columns before.
func Scan(r db.Row, before ...any) (list.Row, error) {
	var no int64
	var f Facets
	err := r.Scan(append(before, &no, &f.Severity, &f.Status, &f.Scan, &f.Host, &f.Port, &f.Template, &f.Name,
		&f.Categories, &f.Tags,
		&f.Labels, &f.Internal, &f.Regression, &f.Ticket, &f.Repeat,
		&f.Assignee, &f.Follows.DueAt, &f.Follows.DueState, &f.Follows.EPSS, &f.Follows.IsKEV)...)
	return Entry(no, f), err
}
