package export

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a user of one team and a stranger.
type room struct {
	*Exports
	queue           *queue.Queue
	alice, stranger context.Context
	team            string
}

func setUp(t testing.TB, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), d, queue.Config{Logger: slog.New(slog.DiscardHandler), Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	findings, assets := finding.New(d, q), asset.New(d, q, nil)
	templates, settings := catalog.New(d, catalog.Config{}), setting.New(d, box, &netguard.Guard{})
	r := room{Exports: New(d, q, Sources{Findings: findings, Assets: assets,
		Scans: scan.New(d, q, findings, assets, templates, settings, nil),
		Tasks: task.New(d, q, accounts, hook.New(d, &netguard.Guard{}, nil), findings, nil), Secrets: secret.New(d, box), Catalog: templates},
		slog.New(slog.DiscardHandler)), queue: q}
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

// add stores events as findings of a scan.
func (r room) add(t testing.TB, scan string, events ...engine.Event) {
	t.Helper()
	var seen []finding.Sighting
	for _, e := range events {
		seen = append(seen, finding.Sighting{Event: e})
	}
	if err := r.db.Tx(r.alice, func(tx *db.Tx) error {
		_, err := r.from.Findings.Add(r.alice, tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func events(from, to int) (out []engine.Event) {
	for i := from; i < to; i++ {
		out = append(out, findingtest.Event(i))
	}
	return out
}

// file is a whole export.
func (r room) file(t testing.TB, request Request) []byte {
	t.Helper()
	f, err := r.Open(r.alice, request)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	told := 0
	if err := f.Write(r.alice, &out, func(done int) { told = done }); err != nil {
		t.Fatal(err)
	}
	if told != f.Total {
		t.Errorf("%d of %d were told", told, f.Total)
	}
	return out.Bytes()
}

func pageOf(n int) page.Window { return page.Window{Limit: n} }
