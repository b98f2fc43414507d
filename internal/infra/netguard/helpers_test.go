package netguard_test

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// trap is a listener that counts who comes in.
type trap struct {
	port    string
	accepts atomic.Int32
}

// listen opens a trap at ip, on this port or (with "0") on any.
func listen(t testing.TB, ip, port string) *trap {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	tr := &trap{port: port}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tr.accepts.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return tr
}

// others dials the trap once, so that everything before has been accepted, and tells
// how many others came.
func (tr *trap) others(t testing.TB, ip string) int32 {
	t.Helper()
	before := tr.accepts.Load()
	conn, err := net.Dial("tcp", net.JoinHostPort(ip, tr.port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, _ = conn.Read(make([]byte, 1)) // the trap accepts in order, and hangs up
	return max(before, tr.accepts.Load()-1)
}

func mustPrefixes(t testing.TB, list ...string) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for _, s := range list {
		p, err := netguard.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func wantDenied(t testing.TB, err error) *netguard.Denied {
	t.Helper()
	var d *netguard.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a *Denied", err)
	}
	if !errs.Is(err, errs.Forbidden) {
		t.Fatalf("%v is not Forbidden", err)
	}
	return d
}

func mustTargets(t testing.TB, list ...string) []netguard.Target {
	t.Helper()
	var out []netguard.Target
	for _, s := range list {
		target, err := netguard.ParseTarget(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, target)
	}
	return out
}

func mustScope(t testing.TB, limits netguard.Limits, targets ...string) *netguard.Scope {
	t.Helper()
	s, err := netguard.NewScope(mustTargets(t, targets...), limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// denials collects what a scope reports.
type denials struct {
	mu   sync.Mutex
	list []netguard.Denied
}

func (d *denials) add(one netguard.Denied) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

func (d *denials) take() []netguard.Denied {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.list
	d.list = nil
	return out
}

// closedAt is an address at ip where nothing listens.
func closedAt(t testing.TB, ip string) string {
	t.Helper()
	l, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
