package domain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// yard is the service with two people of different teams, a clock and a world that shows a
// proof or does not.
type yard struct {
	*Domains
	clock      time.Time
	shown      atomic.Bool
	alice, eve context.Context
	team       string
}

func setUp(t testing.TB, d *db.DB) *yard {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{clock: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	y.Domains = New(d, q, Config{
		Verify: func(context.Context, string, discover.ProofType, string) (bool, string) {
			return y.shown.Load(), "It was looked for."
		},
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return y.clock }, Wait: time.Millisecond,
	})
	for email, ctx := range map[string]*context.Context{"alice@example.com": &y.alice, "eve@example.com": &y.eve} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(),
			account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role, Plan: account.Enterprise})
		if email == "alice@example.com" {
			y.team = u.TeamID
		}
	}
	return y
}

// as is the context of alice with another plan or role.
func (y *yard) as(change func(c *account.Caller)) context.Context {
	c, _ := account.From(y.alice)
	change(&c)
	return account.WithCaller(y.alice, c)
}

// TestProofs lets looks come and go at random: a domain is in the state that its looks say.
func TestProofs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		d := Domain{Status: Pending, CreatedAt: start}
		now, missed := start, 0
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours")) * time.Hour)
			ok := rapid.Bool().Draw(t, "ok")
			before := d.Status
			d.after(ok, now)
			want := before
			switch {
			case ok:
				want, missed = Verified, 0
			case before == Verified:
				if missed++; missed == maxMisses {
					want = Expired
				}
			case before == Pending && now.Sub(start) >= pendingFor:
				want = Failed
			}
			if d.Status != want {
				t.Fatalf("%s became %s after %v, want %s", before, d.Status, ok, want)
			}
			if waits := d.Status == Pending || d.Status == Verified; waits != d.NextCheckAt.After(now) {
				t.Fatalf("%s is looked at next at %s", d.Status, d.NextCheckAt)
			}
		}
	})
}

func TestDomainsOfATeam(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		made, err := y.Add(y.alice, "Bücher.Example.COM.", discover.ProofTXT)
		if err != nil || made.Name != "xn--bcher-kva.example.com" || len(made.Token) != tokenLength ||
			!strings.Contains(made.Instructions(), "vedette-verification="+made.Token) {
			t.Fatalf("%+v, %v", made, err)
		}
		if _, err := y.Add(y.alice, "bücher.example.com", discover.ProofFile); !errs.Is(err, errs.Conflict) {
			t.Errorf("a domain twice: %v", err)
		}
		if _, err := y.Add(y.eve, "bücher.example.com", discover.ProofFile); err != nil {
			t.Errorf("two teams may try to prove one domain: %v", err)
		}
		for _, bad := range []string{"", ".", "com", "co.uk", "github.io", "192.0.2.1", "::1", "[::1]", "a..com", "-a.com",
			"a_b.com", "a b.com", "http://a.com", "a.com/x", "a@b.com", "1.2.3.4.", strings.Repeat("a", 64) + ".com",
			strings.Repeat("a", 300) + ".com", strings.Repeat("a.", 200) + "com", "\xff.com", "a\x00.com", "*.a.com", "a.com..",
			"xn--zz--.com", "localhost"} {
			if _, err := y.Add(y.alice, bad, discover.ProofTXT); !errs.Is(err, errs.Invalid) ||
				errs.From(err).Param != "domain" {
				t.Errorf("%q: %v", bad, err)
			}
			if _, err := y.Associated(y.alice, Query{Domain: bad}); bad != "" &&
				(!errs.Is(err, errs.Invalid) || errs.From(err).Param != "domain") {
				t.Errorf("associated of %q: %v", bad, err)
			}
		}
		if _, err := y.Add(y.as(func(c *account.Caller) { c.Role = account.Viewer }), "viewer.com",
			discover.ProofTXT); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		for name, err := range map[string]error{
			"find": second(y.Find(y.eve, made.ID)), "verify": second(y.VerifyNow(y.eve, made.ID)),
			"delete": y.Delete(y.eve, made.ID), "find nobody's": second(y.Find(y.alice, "\x00")),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		y.shown.Store(true)
		got, err := y.VerifyNow(y.alice, made.ID)
		if err != nil || got.Status != Verified || got.Attempts != 1 || !got.VerifiedAt.Equal(y.clock) || got.Note == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		// The proof goes away: the sweep makes the looks.
		y.shown.Store(false)
		for range maxMisses {
			y.clock = y.clock.Add(checkEvery + time.Minute)
			if err := y.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := waiting(t, y, VerifyArgs{}.Kind()); n == 0 {
				t.Fatal("no look was due")
			}
			if err := y.Check(t.Context(), VerifyArgs{y.team, made.ID}); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ = y.Find(y.alice, made.ID); got.Status != Expired {
			t.Errorf("%+v", got)
		}
		if err := y.Delete(y.alice, made.ID); err != nil {
			t.Fatal(err)
		}
		if err := y.Delete(y.alice, made.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("deleted twice: %v", err)
		}
		if _, total, err := y.FindAll(y.alice, "", page.Window{Limit: 10}); total != 0 || err != nil {
			t.Errorf("%d domains, %v", total, err)
		}
		if list, total, err := y.FindAll(y.alice, Deleted, page.Window{Limit: 10}); total != 1 || len(list) != 1 ||
			err != nil {
			t.Errorf("%d deleted domains, %v", total, err)
		}
		if _, err := y.Add(y.alice, "bücher.example.com", discover.ProofFile); err != nil {
			t.Errorf("again after a deletion: %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// waiting is how many jobs of a kind wait.
func waiting(t testing.TB, y *yard, kind string) int {
	t.Helper()
	stats, err := y.queue.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		if s.Kind == kind {
			return s.Waiting
		}
	}
	return 0
}

// said is an answer of a place with some domains.
func said(place, source string, state discover.SourceState, names ...string) discover.AssociatedAnswer {
	a := discover.AssociatedAnswer{Source: source,
		Report: discover.SourceReport{Source: place, About: "acme.com", State: state, Count: len(names), Detail: "d"}}
	for _, name := range names {
		a.Found = append(a.Found, discover.Associated{Domain: name, Sources: []string{source},
			Evidence: discover.Evidence{SearchIdentifier: place}})
	}
	return a
}

// settle ends the run that is under way with answers.
func (y *yard) settle(t testing.TB, answers ...discover.AssociatedAnswer) {
	t.Helper()
	s, err := y.find(t.Context(), y.db, y.team, "acme.com", "")
	if err != nil {
		t.Fatal(err)
	}
	a := SearchArgs{y.team, "acme.com", s.run}
	all := map[string]discover.AssociatedAnswer{}
	for _, answer := range answers {
		all[answer.Report.Source] = answer
		if err := y.Save(t.Context(), a, answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(y.Settle(t.Context(), a, all), y.Finish(t.Context(), nil, a)); err != nil {
		t.Fatal(err)
	}
}

func (y *yard) ask(t testing.TB, q Query) Result {
	t.Helper()
	r, err := y.Associated(y.alice, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(r Result) string {
	var out []string
	for _, a := range r.Found {
		out = append(out, a.Domain)
	}
	return strings.Join(out, " ")
}

func TestAssociatedOverTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		if r := y.ask(t, Query{}); r.Domain != "" || len(r.Found) != 0 || r.Running {
			t.Errorf("without domains: %+v", r)
		}
		// Nobody works: the question is answered all the same, once.
		if r := y.ask(t, Query{Domain: "WWW.Acme.com"}); !r.Running || r.Domain != "www.acme.com" || len(r.Sources) != 0 ||
			waiting(t, y, SearchArgs{}.Kind()) != 1 {
			t.Errorf("%+v", r)
		}
		y.ask(t, Query{Domain: "acme.com"})
		if n := waiting(t, y, SearchArgs{}.Kind()); n != 1 {
			t.Errorf("%d searches of one domain", n)
		}
		const certs, whois, deals = discover.CertificateHistory, discover.WhoisHistory, discover.AcquisitionHistory
		y.settle(t, said("crtsh", certs, discover.SourceOK, "a.com", "b.com"),
			said("rdap", whois, discover.SourceOK, "b.com"), said("wikidata", deals, discover.SourceTimedOut))
		r := y.ask(t, Query{Domain: "acme.com"})
		if names(r) != "a.com b.com" || r.Running || !maps.Equal(r.Counts, map[string]int{certs: 2, whois: 1}) ||
			r.Total != 2 || len(r.Health) != 3 {
			t.Errorf("%+v", r)
		}
		if b := r.Found[1]; fmt.Sprint(b.Sources) != "[certificate_history whois_history]" ||
			b.Evidence.SearchIdentifier != "crtsh" {
			t.Errorf("%+v", b)
		}
		if r := y.ask(t, Query{Domain: "acme.com", Sources: []string{whois}}); names(r) != "b.com" || len(r.Health) != 1 {
			t.Errorf("%+v", r)
		}
		if r, _ := y.Associated(y.eve, Query{Domain: "acme.com"}); len(r.Found) != 0 {
			t.Errorf("a stranger sees %+v", r)
		}
		// A day later the answers are old: they are shown, and asked for anew.
		y.clock = y.clock.Add(freshFor + time.Hour)
		if r := y.ask(t, Query{Domain: "acme.com"}); names(r) != "a.com b.com" || !r.Running {
			t.Errorf("%+v", r)
		}
		stale := SearchArgs{y.team, "acme.com", 1}
		if err := y.Save(t.Context(), stale, said("crtsh", certs, discover.SourceOK, "late.com")); err != nil {
			t.Fatal(err)
		}
		// One place is down: what it said stays; another has forgotten something.
		y.settle(t, said("crtsh", certs, discover.SourceFailed), said("rdap", whois, discover.SourceEmpty),
			said("wikidata", deals, discover.SourceOK, "c.com"))
		r = y.ask(t, Query{Domain: "acme.com"})
		if names(r) != "a.com b.com c.com" || fmt.Sprint(r.Found[1].Sources) != "[certificate_history]" ||
			len(r.Sources) != 3 {
			t.Errorf("%+v", r)
		}
		for _, h := range r.Health {
			if old := h.FoundAt.Before(y.clock); old != (h.Place == "crtsh") {
				t.Errorf("%+v", h)
			}
		}
		// It is refreshed by itself while somebody wants it, and forgotten when nobody does.
		y.clock = y.clock.Add(freshFor + time.Hour)
		if err := y.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := y.find(t.Context(), y.db, y.team, "acme.com", ""); err != nil || s.run != 3 {
			t.Errorf("%+v, %v", s, err)
		}
		y.clock = y.clock.Add(storeFor)
		if err := y.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := y.find(t.Context(), y.db, y.team, "acme.com", ""); !db.IsNoRows(err) {
			t.Errorf("kept: %v", err)
		}
	})
}

func TestQueries(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		y.ask(t, Query{Domain: "acme.com"})
		many := said("crtsh", discover.CertificateHistory, discover.SourceOK)
		for i := range 25 {
			a := discover.Associated{Domain: fmt.Sprintf("d%02d.com", i), Sources: []string{discover.CertificateHistory},
				Evidence: discover.Evidence{SubdomainCount: 25 - i}}
			if i%5 == 0 {
				a.Evidence.UpdateDate = fmt.Sprintf("20%02d-01-01", 40-i)
			}
			many.Found = append(many.Found, a)
		}
		many.Report.Count = 25
		y.settle(t, many)
		yes, no := true, false
		for i, active := range []*bool{&yes, &no} {
			if err := y.SaveProbe(t.Context(), SearchArgs{TeamID: y.team}, fmt.Sprintf("d%02d.com", i+3),
				discover.Evidence{Active: active, StatusCode: 200, Title: "T"}); err != nil {
				t.Fatal(err)
			}
		}
		left, err := y.ToProbe(t.Context(), SearchArgs{y.team, "acme.com", 1})
		if err != nil || len(left) != 23 {
			t.Errorf("%d to probe, %v", len(left), err)
		}
		for _, c := range []struct {
			q     Query
			first string
			n     int
		}{
			{Query{}, "d00.com", 25},
			{Query{Active: &yes}, "d03.com", 1},
			{Query{Active: &no}, "d04.com", 1},
			{Query{Sort: "active"}, "d04.com", 25},
			{Query{Sort: "domain"}, "d00.com", 25},
			{Query{Sort: "source"}, "d00.com", 25},
			{Query{Sort: "subdomain_count"}, "d24.com", 25},
			{Query{Sort: "update_date"}, "d20.com", 25},
			{Query{Limit: 10}, "d00.com", 10},
			{Query{Limit: 10, Page: 3}, "d20.com", 5},
			{Query{Limit: 10, Page: 4}, "", 0},
			{Query{Limit: 1 << 60, Page: 1 << 30}, "", 0},
			{Query{Page: 7}, "d00.com", 25},
		} {
			c.q.Domain = "acme.com"
			r := y.ask(t, c.q)
			first, _, _ := strings.Cut(names(r), " ")
			if first != c.first || len(r.Found) != c.n || c.q.Active == nil && r.Total != 25 {
				t.Errorf("%+v: first %q of %d, %d in all", c.q, first, len(r.Found), r.Total)
			}
		}
		if e := y.ask(t, Query{Domain: "acme.com", Active: &yes}).Found[0].Evidence; e.StatusCode != 200 || e.Title != "T" ||
			e.SubdomainCount != 22 {
			t.Errorf("%+v", e)
		}
		for _, plan := range []account.Plan{account.Free, account.Pro, "", "GROWTH"} {
			r, err := y.Associated(y.as(func(c *account.Caller) { c.Plan = plan }),
				Query{Domain: "acme.com", Sort: "subdomain_count", Limit: 4, Page: 3})
			if err != nil || r.Total != PlanLimit || !r.Capped || names(r) != "d16.com d15.com" ||
				r.Counts[discover.CertificateHistory] != PlanLimit {
				t.Errorf("%s: %+v, %v", plan, r, err)
			}
		}
		for param, q := range map[string]Query{"source": {Sources: []string{"whois"}}, "sort": {Sort: "name"},
			"limit": {Limit: -1}, "page": {Page: -1}} {
			if _, err := y.Associated(y.alice, q); !errs.Is(err, errs.Invalid) || errs.From(err).Param != param {
				t.Errorf("%s: %v", param, err)
			}
		}
		// No domain: those that are verified, together.
		y.shown.Store(true)
		for _, name := range []string{"acme.com", "www.acme.com", "pending.com"} {
			made, err := y.Add(y.alice, name, discover.ProofTXT)
			if err != nil {
				t.Fatal(err)
			}
			if name != "pending.com" {
				if _, err := y.VerifyNow(y.alice, made.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r := y.ask(t, Query{}); r.Domain != "acme.com,www.acme.com" || r.Total != 25 {
			t.Errorf("%s: %d", r.Domain, r.Total)
		}
	})
}

func TestASourceFarBelowItsPast(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		const certs = discover.CertificateHistory
		full := said("crtsh", certs, discover.SourceOK, "a.com", "b.com", "c.com", "d.com", "e.com", "f.com")
		half := said("crtsh", certs, discover.SourceOK, "a.com", "b.com", "c.com")
		less := said("crtsh", certs, discover.SourceOK, "a.com", "b.com")
		down := said("crtsh", certs, discover.SourceBlocked)
		for i, step := range []struct {
			answer discover.AssociatedAnswer
			usual  int
			alert  bool
		}{{full, -1, false}, {less, -1, false}, {full, -1, false}, {full, 6, false}, {half, 6, false}, {less, 6, true},
			{down, 6, true}, {full, 6, false}} {
			y.ask(t, Query{Domain: "acme.com"})
			y.settle(t, step.answer)
			y.clock = y.clock.Add(freshFor + time.Hour)
			list, err := y.Sources(y.alice, "www.acme.com")
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			h := list[0]
			if (h.Alert != nil) != step.alert || h.Usual != step.usual || h.Count != step.answer.Report.Count ||
				h.State != step.answer.Report.State {
				t.Errorf("run %d: %+v", i+1, h)
			}
			if h.Alert != nil && (h.Alert.Usual != 6 || h.Alert.Count != h.Count) {
				t.Errorf("run %d: %+v", i+1, *h.Alert)
			}
		}
		if list, err := y.Sources(y.eve, ""); len(list) != 0 || err != nil {
			t.Errorf("a stranger sees %+v, %v", list, err)
		}
	})
}
