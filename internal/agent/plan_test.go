package agent

import (
	"net/netip"
	"strings"
	"testing"
)

func TestSelects(t *testing.T) {
	plan := Plan{Tags: []string{"vcs", "panel"}, NotTags: []string{"phpmyadmin"}, IDs: []string{"CVE-2021-44228"},
		NotIDs: []string{"git-config"}, Severities: []string{"critical", "high"}}
	for _, c := range []struct {
		id, tags, severity string
		want               bool
	}{
		{"git-head", "exposure,VCS", "high", true},
		{"git-head", "vcs", "medium", false},
		{"git-config", "vcs", "high", false},
		{"phpmyadmin-panel", "panel,phpmyadmin", "high", false},
		{"cve-2021-44228", "cve", "Critical", true},
		{"cve-2021-44229", "cve", "critical", false},
	} {
		if got := plan.Selects(c.id, strings.Split(c.tags, ","), c.severity); got != c.want {
			t.Errorf("%s (%s, %s): %v", c.id, c.tags, c.severity, got)
		}
	}
	if full := (Plan{FullCheck: true, NotTags: []string{"tls"}}); !full.Selects("x", nil, "info") ||
		full.Selects("x", []string{"tls"}, "info") {
		t.Error("a full check is everything less what is not wanted")
	}
}

func TestExpand(t *testing.T) {
	plan := Plan{
		Targets: []Target{
			{Kind: KindCIDR, Prefix: "10.0.0.0/30"}, {Kind: KindHost, Host: "a.example", Port: 9000},
			{Kind: KindURL, Scheme: "https", Host: "b.example", Path: "/x"},
		},
		Excluded: []Target{{Kind: KindIP, Host: "10.0.0.2"}, {Kind: KindIP, Host: "10.0.0.3", Port: 81}},
		Ports:    []int{80, 81},
	}
	var got []string
	for place := range plan.Expand() {
		got = append(got, place.String())
	}
	want := "10.0.0.0:80 10.0.0.0:81 10.0.0.1:80 10.0.0.1:81 10.0.0.3:80 a.example:9000 https://b.example:80/x https://b.example:81/x"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	last := Plan{Targets: []Target{{Kind: KindCIDR, Prefix: "255.255.255.254/31"}}}
	n := 0
	for range last.Expand() {
		n++
	}
	if n != 2 {
		t.Errorf("the last network has %d addresses, want 2", n)
	}
}

func TestExcludes(t *testing.T) {
	plan := Plan{Excluded: []Target{
		{Kind: KindHost, Host: "*.dev.example"}, {Kind: KindHost, Host: "pay.example"},
		{Kind: KindHost, Host: "www.example", Path: "/admin"},
		{Kind: KindCIDR, Prefix: "10.1.0.0/16"}, {Kind: KindPath, Path: "/logout"}, {Kind: KindPort, Port: 9100},
		{Kind: KindHost, Host: "x.example", Port: 443},
	}}
	url := func(host, path string) Target { return Target{Kind: KindURL, Scheme: "https", Host: host, Path: path} }
	for _, c := range []struct {
		target Target
		want   bool
	}{
		{url("a.b.dev.example", "/"), true}, {url("dev.example", ""), true}, {url("notdev.example", ""), false},
		{url("pay.example", "/x"), true}, {url("sub.pay.example", "/x"), false},
		{url("www.example", "/"), false}, {url("www.example", "/admin"), true}, {url("www.example", "/admin/x?y"), true},
		{url("www.example", "/Admin?x"), true},
		{url("www.example", "/%61dmin"), true}, {url("www.example", "/x/../admin/"), true},
		{url("www.example", "/administrator"), false}, {url("www.example", "//admin"), true},
		{Target{Kind: KindIP, Host: "10.1.2.3"}, true}, {Target{Kind: KindIP, Host: "10.2.2.3"}, false},
		{Target{Kind: KindCIDR, Prefix: "10.1.2.0/24"}, true}, {Target{Kind: KindCIDR, Prefix: "10.0.0.0/8"}, false},
		{url("any.example", "/logout"), true}, {Target{Kind: KindIP, Host: "192.0.2.1", Port: 9100}, true},
		{url("x.example", "/"), true}, {Target{Kind: KindURL, Scheme: "http", Host: "x.example"}, false},
	} {
		if got := plan.Excludes(c.target); got != c.want {
			t.Errorf("%v: %v", c.target, got)
		}
	}
	if !plan.ExcludesAddr(netip.MustParseAddr("::ffff:10.1.0.9")) || plan.ExcludesAddr(netip.MustParseAddr("10.0.0.9")) {
		t.Error("addresses are compared in one spelling")
	}
}
