package netguard

import (
	"fmt"
	"net"
	"testing"
)

func TestPublicOf(t *testing.T) {
	var all []net.Addr
	for _, text := range []string{"2a00:1450::5/64", "127.0.0.1/8", "10.1.2.3/8", "8.8.4.4/24", "fe80::1/64", "8.8.4.4/32",
		"192.0.2.1/24", "fd00::1/8", "100.64.0.1/10"} {
		ip, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	if got := fmt.Sprint(publicOf(all)); got != "[8.8.4.4 2a00:1450::5]" {
		t.Error(got)
	}
	if _, err := PublicAddresses(); err != nil {
		t.Error(err)
	}
}
