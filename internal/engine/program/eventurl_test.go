package program

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

func TestSpell(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"/":                                "/",
		"/a?b=1&c=2":                       "/a?b=1&c=2",
		"/?srid=&action=x&url=":            "/?srid&action=x&url",
		"/?a=1&b=2&a=3":                    "/?a=1&a=3&b=2",
		"/?&a=1&":                          "/?a=1",
		"/x?=":                             "/x",
		"/?q=a b'\"<\u9326>":               "/?q=a+b'\"<%e9%8c%a6>",
		"/.env/\\":                         "/.env/%5C",
		`/q/"onmouseover="alert(1)"`:       "/q/%22onmouseover=%22alert%281%29%22",
		"/%2e%2e/..;/(x)":                  "/%2e%2e/..;/(x)",
		"/k/%zz":                           "/k/%25zz",
		"/a b":                             "/a%20b",
		"/?list[ordering]=&x=updatexml(0)": "/?list[ordering]&x=updatexml(0)",
	} {
		a, err := rawurl.Parse("http://h" + in)
		if err != nil {
			t.Fatal(err)
		}
		if got := EventURL(a, ""); got != "http://h"+want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	a, _ := rawurl.Parse("http://h/x?a=&b")
	if got := EventURL(a, "/login?to=%2F"); got != "http://h/x?a&b#/login?to=%252F" {
		t.Error(got)
	}
}
