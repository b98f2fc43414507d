package asset

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a user of one team, a viewer of it and a stranger, on a clock
// of its own.
type room struct {
	*Assets
	alice, viewer, stranger context.Context
	team                    string
	clock                   time.Time
}

func setUp(t testing.TB, d *db.DB) *room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &room{Assets: New(d, nil, blobs), clock: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	r.now = func() time.Time { return r.clock }
	for email, ctx := range map[string]*context.Context{"alice@example.com": &r.alice, "eve@example.com": &r.stranger} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
		if ctx == &r.alice {
			r.team = u.TeamID
			r.viewer = account.WithCaller(t.Context(),
				account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: account.Viewer})
		}
	}
	return r
}

func (r *room) tx(t rapid.TB, do func(tx *db.Tx) error) {
	t.Helper()
	if err := r.db.Tx(context.Background(), do); err != nil {
		t.Fatal(err)
	}
}

func (r *room) enroll(t rapid.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		r.tx(t, func(tx *db.Tx) error {
			return r.Register(context.Background(), tx,
				Enumeration{ID: id, TeamID: r.team, Name: "All of " + id, SourceType: "discovery"})
		})
	}
}

func (r *room) observe(t rapid.TB, enumeration string, run int64, seen ...discover.Asset) (o Observed) {
	t.Helper()
	r.tx(t, func(tx *db.Tx) (err error) {
		o, err = r.Observe(context.Background(), tx,
			Seen{TeamID: r.team, EnumerationID: enumeration, Run: run, At: r.clock, Assets: seen})
		return err
	})
	return o
}

func (r *room) end(t rapid.TB, enumeration string, run int64, covered bool) (totals Totals) {
	t.Helper()
	r.tx(t, func(tx *db.Tx) error {
		_, err := r.EndRun(context.Background(), tx,
			End{TeamID: r.team, EnumerationID: enumeration, Run: run, At: r.clock, Covered: covered})
		return err
	})
	totals, err := r.Totals(context.Background(), r.team, enumeration)
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

func (r *room) list(t rapid.TB, q Query) Page {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	p, err := r.List(r.alice, q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// filter reads filters, as of the room's clock.
func (r *room) filter(t rapid.TB, q Filters) Filter {
	t.Helper()
	f, err := q.Parse(r.clock)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func asJSON(t rapid.TB, v any) string {
	t.Helper()
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

func hostsOf(assets []Asset) []string {
	out := []string{}
	for _, a := range assets {
		out = append(out, fmt.Sprintf("%s:%d", a.Host, a.Port))
	}
	return out
}

// web is a web server, as the probe sees one.
func web(host string, port int, title string, technologies ...string) discover.Asset {
	return discover.Asset{
		Host: host, Port: port, Service: "https", URL: "https://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/",
		IP: []string{"192.0.2.1"}, StatusCode: 200, ContentLength: 1234,
		Title: title, Webserver: "nginx/1.25.1", Technologies: technologies, Headers: map[string]string{"Date": "now"},
		TLS: &discover.TLS{Serial: "01", SubjectCN: host, NotAfter: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
}

// TestSeenAgain follows an asset through runs: seen twice alike nothing changes, what
// changes is kept, what a run that covered everything does not see is missing.
func TestSeenAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		one, two := web("Www.Example.com.", 443, "Hello", "Nginx:1.25.1"), web("b.example.com", 443, "Log in")
		if o := r.observe(t, "e", 1, one, two, one); o.New != 2 || o.Changed != 0 || len(o.NewAssets) != 2 ||
			o.NewAssets[0].Host != "www.example.com" {
			t.Fatalf("first: %+v", o)
		}
		before := r.list(t, Query{})
		if o := r.observe(t, "e", 1, two, one); o.New != 0 || o.Changed != 0 {
			t.Fatalf("twice alike: %+v", o)
		}
		after := r.list(t, Query{})
		if asJSON(t, before) != asJSON(t, after) || !after.Assets[0].IsNew ||
			!slices.Equal(after.Assets[0].Labels, []string{"login page"}) {
			t.Fatalf("twice alike:\n%v\n%v", before, after)
		}
		if totals := r.end(t, "e", 1, true); totals != (Totals{Assets: 2, Hosts: 2, Ports: 2, HTTP: 2, New: 2}) {
			t.Errorf("totals: %+v", totals)
		}

		r.clock = r.clock.Add(24 * time.Hour)
		one.Headers = map[string]string{"Date": "then"} // says nothing
		if o := r.observe(t, "e", 2, one); o.New != 0 || o.Changed != 0 {
			t.Errorf("another header: %+v", o)
		}
		totals := r.end(t, "e", 2, true)
		if totals != (Totals{Assets: 2, Hosts: 2, Ports: 2, HTTP: 2, Missing: 1}) {
			t.Errorf("totals: %+v", totals)
		}
		p := r.list(t, Query{})
		if p.Assets[0].Host != "b.example.com" || !p.Assets[0].IsMissing || p.Assets[1].IsMissing || p.Assets[1].IsNew ||
			p.Assets[1].Headers["Date"] != "then" {
			t.Errorf("after the second run: %+v", p.Assets)
		}

		r.clock = r.clock.Add(24 * time.Hour)
		one.Title, two.TLS.Serial = "Bye", "02"
		if o := r.observe(t, "e", 3, one, two); o.New != 0 || o.Changed != 2 {
			t.Errorf("changed: %+v", o)
		}
		if totals := r.end(t, "e", 3, true); totals.Missing != 0 {
			t.Errorf("totals: %+v", totals)
		}
		if o := r.observe(t, "e", 2, web("www.example.com", 443, "Late")); o.Changed != 0 ||
			r.list(t, Query{}).Assets[1].Title != "Bye" {
			t.Errorf("a late writer: %+v", o)
		}
		err := r.db.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := r.Observe(t.Context(), tx,
				Seen{TeamID: r.team, EnumerationID: "other", Run: 1, At: r.clock, Assets: []discover.Asset{one}})
			return err
		})
		if !errs.Is(err, errs.NotFound) {
			t.Errorf("an enumeration that is not enrolled: %v", err)
		}
	})
}

// TestTenancy: a stranger finds nothing, whatever the id.
func TestTenancy(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		r.observe(t, "e", 1, web("a.example.com", 443, "A"))
		r.observe(t, "f", 1, web("a.example.com", 443, "B"), web("b.example.com", 443, "B"))
		id := r.list(t, Query{Filter: r.filter(t, Filters{EnumerationIDs: []string{"e"}})}).Assets[0].ID
		for _, other := range []int64{id, id + 1<<noBits, 0, -1, 1 << 62} {
			if _, err := r.Find(r.stranger, other); !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger and %d: %v", other, err)
			}
		}
		if a, err := r.Find(r.alice, id); err != nil || a.Title != "A" || a.Enumeration != "All of e" {
			t.Errorf("found: %+v, %v", a, err)
		}
		if p, err := r.List(r.stranger, Query{Window: page.Window{Limit: 10}}); err != nil || p.Total != 0 {
			t.Errorf("a stranger's list: %+v, %v", p, err)
		}
		theirs, err := account.From(r.stranger)
		if err != nil {
			t.Fatal(err)
		}
		r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, theirs.TeamID, []string{"e"}) })
		r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, r.team, []string{"e", "e", "x"}) })
		if p := r.list(t, Query{}); p.Total != 2 || p.Assets[0].EnumerationID != "f" {
			t.Errorf("after the deletion: %v", hostsOf(p.Assets))
		}
		if _, err := r.Find(r.alice, id); !errs.Is(err, errs.NotFound) {
			t.Errorf("a deleted asset: %v", err)
		}
	})
}

// TestTargets walks what scans are pointed at.
func TestTargets(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		crawled := web("a.example.com", 8443, "A")
		crawled.Endpoints = []string{"https://a.example.com:8443/x", "https://a.example.com:8443/y"}
		r.observe(t, "e", 1, discover.Asset{Host: "a.example.com"}, crawled,
			discover.Asset{Host: "a.example.com", Port: 22, Service: "ssh"}, discover.Asset{Host: "b.example.com"},
			discover.Asset{Host: "2001:db8::1", Port: 25})
		for _, c := range []struct {
			kinds []string
			want  []string
		}{
			{nil, []string{"https://a.example.com:8443/", "a.example.com:22", "b.example.com", "[2001:db8::1]:25"}},
			{[]string{"hosts"}, []string{"a.example.com", "a.example.com", "a.example.com", "b.example.com", "2001:db8::1"}},
			{[]string{"ports"}, []string{"a.example.com:8443", "a.example.com:22", "[2001:db8::1]:25"}},
			{[]string{"http", "endpoints"}, append([]string{"https://a.example.com:8443/"}, crawled.Endpoints...)},
		} {
			var got []string
			for target, err := range r.Targets(t.Context(), r.team,
				Selection{Filter: Filter{Enumerations: []string{"e"}}, Kinds: c.kinds}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, target)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v: %v, want %v", c.kinds, got, c.want)
			}
		}
	})
}
