package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

func TestDiscoveryStaysInScope(t *testing.T) {
	const look, hunt, names = "port_scan tls_scan http_probe", "dns_scraping dns_bruteforce dns_permute",
		"dns_passive dns_resolve"
	domain := func(d ...string) discoverArgs { return discoverArgs{Domains: d} }
	host := func(h ...string) discoverArgs { return discoverArgs{Hosts: h} }
	for name, c := range map[string]struct {
		b       scope.Boundary
		a       discoverArgs
		counted bool
		steps   string // or a part of the error
		ports   string // all, or with commas a part
	}{
		"a host": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}}}, host("192.0.2.1"), false,
			names + " " + look, ",443,"},
		"a host on its port": {scope.Boundary{Plan: builtin.Plan("check http://192.0.2.1:81")}, host("192.0.2.1"),
			false, names + " " + look, "81"},
		"these ports of a host": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Ports: []int{22, 99}}},
			discoverArgs{Hosts: []string{"192.0.2.1"}, Ports: []int{99, 100}}, false, names + " " + look, "99"},
		"no port of a host": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Ports: []int{22}}},
			discoverArgs{Hosts: []string{"192.0.2.1"}, Ports: []int{80}}, false, "no port is in scope", ""},
		"hosts with other ports": {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example:81", "b.example:82"}}},
			host("a.example", "b.example"), false, "no port is in scope", ""},
		"another host": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}}}, host("192.0.2.2"), false,
			"not in scope", ""},
		"a part of a range": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.0/24"}}}, host("192.0.2.16/28"),
			false, names + " " + look, ",443,"},
		"more than a range": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.0/28"}}}, host("192.0.2.0/24"),
			false, "not in scope as a whole", ""},
		"a domain and all below": {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example", "*.a.example"}}},
			domain("a.example"), false, names + " " + hunt + " " + look, ",443,"},
		"a domain by itself": {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example"}}}, domain("a.example"),
			false, names, ""},
		"with a host": {scope.Boundary{Doc: task.Scope{Hosts: []string{"a.example", "b.example"}}},
			discoverArgs{Domains: []string{"a.example"}, Hosts: []string{"b.example"}}, false, "hosts alone", ""},
		"another domain": {scope.Boundary{Doc: task.Scope{Hosts: []string{"*.a.example"}}}, domain("b.example"),
			false, "not in scope", ""},
		"of a passive task": {scope.Boundary{Doc: task.Scope{Hosts: []string{"*.a.example", "a.example"},
			Intrusiveness: task.Passive}}, domain("a.example"), false, "dns_passive", ""},
		"a host of a passive task": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"},
			Intrusiveness: task.Passive}}, host("192.0.2.1"), false, "passive", ""},
		"with counted requests": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}}}, host("192.0.2.1"), true,
			"budget of requests", ""},
		"under a path": {scope.Boundary{Doc: task.Scope{Hosts: []string{"192.0.2.1"}, Paths: []string{"/x"}}},
			host("192.0.2.1"), false, names + " port_scan tls_scan", ",443,"},
		"beside a path": {scope.Boundary{Plan: builtin.Plan("check http://192.0.2.1 but do not touch http://192.0.2.1/admin")}, host("192.0.2.1"), false, names + " port_scan tls_scan", "80"},
		"nothing":       {scope.Boundary{}, discoverArgs{}, false, "must be 1 to", ""},
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
			if strings.Contains(c.ports, ",") && !strings.Contains(config.Ports, c.ports) || !strings.Contains(c.ports, ",") &&
				config.Ports != c.ports {
				t.Errorf("ports %s, want %s", config.Ports, c.ports)
			}
		})
	}
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestDiscoveryDoesNotOutliveItsTask: an enumeration ends with its task, and with the task's scope. No worker takes
// its jobs here, so that it ends only when it is stopped.
func TestDiscoveryDoesNotOutliveItsTask(t *testing.T) {
	stopped := errors.New("the task was stopped")
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		owner, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		q, err := queue.Open(t.Context(), d, queue.Config{})
		if err != nil {
			t.Fatal(err)
		}
		assets := asset.New(d, q, nil)
		i := Inventory{
			Assets: assets, Enumerations: enumeration.New(d, q, assets, policy.New(d, q, assets, nil), setting.New(d, nil, nil),
				nil),
			Caller: account.Caller{UserID: owner.ID, Email: owner.Email, TeamID: owner.TeamID, Role: account.Member},
		}
		for _, expires := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			now := time.Now()
			doc, clock := task.Scope{Hosts: []string{"192.0.2.1"}}, func() time.Time { return now }
			if expires {
				at := now.Add(time.Hour)
				doc.ExpiresAt, clock = &at, func() time.Time { return at.Add(-time.Millisecond) }
			}
			k, err := New(Config{Run: &task.Run{}, Boundary: scope.Boundary{Doc: doc, Now: clock}, Inventory: i})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			var id string
			r, err := k.discoverAssets().call(ctx, discoverArgs{Hosts: []string{"192.0.2.1"}}, func(said string) {
				id = strings.Fields(said)[1]
				if !expires {
					cancel(stopped)
				}
			})
			if expires != (err == nil) || !expires && !errors.Is(err, stopped) || expires &&
				!strings.Contains(r.Text, "is stopped") {
				t.Errorf("expires %v: %q, %v", expires, r.Text, err)
			}
			if e, err := i.Enumerations.Find(i.as(t.Context()), id); err != nil || e.Status != enumeration.Stopped {
				t.Errorf("expires %v: the enumeration is %s, %v", expires, e.Status, err)
			}
		}
	})
}
