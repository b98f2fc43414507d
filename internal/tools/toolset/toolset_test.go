package toolset

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

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
		if got := has(customagent.Agent{Text: customagent.Text{NativeTools: c.own}}, native, c.tool); got != c.want {
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

// TestShippedAgentsNameWhatThereIs: their tools and skills exist.
func TestShippedAgentsNameWhatThereIs(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	native, err := ToolNames()
	if err != nil {
		t.Fatal(err)
	}
	ctx := account.WithCaller(t.Context(), account.Caller{UserID: "u", TeamID: "t"})
	all, total, err := customagent.New(d, native).Directory(ctx, customagent.Filter{Origin: sharing.Shipped, Limit: 100})
	if err != nil || total < 6 {
		t.Fatalf("%d, %v", total, err)
	}
	for _, a := range all {
		for _, tool := range a.NativeTools {
			if !slices.Contains(native, tool) {
				t.Errorf("%s: there is no tool %s", a.ID, tool)
			}
		}
		if a.Name == "" || a.Description == "" || a.SystemContext == "" || len(a.NativeTools) == 0 {
			t.Errorf("%+v", a)
		}
	}
}
