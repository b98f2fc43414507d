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

func TestOnlyATrustedProxySaysThatAClientUsedTLS(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		peer    string
		proto   []string
		want    bool
	}{
		"a trusted proxy over TLS":            {trusted, "10.0.0.1:5", []string{"https"}, true},
		"in capitals":                         {trusted, "10.0.0.1:5", []string{"HTTPS"}, true},
		"a trusted proxy without TLS":         {trusted, "10.0.0.1:5", []string{"http"}, false},
		"a trusted proxy that does not say":   {trusted, "10.0.0.1:5", nil, false},
		"the client says https, the proxy no": {trusted, "10.0.0.1:5", []string{"https, http"}, false},
		"the same in two headers":             {trusted, "10.0.0.1:5", []string{"https", "http"}, false},
		"anybody":                             {trusted, "203.0.113.9:5", []string{"https"}, false},
		"anybody, without proxies":            {nil, "10.0.0.1:5", []string{"https"}, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-Proto"] = c.proto
		var got bool
		BehindProxies(c.trusted, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = IsSecure(r)
			if len(r.Header["X-Forwarded-Proto"]) != len(c.proto) {
				t.Errorf("%s: the header is gone, by which a proxy is noticed", name)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
