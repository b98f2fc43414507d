package port_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/port"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func everything(string, netip.AddrPort) error { return nil }

// ways are the two ways to connect: directly, and through a dial function.
var ways = map[string]port.Config{
	"direct": {Admit: everything},
	"dial":   {Dial: (&net.Dialer{}).DialContext},
}

// listen opens n ports of an address, and hangs up on whoever comes.
func listen(t testing.TB, ip string, n int) []uint16 {
	t.Helper()
	var ports []uint16
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Close()
			}
		}()
		ports = append(ports, uint16(l.Addr().(*net.TCPAddr).Port))
	}
	slices.Sort(ports)
	return ports
}

// span lists ports from low to high.
func span(low, high int) []uint16 {
	var ports []uint16
	for p := low; p <= high; p++ {
		ports = append(ports, uint16(p))
	}
	return ports
}

func TestScanFindsWhatIsOpenAndNothingElse(t *testing.T) {
	if !alone(t) {
		return
	}
	for way, cfg := range ways {
		high := map[string]int{"direct": 60999, "dial": 33999}[way]
		for _, ip := range []string{"127.21.0.1", "127.0.0.1", "::1"} {
			t.Run(way+" "+ip, func(t *testing.T) {
				want := listen(t, ip, 20)
				files := openFiles(t)
				// The ephemeral ports, where a socket may by chance connect to itself.
				ports := slices.Concat(span(32768, high), want)
				slices.Sort(ports)
				ports = slices.Compact(ports)
				results, err := port.Scan(t.Context(), cfg, []port.Target{{Addr: netip.MustParseAddr(ip)}}, ports)
				if err != nil {
					t.Fatal(err)
				}
				r := results[0]
				if !r.Alive || r.Tried != len(ports) || r.Note != "" {
					t.Errorf("%+v", r)
				}
				if !slices.Equal(r.Open, want) {
					t.Errorf("open are %v, and found were %v", want, r.Open)
				}
				for deadline := time.Now().Add(time.Minute); openFiles(t) > files; runtime.Gosched() { // the listener hangs up, too
					if time.Now().After(deadline) {
						t.Fatalf("%d files are open, %d were before", openFiles(t), files)
					}
				}
			})
		}
	}
}

// openFiles counts the process's open files.
func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

func TestTheGuardDecidesOnEachPort(t *testing.T) {
	ports := listen(t, "127.21.0.2", 4)
	target, err := netguard.ParseTarget("127.21.0.2:" + strconv.Itoa(int(ports[1])))
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for way, cfg := range map[string]port.Config{"direct": {Admit: scope.Admit}, "dial": {Dial: scope.Dial}} {
		results, err := port.Scan(t.Context(), cfg,
			[]port.Target{{Addr: netip.MustParseAddr("127.21.0.2")}, {Addr: netip.MustParseAddr("127.21.0.3")}}, ports)
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; !slices.Equal(r.Open, ports[1:2]) || r.Denied != 3 || r.Why == "" || r.Tried != 1 {
			t.Errorf("%s: %+v", way, r)
		}
		if r := results[1]; r.Alive || r.Denied != 4 || r.Tried != 0 {
			t.Errorf("%s: out of scope: %+v", way, r)
		}
	}
}

// A host on which nothing answers is left after its likeliest ports, a thorough one later.
func TestDeadHostsCostLittle(t *testing.T) {
	started := make(chan struct{}, 4096)
	silent := func(ctx context.Context, _, _ string) (net.Conn, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	results, err := port.Scan(t.Context(), port.Config{Dial: silent}, []port.Target{
		{Addr: netip.MustParseAddr("192.0.2.1")},
		{Addr: netip.MustParseAddr("192.0.2.2"), Thorough: true, Name: "named.test"},
	}, span(1, 200))
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Alive || r.Tried >= 32 || r.Note == "" {
		t.Errorf("the dead one: %+v", r)
	}
	if r := results[1]; r.Alive || r.Tried != 200 || r.Note != "" {
		t.Errorf("the thorough one: %+v", r)
	}
	if n := len(started); n != results[0].Tried+200 {
		t.Errorf("%d connections for %d ports", n, results[0].Tried+200)
	}
}

// An answer that is lost once is asked for again, also when it was lost before the host was
// known to be alive.
func TestLostAnswersAreAskedForAgain(t *testing.T) {
	asked := make(chan string, 4096)
	once := map[string]bool{}
	gate := make(chan struct{}, 1)
	dial := func(ctx context.Context, _, addr string) (net.Conn, error) {
		asked <- addr
		gate <- struct{}{}
		second := once[addr]
		once[addr] = true
		<-gate
		if !second && addr != "192.0.2.1:50" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		here, there := net.Pipe()
		there.Close()
		return here, nil
	}
	results, err := port.Scan(t.Context(), port.Config{Dial: dial},
		[]port.Target{{Addr: netip.MustParseAddr("192.0.2.1"), Thorough: true}}, span(1, 50))
	if err != nil || len(results[0].Open) != 50 {
		t.Errorf("%+v %v", results, err)
	}
}

// What accepts every connection is no host with 65,535 services.
func TestWhatAcceptsEverythingIsLeft(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		there.Close()
		return here, nil
	}
	results, err := port.Scan(t.Context(), port.Config{Dial: dial},
		[]port.Target{{Addr: netip.MustParseAddr("192.0.2.1")}}, span(1, 65535))
	if r := results[0]; err != nil || r.Note == "" || len(r.Open) > 2000 {
		t.Errorf("%d open, note %q, %v", len(r.Open), r.Note, err)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	start := time.Now()
	_, err := port.Scan(ctx, port.Config{Dial: dial},
		[]port.Target{{Addr: netip.MustParseAddr("192.0.2.1"), Thorough: true}}, span(1, 5000))
	if !errors.Is(err, context.Canceled) || time.Since(start) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestRateIsHeld(t *testing.T) {
	start := time.Now()
	_, err := port.Scan(t.Context(), port.Config{Admit: everything, Pace: discover.NewPace(1000)},
		[]port.Target{{Addr: netip.MustParseAddr("127.21.0.4")}}, span(1, 301))
	if took := time.Since(start); err != nil || took < 250*time.Millisecond {
		t.Errorf("301 connections at 1000 a second took %s: %v", took, err)
	}
}
