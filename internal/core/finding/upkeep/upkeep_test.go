package upkeep

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/due"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type room struct {
	*Upkeep
	alice, member context.Context
	team          string
	at            *time.Time
}

func setUp(t *testing.T, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := room{Upkeep: New(d, q, finding.New(d, q), slog.New(slog.DiscardHandler)), team: u.TeamID, at: &now}
	r.now = func() time.Time { return *r.at }
	c := account.Caller{UserID: u.ID, Email: "alice@example.com", TeamID: u.TeamID, Role: u.Role}
	r.alice = account.WithCaller(t.Context(), c)
	c.Role = account.Member
	r.member = account.WithCaller(t.Context(), c)
	return r
}

// see stores sightings of checks, each with a severity: check:severity:host.
func (r room) see(t *testing.T, scan string, what ...string) {
	t.Helper()
	var seen []finding.Sighting
	for _, one := range what {
		words := strings.Split(one, ":")
		e := engine.Event{TemplateID: words[0], Host: words[2], MatchedAt: "https://" + words[2] + "/", MatcherStatus: true,
			Timestamp: time.Now(), Info: syntax.Info{Name: words[0], Severity: syntax.Severity(words[1])}}
		seen = append(seen, finding.Sighting{Event: e})
	}
	if err := r.db.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := r.findings.Add(t.Context(), tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (r room) look(t *testing.T) {
	t.Helper()
	if err := r.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r room) list(t *testing.T, f finding.Filter, sort string) []finding.Finding {
	t.Helper()
	sorts, err := page.Sorts(sort, "", finding.Sortable)
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := r.findings.FindAll(r.alice, f, sorts, page.Window{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(found []finding.Finding) string {
	var out []string
	for _, f := range found {
		out = append(out, f.TemplateID)
	}
	return strings.Join(out, " ")
}

func (r room) news(t *testing.T) int {
	t.Helper()
	n, err := db.Value[int](t.Context(), r.db, `SELECT count(*) FROM river_job WHERE kind = 'finding.news'`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Findings get their dates, are soon due and overdue once each, and change with severity, status, labels and policy.
func TestDue(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "s1", "a:high:one.example.com", "b:low:two.example.com", "c:info:one.example.com")
		if err := r.SetPolicy(r.member, &due.Policy{}); !errs.Is(err, errs.Forbidden) {
			t.Error(err)
		}
		if err := r.SetPolicy(r.alice, &due.Policy{From: "x"}); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
		p := due.Policy{Warn: 3, Days: due.Days{"critical": 5, "high": 10, "low": 90}}
		if err := r.SetPolicy(r.alice, &p); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Policy(r.alice); err != nil || got.Days["high"] != 10 {
			t.Error(got, err)
		}
		r.look(t)
		inTime := finding.Filter{Due: []string{"due"}}
		if got := names(r.list(t, inTime, "due_at")); got != "a b" {
			t.Errorf("in time: %q", got)
		}
		if got := names(r.list(t, finding.Filter{}, "due_at")); got != "a b c" {
			t.Errorf("by date: %q", got)
		}
		*r.at = r.at.AddDate(0, 0, 8)
		r.look(t)
		r.look(t)
		if got := names(r.list(t, finding.Filter{Due: []string{"soon"}}, "")); got != "a" || r.news(t) != 1 {
			t.Errorf("soon: %q, and %d jobs", got, r.news(t))
		}
		*r.at = r.at.AddDate(0, 0, 3)
		r.look(t)
		r.look(t)
		overdue := finding.Filter{Due: []string{"overdue"}}
		if got := names(r.list(t, overdue, "")); got != "a" || r.news(t) != 2 {
			t.Errorf("overdue: %q, and %d jobs", got, r.news(t))
		}
		a := r.list(t, overdue, "")[0]
		_, changes, err := r.findings.Timeline(r.alice, a.ID)
		if err != nil || len(changes) != 2 || changes[1].Type != "overdue" {
			t.Errorf("%+v %v", changes, err)
		}
		if _, err := r.findings.Override(r.alice, finding.Override{TemplateID: "a", Custom: "low"}); err != nil {
			t.Fatal(err)
		}
		r.look(t)
		if got := names(r.list(t, inTime, "due_at")); got != "a b" && got != "b a" {
			t.Errorf("after a move in severity: %q", got)
		}
		if _, changes, err = r.findings.Timeline(r.alice, a.ID); err != nil || changes[len(changes)-1].Type != "due_change" {
			t.Errorf("%+v %v", changes, err)
		}
		if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{a.ID}}, finding.AcceptedRisk); err != nil {
			t.Fatal(err)
		}
		r.look(t)
		if got := names(r.list(t, inTime, "")); got != "b" {
			t.Errorf("after a decision: %q", got)
		}
		r.see(t, "s2", "b:low:two.example.com", "d:critical:two.example.com")
		r.look(t)
		if got := names(r.list(t, finding.Filter{ScanIDs: []string{"s2"}, Due: []string{"due", "soon", "overdue"}}, "due_at")); got != "d b" {
			t.Errorf("a scan: %q", got)
		}
		if err := r.SetPolicy(r.alice, nil); err != nil {
			t.Fatal(err)
		}
		r.look(t)
		if got := r.list(t, finding.Filter{}, "due_at"); len(got) != 4 || got[0].Follows.DueAt != listing.NoDate {
			t.Errorf("%+v", got)
		}
		if got, err := r.Policy(r.alice); err != nil || len(got.Days) != 0 {
			t.Error(got, err)
		}
	})
}

// The labels of assets count, also when they change.
func TestLabels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "s1", "a:high:one.example.com", "b:high:two.example.com")
		if err := r.SetPolicy(r.alice, &due.Policy{Days: due.Days{"high": 30}, Labels: []due.Label{{Label: "Shop", Days: due.Days{"high": 2}}}}); err != nil {
			t.Fatal(err)
		}
		r.look(t)
		asset := func(rev int, labels string) {
			t.Helper()
			if _, err := d.Exec(t.Context(), `DELETE FROM asset`); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Exec(t.Context(), `INSERT INTO asset (team_id, no, rev, enumeration_id, hash, host, port, protocol, first_run,
				run, created_at, since, seen_at, is_missing, is_internal, status_code, content_length, title, service, webserver, domain,
				ip, cname, technologies, favicon, labels, tls, certificate, misconfiguration, endpoints, screenshot, facts, whole, doc)
				VALUES (?, 1, ?, 'e', 'h', 'one.example.com', 443, 'https', 1, 1, 0, 0, 0, ?, ?, 200, 0, '', '', '', '', '', '', '', '',
				?, '', '', '', 0, '', '', '', 0)`, r.team, rev, false, false, labels); err != nil {
				t.Fatal(err)
			}
		}
		days := func() (out []int) {
			for _, f := range r.list(t, finding.Filter{}, "template_id") {
				out = append(out, int(time.UnixMicro(f.Follows.DueAt).Sub(f.CreatedAt).Hours()/24))
			}
			return out
		}
		for i, step := range []struct {
			labels string
			want   int
		}{{"web\nshop", 2}, {"web", 30}, {"shop", 2}} {
			asset(i+1, step.labels)
			r.look(t)
			if got := days(); len(got) != 2 || got[0] != step.want || got[1] != 30 {
				t.Errorf("%q: %v", step.labels, got)
			}
		}
	})
}

// Feeds say what is known of the CVEs of findings, those that came before them included.
func TestFeeds(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, feeds := setUp(t, d), feed.New(d)
		r.see(t, "s1", "CVE-2021-44228:high:one.example.com", "cve-2014-0160:low:two.example.com", "other:low:one.example.com")
		if _, err := feeds.LoadEPSS(t.Context(), strings.NewReader("cve,epss,percentile\nCVE-2021-44228,0.94358,0.99\nCVE-2014-0160,0.5,0.9\n")); err != nil {
			t.Fatal(err)
		}
		r.look(t)
		if _, err := feeds.LoadKEV(t.Context(), strings.NewReader(`{"vulnerabilities":[{"cveID":"CVE-2014-0160","dateAdded":"2022-05-04"}]}`)); err != nil {
			t.Fatal(err)
		}
		r.look(t)
		yes, no := true, false
		for _, c := range []struct {
			f    finding.Filter
			want string
		}{
			{finding.Filter{KEV: &yes}, "cve-2014-0160"}, {finding.Filter{KEV: &no}, "other CVE-2021-44228"},
			{finding.Filter{MinEPSS: 0.5}, "cve-2014-0160 CVE-2021-44228"}, {finding.Filter{MinEPSS: 0.501}, "CVE-2021-44228"},
			{finding.Filter{MinEPSS: 1}, ""}, {finding.Filter{MinEPSS: 0.943}, "CVE-2021-44228"}, {finding.Filter{MinEPSS: 0.944}, ""},
		} {
			if got := names(r.list(t, c.f, "epss")); got != c.want {
				t.Errorf("%+v: %q, want %q", c.f, got, c.want)
			}
		}
		r.see(t, "s2", "CVE-2014-0160:low:three.example.com")
		r.look(t)
		if got := r.list(t, finding.Filter{ScanIDs: []string{"s2"}}, ""); len(got) != 1 || !got[0].Follows.IsKEV || got[0].Follows.EPSS != 50_000 {
			t.Errorf("%+v", got)
		}
	})
}
