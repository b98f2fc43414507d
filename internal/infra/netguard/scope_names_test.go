package netguard_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/netguard/dnstest"
)

func TestScopePinsTheFirstAnswer(t *testing.T) {
	first := listen(t, "127.0.0.2", "0")
	second := listen(t, "127.0.0.1", first.port)
	names := dnstest.Start(t)
	names.Set("rebind.test", []string{"127.0.0.2"}, []string{"127.0.0.1"})
	s := mustScope(t, netguard.Limits{Resolver: names.Resolver()}, "rebind.test")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			conn, err := s.Dial(t.Context(), "tcp", "rebind.test:"+first.port)
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		})
	}
	wg.Wait()
	conn, err := s.Dial(t.Context(), "tcp", "rebind.test:"+first.port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if n := names.Asked("rebind.test"); n != 1 {
		t.Errorf("the name was looked up %d times, want once", n)
	}
	if n := second.others(t, "127.0.0.1"); n != 0 {
		t.Errorf("%d connections followed the second answer", n)
	}
}

func TestScopeTriesEachAllowedAddress(t *testing.T) {
	tr := listen(t, "127.0.0.2", "0")
	names := dnstest.Start(t)
	// three refuse: nothing listens, or they are denied
	names.Set("many.test", []string{"127.0.0.3", "169.254.169.254", "127.0.0.2", "127.0.0.4"})
	var seen denials
	s := mustScope(t, netguard.Limits{Resolver: names.Resolver(), OnDenied: seen.add, Deny: mustPrefixes(t, "127.0.0.4")},
		"many.test")
	for _, network := range []string{"tcp", "tcp4"} {
		conn, err := s.Dial(t.Context(), network, "many.test:"+tr.port)
		if err != nil {
			t.Fatalf("%s: %v", network, err)
		}
		conn.Close()
	}
	seen.take()
	_, port, _ := net.SplitHostPort(closedAt(t, "127.0.0.2"))
	_, err := s.Dial(t.Context(), "tcp", "many.test:"+port)
	var d *netguard.Denied
	if !errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &d) {
		t.Errorf("got %v, want only what the allowed addresses said", err)
	}
	if got := seen.take(); len(got) != 2 ||
		!strings.Contains(got[0].Why+got[1].Why, "169.254.169.254: it is a cloud metadata address") {
		t.Errorf("reported %v, want the two denied addresses", got)
	}
	if _, err := s.Dial(t.Context(), "tcp6", "many.test:"+tr.port); err == nil {
		t.Error("an IPv4 address was dialled over tcp6")
	}
	_, err = s.Dial(t.Context(), "unix", "many.test:"+tr.port)
	wantDenied(t, err)
}

// A name with very many addresses costs a bounded number of attempts.
func TestScopeBoundsTheAddresses(t *testing.T) {
	names := dnstest.Start(t)
	var many []string
	for i := range 24 {
		many = append(many, "10.0.0."+strconv.Itoa(i))
	}
	names.Set("many.test", many)
	var seen denials
	s := mustScope(t, netguard.Limits{Deny: mustPrefixes(t, "10.0.0.0/8"), Resolver: names.Resolver(), OnDenied: seen.add},
		"many.test")
	_, err := s.Dial(t.Context(), "tcp", "many.test:80")
	wantDenied(t, err)
	if n := len(seen.take()); n != 16 {
		t.Errorf("%d addresses were tried, want 16", n)
	}
}

// The dial that asked first may leave: those that wait for the same answer get it.
func TestScopeSharesALookup(t *testing.T) {
	tr := listen(t, "127.0.0.2", "0")
	names := dnstest.Start(t)
	names.Set("shared.test", []string{"127.0.0.2"})
	asking, answer := make(chan struct{}, 8), make(chan struct{})
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		asking <- struct{}{}
		select {
		case <-answer:
			return names.Resolver().Dial(ctx, network, addr)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	s := mustScope(t, netguard.Limits{Resolver: resolver}, "shared.test")
	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := s.Dial(ctx, "tcp", "shared.test:"+tr.port)
		first <- err
	}()
	<-asking
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v, want context.Canceled", err)
	}
	close(answer)
	conn, err := s.Dial(t.Context(), "tcp", "shared.test:"+tr.port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	<-asking // the question about AAAA, which goes with the one about A
	if n := len(asking); n != 0 {
		t.Errorf("the name was looked up again: %d more questions", n)
	}
}

func TestScopeAsksAgainAfterAFailure(t *testing.T) {
	tr := listen(t, "127.0.0.2", "0")
	names := dnstest.Start(t)
	names.Set("late.test", []string{})
	s := mustScope(t, netguard.Limits{Resolver: names.Resolver()}, "late.test", "missing.test")
	var dnsErr *net.DNSError
	for _, name := range []string{"late.test", "missing.test"} {
		if _, err := s.Dial(t.Context(), "tcp", name+":"+tr.port); !errors.As(err, &dnsErr) {
			t.Fatalf("%s: got %v, want a DNS error", name, err)
		}
	}
	names.Set("late.test", []string{"127.0.0.2"})
	conn, err := s.Dial(t.Context(), "tcp", "late.test:"+tr.port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// A name server that never answers holds a dial no longer than its time, or its caller.
func TestScopeGivesUp(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", silent.LocalAddr().String())
	}}
	s := mustScope(t, netguard.Limits{Resolver: resolver, Timeout: 50 * time.Millisecond}, "slow.test")
	start := time.Now()
	if _, err := s.Dial(t.Context(), "tcp", "slow.test:80"); err == nil {
		t.Error("a dial without an answer worked")
	}
	if took := time.Since(start); took > 9*time.Second {
		t.Errorf("gave up after %s, want 50 ms", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Dial(ctx, "tcp", "slow.test:80"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
