package check_test

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
)

// Each check has one name, one function, and all that a report says of its class.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range check.All() {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("%q is there twice, or empty", c.ID)
		}
		seen[c.ID] = true
		functions := 0
		for _, set := range []bool{c.Site != nil, c.Passive != nil, c.Request != nil, c.Place != nil,
			c.After != nil, c.Message != nil} {
			if set {
				functions++
			}
		}
		if functions != 1 {
			t.Errorf("%s has %d functions", c.ID, functions)
		}
		if c.Title == "" || c.CWE == 0 || c.Severity == "" || len(c.OWASP)+len(c.API) == 0 || len(c.ASVS) == 0 {
			t.Errorf("%s lacks something: %+v", c.ID, c)
		}
	}
}

// Each class has a check, and is described.
func TestClasses(t *testing.T) {
	var used []string
	for _, c := range check.All() {
		used = append(used, c.Class)
	}
	elsewhere := []string{"file-inclusion", "bfla", // reported by checks of another class
		"shown-credentials"} // reported while users are logged in
	for _, name := range kit.Classes() {
		about := kit.About(name)
		if about.Impact == "" || about.Remediation == "" || about.Title == "" || about.Severity == "" {
			t.Errorf("class %s is not described", name)
		}
		if !slices.Contains(used, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("class %s has no check", name)
		}
	}
}
