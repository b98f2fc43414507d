// Package move says which status a finding may get, from which, and by whom: a table, which docs/use/findings.md draws.
//
// The public API has seven statuses. A state is a status with what else people tell apart: an open finding that was
// fixed before is regressed.
package move

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding/listing"
)

// By is who moves a finding.
type By string

// Those who do.
const (
	Person  By = "person"  // or a rule or a tracker, in the name of people
	Test    By = "test"    // a retest that reached the place and did not find it
	Scan    By = "scan"    // a scan that tested the place to the end and did not find it; what people decided stays
	Seen    By = "seen"    // a scan, a task, a report or a retest has seen it
	RiskEnd By = "riskend" // the time for which a risk was accepted is over
)

// The statuses.
const (
	Open          listing.Status = "open"
	FalsePositive listing.Status = "false_positive"
	Fixed         listing.Status = "fixed"
	Duplicate     listing.Status = "duplicate"
	FixInProgress listing.Status = "fix_in_progress"
	AcceptedRisk  listing.Status = "accepted_risk"
	Triaged       listing.Status = "triaged"
)

// Statuses are all of them.
var Statuses = []listing.Status{Open, FalsePositive, Fixed, Duplicate, FixInProgress, AcceptedRisk, Triaged}

// Move is a change of status that somebody may make.
type Move struct {
	By       By
	From, To listing.Status
}

// Table has all moves but those of people, who may make any.
var Table = []Move{
	{Test, Open, Fixed}, {Test, Triaged, Fixed}, {Test, FixInProgress, Fixed}, {Test, AcceptedRisk, Fixed},
	{Test, FalsePositive, Fixed}, {Test, Duplicate, Fixed},
	{Scan, Open, Fixed}, {Scan, Triaged, Fixed}, {Scan, FixInProgress, Fixed},
	{Seen, Fixed, Open},
	{Seen, FixInProgress, Open}, // its issue was closed in a tracker, and a retest still finds it
	{RiskEnd, AcceptedRisk, Open},
}

// Allowed reports whether a finding may be moved so. To stay is no move, and allowed to people alone: they change the
// reason.
func Allowed(by By, from, to listing.Status) bool {
	if by == Person {
		return true
	}
	return slices.Contains(Table, (Move{by, from, to}))
}

// State is a status as people tell it apart.
type State string

// States are all of them, in the order of a life.
var States = []State{
	"open",
	"triaged",
	"in_progress",
	"fixed",
	"regressed",
	"false_positive",
	"accepted_risk",
	"duplicate",
}

// StateOf is the state of a finding.
func StateOf(s listing.Status, isRegression bool) State {
	switch {
	case s == Open && isRegression:
		return "regressed"
	case s == FixInProgress:
		return "in_progress"
	}
	return State(s)
}

// Drawing is the table as a Markdown table: a row for each status, and who moves it where.
func Drawing() string {
	var b strings.Builder
	b.WriteString(
		"| from | a person | a retest that does not show it | a scan that does not show it | a sighting | the end of the time |\n" +
			"|---|---|---|---|---|---|\n",
	)
	for _, from := range Statuses {
		b.WriteString("| `" + string(from) + "` | any |")
		for _, by := range []By{Test, Scan, Seen, RiskEnd} {
			b.WriteString(" ")
			for _, m := range Table {
				if m.By == by && m.From == from {
					b.WriteString("`" + string(m.To) + "` ")
				}
			}
			b.WriteString("|")
		}
		b.WriteString("\n")
	}
	return b.String()
}
