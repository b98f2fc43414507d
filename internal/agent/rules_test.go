package agent_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
)

// TestUnderAnAgent: what an agent is told restricts a plan, and the plan says what came of it.
func TestUnderAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		instruction, told string
		own               bool
		check             func(p agent.Plan) bool
		says              string
	}{
		"excludes a path": {"check https://a.example.com", "Never touch /admin.", false, func(p agent.Plan) bool {
			return p.Excludes(agent.Target{Kind: agent.KindURL, Scheme: "https", Host: "a.example.com", Path: "/admin/x"})
		}, "The agent A leaves out /admin."},
		"excludes the target": {"check https://a.example.com", "Do not test a.example.com.", false,
			func(p agent.Plan) bool { return len(p.Targets) == 0 }, "leaves out a.example.com"},
		"chooses checks": {"check https://a.example.com", "Look for SQL injection.", false,
			func(p agent.Plan) bool { return !p.FullCheck && strings.Join(p.Tags, " ") == "sqli" }, "checks for sqli"},
		"does not replace checks": {"check https://a.example.com for xss", "Look for SQL injection.", false,
			func(p agent.Plan) bool { return strings.Join(p.Tags, " ") == "xss" }, ""},
		"slows down": {"check https://a.example.com at 50 requests per second", "At most 5 requests per second.", false,
			func(p agent.Plan) bool { return p.RateLimit == 5 }, "at most 5 requests"},
		"does not speed up": {"check https://a.example.com at 5 requests per second", "At most 50 requests per second.", false,
			func(p agent.Plan) bool { return p.RateLimit == 5 }, ""},
		"names no target for others": {"do the weekly check", "Check https://a.example.com.", false,
			func(p agent.Plan) bool { return len(p.Targets) == 0 }, ""},
		"names a target for its owner": {"do the weekly check", "Check https://a.example.com.", true,
			func(p agent.Plan) bool { return len(p.Targets) == 1 && p.Targets[0].Host == "a.example.com" }, "names what to test"},
		"adds no target": {"check https://b.example.com", "Check https://a.example.com.", true,
			func(p agent.Plan) bool { return len(p.Targets) == 1 && p.Targets[0].Host == "b.example.com" }, ""},
		"says what it could not": {"check https://b.example.com", "Speak like a pirate.", true,
			func(p agent.Plan) bool { return len(p.Targets) == 1 }, "pirate"},
	} {
		p := builtin.Plan(c.instruction).Under(builtin.Rules("A", c.told, c.own))
		if !c.check(p) || !strings.Contains(p.Describe(), c.says) {
			t.Errorf("%s: %+v\n%s", name, p, p.Describe())
		}
	}
}

// TestRulesOnlyRestrict: whatever an agent is told, it adds no target to an instruction that has one, and lets nothing
// through that the instruction excludes.
func TestRulesOnlyRestrict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := rapid.OneOf(rapid.String(), rapid.StringMatching(
			`((check|never test|do not touch|only|except|not) (https://[ab]\.example\.com(/x)?|/admin|port 22|xss)[.,] ?){0,4}`)).Draw(t, "told")
		before := builtin.Plan("check https://a.example.com but not https://b.example.com")
		after := before.Under(builtin.Rules("A", told, rapid.Bool().Draw(t, "own")))
		for _, target := range after.Targets {
			if target.Host != "a.example.com" {
				t.Fatalf("%q adds %v", told, target)
			}
		}
		if !after.Excludes(agent.Target{Kind: agent.KindURL, Scheme: "https", Host: "b.example.com"}) {
			t.Fatalf("%q lets the excluded host through", told)
		}
	})
}
