package work

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service, with a caller, and a stranger of another team.
type room struct {
	*Works
	alice, stranger context.Context
	by              account.Caller
}

func setUp(t *testing.T, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{DefaultPlan: account.Enterprise})
	if err != nil {
		t.Fatal(err)
	}
	findings := finding.New(d, nil)
	r := room{Works: New(d, findings, inbox.New(d, nil, ""))}
	for email, team := range map[string]string{"alice@example.com": "blue", "bob@example.com": "blue", "eve@example.com": "red"} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team})
		if err != nil {
			t.Fatal(err)
		}
		c := account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: account.Member}
		switch email {
		case "alice@example.com":
			r.by, r.alice = c, account.WithCaller(t.Context(), c)
		case "eve@example.com":
			r.stranger = account.WithCaller(t.Context(), c)
		}
	}
	return r
}

func (r room) see(t *testing.T, scan string, i ...int) {
	t.Helper()
	var seen []finding.Sighting
	for _, n := range i {
		seen = append(seen, finding.Sighting{Event: findingtest.Event(n)})
	}
	if err := r.db.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := r.findings.Add(t.Context(), tx, finding.Origin{TeamID: r.by.TeamID, ScanID: scan, Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (r room) list(t *testing.T, f finding.Filter) []finding.Finding {
	t.Helper()
	found, total, err := r.findings.FindAll(r.alice, f, nil, page.Window{Limit: 100})
	if err != nil || total != len(found) {
		t.Fatalf("%d of %d, %v", len(found), total, err)
	}
	return found
}

// An assignee holds for all sightings of a weakness, those to come included; a rule can assign in its own transaction,
// and what it names is refused as a whole when one of the ids is a stranger's.
func TestAssign(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "s1", 1, 2)
		r.see(t, "s2", 1)
		one := r.list(t, finding.Filter{ScanIDs: []string{"s2"}})[0]
		if n, err := r.Assign(r.alice, finding.Filter{IDs: []string{one.ID}}, "bob@example.com"); err != nil || n != 2 {
			t.Errorf("%d changed, %v", n, err)
		}
		if n, err := r.Assign(r.alice, finding.Filter{IDs: []string{one.ID}}, "bob@example.com"); err != nil || n != 0 {
			t.Errorf("again: %d changed, %v", n, err)
		}
		r.see(t, "s3", 1)
		if got := r.list(t, finding.Filter{Assignees: []string{"BOB@example.com"}, Sightings: true}); len(got) != 3 {
			t.Errorf("%d are bob's", len(got))
		}
		if got := r.list(t, finding.Filter{Assignees: []string{finding.Nobody}}); len(got) != 1 {
			t.Errorf("%d are nobody's", len(got))
		}
		if got := r.list(t, finding.Filter{Assignees: []string{finding.Nobody, "bob@example.com"}}); len(got) != 2 {
			t.Errorf("%d are bob's or nobody's", len(got))
		}
		for _, email := range []string{"eve@example.com", "x"} {
			if _, err := r.Assign(r.alice, finding.Filter{IDs: []string{one.ID}}, email); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", email, err)
			}
		}
		if _, err := r.Assign(r.stranger, finding.Filter{IDs: []string{one.ID}}, "eve@example.com"); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		rule := account.Caller{TeamID: r.by.TeamID}
		assign := func(ids ...string) (n int, err error) {
			return n, r.db.Tx(t.Context(), func(tx *db.Tx) error {
				n, err = r.AssignTo(t.Context(), tx, rule, ids, "alice@example.com")
				return err
			})
		}
		if _, err := assign(one.ID, "none"); !errs.Is(err, errs.NotFound) {
			t.Errorf("an unknown id: %v", err)
		}
		if n, err := assign(one.ID); err != nil || n != 3 {
			t.Errorf("a rule changed %d, %v", n, err)
		}
		_, changes, err := r.findings.Timeline(r.alice, one.ID)
		if last := changes[len(changes)-1]; err != nil || last.From != "bob@example.com" || last.To != "alice@example.com" ||
			last.Actor != "" || last.Operation == "" {
			t.Errorf("%+v, %v", last, err)
		}
		told, _, _, err := r.inbox.Find(r.alice, false, page.Window{Limit: 10})
		if err != nil || len(told) != 1 || told[0].Kind != inbox.Assigned || told[0].FindingID == "" {
			t.Errorf("told: %+v, %v", told, err)
		}
	})
}
