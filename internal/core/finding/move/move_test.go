package move

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The page for users draws the table as it is.
func TestTheTableIsDrawn(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/use/findings.md")
	if err != nil || !strings.Contains(string(page), Drawing()) {
		t.Errorf("docs/use/findings.md has to have this table (%v):\n%s", err, Drawing())
	}
}

// Everybody but people is held to the table; people may undo whatever it does.
func TestAllowed(t *testing.T) {
	for _, from := range Statuses {
		for _, to := range Statuses {
			if !Allowed(Person, from, to) {
				t.Errorf("people cannot move %s to %s", from, to)
			}
			for _, by := range []By{Test, Seen, RiskEnd} {
				if Allowed(by, from, to) != slices.Contains(Table, Move{by, from, to}) {
					t.Errorf("%s: %s to %s", by, from, to)
				}
				if from == to && Allowed(by, from, to) {
					t.Errorf("%s: %s stays", by, from)
				}
			}
		}
	}
	for _, s := range Statuses {
		for _, back := range []bool{false, true} {
			if state := StateOf(s, back); !slices.Contains(States, state) || (state == "regressed") != (s == Open && back) {
				t.Errorf("%s, %v: %s", s, back, state)
			}
		}
	}
}
