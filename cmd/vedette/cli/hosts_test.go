package cli

import (
	"net/url"
	"testing"
)

func TestExclusion(t *testing.T) {
	x, err := NewExclusion([]string{
		"A.test", "b.test:8080", "http://c.test/x", "192.0.2.0/24", "2001:db8::1", `^d\d+\.test$`, "http://[2001:db8::7]",
		"[2001:db8::8]:81",
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]bool{
		"http://a.test/x": true, "https://A.TEST:8443": true, "http://sub.a.test": false,
		"http://b.test:8080": true, "http://b.test": false, "https://c.test": true,
		"http://192.0.2.77:81": true, "http://192.0.3.1": false, "http://[::ffff:192.0.2.1]/": true,
		"http://[2001:db8::1]:8080/": true, "http://[2001:db8::2]": false, "http://d12.test": true, "http://d.test": false,
		"http://[2001:db8::7]:9/": true, "http://[2001:db8::8]:81": true, "http://[2001:db8::8]:82": false,
	} {
		u, err := url.Parse(place)
		if err != nil {
			t.Fatal(err)
		}
		if x.Has(u.Hostname(), u.Port()) != want {
			t.Errorf("%s: excluded is not %v", place, want)
		}
	}
	if _, err := NewExclusion([]string{"("}); err == nil {
		t.Error("( is a pattern")
	}
}

func TestPrintable(t *testing.T) {
	if got := Printable("a\x1b[2J\tb\u202ec\n"); got != "a�[2J\tb�c\n" {
		t.Errorf("%q", got)
	}
}
