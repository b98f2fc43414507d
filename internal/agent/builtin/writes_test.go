package builtin

import (
	"strings"
	"testing"
)

// What an agent is told for all its tasks allows nothing.
func TestRulesDoNotLetTestsWrite(t *testing.T) {
	r := Rules("careful", "You may write test data.", false)
	plan := Plan("Full check of http://shop.test/").Under(r)
	if plan.Writes || len(plan.NotDone) != 1 || !strings.Contains(plan.NotDone[0], "tests may write test data") {
		t.Errorf("%+v", plan)
	}
}

// Tests write where the instruction says so, and nowhere else; what says so is understood.
func TestWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"Test http://shop.test/. You may write test data.":                     true,
		"Test http://shop.test/; you are allowed to change data there":         true,
		"Find all vulnerabilities of http://shop.test/ at level active":        true,
		"Pentest http://shop.test/. Changing data is fine.":                    true,
		"It's ok to submit forms. Full check of http://shop.test/":             true,
		"The tests may create accounts and comments on http://shop.test/":      true,
		"Test http://shop.test/ with intrusiveness: active":                    true,
		"Test http://shop.test/. You may not write test data.":                 false,
		"Test http://shop.test/ and do not change anything":                    false,
		"Can anyone change data on http://shop.test/ without a login?":         false,
		"Full check of http://shop.test/. Once logged in they may change data": false,
		"Check whether http://shop.test/ is active":                            false,
		"Full check of http://shop.test/. Users may write comments there.":     false,
		"Check http://shop.test/ for forms that change data of other people":   false,
	} {
		plan := Plan(text)
		if plan.Writes != want {
			t.Errorf("%s: writes %t", text, plan.Writes)
		}
		if want && (len(plan.NotUnderstood) > 0 || len(plan.Targets) != 1) {
			t.Errorf("%s: %q was not understood of %+v", text, plan.NotUnderstood, plan.Targets)
		}
	}
}
