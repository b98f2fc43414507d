package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/tools/scope"

	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/task"
)

func TestDiscoveryStaysInScope(t *testing.T) {
	const look, hunt, names = "port_scan tls_scan http_probe", "dns_scraping dns_bruteforce dns_permute", "dns_passive dns_resolve"
	domain := func(d ...string) discoverArgs { return discoverArgs{Domains: d} }
	host := func(h ...string) discoverArgs { return discoverArgs{Hosts: h} }
	for name, c := range map[string]struct {
		b       scope.Boundary
		a       discoverArgs
		counted bool
		steps   string // or a part of the error
		ports   string // all, or with commas a part
	}{
		"a host":                   {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}}}, host("192.0.2.1"), false, names + " " + look, ",443,"},
		"a host on its port":       {scope.Boundary{Plan: builtin.Plan("check http://192.0.2.1:81")}, host("192.0.2.1"), false, names + " " + look, "81"},
		"these ports of a host":    {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Ports: []int{22, 99}}}, discoverArgs{Hosts: []string{"192.0.2.1"}, Ports: []int{99, 100}}, false, names + " " + look, "99"},
		"no port of a host":        {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Ports: []int{22}}}, discoverArgs{Hosts: []string{"192.0.2.1"}, Ports: []int{80}}, false, "no port is in scope", ""},
		"hosts with other ports":   {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example:81", "b.example:82"}}}, host("a.example", "b.example"), false, "no port is in scope", ""},
		"another host":             {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}}}, host("192.0.2.2"), false, "not in scope", ""},
		"a part of a range":        {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.0/24"}}}, host("192.0.2.16/28"), false, names + " " + look, ",443,"},
		"more than a range":        {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.0/28"}}}, host("192.0.2.0/24"), false, "not in scope as a whole", ""},
		"a domain and all below":   {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example", "*.a.example"}}}, domain("a.example"), false, names + " " + hunt + " " + look, ",443,"},
		"a domain by itself":       {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example"}}}, domain("a.example"), false, names, ""},
		"with a host":              {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example", "b.example"}}}, discoverArgs{Domains: []string{"a.example"}, Hosts: []string{"b.example"}}, false, "hosts alone", ""},
		"another domain":           {scope.Boundary{Doc: task.Scope{Hosts: []string{"*.a.example"}}}, domain("b.example"), false, "not in scope", ""},
		"of a passive task":        {scope.Boundary{Doc: task.Scope{Hosts: []string{"*.a.example", "a.example"}, Intrusiveness: task.Passive}}, domain("a.example"), false, "dns_passive", ""},
		"a host of a passive task": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Intrusiveness: task.Passive}}, host("192.0.2.1"), false, "passive", ""},
		"with counted requests":    {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}}}, host("192.0.2.1"), true, "budget of requests", ""},
		"under a path":             {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Paths: []string{"/x"}}}, host("192.0.2.1"), false, names + " port_scan tls_scan", ",443,"},
		"beside a path":            {scope.Boundary{Plan: builtin.Plan("check http://192.0.2.1 but do not touch http://192.0.2.1/admin")}, host("192.0.2.1"), false, names + " port_scan tls_scan", "80"},
		"nothing":                  {scope.Boundary{}, discoverArgs{}, false, "must be 1 to", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := New(Config{Run: &task.Run{}, Boundary: c.b})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			config, err := k.discovery(c.a, c.counted)
			if err != nil {
				if !strings.Contains(err.Error(), c.steps) {
					t.Errorf("%v, want %s", err, c.steps)
				}
				return
			}
			if got := strings.Join(config.StepNames(), " "); got != c.steps {
				t.Errorf("steps %s, want %s", got, c.steps)
			}
			if strings.Contains(c.ports, ",") && !strings.Contains(config.Ports, c.ports) || !strings.Contains(c.ports, ",") && config.Ports != c.ports {
				t.Errorf("ports %s, want %s", config.Ports, c.ports)
			}
		})
	}
}

// TestDiscoveryDoesNotOutliveItsTask: with its task, and with its scope, it ends.
func TestDiscoveryDoesNotOutliveItsTask(t *testing.T) {
	gone := errors.New("the task was stopped")
	for _, expires := range []bool{false, true} {
		t.Run(fmt.Sprint(expires), func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			now := time.Now()
			doc := task.Scope{Hosts: []string{"192.0.2.1"}}
			at := now.Add(time.Hour)
			clock := func() time.Time { return now }
			if expires {
				doc.ExpiresAt = &at
				clock = func() time.Time { return at.Add(-time.Millisecond) }
			}
			status, stopped := enumeration.Running, 0
			k, err := New(Config{Run: &task.Run{}, Boundary: scope.Boundary{Doc: doc, Now: clock}, Inventory: Inventory{
				List: func(context.Context, asset.Query) (asset.Page, error) { return asset.Page{}, nil },
				Create: func(context.Context, enumeration.NewEnumeration) (enumeration.Enumeration, error) {
					return enumeration.Enumeration{ID: "e", Status: status}, nil
				},
				Find: func(context.Context, string) (enumeration.Enumeration, error) {
					return enumeration.Enumeration{ID: "e", Status: status}, nil
				},
				Stop: func(ctx context.Context, id string) error {
					stopped++
					status = enumeration.Stopped
					return ctx.Err()
				},
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			r, err := k.discoverAssets().call(ctx, discoverArgs{Hosts: []string{"192.0.2.1"}}, func(string) {
				if !expires {
					cancel(gone)
				}
			})
			if stopped != 1 || expires != (err == nil) || !expires && !errors.Is(err, gone) || expires && !strings.Contains(r.Text, "is stopped") {
				t.Errorf("stopped %d times; %q, %v", stopped, r.Text, err)
			}
		})
	}
}
