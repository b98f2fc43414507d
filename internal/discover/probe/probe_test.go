package probe_test

import (
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe"
)

func TestNamesOfOneAddressShareItsPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.5:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-dropbear_2022.83\r\n"))
			conn.Close()
		}
	}()
	open := l.Addr().(*net.TCPAddr).Port
	ip := []netip.Addr{netip.MustParseAddr("127.0.0.5")}
	var got []discover.Asset
	notes, err := probe.Hosts(t.Context(), probe.Config{
		Steps: []discover.Step{discover.PortScan},
		Dial:  (&net.Dialer{}).DialContext,
		Admit: func(string, netip.AddrPort) error { return nil },
		Ports: strconv.Itoa(open),
	}, []discover.Name{{Host: "a.test", IP: ip}, {Host: "b.test", IP: ip}},
		func(a discover.Asset) { got = append(got, a) })
	if err != nil || len(got) != 4 {
		t.Errorf("%+v %v: %+v", notes, err, got)
	}
}
