package technique

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
)

// The texts of a condition are equally long: a page that says how long a text was tells nothing of what it means. An
// attribute that no entry has is as long as the one that all have.
func TestConditionsAreEquallyLong(t *testing.T) {
	same := strings.NewReplacer("{a}", "12345", "{b}", "67890", "{p}", "1234567890", "{w}", kit.Word(), "{v}", "alice")
	for _, s := range sets() {
		for _, p := range s.Payloads {
			if yes := same.Replace(p.Yes); yes != "" && (len(yes) != len(same.Replace(p.No)) || len(yes) != len(same.Replace(p.Non))) {
				t.Errorf("%s %s: %q, %q and %q", s.ID, p.ID, yes, same.Replace(p.No), same.Replace(p.Non))
			}
		}
	}
}
