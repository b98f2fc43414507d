package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestExpandNetwork(t *testing.T) {
	for text, want := range map[string][]string{
		"192.0.2.6/30":       {"192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"},
		"192.0.2.9/32":       {"192.0.2.9"},
		"255.255.255.254/31": {"255.255.255.254", "255.255.255.255"},
		"2001:db8::/127":     {"2001:db8::", "2001:db8::1"},
		"192.0.2.1":          {"192.0.2.1"},
		"http://x/30":        {"http://x/30"},
		"asx":                {"asx"},
		"as":                 {"as"},
	} {
		left := maxAddresses
		if got, err := expandNetwork(text, &left); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	for _, text := range []string{"10.0.0.0/11", "2001:db8::/64", "::/0", "AS64496", "as1"} {
		left := maxAddresses
		if got, err := expandNetwork(text, &left); err == nil {
			t.Errorf("%s: %d addresses", text, len(got))
		}
	}
	left := 5
	if _, err := expandNetwork("192.0.2.0/30", &left); err != nil || left != 1 {
		t.Error(left, err)
	}
	if _, err := expandNetwork("192.0.2.0/30", &left); err == nil {
		t.Error("two networks may have more addresses together than are allowed")
	}
}

func TestExclusion(t *testing.T) {
	x, err := newExclusion([]string{"A.test", "b.test:8080", "http://c.test/x", "192.0.2.0/24", "2001:db8::1", `^d\d+\.test$`})
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]bool{
		"http://a.test/x": true, "https://A.TEST:8443": true, "http://sub.a.test": false,
		"http://b.test:8080": true, "http://b.test": false, "https://c.test": true,
		"http://192.0.2.77:81": true, "http://192.0.3.1": false, "http://[::ffff:192.0.2.1]/": true,
		"http://[2001:db8::1]:8080/": true, "http://[2001:db8::2]": false, "http://d12.test": true, "http://d.test": false,
	} {
		u, err := url.Parse(place)
		if err != nil {
			t.Fatal(err)
		}
		if x.has(u) != want || x.allows(u) == want || x.hasTarget(place) != want {
			t.Errorf("%s: excluded is not %v", place, want)
		}
	}
	if x.hasTarget("a.test") != true || x.hasTarget("no target\\") {
		t.Error("targets without a scheme")
	}
	if _, err := newExclusion([]string{"("}); err == nil {
		t.Error("( is a pattern")
	}
}

func TestReadTargets(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(name, []byte("# ours\n\n one.test \n192.0.2.0/31\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		flags scanFlags
		in    string
	}{
		"zero.test one.test 192.0.2.0 192.0.2.1": {scanFlags{targets: []string{"zero.test"}, lists: []string{name}}, "more.test"},
		"more.test":                              {scanFlags{}, "more.test\n#x\n"},
		"zero.test more.test":                    {scanFlags{targets: []string{"zero.test"}, lists: []string{"-"}}, "more.test"},
		"192.0.2.1":                              {scanFlags{lists: []string{name}, exclude: []string{"one.test", "192.0.2.0"}}, ""},
		"":                                       {scanFlags{}, ""},
		" ":                                      {scanFlags{noStdin: true}, "more.test"},
		"  ":                                     {scanFlags{lists: []string{name + "x"}}, ""},
	} {
		a, err := c.flags.readTargets(strings.NewReader(c.in))
		if failed := strings.TrimSpace(want) == ""; failed != (err != nil) || err == nil && strings.Join(a.targets, " ") != want {
			t.Errorf("%+v: %+v %v", c.flags, a, err)
		}
	}
}
