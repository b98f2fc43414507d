package technique

import (
	"strings"
	"testing"
)

// The texts of a condition are equally long: a page that says how long a text was tells nothing of what it means. A filter
// of LDAP that everything fits is short, and has no room for blanks.
func TestConditionsAreEquallyLong(t *testing.T) {
	same := strings.NewReplacer("{a}", "12345", "{b}", "67890", "{p}", "1234567890", "{w}", "qabcdefghijz", "{v}", "alice")
	for _, s := range sets() {
		if s.ID == "ldap" {
			continue
		}
		for _, p := range s.Payloads {
			if yes := same.Replace(p.Yes); yes != "" && (len(yes) != len(same.Replace(p.No)) || len(yes) != len(same.Replace(p.Non))) {
				t.Errorf("%s %s: %q, %q and %q", s.ID, p.ID, yes, same.Replace(p.No), same.Replace(p.Non))
			}
		}
	}
}
