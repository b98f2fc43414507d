package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/provision"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// shelf is a service with a user.
type shelf struct {
	*Installs

	ctx context.Context //nolint:containedctx // the user's
}

func open(t *testing.T, d *db.DB, hosts ...string) shelf {
	t.Helper()
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	folders, err := provision.New(hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Agents: customagent.New(d, nil), Secrets: secret.New(d, box), Folders: folders})
	t.Cleanup(func() {
		if err := folders.Close(); err != nil {
			t.Error(err)
		}
	})
	return shelf{s, account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})}
}

func (s shelf) agent(t *testing.T, up customagent.Update) customagent.Agent {
	t.Helper()
	if up.Name == nil {
		up.Name = new("Scout")
	}
	a, err := s.Agents.Create(s.ctx, up)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (s shelf) shown(t *testing.T, a customagent.Agent) customagent.Installation {
	t.Helper()
	a, err := s.Agents.Find(s.ctx, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	return a.Installation
}

// An agent is installed once, with its owner's secrets, and its tools see what was installed and cannot change it.
func TestInstalledOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		const token = "token-of-the-owner-0123456789"
		if _, err := s.Secrets.Create(s.ctx, secret.NewSecret{Name: "TOKEN", Value: token}); err != nil {
			t.Fatal(err)
		}
		schema := map[string]any{"type": "object", "properties": map[string]any{"who": map[string]any{"type": "string"}}}
		a := s.agent(t, customagent.Update{
			Prereqs: &[]string{"sh", "cat"}, Env: &[]string{"TOKEN"},
			Install: &[]string{`echo "installing with $TOKEN"; mkdir bin; printf '#!/bin/sh\necho hello $1' >bin/greet; chmod +x bin/greet`},
			Verify:  &[]string{`test "$(greet x)" = "hello x"`},
			CustomTools: &[]customagent.Tool{
				{ID: "greet", Description: "d", Command: `greet {{who}}; echo "$TOKEN" | rev; echo "$TOKEN"; touch /agent/bin/y || cat`, Schema: schema},
				{ID: "alone", Description: "d", Executable: true, Script: "#!/bin/sh\ncat; exit 3"},
				{ID: "long", Description: "d", Command: "while :; do :; done", Seconds: 1},
			},
		})
		var all sync.WaitGroup
		var held []*Ready
		var mu sync.Mutex
		for range 3 {
			all.Go(func() {
				r, err := s.Ready(t.Context(), a)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				held = append(held, r)
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		if held[0].folder != held[1].folder || held[1].folder != held[2].folder {
			t.Errorf("installed more than once: %q %q %q", held[0].folder, held[1].folder, held[2].folder)
		}
		shown := s.shown(t, a)
		if shown.Status != customagent.Installed || strings.Contains(shown.Output, token) ||
			!strings.Contains(shown.Output, "installing with {{$TOKEN}}") {
			t.Errorf("%+v", shown)
		}
		tools := held[0].Tools()
		out, err := tools[0].Call(t.Context(), json.RawMessage(`{"who":"$(id)"}`), nil)
		if err != nil || out.Fault != "" || !strings.HasPrefix(string(out.Result), "hello $(id)\n") ||
			strings.Contains(string(out.Result), token) || !strings.Contains(string(out.Result), `{"who":"$(id)"}`) {
			t.Errorf("%+v, %v", out, err)
		}
		if out, err = tools[1].Call(t.Context(), json.RawMessage(`{"x":1}`), nil); err != nil ||
			string(out.Result) != `{"x":1}` || !strings.Contains(out.Fault, "code 3") {
			t.Errorf("%+v, %v", out, err)
		}
		if out, err = tools[2].Call(t.Context(), json.RawMessage(`{}`), nil); err != nil || !strings.Contains(out.Fault, "too long") {
			t.Errorf("%+v, %v", out, err)
		}
		for _, r := range held {
			r.Close()
		}
	})
}

// What an agent needs and does not have is named, and nothing is kept of an installation that failed.
func TestFailuresAreNamed(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	s := open(t, d)
	for want, up := range map[string]customagent.Update{
		"secrets that its owner does not have: ONE, TWO":            {Env: &[]string{"ONE", "TWO"}},
		"not on this server: no-such-program (prereq_packages)":     {Prereqs: &[]string{"sh", "no-such-program"}},
		"install_commands[1] ended with the code 7":                 {Install: &[]string{"true", "echo why; exit 7"}},
		"verify_commands[0] ended with the code 1":                  {Verify: &[]string{"false"}},
		"named no hosts for them (install_hosts).\n$ exit 7":        {Install: &[]string{"exit 7"}},
		"install_commands[0] was ended: the installation is larger": {Install: &[]string{"for i in $(seq 60000); do : >$i; done; sleep 60"}},
		"install_commands[0] was ended: the installation has a":     {Install: &[]string{"mkdir x && chmod 0 x; sleep 60"}},
	} {
		if os.Geteuid() == 0 && strings.HasSuffix(want, "has a") {
			continue // root reads all folders
		}
		up.Name = new(fmt.Sprintf("%.40q", want))
		a := s.agent(t, up)
		r, err := s.Ready(t.Context(), a)
		if r != nil || !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if shown := s.shown(t, a); a.Installs() && (shown.Status != customagent.InstallFailed || !strings.Contains(shown.Fault, want)) {
			t.Errorf("%s: %+v", want, shown)
		}
	}
	s.refuseAll(t)
}

// refuseAll: where programs cannot be run, none is, and the reason is told.
func (s shelf) refuseAll(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	for name, up := range map[string]customagent.Update{
		"a tool":    {CustomTools: &[]customagent.Tool{{ID: "x", Description: "d", Command: "true"}}},
		"a command": {Install: &[]string{"true"}},
	} {
		up.Name = &name
		if _, err := s.Ready(t.Context(), s.agent(t, up)); !errs.Is(err, errs.Conflict) ||
			!strings.Contains(err.Error(), "none are run here: bubblewrap is not installed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Installations reach the hosts that the operator names, and no others; tools reach what their task dials.
func TestNetworkOfInstallations(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a package")) }))
	t.Cleanup(site.Close)
	d := dbtest.Open(t, "sqlite")
	address := site.Listener.Addr().String()
	s := open(t, d, address)
	_, port, _ := net.SplitHostPort(address)
	get := "curl -sf http://" + address + "/ && ! curl -sf http://127.0.0.2:" + port + "/"
	a := s.agent(t, customagent.Update{Prereqs: &[]string{"curl"}, Install: &[]string{get},
		CustomTools: &[]customagent.Tool{{ID: "get", Description: "d", Command: "curl -s http://" + address + "/"}}})
	r, err := s.Ready(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if shown := s.shown(t, a); !strings.Contains(shown.Output, "a package") {
		t.Errorf("%+v", shown)
	}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("out of scope") }
	if out, err := r.Tools()[0].Call(t.Context(), json.RawMessage(`{}`), refuse); err != nil ||
		!strings.Contains(string(out.Result), "out of scope") {
		t.Errorf("%+v, %v", out, err)
	}
}
