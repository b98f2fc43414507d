package hook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childDatabase); url != "" {
		os.Exit(child(url))
	}
	dbtest.Main(m)
}

// house is a team and its hooks on one database.
type house struct {
	*hook.Hooks
	db   *db.DB
	team string
	log  *lockedBuffer
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// open makes a house whose guard allows these networks.
func open(t testing.TB, d *db.DB, resolver *net.Resolver, allow ...string) *house {
	t.Helper()
	guard := &netguard.Guard{Resolver: resolver}
	for _, s := range allow {
		p, err := netguard.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		guard.Allow = append(guard.Allow, p)
	}
	h := &house{db: d, log: &lockedBuffer{}, team: addTeam(t, d)}
	h.Hooks = hook.New(d, guard, slog.New(slog.NewTextHandler(h.log, nil)))
	return h
}

func addTeam(t testing.TB, d *db.DB) string {
	t.Helper()
	id := ids.New()
	_, err := d.Exec(t.Context(), `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`, id, "t", "free", ids.New(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

const body = `{"event":"task.completed","completion_delivery":"webhook", "odd spacing":  "kept <as> it is"}`

// add stores a delivery to url.
func (h *house) add(t testing.TB, url string) string {
	t.Helper()
	var id string
	err := h.db.Tx(t.Context(), func(tx *db.Tx) (err error) {
		id, err = h.New(t.Context(), tx,
			hook.Delivery{TeamID: h.team, Subject: "subject-1", Event: hook.TaskCompleted, URL: url, Body: []byte(body)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// entry is the log's line of a delivery.
func (h *house) entry(t testing.TB, id string) hook.Entry {
	t.Helper()
	entries, _, err := h.Find(t.Context(), h.team, page.Window{Limit: 100}, "1 = 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("delivery %s is not in the log", id)
	return hook.Entry{}
}

// deliver stores and sends, and gives the log's line of it.
func (h *house) deliver(t testing.TB, url string) hook.Entry {
	t.Helper()
	id := h.add(t, url)
	if err := h.Deliver(t.Context(), id, ""); err != nil {
		t.Fatalf("%s: %v; an outcome is never an error", url, err)
	}
	e := h.entry(t, id)
	if !e.State.Final() || e.StartedAt == nil || e.FinishedAt == nil || e.Attempts != 1 {
		t.Errorf("%s: %+v is not the record of a finished delivery", url, e)
	}
	if (e.Error == "") != (e.State == hook.Delivered) {
		t.Errorf("%s: state %s with error %q", url, e.State, e.Error)
	}
	return e
}

func TestNewJoinsTheTransaction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := open(t, d, nil)
		boom := errors.New("boom")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := h.New(t.Context(), tx,
				hook.Delivery{TeamID: h.team, URL: "http://example.test/", Body: []byte(body)}); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatal(err)
		}
		if entries, total, err := h.Find(t.Context(), h.team, page.Window{Limit: 10}, "1 = 1"); err != nil || entries == nil ||
			len(entries) != 0 || total != 0 {
			t.Errorf("got %v, %d, %v, want an empty list", entries, total, err)
		}
	})
}

func TestFind(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := open(t, d, nil)
		at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
		h.SetNow(func() time.Time { return at })
		var want []string
		for i := range 5 {
			want = append([]string{h.add(t, fmt.Sprintf("https://hooks.test:8443/services/s3cret-%d?token=s3cret", i))}, want...)
		}
		stranger := &house{Hooks: h.Hooks, db: d, team: addTeam(t, d)}
		stranger.add(t, "https://other.test/")

		var got []string
		for offset := 0; offset < 6; offset += 2 {
			entries, total, err := h.Find(t.Context(), h.team, page.Window{Offset: offset, Limit: 2}, "1 = 1")
			if err != nil || total != 5 {
				t.Fatalf("total %d, %v, want 5", total, err)
			}
			for _, e := range entries {
				got = append(got, e.ID)
				if e.State != hook.Pending || e.Receiver != "https://hooks.test:8443" || e.Subject != "subject-1" ||
					e.Event != "task.completed" ||
					!e.CreatedAt.Equal(at) || e.StartedAt != nil || e.FinishedAt != nil || e.Attempts != 0 {
					t.Errorf("got %+v", e)
				}
				if strings.Contains(fmt.Sprintf("%+v", e), "s3cret") {
					t.Errorf("the log shows the secret of the URL: %+v", e)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want newest first: %v", got, want)
		}
		if entries, total, err := h.Find(t.Context(), ids.New(), page.Window{Limit: 10}, "1 = 1"); err != nil || len(entries) != 0 ||
			total != 0 {
			t.Errorf("a stranger sees %v, %d, %v", entries, total, err)
		}
	})
}

func TestStates(t *testing.T) {
	all := []hook.State{hook.Pending, hook.Sending, hook.Delivered, hook.Failed, hook.Blocked}
	allowed := map[hook.State]string{hook.Pending: "sending", hook.Sending: "delivered failed blocked"}
	for _, from := range all {
		for _, to := range all {
			want := strings.Contains(" "+allowed[from]+" ", " "+string(to)+" ")
			if from.To(to) != want {
				t.Errorf("%s to %s: %v, want %v", from, to, from.To(to), want)
			}
		}
		if from.Final() != (allowed[from] == "") {
			t.Errorf("%s: final %v", from, from.Final())
		}
	}
}

func TestMovesAreHeldTo(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := open(t, d, nil)
		id := h.add(t, "http://example.test/")
		if _, err := h.Move(t.Context(), id, hook.Pending, hook.Delivered); err == nil {
			t.Error("a delivery went from pending to delivered")
		}
		for i, want := range []bool{true, false} { // the second is too late
			if ok, err := h.Start(t.Context(), id); err != nil || ok != want {
				t.Errorf("start %d: %v, %v", i, ok, err)
			}
		}
		if ok, err := h.Move(t.Context(), id, hook.Sending, hook.Failed); err != nil || !ok {
			t.Errorf("%v, %v", ok, err)
		}
		if ok, err := h.Move(t.Context(), id, hook.Sending, hook.Delivered); err != nil || ok {
			t.Errorf("a finished delivery moved: %v, %v", ok, err)
		}
	})
}

func TestDeliverHonoursTheContext(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := open(t, d, nil)
		id := h.add(t, "http://example.test/")
		if _, err := h.Start(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan error, 1)
		go func() { waiting <- h.Deliver(ctx, id, "") }()
		cancel() // before or while it waits for the worker that may be alive
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if e := h.entry(t, id); e.State != hook.Sending {
			t.Errorf("state %s, want it left alone", e.State)
		}
	})
}
