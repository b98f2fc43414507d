package rest

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestClientsBehindTrustedProxies(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                       {"192.0.2.1:5", nil, "192.0.2.1"},
		"not from a proxy":               {"192.0.2.1:5", []string{"198.51.100.1"}, "192.0.2.1"},
		"one proxy":                      {"10.0.0.1:5", []string{"198.51.100.1"}, "198.51.100.1"},
		"two proxies":                    {"10.0.0.1:5", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"two header lines":               {"10.0.0.1:5", []string{"198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		"a lie of the client":            {"10.0.0.1:5", []string{"203.0.113.9, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"a lie in a line of its own":     {"10.0.0.1:5", []string{"10.9.9.9", "198.51.100.1"}, "198.51.100.1"},
		"the proxy itself asks":          {"10.0.0.1:5", nil, "10.0.0.1"},
		"a client in the trusted net":    {"10.0.0.1:5", []string{"10.0.0.7"}, "10.0.0.7"},
		"not an address":                 {"10.0.0.1:5", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		"not an address behind a proxy":  {"10.0.0.1:5", []string{"evil, 10.0.0.2"}, "10.0.0.2"},
		"empty entries":                  {"10.0.0.1:5", []string{"198.51.100.1,,"}, "10.0.0.1"},
		"with a port":                    {"10.0.0.1:5", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		"IPv6":                           {"[fd00::1]:5", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 with a port":               {"[fd00::1]:5", []string{"[2001:db8::7]:80"}, "2001:db8::7"},
		"IPv4 in IPv6":                   {"[::ffff:10.0.0.1]:5", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"a long list of trusted proxies": {"10.0.0.1:5", []string{strings.Repeat("10.1.1.1,", 5000) + "10.0.0.3"}, "10.1.1.1"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		var got string
		BehindProxies(trusted, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = Address(r.RemoteAddr)
		})).ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
		if r.RemoteAddr != c.peer {
			t.Errorf("%s: the server's own request is changed", name)
		}
	}
}
