package tools

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

func TestEveryToolIsDescribed(t *testing.T) {
	kit, err := New(Config{Boundary: scope.Boundary{Plan: builtin.Plan("check http://127.0.0.1")}, Run: &task.Run{},
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer kit.Close()
	for _, tool := range kit.Tools() {
		if text, err := Description(tool.Name()); err != nil || len(text) < 100 {
			t.Errorf("%s: %q, %v", tool.Name(), text, err)
		}
	}
}

func TestScopeIsWhatThePlanNames(t *testing.T) {
	for instruction, want := range map[string]string{
		"check https://a.example/x":                   "[a.example:443]",
		"check http://a.example":                      "[a.example:80]",
		"check http://[2001:db8::1]:8080/":            "[[2001:db8::1]:8080]",
		"check a.example":                             "[a.example]",
		"check a.example:8443":                        "[a.example:8443]",
		"check a.example on ports 81 and 82":          "[a.example:81 a.example:82]",
		"check 10.0.0.0/30":                           "[10.0.0.0/30]",
		"check 10.1.2.3 on port 8080 for open panels": "[10.1.2.3:8080]",
	} {
		plan := builtin.Plan(instruction)
		var got []string
		for _, target := range plan.Targets {
			got = append(got, scope.HostPorts(target, plan.Ports)...)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", instruction, got, want)
		}
	}
}

func TestExcludedRanges(t *testing.T) {
	for instruction, want := range map[string]string{
		"check 10.0.0.0/24 but not 10.0.0.5":          "10.0.0.5/32",
		"check 10.0.0.0/24 except 10.0.0.128/25":      "10.0.0.128/25",
		"check a.example but do not touch b.example":  "none",
		"check 10.0.0.0/24 but not http://10.0.0.5/x": "none",
	} {
		plan := builtin.Plan(instruction)
		if len(plan.Excluded) == 0 {
			t.Fatalf("%s: nothing is excluded", instruction)
		}
		got := "none"
		if p, ok := scope.ExcludedRange(plan.Excluded[0]); ok {
			got = p.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", instruction, got, want)
		}
	}
}

func TestExclusionsOfPathsAndPortsHoldForURLs(t *testing.T) {
	plan := builtin.Plan("check http://a.example:8080/ but do not touch http://a.example:8080/admin")
	for raw, want := range map[string]bool{
		"http://a.example:8080/admin":       true,
		"http://a.example:8080/admin/users": true,
		"http://A.EXAMPLE:8080/admin":       true,
		"http://a.example:8080/public":      false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Excludes(scope.TargetOf(u)); got != want {
			t.Errorf("%s is excluded: %v", raw, got)
		}
	}
}

func TestAddressesForTheEngine(t *testing.T) {
	for want, target := range map[string]agent.Target{
		"https://a.example/x?y=1":  {Kind: agent.KindURL, Scheme: "https", Host: "a.example", Path: "/x?y=1"},
		"http://[2001:db8::1]:81/": {Kind: agent.KindURL, Scheme: "http", Host: "2001:db8::1", Port: 81, Path: "/"},
		"a.example:8080":           {Kind: agent.KindHost, Host: "a.example", Port: 8080},
		"[2001:db8::1]":            {Kind: agent.KindIP, Host: "2001:db8::1"},
	} {
		got := address(target)
		if got != want {
			t.Errorf("%+v: %s, want %s", target, got, want)
		}
		if _, err := targets.Parse(got); err != nil {
			t.Errorf("the engine does not take %s: %v", got, err)
		}
	}
}

func TestTargetOfAnEvent(t *testing.T) {
	for want, e := range map[string]engine.Event{
		"http://a.example:9090/app": {Target: "http://a.example:9090/app", Host: "a.example", Port: "9090", Path: "/app/x"},
		"[2001:db8::1]:81":          {Host: "2001:db8::1", Port: "81", Path: "/"},
	} {
		if got := targetOf(e); got != want {
			t.Errorf("%+v: %s, want %s", e, got, want)
		}
	}
}

func TestOddTargetsAreRefusedWithAReason(t *testing.T) {
	plan := agent.Plan{Targets: []agent.Target{{Kind: agent.KindHost, Host: "not a host"}}}
	_, err := New(Config{Boundary: scope.Boundary{Plan: plan, Deny: []netip.Prefix{}}, Run: &task.Run{}})
	if err == nil || !strings.Contains(err.Error(), "not a host") {
		t.Errorf("%v", err)
	}
}

// TestProbeWithoutDescriptors: that this process may open no more files says nothing about a target.
func TestProbeWithoutDescriptors(t *testing.T) {
	for _, full := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		kit, err := New(Config{Boundary: scope.Boundary{Plan: builtin.Plan("check http://127.0.0.1:8080/"),
			OnDenied: func(scope.Denial) {}}, Run: &task.Run{}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer kit.Close()
		failing := error(&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", full)})
		kit.engine = engine.New(engine.Config{
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, failing }})
		defer kit.engine.Close()
		if got, err := (probe{kit}).Call(t.Context(), nil, func(agent.Update) {}); outage.Of(err) == nil {
			t.Errorf("%v: %s, %v", full, got.Summary, err)
		}
		failing = syscall.ECONNREFUSED
		got, err := (probe{kit}).Call(t.Context(), nil, func(agent.Update) {})
		if err != nil || !strings.HasPrefix(got.Summary, "0 of 1 targets answered.") {
			t.Errorf("refused: %s, %v", got.Summary, err)
		}
	}
}
