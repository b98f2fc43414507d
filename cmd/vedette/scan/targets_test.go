package scan

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
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
		left := cli.MaxAddresses
		if got, err := expandNetwork(text, &left); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	for _, text := range []string{"10.0.0.0/11", "2001:db8::/64", "::/0", "AS64496", "as1"} {
		left := cli.MaxAddresses
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

func TestExcludedTargets(t *testing.T) {
	x, err := cli.NewExclusion([]string{"a.test", "192.0.2.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	a := scanTargets{excluded: x}
	for target, want := range map[string]bool{
		"a.test": true, "http://a.test/x": true, "b.test": false, "http://192.0.2.77:81": true, "no target\\": false,
	} {
		if a.excludes(target) != want {
			t.Errorf("%s: excluded is not %v", target, want)
		}
	}
	if u := (&url.URL{Scheme: "https", Host: "a.test:8443"}); a.allowed(u) {
		t.Errorf("%s is allowed", u)
	}
}

// A host that is named is in scope with all its ports, unless --scope-ports says which.
func TestScopePorts(t *testing.T) {
	named := []string{"http://127.0.0.1:8080/x", "127.0.0.2", "https://one.test", "127.0.0.3:81"}
	for _, c := range []struct{ ports, in, out string }{
		{"", "127.0.0.1:8080 127.0.0.1:80 127.0.0.1:1 127.0.0.2:9 one.test:80 127.0.0.3:80 127.0.0.9:5", "127.0.0.4:80 127.0.0.9:6"},
		{"81,90", "127.0.0.1:8080 127.0.0.1:81 127.0.0.1:90 127.0.0.2:81 127.0.0.2:90 one.test:443 127.0.0.3:81 127.0.0.9:5",
			"127.0.0.1:80 127.0.0.2:80 127.0.0.2:443 127.0.0.2:8080 one.test:80 one.test:8080 127.0.0.3:80 127.0.0.9:6"},
	} {
		f := scanFlags{scope: []string{"127.0.0.9:5"}, scopePorts: commas(c.ports)}
		scope, err := f.newScope(named, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		allowed := func(at string) bool { return scope.AllowsURL(&url.URL{Scheme: "http", Host: at}) }
		for at := range strings.FieldsSeq(c.in) {
			if !allowed(at) {
				t.Errorf("ports %q: %s is refused", c.ports, at)
			}
		}
		for at := range strings.FieldsSeq(c.out) {
			if allowed(at) {
				t.Errorf("ports %q: %s is in scope", c.ports, at)
			}
		}
	}
	many := strings.Split(strings.TrimSuffix(strings.Repeat("1,", maxScopePorts+1), ","), ",")
	for _, ports := range [][]string{{"0"}, {"65536"}, {"http"}, {"1-5"}, many} {
		f := scanFlags{scopePorts: ports}
		if _, err := f.newScope(named, nil, nil); err == nil {
			t.Errorf("%d ports such as %s are taken", len(ports), ports[0])
		}
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
		"zero.test one.test 192.0.2.0 192.0.2.1": {scanFlags{targets: []string{"zero.test"}, lists: []string{name}},
			"more.test"},
		"more.test": {scanFlags{}, "more.test\n#x\n"},
		"zero.test more.test": {scanFlags{targets: []string{"zero.test"}, lists: []string{"-"}},
			"more.test"},
		"192.0.2.1": {scanFlags{lists: []string{name},
			exclude: []string{"one.test", "192.0.2.0"}}, ""},
		"":   {scanFlags{}, ""},
		" ":  {scanFlags{noStdin: true}, "more.test"},
		"  ": {scanFlags{lists: []string{name + "x"}}, ""},
	} {
		a, err := c.flags.readTargets(strings.NewReader(c.in))
		if failed := strings.TrimSpace(want) == ""; failed != (err != nil) || err == nil &&
			strings.Join(a.targets, " ") != want {
			t.Errorf("%+v: %+v %v", c.flags, a, err)
		}
	}
}
