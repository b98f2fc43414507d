package proof

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a user of one team.
type room struct {
	*Proofs
	ctx      context.Context
	team     string
	findings *finding.Findings
}

func setUp(t testing.TB, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	findings := finding.New(d, q)
	findings.Version = "1.2.3"
	scans := scan.New(d, q, findings, asset.New(d, q, nil), catalog.New(d, catalog.Config{}), setting.New(d, nil, nil), nil)
	exports := export.New(d, q, export.Sources{Findings: findings, Scans: scans}, nil)
	r := room{findings: findings, team: u.TeamID, Proofs: New(d, q, Sources{
		Findings: findings, Scans: scans, Exports: exports, Box: box, Logger: slog.New(slog.DiscardHandler),
	})}
	r.ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: "alice@example.com", TeamID: u.TeamID,
		Role: u.Role})
	return r
}

// add stores findings from one on, up to another.
func (r room) add(t rapid.TB, scan string, from, to int) {
	t.Helper()
	var seen []finding.Sighting
	for i := from; i < to; i++ {
		e := findingtest.Event(i)
		e.Request = fmt.Sprintf("GET /%d HTTP/1.1\r\nCookie: session=abcdef0123456789%d\r\n\r\n", i, i)
		e.ExtractedResults = []string{"\xffbytes", "é"}
		e.Meta = map[string]string{"b": "2", "a": "1"}
		e.CompareWith("the other one", strings.Replace(e.Request, "abcdef", "fedcba", 1), "HTTP/1.1 404 Not Found\r\n\r\n")
		seen = append(seen, finding.Sighting{Event: e, Proof: &chain.Proof{Digest: "d", Shown: 1, Runs: 1}})
	}
	if err := r.db.Tx(r.ctx, func(tx *db.Tx) error {
		_, err := r.findings.Add(r.ctx, tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// file is a verified file of a scope.
func (r room) file(t rapid.TB, q Request) (*evidence.Report, string) {
	t.Helper()
	f, err := r.Open(r.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := f.Write(r.ctx, &out); err != nil {
		t.Fatal(err)
	}
	key, err := r.PublicKey(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	report, err := evidence.Verify(bytes.NewReader(out.Bytes()), key, evidence.Visitor{})
	if err != nil {
		t.Fatal(err)
	}
	return report, out.String()
}

// ids are those of the findings of the team, the oldest first.
func (r room) ids(t rapid.TB) []string {
	t.Helper()
	all, err := db.Values[string](r.ctx, r.db, `SELECT id FROM finding WHERE team_id = ? ORDER BY no`, r.team)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFilesOfTheDatabase: what is stored verifies, masked or not, for a finding and for the team; what was deleted leaves
// its hash, and what was changed in the database is named.
func TestFilesOfTheDatabase(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		if _, err := r.Open(r.ctx, Request{Scope: OfTeam}); !errs.Is(err, errs.NotFound) {
			t.Errorf("an empty chain: %v", err)
		}
		r.add(t, "s1", 0, 300)
		if err := r.KeepOnce(r.ctx); err != nil {
			t.Fatal(err)
		}
		r.add(t, "s2", 0, 5)
		r.add(t, "s1", 290, 310)
		ids := r.ids(t)
		for _, q := range []Request{{Scope: OfTeam}, {Scope: OfTeam, Unmasked: true}} {
			report, text := r.file(t, q)
			if !report.IsIntact() || report.Records != 315 || report.Entries != 4 || report.Heads != 2 || !report.Trusted {
				t.Errorf("%+v: %+v", q, report)
			}
			if strings.Contains(text, "abcdef0123456789") != q.Unmasked {
				t.Errorf("%+v: the session is wrong", q)
			}
		}
		report, text := r.file(t, Request{Scope: OfFinding, ID: ids[3]})
		if !report.IsIntact() || report.Records != 1 || report.Entries != 2 || !strings.Contains(text, ids[3]) ||
			strings.Contains(text, ids[4]) {
			t.Errorf("one finding: %+v", report)
		}
		e, err := r.Of(r.ctx, ids[3])
		if err != nil || e.State != Intact || e.Entry.Engine != "1.2.3" || e.Entry.By != "alice@example.com" || e.Entry.ID != "s1" ||
			e.Runs != (evidence.Runs{Shown: 1, Total: 1}) {
			t.Errorf("%+v, %v", e, err)
		}
		if _, err := r.findings.Delete(r.ctx, finding.Filter{IDs: ids[:2]}); err != nil {
			t.Fatal(err)
		}
		if report, _ = r.file(t, Request{Scope: OfTeam}); !report.IsIntact() || report.Records != 313 || report.Pruned != 2 {
			t.Errorf("after a deletion: %+v", report)
		}
		r.tamper(t, ids[5], `{"request":"GET /","response":"HTTP/1.1 500"}`)
		report, _ = r.file(t, Request{Scope: OfTeam})
		if len(report.Problems) != 1 || report.Problems[0].Finding != ids[5] {
			t.Errorf("what was changed in the database: %+v", report.Problems)
		}
		if e, err = r.Of(r.ctx, ids[5]); err != nil || e.State != Damaged {
			t.Errorf("%s, %v", e.State, err)
		}
		r.tamper(t, ids[6], `{"request":`)
		if report, _ = r.file(t, Request{Scope: OfTeam}); len(report.Problems) != 2 || report.Records != 311 {
			t.Errorf("what cannot be read: %+v", report)
		}
	})
}

// tamper changes the exchange of a finding behind the service's back.
func (r room) tamper(t *testing.T, id, exchange string) {
	t.Helper()
	if _, err := r.db.Exec(r.ctx, `UPDATE finding_doc SET exchange = ? WHERE team_id = ?
		AND no = (SELECT no FROM finding WHERE id = ?)`, []byte(exchange), r.team, id); err != nil {
		t.Fatal(err)
	}
}

// TestTheChainIsOne: writers at once append to one chain, and an entry that is changed in the database breaks it.
func TestTheChainIsOne(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				for i := range 5 {
					r.add(t, fmt.Sprintf("s%d", w), i*10, i*10+10)
				}
			})
		}
		all.Wait()
		report, _ := r.file(t, Request{Scope: OfTeam})
		if !report.IsIntact() || report.Records != 200 || report.Entries != 20 || report.Chains != 1 {
			t.Fatalf("%+v", report)
		}
		if _, err := d.Exec(r.ctx, `DELETE FROM evidence_entry WHERE team_id = ? AND seq = 20`, r.team); err != nil {
			t.Fatal(err)
		}
		if report, _ := r.file(t, Request{Scope: OfTeam}); len(report.Problems) != 1 || report.Header.Lost != 20 {
			t.Errorf("an entry that was deleted: %+v", report)
		}
		r.add(t, "s9", 0, 1)
		if report, _ := r.file(t, Request{Scope: OfTeam}); report.IsIntact() {
			t.Error("an entry that was replaced is not found")
		}
	})
}

// TestOlderFindingsAreAdopted: what a version without evidence stored is brought into the chain, once.
func TestOlderFindingsAreAdopted(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 0, 230)
		if _, err := d.Exec(r.ctx, `DELETE FROM evidence_entry`); err != nil {
			t.Fatal(err)
		}
		ids := r.ids(t)
		if e, err := r.Of(r.ctx, ids[0]); err != nil || e.State != Unsealed {
			t.Errorf("%s, %v", e.State, err)
		}
		r.add(t, "s1", 230, 240)
		for range 2 {
			if err := r.KeepOnce(r.ctx); err != nil {
				t.Fatal(err)
			}
		}
		report, _ := r.file(t, Request{Scope: OfTeam})
		if !report.IsIntact() || report.Records != 240 || report.Entries != 4 {
			t.Errorf("%+v", report)
		}
		if e, err := r.Of(r.ctx, ids[0]); err != nil || e.State != Intact || e.Entry.Kind != evidence.Adopted {
			t.Errorf("%s, %v", e.State, err)
		}
	})
}

// TestRunsAreEvidence: a replay that has ended is in the chain, counted, and ends once.
func TestRunsAreEvidence(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 0, 3)
		id := r.ids(t)[1]
		f, err := r.findings.Find(r.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		again := f.Event
		again.Timestamp = time.Now()
		changed := again
		changed.ExtractedResults = []string{"other"}
		for _, result := range []finding.RetestResult{
			{State: finding.Matched, Event: &again, Digest: "d"}, {State: finding.Matched, Event: &changed},
			{State: finding.NotMatched}, {State: finding.RetestFailed, Note: "no answer"},
		} {
			run, err := r.Replay(r.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := r.Replay(r.ctx, id)
			if err != nil || twice.ID != run.ID {
				t.Fatalf("a second one is queued: %+v, %v", twice, err)
			}
			args := ReplayArgs{r.team, id, run.ID}
			for range 2 {
				if err := d.Tx(r.ctx, func(tx *db.Tx) error { return r.end(r.ctx, tx, args, f, result) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		e, err := r.Of(r.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		var states []string
		for _, one := range e.Again {
			states = append(states, one.State)
		}
		if got := strings.Join(states, " "); got != "failed gone changed same" || e.Runs != (evidence.Runs{Shown: 3, Total: 4}) {
			t.Errorf("%s, %+v", got, e.Runs)
		}
		if report, _ := r.file(t, Request{Scope: OfFinding, ID: id}); !report.IsIntact() || report.Records != 5 || report.Entries != 5 {
			t.Errorf("%+v", report)
		}
		if report, _ := r.file(t, Request{Scope: OfTeam}); !report.IsIntact() || report.Records != 7 {
			t.Errorf("%+v", report)
		}
		if _, err := r.findings.Delete(r.ctx, finding.Filter{IDs: []string{id}}); err != nil {
			t.Fatal(err)
		}
		if report, _ := r.file(t, Request{Scope: OfTeam}); !report.IsIntact() || report.Records != 2 || report.Pruned != 5 {
			t.Errorf("after a deletion: %+v", report)
		}
	})
}

// TestHistories: whatever is stored, deleted and signed, in whatever order, the file of the team verifies, and so does
// that of each finding.
func TestHistories(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		rapid.Check(t, func(t *rapid.T) {
			for range rapid.IntRange(1, 6).Draw(t, "steps") {
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0:
					if err := r.KeepOnce(r.ctx); err != nil {
						t.Fatal(err)
					}
				case 1:
					if ids := r.ids(t); len(ids) > 0 {
						one := rapid.SampledFrom(ids).Draw(t, "deleted")
						if _, err := r.findings.Delete(r.ctx, finding.Filter{IDs: []string{one}}); err != nil {
							t.Fatal(err)
						}
					}
				default:
					from := rapid.IntRange(0, 40).Draw(t, "from")
					r.add(t, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "scan"), from, from+rapid.IntRange(1, 5).Draw(t, "n"))
				}
			}
			ids := r.ids(t)
			if len(ids) == 0 {
				return
			}
			if report, _ := r.file(t, Request{Scope: OfTeam}); !report.IsIntact() || report.Records != len(ids) {
				t.Fatalf("%d findings: %+v", len(ids), report)
			}
			one := rapid.SampledFrom(ids).Draw(t, "exported")
			if report, _ := r.file(t, Request{Scope: OfFinding, ID: one}); !report.IsIntact() || report.Records != 1 {
				t.Fatalf("%+v", report)
			}
		})
	})
}
