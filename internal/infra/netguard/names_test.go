package netguard_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestNobodysName(t *testing.T) {
	for name := range strings.FieldsSeq(`localhost intranet x.test a.b.invalid x.tld db.internal 127.0.0.1 169.254.169.254 ::1 10.0.0.1
		example.com a.example.org router.lan`) {
		if !netguard.NobodysName(name) {
			t.Errorf("%s is taken for a public site", name)
		}
	}
	for name := range strings.FieldsSeq(`vedette.dev example.se notexample.com test.com tld.se 8.8.8.8 2606:4700::1111 localhost.se`) {
		if netguard.NobodysName(name) {
			t.Errorf("%s is taken for nobody's", name)
		}
	}
}

func TestAllowsName(t *testing.T) {
	excluded, err := hostpattern.Parse([]string{"*.staging.se", "10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	s := mustScope(t, netguard.Limits{Excludes: excluded.ExcludesHost, Deny: excluded.Denied()}, "shop.se")
	for name, want := range map[string]bool{"shop.se": true, "other.se": true, "a.staging.se": false, "A.STAGING.SE.": false,
		"10.1.1.1": false, "::ffff:10.1.1.1": false, "11.1.1.1": true, "a b": true} {
		if got := s.AllowsName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
