package asset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// wantParam checks that an error is about a parameter.
func wantParam(t testing.TB, err error, param string) {
	t.Helper()
	if e := errs.From(err); err == nil || e.Kind != errs.Invalid || e.Param != param {
		t.Errorf("%v is not about %s", err, param)
	}
}

// TestLabels follows the labels of assets, one by one and many at once.
func TestLabels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		r.observe(t, "e", 1, web("login.example.com", 443, "Log in"), discover.Asset{Host: "b.example.com"})
		id := r.list(t, Query{}).Assets[1].ID
		for _, step := range []struct {
			mode   LabelMode
			labels []string
			want   string
		}{
			{AppendLabels, []string{" mine ", "login page"}, "login page,mine"},
			{AppendLabels, nil, "login page,mine"},
			{DeleteLabels, []string{"login page", "none"}, "mine"},
			{ReplaceLabels, []string{"b", "a", "b"}, "b,a"},
			{ReplaceLabels, nil, ""},
		} {
			r.clock = r.clock.Add(time.Second)
			if err := r.SetLabels(r.alice, id, step.mode, step.labels); err != nil {
				t.Fatal(err)
			}
			if a, err := r.Find(r.alice, id); err != nil || strings.Join(a.Labels, ",") != step.want {
				t.Errorf("%s %v: %v, %v", step.mode, step.labels, a.Labels, err)
			}
		}
		r.observe(t, "e", 2, web("login.example.com", 443, "Log in again"))
		if a, _ := r.Find(r.alice, id); len(a.Labels) > 0 {
			t.Errorf("a label that was taken off came back: %v", a.Labels)
		}
		n, later, err := r.LabelAll(r.alice, Filters{Host: "*.example.com"}, AppendLabels, []string{"all"})
		if err != nil || n != 2 || later || r.list(t, Query{Filter: Filter{Labels: []string{"all"}}}).Total != 2 {
			t.Errorf("all: %d, %v, %v", n, later, err)
		}
		_, changes, total, err := r.Changes(r.alice, ChangeFilter{AssetID: id, Oldest: true}, page.Window{Limit: 2, Offset: 3})
		if err != nil || total != 6 || len(changes) != 2 || changes[0].Type != LabelsChanged || changes[0].Actor != "alice@example.com" || changes[1].Type != Changed || changes[1].Fields[0].Name != "title" ||
			string(changes[1].Fields[0].From) != `"Log in"` || string(changes[1].Fields[0].To) != `"Log in again"` {
			t.Errorf("changes: %+v of %d, %v", changes, total, err)
		}

		for _, labels := range [][]string{{""}, {"a,b"}, {"a\nb"}, {strings.Repeat("x", 65)}, make([]string, 101)} {
			wantParam(t, r.SetLabels(r.alice, id, AppendLabels, labels), "labels")
		}
		if err := r.SetLabels(r.viewer, id, AppendLabels, nil); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		if err := r.SetLabels(r.stranger, id, AppendLabels, nil); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		if n, _, err := r.LabelAll(r.stranger, Filters{}, ReplaceLabels, nil); err != nil || n != 0 {
			t.Errorf("a stranger labels %d, %v", n, err)
		}
	})
}

// TestGroups saves filters, and asks what they have.
func TestGroups(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		r.observe(t, "e", 1, web("a.example.com", 443, "A"), web("b.example.com", 443, "B"))
		id, err := r.CreateGroup(r.alice, "", Filters{Host: "a.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		total := func() int {
			narrow, err := r.Of(r.alice, id)
			if err != nil {
				t.Fatal(err)
			}
			groups, err := r.Groups(r.alice)
			if err != nil || len(groups) != 1 || groups[0].Name == "" {
				t.Fatalf("groups: %+v, %v", groups, err)
			}
			n := r.list(t, Query{Filter: narrow(Filter{Ports: []int64{443}})}).Total
			if groups[0].Totals.Assets != n {
				t.Errorf("%d assets are counted, and %d listed", groups[0].Totals.Assets, n)
			}
			return n
		}
		if n := total(); n != 1 {
			t.Errorf("the group has %d", n)
		}
		if err := r.UpdateGroup(r.alice, id, "Both", Filters{Host: "b.example.com"}, Append); err != nil || total() != 2 {
			t.Errorf("appended: %v", err)
		}
		if err := r.UpdateGroup(r.alice, id, "", Filters{Title: "b"}, Replace); err != nil || total() != 1 {
			t.Errorf("replaced: %v", err)
		}
		_, err = r.CreateGroup(r.alice, "g", Filters{})
		wantParam(t, err, "filters")
		_, err = r.CreateGroup(r.alice, "g", Filters{Port: "x"})
		wantParam(t, err, "port")
		_, err = r.CreateGroup(r.alice, strings.Repeat("x", 201), Filters{Port: "1"})
		wantParam(t, err, "name")
		if _, err = r.CreateGroup(r.viewer, "g", Filters{Port: "1"}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		for name, err := range map[string]error{"update": r.UpdateGroup(r.stranger, id, "x", Filters{Port: "1"}, Replace), "delete": r.DeleteGroup(r.stranger, id)} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger's %s: %v", name, err)
			}
		}
		if _, err := r.Of(r.stranger, id); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		if err := r.DeleteGroup(r.alice, id); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Of(r.alice, id); !errs.Is(err, errs.NotFound) {
			t.Errorf("a deleted group: %v", err)
		}
	})
}

func (r *room) policy(t testing.TB, p Policy) string {
	t.Helper()
	id, err := r.CreatePolicy(r.alice, p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// affected is what the events of a policy say, the oldest first.
func (r *room) affected(t testing.TB, id string) (out []int) {
	t.Helper()
	events, total, err := r.PolicyEvents(r.alice, id, page.Window{Limit: 100})
	if err != nil || total != len(events) {
		t.Fatal(total, err)
	}
	for _, e := range slices.Backward(events) {
		if e.Type == PolicyApplied {
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
		label := r.policy(t, Policy{Type: SetLabelPolicy, Filters: Filters{StatusCode: "500"}, PolicyDetails: PolicyDetails{Labels: []string{"broken"}}})
		remove := r.policy(t, Policy{Type: RemoveLabelPolicy, Filters: Filters{Labels: "login page"}, PolicyDetails: PolicyDetails{Labels: []string{"login page"}, EnumerationIDs: []string{"e"}}})
		drop := r.policy(t, Policy{Type: DeletePolicy, Filters: Filters{Host: "gone.*"}})
		stale := r.policy(t, Policy{Type: DeletePolicy, Filters: Filters{NotSeenForDays: 7}})

		one := web("a.example.com", 443, "Log in")
		if o := r.observe(t, "e", 1, one, web("gone.example.com", 443, "G")); o.New != 1 {
			t.Errorf("what a policy deletes is new: %+v", o)
		}
		r.observe(t, "f", 1, web("a.example.com", 443, "Log in"))
		p := r.list(t, Query{})
		if len(p.Assets) != 2 || !slices.Equal(p.Assets[0].Labels, []string{"login page"}) || len(p.Assets[1].Labels) != 0 {
			t.Errorf("after the first run: %+v", p.Assets)
		}
		r.clock = r.clock.Add(time.Hour)
		one.StatusCode = 500
		r.observe(t, "e", 2, one)
		r.observe(t, "e", 2, one, one)
		r.end(t, "e", 2, true)
		if a := r.list(t, Query{}).Assets[1]; !slices.Equal(a.Labels, []string{"broken"}) {
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
		if n := r.list(t, Query{}).Total; n != 3 {
			t.Errorf("a run that did not look at everything: %d are left", n)
		}
		r.clock = r.clock.Add(time.Hour)
		r.observe(t, "e", 5, web("new.example.com", 443, "N"))
		r.end(t, "e", 5, true)
		if got := hostsOf(r.list(t, Query{Filter: Filter{Enumerations: []string{"e"}}}).Assets); !slices.Equal(got, []string{"new.example.com:443"}) || !slices.Equal(r.affected(t, stale), []int{1}) {
			t.Errorf("after it was not seen for some time: %v, %v", got, r.affected(t, stale))
		}
		if n := r.list(t, Query{AsOf: before}).Total; n != 3 {
			t.Errorf("as of then there were %d", n)
		}
		if p, err := r.Policy(r.alice, stale); err != nil || !p.ExecutedAt.Equal(r.clock) {
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
		id := r.policy(t, Policy{Type: SetLabelPolicy, Filters: Filters{Title: "a"}, PolicyDetails: PolicyDetails{Labels: []string{"x"}, EnumerationIDs: []string{"e"}, Existing: true}})
		for range 2 {
			if err := r.applyToAll(t.Context(), PolicyArgs{r.team, id}); err != nil {
				t.Fatal(err)
			}
		}
		if p := r.list(t, Query{Filter: Filter{Labels: []string{"x"}}}); p.Total != 1 || p.Assets[0].EnumerationID != "e" {
			t.Errorf("labelled: %+v", p.Assets)
		}
		if err := r.UpdatePolicy(r.alice, id, Policy{PolicyDetails: PolicyDetails{Labels: []string{"y"}}}, nil, Append); err != nil {
			t.Fatal(err)
		}
		if p, err := r.Policy(r.alice, id); err != nil || !slices.Equal(p.Labels, []string{"x", "y"}) || p.Type != SetLabelPolicy || !p.Existing {
			t.Errorf("appended: %+v, %v", p, err)
		}
		wantParam(t, r.UpdatePolicy(r.alice, id, Policy{Type: SetLabelPolicy, Filters: Filters{Title: "a"}}, nil, Replace), "labels")
		for param, p := range map[string]Policy{
			"policies":            {Type: DeletePolicy},
			"labels":              {Type: RemoveLabelPolicy, Filters: Filters{Port: "1"}},
			"alerting_config_ids": {Filters: Filters{Port: "1"}},
			"policy_type":         {Type: "explode", Filters: Filters{Port: "1"}},
			"enumeration_ids":     {Type: DeletePolicy, Filters: Filters{Port: "1"}, PolicyDetails: PolicyDetails{EnumerationIDs: []string{"nobody's"}}},
			"custom_filter":       {Type: DeletePolicy, Filters: Filters{CustomFilter: "("}},
		} {
			_, err := r.CreatePolicy(r.alice, p)
			wantParam(t, err, param)
		}
		_, err := r.CreatePolicy(r.alice, Policy{Filters: Filters{Port: "1"}, PolicyDetails: PolicyDetails{AlertConfigs: []string{"nobody's"}}})
		wantParam(t, err, "alerting_config_ids")
		if _, err := r.CreatePolicy(r.viewer, Policy{}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		_, stranger := r.Policy(r.stranger, id)
		for name, err := range map[string]error{"get": stranger, "update": r.UpdatePolicy(r.stranger, id, Policy{}, nil, Append), "delete": r.DeletePolicy(r.stranger, id)} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("a stranger's %s: %v", name, err)
			}
		}
		if err := r.DeletePolicy(r.alice, id); err != nil {
			t.Fatal(err)
		}
		if found, total, err := r.Policies(r.alice, page.Window{Limit: 10}); err != nil || total != 0 || len(found) != 0 {
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
		r.observe(t, "e", 1, expired, web("b.example.com", 443, "Same \"title\""), discover.Asset{Host: "db.example.com", Port: 5432, IP: []string{"192.0.2.7"}})
		found, total, err := r.Suggest(r.alice, "e", 30, 10)
		var categories []string
		for _, s := range found {
			categories = append(categories, s.Category)
			if f, err := s.Filters.Parse(r.clock); err != nil || r.list(t, Query{Filter: f}).Total != s.Affected || len(s.Sample) == 0 {
				t.Errorf("%s: its policy is about other assets: %v", s.Category, err)
			}
		}
		slices.Sort(categories)
		if err != nil || total != 4 || !slices.Equal(categories, []string{"ip_concentration", "repeated_title", "sensitive_port", "tls_problem"}) {
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
