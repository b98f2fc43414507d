package tcp

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		scheme, host string
		ports        []string
		want         []string
	}{
		{"", "a.test", nil, []string{"a.test"}},
		{"", "a.test:22", nil, []string{"a.test:22"}},
		{"https", "a.test", nil, []string{"a.test:443"}},
		{"http", "a.test", nil, []string{"a.test"}},
		{"", "a.test", []string{"22", "2222"}, []string{"a.test:22", "a.test:2222"}},
		{"http", "a.test", []string{"22"}, []string{"a.test:22"}},
		{"https", "a.test", []string{"22"}, []string{"a.test:22"}},
		{"http", "a.test:8080", []string{"22"}, []string{"a.test:22"}}, // the port of a web server
		{"", "a.test:8080", []string{"22"}, []string{"a.test:8080"}},   // which somebody chose
		{"http", "a.test:9000", []string{"22"}, []string{"a.test:9000"}},
		{"", "[2001:db8::1]", []string{"22"}, []string{"[2001:db8::1]:22"}},
	} {
		if got := Targets(rawurl.URL{Scheme: c.scheme, Host: c.host}, c.ports, webPorts); !slices.Equal(got, c.want) {
			t.Errorf("%s %s %v: %v", c.scheme, c.host, c.ports, got)
		}
	}
}

func TestPorts(t *testing.T) {
	if got, err := Ports(" 22, ssh,3306,mysql, redis,"); err != nil || !slices.Equal(got, []string{"22", "3306", "6379"}) {
		t.Errorf("%v %v", got, err)
	}
	for _, list := range []string{"0", "65536", "-1", "22-25", "no-such-service"} {
		if got, err := Ports(list); err == nil {
			t.Errorf("%s: %v", list, got)
		}
	}
}

func TestRefusedBlocks(t *testing.T) {
	host := []string{"{{Hostname}}"}
	for name, s := range map[string]*syntax.TCP{
		"no host": {}, "port": {Host: host, Port: "x-y"}, "excluded": {Host: host, ExcludePorts: "99999"},
		"size": {Host: host, ReadSize: maxRead + 1}, "read": {Host: host, Inputs: []syntax.Input{{Read: -1}}},
	} {
		if _, err := Compile("t.yaml", s); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
