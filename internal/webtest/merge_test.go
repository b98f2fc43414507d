package webtest

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// One rule of a host that allows other origins is one cause, whatever addresses it answers for.
func TestCauses(t *testing.T) {
	r := &run{}
	at := func(class, address, detail string) string {
		q, err := message.New(http.MethodGet, address)
		if err != nil {
			t.Fatal(err)
		}
		return r.causeOf(Finding{Class: class, Request: q, Detail: detail, Confidence: kit.Proved})
	}
	const public, private = "the same for everybody", "what anna sees"
	one := at("cors", "http://lab.example/api/posts", public)
	for name, c := range map[string]struct {
		got  string
		same bool
	}{
		"another address": {at("cors", "http://lab.example/api/users/1", public), true},
		"another host":    {at("cors", "http://other.example/api/posts", public), false},
		"private data":    {at("cors", "http://lab.example/api/me", private), false},
		"another class":   {at("xss", "http://lab.example/api/posts", public), false},
	} {
		if (c.got == one) != c.same {
			t.Errorf("%s: %q beside %q", name, c.got, one)
		}
	}
	if at("xss", "http://lab.example/a", "") == at("xss", "http://lab.example/b", "") {
		t.Error("two pages are one cause")
	}
}
