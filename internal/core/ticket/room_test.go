package ticket

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a team and no workers: the test does the jobs.
type room struct {
	*Tickets
	db       *db.DB
	findings *finding.Findings
	settings *setting.Settings
	alice    context.Context
	team     string
	later    *time.Duration // how much time has passed
}

func setUp(t testing.TB, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Stop(context.Background()) })
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	r := room{db: d, findings: finding.New(d, q), settings: setting.New(d, box, guard), team: u.TeamID, later: new(time.Duration)}
	r.alice = account.WithCaller(t.Context(),
		account.Caller{UserID: u.ID, Email: "alice@example.com", TeamID: u.TeamID, Role: u.Role})
	comments := comment.New(d, r.findings, inbox.New(d, nil, ""))
	r.Tickets = New(d, q, r.findings, comments, r.settings, guard, slog.New(slog.DiscardHandler))
	r.now = func() time.Time { return time.Now().Add(*r.later) }
	return r
}

// found stores the i-th finding, seen by a scan.
func (r room) found(t rapid.TB, i int) finding.Finding {
	t.Helper()
	event := findingtest.Event(i)
	event.Timestamp = time.Now()
	scan := fmt.Sprint("scan-", i)
	err := r.db.Tx(r.alice, func(tx *db.Tx) error {
		_, err := r.findings.Add(r.alice, tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1},
			[]finding.Sighting{{Event: event}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := r.findings.FindAll(r.alice, finding.Filter{ScanIDs: []string{scan}}, nil, page.Window{Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

func (r room) configure(t rapid.TB, text string) string {
	t.Helper()
	c, err := r.settings.Create(r.alice, setting.NewConfig{Type: setting.Reporting, Name: "issues", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// desk opens a desk with a configuration for it.
func (r room) desk(t testing.TB, provider string, more ...string) (*trackertest.Desk, string) {
	t.Helper()
	d := trackertest.New(t, provider)
	d.Clock(r.now)
	return d, r.configure(t, d.Config(more...))
}

// decide is a person's decision about a finding.
func (r room) decide(t rapid.TB, f finding.Finding, s finding.Status) {
	t.Helper()
	if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{f.ID}}, s); err != nil {
		t.Fatal(err)
	}
}

func (r room) status(t rapid.TB, f finding.Finding) finding.Status {
	t.Helper()
	now, err := r.findings.Find(r.alice, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now.Status
}

// want files a finding as a scan does.
func (r room) want(t rapid.TB, d *trackertest.Desk, configID string, f finding.Finding) key {
	t.Helper()
	err := r.FileOne(r.alice, finding.FileArgs{TeamID: r.team, FindingID: f.ID, ConfigID: configID, Provider: d.Name(), SeenIn: "s/1"})
	if err != nil {
		t.Fatal(err)
	}
	return key{TeamID: r.team, Hash: f.Hash, ConfigID: configID, Provider: d.Name()}
}

// waiting are the tickets that have a job.
func (r room) waiting(t rapid.TB) []key {
	t.Helper()
	list, err := db.Select(r.alice, r.db, func(row db.Row) (k key, err error) {
		return k, row.Scan(&k.TeamID, &k.Hash, &k.ConfigID, &k.Provider)
	}, `SELECT team_id, hash, config_id, provider FROM ticket WHERE is_queued ORDER BY hash`)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// run does the jobs of tickets until none waits, as often as that takes at most.
func (r room) run(t rapid.TB) {
	t.Helper()
	for range 20 {
		list := r.waiting(t)
		if len(list) == 0 {
			return
		}
		for _, k := range list {
			if err := r.Sync(r.alice, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatalf("jobs make jobs: %v", r.waiting(t))
}

// wait lets time pass, and does what comes due.
func (r room) wait(t rapid.TB, d time.Duration) {
	t.Helper()
	*r.later += d
	if err := r.Sweep(r.alice); err != nil {
		t.Fatal(err)
	}
	r.run(t)
}

func (r room) poll(t rapid.TB, k key) {
	t.Helper()
	if err := r.Poll(r.alice, pollOf(k)); err != nil {
		t.Fatal(err)
	}
	r.run(t)
}

// retests ends the retests that wait, and says how many there were.
func (r room) retests(t rapid.TB, state finding.RetestState) int {
	t.Helper()
	list, err := db.Select(r.alice, r.db, func(row db.Row) (a finding.RetestArgs, err error) {
		a.TeamID = r.team
		return a, row.Scan(&a.FindingID, &a.N)
	}, `SELECT f.id, r.n FROM finding_retest r JOIN finding f ON f.team_id = r.team_id AND f.no = r.no WHERE r.state = 'queued'`)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if err := r.findings.EndRetest(r.alice, nil, a, finding.RetestResult{State: state}); err != nil {
			t.Fatal(err)
		}
	}
	return len(list)
}

// timeline is the kinds of changes of a finding, with what they became, without its detection.
func (r room) timeline(t rapid.TB, f finding.Finding) string {
	t.Helper()
	_, changes, err := r.findings.Timeline(r.alice, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, c := range changes[1:] {
		words = append(words, string(c.Type)+":"+c.To)
	}
	return strings.Join(words, " ")
}

func (r room) ticket(t rapid.TB, k key) Ticket {
	t.Helper()
	list, _, err := r.Find(r.alice, k.Hash, All, page.Window{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if one.ConfigID == k.ConfigID && one.Provider == k.Provider {
			return one
		}
	}
	t.Fatalf("no ticket %v", k)
	return Ticket{}
}
