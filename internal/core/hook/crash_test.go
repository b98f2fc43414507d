package hook_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The environment of the process that is killed while it delivers.
const (
	childDatabase = "VEDETTE_HOOK_TEST_DATABASE"
	childDelivery = "VEDETTE_HOOK_TEST_DELIVERY"
)

// child delivers, in a process of its own.
func child(url string) int {
	d, err := db.Open(context.Background(), db.Config{URL: url})
	if err == nil {
		guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
		err = hook.New(d, guard, slog.New(slog.DiscardHandler)).Deliver(context.Background(), os.Getenv(childDelivery), "")
	}
	fmt.Fprintln(os.Stderr, "the child should have been killed:", err)
	return 1
}

// A process that is killed with its request on the way leaves a delivery that the next
// one records as failed, and does not send again.
func TestKilledWhileSending(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, engine)
			d, err := db.Open(t.Context(), db.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			h := open(t, d, nil, "127.0.0.1")
			var requests atomic.Int32
			arrived := make(chan struct{}, 8)
			id := h.add(t, raw(t, func(c net.Conn) {
				if asked(c) {
					requests.Add(1)
					arrived <- struct{}{}
					hang(c)
				}
			}))
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childDatabase+"="+url, childDelivery+"="+id)
			cmd.Stderr = io.Discard
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-arrived:
			case <-time.After(90 * time.Second):
				t.Error("the child sent nothing")
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()

			if e := h.entry(t, id); e.State != hook.Sending || e.Attempts != 1 {
				t.Fatalf("after the kill: %+v, want it marked as started", e)
			}
			wantInterrupted(t, h, id)
			if requests.Load() != 1 {
				t.Errorf("%d requests arrived, want 1", requests.Load())
			}
		})
	}
}

// A process that dies after the mark and before the first packet: nothing is ever sent.
func TestCrashBetweenMarkAndSend(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var requests atomic.Int32
		url := raw(t, func(net.Conn) { requests.Add(1) })
		h := open(t, d, nil, "127.0.0.1")
		id := h.add(t, url)
		if ok, err := h.Start(t.Context(), id); !ok || err != nil {
			t.Fatal(ok, err)
		}
		wantInterrupted(t, h, id)
		if requests.Load() != 0 {
			t.Errorf("%d connections arrived, want none", requests.Load())
		}
	})
}

// wantInterrupted delivers again, once the dead worker's time is up.
func wantInterrupted(t *testing.T, h *house, id string) {
	t.Helper()
	h.SetNow(func() time.Time { return time.Now().Add(time.Minute) })
	if err := h.Deliver(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if e := h.entry(t, id); e.State != hook.Failed || e.Error != "the delivery was interrupted" || e.Attempts != 1 ||
		e.FinishedAt == nil {
		t.Errorf("recorded %+v, want failed, interrupted", e)
	}
}
