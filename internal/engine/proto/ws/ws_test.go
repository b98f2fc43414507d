package ws

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func run(t *testing.T, target rawurl.URL, s *syntax.Websocket) (*proto.Reply, error) {
	t.Helper()
	p, err := Compile("t.yaml", s)
	if err != nil {
		t.Fatal(err)
	}
	env := &proto.Env{
		Target: target, Timeout: time.Minute, Dial: (&net.Dialer{}).DialContext, Extract: func(*proto.Reply) {},
		Begin: func(context.Context, string) (func(), error) { return func() {}, nil },
		Vars:  func(at rawurl.URL) *dsl.Env { return &dsl.Env{Vars: dsl.Map(at.Variables(false))} },
	}
	var reply *proto.Reply
	err = p.Run(t.Context(), env, func(r *proto.Reply) bool { reply = r; return true })
	return reply, err
}

// The path of the target counts where the template's address has none, over TLS as well; redirects are not followed.
func TestAddress(t *testing.T) {
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(r.URL.RequestURI()))
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}))
	defer site.Close()
	target := rawurl.URL{Scheme: "wss", Host: strings.TrimPrefix(site.URL, "https://"), Path: "/p"}
	inputs := []syntax.Frame{{Data: "x"}}
	for address, want := range map[string]string{"wss://{{Hostname}}": "/p", "{{Scheme}}://{{Hostname}}/q?a=1": "/q?a=1"} {
		r, err := run(t, target, &syntax.Websocket{Address: address, Inputs: inputs})
		if err != nil || r.Response != want || !strings.HasSuffix(r.MatchedAt, want) {
			t.Errorf("%s: %+v %v", address, r, err)
		}
	}
	for _, address := range []string{"wss://{{Hostname}}/away", "http://{{Hostname}}", "{{Hostname}}"} {
		if r, err := run(t, target, &syntax.Websocket{Address: address}); err == nil {
			t.Errorf("%s: %+v", address, r)
		}
	}
}

// A server that answers the handshake with another status refuses; one that fails has said nothing.
func TestRefusals(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "http://evil.test" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer site.Close()
	target := rawurl.URL{Scheme: "ws", Host: strings.TrimPrefix(site.URL, "http://")}
	for origin, want := range map[string]bool{"http://evil.test": true, "http://own.test": false} {
		block := &syntax.Websocket{Address: "ws://{{Hostname}}", Headers: []syntax.Pair{{Name: "Origin", Value: origin}}}
		_, err := run(t, target, block)
		end, ok := errors.AsType[*proto.End](err)
		if err == nil || ok != want || ok && end.Kind != proto.KindRefused {
			t.Errorf("%s: %v", origin, err)
		}
	}
}
