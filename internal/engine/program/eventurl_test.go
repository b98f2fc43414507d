package program_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// An event names the address that was asked, with the fragment that was not sent.
func TestEventURL(t *testing.T) {
	for _, c := range []struct{ block, sent, want string }{
		{"- path: ['{{BaseURL}}/x?a=&b#/login?to=%2F']", "/x?a&b", "http://h/x?a&b#/login?to=%252F"},
		{`- path: ['{{BaseURL}}/"<x>?q="<x>']`, `/%22%3Cx%3E?q="<x>`, `http://h/%22%3Cx%3E?q="<x>`},
		{`- raw: ["GET /\"{x}?a= HTTP/1.1\nHost: h\n\n"]`, "/%22%7Bx%7D?a", "http://h/%22%7Bx%7D?a"},
		{`- {raw: ["GET /\"{x} HTTP/1.1\nHost: h\n\n"], unsafe: true}`, "", `http://h/"{x}`},
	} {
		b := compile(t, "http:\n  "+c.block+"\n").Bind(program.Vars{})
		target, _ := rawurl.Parse("http://h")
		req, err := b.Request(0, 0, program.Input{Ctx: t.Context(), Target: target})
		if err != nil {
			t.Fatal(err)
		}
		if got := req.EventURL(nil); got != c.want {
			t.Errorf("%s: named %s, want %s", c.block, got, c.want)
		}
		if req.Raw == nil && req.Address.Target() != c.sent {
			t.Errorf("%s: asks for %s, want %s", c.block, req.Address.Target(), c.sent)
		}
		sent := &web.Exchange{Request: req.Request}
		sent.Request.Address.Scheme, sent.Request.Address.Host = "https", "h:80"
		if got, want := req.EventURL(sent), "https://h:80"+c.want[len("http://h"):]; got != want {
			t.Errorf("%s: asked over TLS, named %s, want %s", c.block, got, want)
		}
	}
}
