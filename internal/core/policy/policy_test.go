package policy

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is the service with a user of one team, a viewer of it and a stranger, on a clock of its own.
type world struct {
	*Policies
	alice, viewer, stranger context.Context
	team                    string
	clock                   time.Time
}

func setUp(t testing.TB, d *db.DB) *world {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	r := &world{Policies: New(d, nil, asset.New(d, nil, nil), setting.New(d, box, &netguard.Guard{}))}
	r.clock = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
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

func (r *world) observe(t testing.TB, enumeration string, run int64, seen ...discover.Asset) (o asset.Observed) {
	t.Helper()
	ready, err := r.assets.Prepare(context.Background(),
		asset.Seen{TeamID: r.team, EnumerationID: enumeration, Run: run, At: r.clock, Assets: seen})
	if err != nil {
		t.Fatal(err)
	}
	r.tx(t, func(tx *db.Tx) (err error) {
		o, err = r.Store(context.Background(), tx, ready)
		return err
	})
	return o
}

func (r *world) end(t testing.TB, enumeration string, run int64, covered bool) {
	t.Helper()
	r.tx(t, func(tx *db.Tx) error {
		return r.EndRun(context.Background(), tx,
			asset.End{TeamID: r.team, EnumerationID: enumeration, Run: run, At: r.clock, Covered: covered})
	})
}

func hostsOf(assets []asset.Asset) []string {
	out := []string{}
	for _, a := range assets {
		out = append(out, net.JoinHostPort(a.Host, strconv.Itoa(a.Port)))
	}
	return out
}

func (r *world) policy(t testing.TB, p Policy) string {
	t.Helper()
	id, err := r.Create(r.alice, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// affected is what the events of a policy say, the oldest first.
func (r *world) affected(t testing.TB, id string) (out []int) {
	t.Helper()
	events, total, err := r.Events(r.alice, id, page.Window{Limit: 100})
	if err != nil || total != len(events) {
		t.Fatal(total, err)
	}
	for _, e := range slices.Backward(events) {
		if e.Type == Applied {
			out = append(out, e.Affected)
		}
	}
	return out
}

// TestPolicies lets policies act on what comes to be as they say, once.
func TestPolicies(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		label := r.policy(t, Policy{Type: SetLabel, Filters: asset.Filters{StatusCode: "500"},
			Details: Details{Labels: []string{"broken"}}})
		remove := r.policy(t, Policy{Type: RemoveLabel, Filters: asset.Filters{Labels: "login page"},
			Details: Details{Labels: []string{"login page"}, EnumerationIDs: []string{"e"}}})
		drop := r.policy(t, Policy{Type: Delete, Filters: asset.Filters{Host: "gone.*"}})
		stale := r.policy(t, Policy{Type: Delete, Filters: asset.Filters{NotSeenForDays: 7}})

		one := web("a.example.com", 443, "Log in")
		if o := r.observe(t, "e", 1, one, web("gone.example.com", 443, "G")); o.New != 1 {
			t.Errorf("what a policy deletes is new: %+v", o)
		}
		r.observe(t, "f", 1, web("a.example.com", 443, "Log in"))
		p := r.list(t, asset.Query{})
		if len(p.Assets) != 2 || !slices.Equal(p.Assets[0].Labels, []string{"login page"}) || len(p.Assets[1].Labels) != 0 {
			t.Errorf("after the first run: %+v", p.Assets)
		}
		r.clock = r.clock.Add(time.Hour)
		one.StatusCode = 500
		r.observe(t, "e", 2, one)
		r.observe(t, "e", 2, one, one)
		r.end(t, "e", 2, true)
		if a := r.list(t, asset.Query{}).Assets[1]; !slices.Equal(a.Labels, []string{"broken"}) {
			t.Errorf("labels: %v", a.Labels)
		}
		r.clock = r.clock.Add(time.Hour)
		one.Title = "Other"
		r.observe(t, "e", 3, one)
		if got := r.affected(t, label); !slices.Equal(got, []int{1}) {
			t.Errorf("a label is set %v times", got)
		}
		if got := r.affected(t, remove); !slices.Equal(got, []int{1}) {
			t.Errorf("a label is removed %v times", got)
		}
		if got := r.affected(t, drop); !slices.Equal(got, []int{1}) {
			t.Errorf("deleted: %v", got)
		}

		r.clock = r.clock.Add(8 * 24 * time.Hour)
		before := r.clock
		r.observe(t, "e", 4, web("new.example.com", 443, "N"))
		r.end(t, "e", 4, false)
		if n := r.list(t, asset.Query{}).Total; n != 3 {
			t.Errorf("a run that did not look at everything: %d are left", n)
		}
		r.clock = r.clock.Add(time.Hour)
		r.observe(t, "e", 5, web("new.example.com", 443, "N"))
		r.end(t, "e", 5, true)
		if got := hostsOf(r.list(t, asset.Query{Filter: asset.Filter{Enumerations: []string{"e"}}}).Assets); !slices.Equal(got, []string{"new.example.com:443"}) || !slices.Equal(r.affected(t, stale), []int{1}) {
			t.Errorf("after it was not seen for some time: %v, %v", got, r.affected(t, stale))
		}
		if n := r.list(t, asset.Query{AsOf: before}).Total; n != 3 {
			t.Errorf("as of then there were %d", n)
		}
		if p, err := r.Find(r.alice, stale); err != nil || !p.ExecutedAt.Equal(r.clock) {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// TestPolicyOfWhatIsThere applies a policy to what was there when it was made.
func TestPolicyOfWhatIsThere(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		r.observe(t, "e", 1, web("a.example.com", 443, "A"), web("b.example.com", 443, "B"))
		r.observe(t, "f", 1, web("a.example.com", 443, "A"))
		id := r.policy(t, Policy{Type: SetLabel, Filters: asset.Filters{Title: "a"},
			Details: Details{Labels: []string{"x"}, EnumerationIDs: []string{"e"}, Existing: true}})
		for range 2 {
			if err := r.run(t.Context(), RunArgs{r.team, id}); err != nil {
				t.Fatal(err)
			}
		}
		if p := r.list(t, asset.Query{Filter: asset.Filter{Labels: []string{"x"}}}); p.Total != 1 ||
			p.Assets[0].EnumerationID != "e" {
			t.Errorf("labelled: %+v", p.Assets)
		}
		if err := r.Update(r.alice, id, Policy{Details: Details{Labels: []string{"y"}}}, nil, false); err != nil {
			t.Fatal(err)
		}
		if p, err := r.Find(r.alice, id); err != nil || !slices.Equal(p.Labels, []string{"x", "y"}) || p.Type != SetLabel ||
			!p.Existing {
			t.Errorf("appended: %+v, %v", p, err)
		}
		wantParam(t, r.Update(r.alice, id, Policy{Type: SetLabel, Filters: asset.Filters{Title: "a"}}, nil, true), "labels")
		for param, p := range map[string]Policy{
			"policies":            {Type: Delete},
			"labels":              {Type: RemoveLabel, Filters: asset.Filters{Port: "1"}},
			"alerting_config_ids": {Filters: asset.Filters{Port: "1"}},
			"policy_type":         {Type: "explode", Filters: asset.Filters{Port: "1"}},
			"enumeration_ids": {Type: Delete, Filters: asset.Filters{Port: "1"},
				Details: Details{EnumerationIDs: []string{"nobody's"}}},
			"custom_filter": {Type: Delete, Filters: asset.Filters{CustomFilter: "("}},
		} {
			_, err := r.Create(r.alice, p)
			wantParam(t, err, param)
		}
		_, err := r.Create(r.alice, Policy{Filters: asset.Filters{Port: "1"},
			Details: Details{AlertConfigs: []string{"nobody's"}}})
		wantParam(t, err, "alerting_config_ids")
		if _, err := r.Create(r.viewer, Policy{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		_, stranger := r.Find(r.stranger, id)
		for name, err := range map[string]error{"get": stranger, "update": r.Update(r.stranger, id, Policy{}, nil, false),
			"delete": r.Delete(r.stranger, id)} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger's %s: %v", name, err)
			}
		}
		if err := r.Delete(r.alice, id); err != nil {
			t.Fatal(err)
		}
		if found, total, err := r.FindAll(r.alice, page.Window{Limit: 10}); err != nil || total != 0 || len(found) != 0 {
			t.Errorf("%v, %d, %v", found, total, err)
		}
	})
}

// TestSuggestions looks for patterns that hold for enough assets.
func TestSuggestions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		expired := web("a.example.com", 443, "Same \"title\"")
		expired.TLS.Expired = true
		r.observe(t, "e", 1, expired, web("b.example.com", 443, "Same \"title\""),
			discover.Asset{Host: "db.example.com", Port: 5432, IP: []string{"192.0.2.7"}})
		found, total, err := r.Suggest(r.alice, "e", 30, 10)
		var categories []string
		for _, s := range found {
			categories = append(categories, s.Category)
			if f, err := s.Filters.Parse(r.clock); err != nil || r.list(t, asset.Query{Filter: f}).Total != s.Affected ||
				len(s.Sample) == 0 {
				t.Errorf("%s: its policy is about other assets: %v", s.Category, err)
			}
		}
		slices.Sort(categories)
		if err != nil || total != 4 || !slices.Equal(categories,
			[]string{"ip_concentration", "repeated_title", "sensitive_port", "tls_problem"}) {
			t.Errorf("%v of %d, %v", categories, total, err)
		}
		if found, _, err := r.Suggest(r.alice, "", 70, 10); err != nil || len(found) != 0 {
			t.Errorf("of many only: %+v, %v", found, err)
		}
		if found, _, err := r.Suggest(r.alice, "f", 0, 10); err != nil || len(found) != 0 {
			t.Errorf("of nothing: %+v, %v", found, err)
		}
		if _, _, err := r.Suggest(r.stranger, "e", 5, 10); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}
