package network

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// bench is the service with two users of one team and a stranger.
type bench struct {
	*Events
	d               *db.DB
	alice, bob, eve context.Context
	team, strangers string
	mine, theirs    string // tasks of alice and eve
	secrets         *secret.Secrets
}

func setUp(t *testing.T, d *db.DB) *bench {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	b := &bench{d: d, secrets: secret.New(d, box)}
	tasks := task.New(d, q, accounts, hook.New(d, &netguard.Guard{}, nil), finding.New(d, q), nil)
	b.Events = New(d, q, Sources{Tasks: tasks, Secrets: b.secrets, Box: box, Logger: logger,
		Exports: export.New(d, q, export.Sources{Secrets: b.secrets}, logger)})
	for _, u := range []struct {
		ctx         *context.Context
		email, team string
	}{{&b.alice, "alice@example.com", "blue"}, {&b.bob, "bob@example.com", "blue"}, {&b.eve, "eve@example.com", ""}} {
		user, err := accounts.CreateUser(t.Context(), account.NewUser{Email: u.email, Team: u.team})
		if err != nil {
			t.Fatal(err)
		}
		role := account.Admin
		if u.ctx == &b.bob {
			role = account.Viewer
		}
		*u.ctx = account.WithCaller(t.Context(), account.Caller{UserID: user.ID, Email: user.Email, TeamID: user.TeamID, Role: role})
		if u.ctx == &b.alice {
			b.team = user.TeamID
		} else {
			b.strangers = user.TeamID
		}
	}
	create := func(ctx context.Context) string {
		made, err := tasks.Create(ctx, task.NewTask{Instruction: "look at http://a.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	b.mine, b.theirs = create(b.alice), create(b.eve)
	return b
}

// record captures exchanges of a task.
func (b *bench) record(t *testing.T, s Subject, all ...traffic.Exchange) {
	t.Helper()
	r, err := b.Begin(t.Context(), s)
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	for _, x := range all {
		r.Add(x)
	}
	r.Close()
}

func exchange(path, request, response string) traffic.Exchange {
	return traffic.Exchange{
		At: time.Now(), Took: time.Millisecond, Tool: "http", Method: "POST", URL: "http://a.example.com" + path, Status: 200,
		IP: "192.0.2.1", Request: []byte(request), Response: []byte(response),
	}
}

const canary, login, session = "CANARY-team/secret+1", "CANARYlogin99", "CANARYsession0123456789"

// The secrets of a team, and the logins of its tasks, are in no column and in nothing that is shown, in any spelling;
// what looks like a secret is shown to who asks for it and may see it. Nothing reaches another team.
func TestCanaries(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		if _, err := b.secrets.Create(b.alice, secret.NewSecret{Name: "KEY", Value: canary}); err != nil {
			t.Fatal(err)
		}
		b.record(t, Subject{TeamID: b.team, TaskID: b.mine, Hidden: []string{login}}, exchange(
			"/x?key="+url.QueryEscape(canary)+"&a=1",
			"POST /x HTTP/1.1\r\nHost: a.example.com\r\nX-Key: "+canary+"\r\nCookie: sid="+session+"\r\n\r\nuser=alice&pw="+login,
			"HTTP/1.1 200 OK\r\nSet-Cookie: sid="+session+"\r\n\r\n"+canary+" "+base64.StdEncoding.EncodeToString([]byte(canary))+" PROOF"))
		all, err := b.secrets.FindAll(b.alice, "")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if err := b.secrets.Delete(b.alice, all[0].ID); err != nil { // it stays hidden where it was captured
			t.Fatal(err)
		}
		found, _, err := b.FindAll(b.bob, Filter{TaskID: b.mine, Limit: 10})
		if err != nil || len(found) != 1 || found[0].Host != "a.example.com:80" {
			t.Fatalf("%+v, %v", found, err)
		}
		show := func(unmasked bool, who context.Context) string {
			t.Helper()
			one, err := b.Find(who, found[0].ID, unmasked)
			if err != nil {
				t.Fatal(err)
			}
			var har bytes.Buffer
			write, err := b.HAR(who, b.mine, "", unmasked)
			if err == nil {
				err = write(&har)
			}
			if err != nil || !json.Valid(har.Bytes()) {
				t.Fatalf("%v: %s", err, har.String())
			}
			text, err := json.Marshal([]any{one, har.String()})
			if err != nil || !strings.Contains(string(text), "PROOF") {
				t.Fatal(string(text), err)
			}
			return string(text)
		}
		spellings := []string{"CANARY-team", url.QueryEscape(canary), login, base64.StdEncoding.EncodeToString([]byte(canary))[:20]}
		for name, text := range map[string]string{"masked": show(false, b.bob) + found[0].URL, "unmasked": show(true, b.alice)} {
			for _, hidden := range spellings {
				if strings.Contains(text, hidden) {
					t.Errorf("%s: %q is shown in %s", name, hidden, text)
				}
			}
			if strings.Contains(text, session) != (name == "unmasked") {
				t.Errorf("%s: the session: %s", name, text)
			}
		}
		if _, err := b.Find(b.bob, found[0].ID, true); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer sees everything: %v", err)
		}
		stored, err := db.Values[[]byte](t.Context(), d, `SELECT sealed FROM network_event UNION ALL SELECT sealed_url FROM network_event`)
		if err != nil || bytes.Contains(bytes.Join(stored, nil), []byte("CANARY")) || bytes.Contains(bytes.Join(stored, nil), []byte("a.example.com")) {
			t.Errorf("the database shows what was sent: %v", err)
		}
		b.strangerSeesNothing(t, found[0].ID)
	})
}

func (b *bench) strangerSeesNothing(t *testing.T, id string) {
	t.Helper()
	if all, _, err := b.FindAll(b.eve, Filter{Limit: 10}); err != nil || len(all) != 0 {
		t.Errorf("a stranger's list: %v, %v", all, err)
	}
	if s, err := b.Statistics(b.eve, "", ""); err != nil || s.Events+s.Kept+s.Bytes != 0 || len(s.Hosts) != 0 {
		t.Errorf("a stranger's statistics: %+v, %v", s, err)
	}
	if all, _, err := b.FindAll(b.eve, Filter{TaskID: b.mine, Limit: 1}); err != nil || len(all) != 0 {
		t.Errorf("a stranger's list of the task: %v, %v", all, err)
	}
	if s, err := b.Statistics(b.eve, b.mine, ""); err != nil || s.Events+s.Kept+s.Bytes != 0 {
		t.Errorf("a stranger's statistics of the task: %+v, %v", s, err)
	}
	var har bytes.Buffer
	if write, err := b.HAR(b.eve, b.mine, "", false); err != nil || write(&har) != nil || strings.Contains(har.String(), "_id") {
		t.Errorf("a stranger's file: %s, %v", har.String(), err)
	}
	for name, do := range map[string]func() error{
		"get":    func() error { _, err := b.Find(b.eve, id, false); return err },
		"replay": func() error { _, err := b.Replay(b.eve, id, Edits{}); return err },
		"delete": func() error { _, err := b.DeleteAll(b.eve, b.mine, ""); return err },
	} {
		if err := do(); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger's %s: %v", name, err)
		}
	}
	r, err := b.Replay(b.alice, id, Edits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.FindReplay(b.eve, r.ID); !errs.Is(err, errs.NotFound) {
		t.Errorf("a stranger's replay: %v", err)
	}
	if _, err := b.Replay(b.bob, id, Edits{}); !errs.Is(err, errs.Forbidden) {
		t.Errorf("a viewer's replay: %v", err)
	}
}

// The policy of a team bounds what is captured and kept, and what is not kept is counted.
func TestPolicy(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		off := false
		if _, err := b.SetPolicy(b.bob, PolicyUpdate{Tasks: &off}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer changes the policy: %v", err)
		}
		for _, wrong := range []PolicyUpdate{{RetentionDays: new(int)}, {MaxMegabytes: new(int)}, {Scans: new(OfScans)}} {
			if _, err := b.SetPolicy(b.alice, wrong); !errs.Is(err, errs.Invalid) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		noise := func(n int) string { // that does not compress well
			var out strings.Builder
			for i := range n / 16 {
				fmt.Fprintf(&out, "%016x", uint64(i+n)*0x9E3779B97F4A7C15)
			}
			return out.String()
		}
		var many []traffic.Exchange
		for i := range 40 {
			many = append(many, exchange(fmt.Sprint("/", i), "GET / HTTP/1.1\r\n\r\n", noise(120_000+i*16)))
		}
		b.record(t, Subject{TeamID: b.team, TaskID: b.mine}, many...)
		one, days := 1, 365
		if p, err := b.SetPolicy(b.alice, PolicyUpdate{MaxMegabytes: &one, RetentionDays: &days}); err != nil || p.MaxMegabytes != 1 ||
			!p.Tasks || p.Scans != ScansOnRequest || p.UpdatedBy != "alice@example.com" {
			t.Fatalf("%+v, %v", p, err)
		}
		s, err := b.Statistics(b.alice, b.mine, "")
		if err != nil || s.Kept != 40 || s.Removed == 0 || s.Events != s.Kept-s.Removed || s.Bytes > 1<<20 || s.Bytes < 1<<19 {
			t.Fatalf("%+v, %v", s, err)
		}
		newest, _, err := b.FindAll(b.alice, Filter{Limit: 1})
		if err != nil || len(newest) != 1 || !strings.HasSuffix(newest[0].URL, "/39") {
			t.Errorf("the newest was removed: %+v, %v", newest, err)
		}
		b.now = func() time.Time { return time.Now().AddDate(0, 0, 366) }
		if err := b.KeepOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err = b.Statistics(b.alice, b.mine, ""); err != nil || s.Events != 0 || s.Removed != 40 {
			t.Errorf("what is too old is kept: %+v, %v", s, err)
		}
		if _, err := b.SetPolicy(b.alice, PolicyUpdate{Tasks: &off}); err != nil {
			t.Fatal(err)
		}
		if r, err := b.Begin(t.Context(), Subject{TeamID: b.team, TaskID: b.mine}); r != nil || err != nil {
			t.Errorf("a task is captured although it is switched off: %v", err)
		}
		if r, err := b.Begin(t.Context(), Subject{TeamID: b.team, ScanID: "s"}); r != nil || err != nil {
			t.Errorf("a scan that does not ask is captured: %v", err)
		}
		if r, err := b.Begin(t.Context(), Subject{TeamID: b.team, ScanID: "s", Asked: true}); r == nil || err != nil {
			t.Errorf("a scan that asks is not captured: %v", err)
		} else {
			r.Add(exchange("/", "", "")) // the scan was deleted
			r.Drop(3)
			r.Close()
		}
	})
}

// What is dropped is counted with its task.
func TestDrops(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		r, err := b.Begin(t.Context(), Subject{TeamID: b.team, TaskID: b.mine})
		if err != nil {
			t.Fatal(err)
		}
		r.Drop(7)
		r.By("webtest")(exchange("/", "GET / HTTP/1.1\r\n\r\n", ""))
		r.Close()
		s, err := b.Statistics(b.alice, "", "")
		if err != nil || s.Dropped != 7 || s.Kept != 1 || s.Tools[0] != (Count{"webtest", 1}) || s.Statuses[0].Value != "200" {
			t.Errorf("%+v, %v", s, err)
		}
		if n, err := b.DeleteAll(b.alice, b.mine, ""); n != 1 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
	})
}
