package toolset

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/extension"
)

// The jobs package tests whole tasks with these tools.
func TestAgentHasItsToolsAndAllExtensions(t *testing.T) {
	native := []string{"crawl", "port_check"}
	for name, c := range map[string]struct {
		own  []string
		tool string
		want bool
	}{
		"names none":      {nil, "crawl", true},
		"names it":        {[]string{"crawl"}, "crawl", true},
		"names another":   {[]string{"crawl"}, "port_check", false},
		"is an extension": {[]string{"crawl"}, "find_ticket", true},
	} {
		if got := has(customagent.Agent{NativeTools: c.own}, native, c.tool); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMissingText(t *testing.T) {
	got := missingText([]extension.Missing{{Source: "A", Why: "It is down"},
		{Source: "B", Tools: 2, Why: "their names are taken."}})
	if want := "Missing: A. It is down.\nMissing: 2 of the tools of B: their names are taken."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
