package report

import (
	"context"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is the service with a user of one team and a stranger, on a clock of its own.
type world struct {
	*Reports
	alice, stranger context.Context
	team            string
	clock           time.Time
}

func setUp(t testing.TB, d *db.DB) *world {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := &world{Reports: New(d, asset.New(d, nil, nil))}
	r.clock = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for email, ctx := range map[string]*context.Context{"alice@example.com": &r.alice, "eve@example.com": &r.stranger} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
		if ctx == &r.alice {
			r.team = u.TeamID
		}
	}
	return r
}

func (r *world) tx(t testing.TB, do func(tx *db.Tx) error) {
	t.Helper()
	if err := r.db.Tx(context.Background(), do); err != nil {
		t.Fatal(err)
	}
}

func (r *world) enroll(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		r.tx(t, func(tx *db.Tx) error {
			return r.assets.Register(context.Background(), tx,
				asset.Enumeration{ID: id, TeamID: r.team, Name: "All of " + id, SourceType: "discovery"})
		})
	}
}

func (r *world) list(t testing.TB, q asset.Query) asset.Page {
	t.Helper()
	q.Limit = 1000
	p, err := r.assets.List(r.alice, q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantParam checks that an error is about a parameter.
func wantParam(t testing.TB, err error, param string) {
	t.Helper()
	if e := errs.From(err); err == nil || e.Kind != errs.Invalid || e.Param != param {
		t.Errorf("%v is not about %s", err, param)
	}
}

// web is a web server, as the probe sees one.
func web(host string, port int, title string, technologies ...string) discover.Asset {
	return discover.Asset{
		Host: host, Port: port, Service: "https", URL: "https://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/",
		IP: []string{"192.0.2.1"}, StatusCode: 200, ContentLength: 1234,
		Title: title, Webserver: "nginx/1.25.1", Technologies: technologies,
		TLS: &discover.TLS{Serial: "01", SubjectCN: host},
	}
}

func (r *world) observe(t testing.TB, enumeration string, run int64, seen ...discover.Asset) {
	t.Helper()
	r.tx(t, func(tx *db.Tx) error {
		_, err := r.assets.Observe(context.Background(), tx,
			asset.Seen{TeamID: r.team, EnumerationID: enumeration, Run: run, At: r.clock, Assets: seen})
		return err
	})
}

func (r *world) end(t testing.TB, enumeration string, run int64, covered bool) {
	t.Helper()
	r.tx(t, func(tx *db.Tx) error {
		_, err := r.assets.EndRun(context.Background(), tx,
			asset.End{TeamID: r.team, EnumerationID: enumeration, Run: run, At: r.clock, Covered: covered})
		return err
	})
}

// TestDiff compares moments of an enumeration.
func TestDiff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		stays, goes := web("a.example.com", 443, "A", "Nginx:1", "PHP"), web("b.example.com", 443, "B")
		closes := discover.Asset{Host: "a.example.com", Port: 22}
		r.observe(t, "e", 1, stays, goes, closes)
		r.end(t, "e", 1, true)
		first := r.clock
		r.clock = r.clock.Add(time.Hour)
		stays.Technologies, stays.TLS = []string{"Nginx:2", "PHP"}, &discover.TLS{Serial: "02"}
		r.observe(t, "e", 2, stays, discover.Asset{Host: "a.example.com", Port: 80},
			discover.Asset{Host: "c.example.com", Port: 80})
		r.end(t, "e", 2, true)
		second := r.clock
		r.clock = r.clock.Add(time.Hour)
		r.observe(t, "e", 3, stays, goes, closes)
		r.end(t, "e", 3, true)

		diff := func(from, to time.Time) Diff {
			d, err := r.Diff(r.alice, "e", from, to)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		places := func(s Some[AssetRef]) (out []string) {
			for _, p := range s.First {
				out = append(out, p.Host)
			}
			return out
		}
		got := diff(first, second)
		if !slices.Equal(places(got.Assets.Added), []string{"a.example.com", "c.example.com"}) ||
			!slices.Equal(places(got.Assets.Removed), []string{"a.example.com", "b.example.com"}) ||
			got.Ports.Added.Count != 1 || got.Ports.Added.First[0].Port != 80 || got.Ports.Removed.Count != 1 ||
			got.Ports.Removed.First[0].Port != 22 {
			t.Errorf("places: %+v", got)
		}
		if n := got.Technologies; n.Added.Count != 1 || n.Added.First[0].Technology != "Nginx:2" || n.Removed.Count != 1 ||
			n.Removed.First[0].Technology != "Nginx:1" {
			t.Errorf("technologies: %+v", n)
		}
		if c := got.Certificates; c.Added.Count != 1 || c.Added.First[0].Serial != "02" || c.Removed.Count != 1 ||
			c.Removed.First[0].Serial != "01" {
			t.Errorf("certificates: %+v", c)
		}
		got = diff(first, r.clock) // what went has come back
		if !slices.Equal(places(got.Assets.Removed), nil) || got.Assets.Added.Count != 0 ||
			got.Technologies.Added.Count != 1 {
			t.Errorf("over both: %+v", got)
		}
		if got := diff(second.Add(time.Minute), second.Add(2*time.Minute)); got.Assets.Added.Count+got.Assets.Removed.Count+
			got.Technologies.Added.Count != 0 {
			t.Errorf("when nothing happened: %+v", got)
		}
		if _, err := r.Diff(r.stranger, "e", first, second); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		_, err := r.Diff(r.alice, "e", second, first)
		wantParam(t, err, "from")
	})
}

// TestChanges lists what happened to one asset.
func TestChanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		r.observe(t, "e", 1, web("login.example.com", 443, "Log in"))
		id := r.list(t, asset.Query{}).Assets[0].ID
		for _, labels := range [][]string{{"one"}, {"two"}, {"three"}, {"four"}, nil} {
			if err := r.assets.SetLabels(r.alice, id, label.Replace, labels); err != nil {
				t.Fatal(err)
			}
		}
		r.observe(t, "e", 2, web("login.example.com", 443, "Log in again"))
		_, changes, total, err := r.Changes(r.alice, Filter{AssetID: id, Oldest: true}, page.Window{Limit: 2, Offset: 4})
		if err != nil || total != 6 || len(changes) != 2 || changes[0].Type != asset.LabelsChanged ||
			changes[0].Actor != "alice@example.com" || changes[1].Type != asset.Changed ||
			changes[1].Fields[0].Name != "title" ||
			string(changes[1].Fields[0].From) != `"Log in"` || string(changes[1].Fields[0].To) != `"Log in again"` {
			t.Errorf("changes: %+v of %d, %v", changes, total, err)
		}
		if _, _, _, err := r.Changes(r.stranger, Filter{AssetID: id}, page.Window{Limit: 2}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// TestMisconfigurations lists what is wrong.
func TestMisconfigurations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		bad := web("bad.example.com", 443, "Bad")
		bad.Misconfiguration = []discover.Misconfiguration{{Type: "dangling_dns", Detail: "to nobody"},
			{Type: "origin_exposure", Detail: "192.0.2.3"}}
		r.observe(t, "e", 1, bad, web("no.example.com", 443, "No"))
		found, total, err := r.Misconfigurations(r.alice, "", "", page.Window{Offset: 1, Limit: 5})
		if err != nil || total != 2 || len(found) != 1 || found[0].Detail != "192.0.2.3" ||
			found[0].Asset.Host != "bad.example.com" {
			t.Errorf("%+v of %d, %v", found, total, err)
		}
		for _, c := range []struct {
			ctx          context.Context
			kind, search string
			want         int
		}{{r.alice, "dangling_dns", "BAD", 1}, {r.alice, "", "other", 0}, {r.stranger, "", "", 0}} {
			if _, total, err := r.Misconfigurations(c.ctx, c.kind, c.search, page.Window{Limit: 5}); err != nil ||
				total != c.want {
				t.Errorf("%q, %q: %d, %v", c.kind, c.search, total, err)
			}
		}
	})
}
