package port_test

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/port"
)

func TestFirst(t *testing.T) {
	ports, err := port.Parse("full")
	if err != nil {
		t.Fatal(err)
	}
	l, _ := net.Listen("tcp", "127.0.0.9:31337")
	defer l.Close()
	for _, admit := range []bool{true, false} {
		cfg := port.Config{Dial: (&net.Dialer{}).DialContext}
		if admit {
			cfg.Admit = func(string, netip.AddrPort) error { return nil }
		}
		start := time.Now()
		r, err := port.Scan(context.Background(), cfg, []port.Target{{Addr: netip.MustParseAddr("127.0.0.9")}}, ports)
		t.Logf("%v %+v %v", time.Since(start), r, err)
	}
}
