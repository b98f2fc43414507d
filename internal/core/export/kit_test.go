package export

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
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
	r := room{Exports: New(d, q, Sources{Findings: finding.New(d, q), Assets: asset.New(d, q, nil)},
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
	if request.Format != PDF && told != f.Total {
		t.Errorf("%d of %d were told", told, f.Total)
	}
	return out.Bytes()
}
