package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// conversation is what a server says on a connection, which ends with it.
type conversation func(ctx context.Context, conn *websocket.Conn, say func(string))

// socket is a server of one WebSocket.
func socket(t *testing.T, c client.Config, talk conversation) (*client.Client, *url.URL) {
	t.Helper()
	made, at := open(t, c, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/closed" {
			http.Error(w, "log in first", http.StatusForbidden)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v2"}})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		talk(r.Context(), conn, func(text string) {
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(text))
		})
	})
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return made, u
}

// echo answers each message with it.
func echo(ctx context.Context, conn *websocket.Conn, say func(string)) {
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		say("<" + string(text) + ">")
	}
}

func TestTalk(t *testing.T) {
	for name, c := range map[string]struct {
		talk   conversation
		after  string
		path   string
		want   string
		status int
	}{
		"an answer": {talk: echo, want: "<hi>", status: http.StatusSwitchingProtocols},
		"a greeting is no answer": {talk: func(ctx context.Context, conn *websocket.Conn, say func(string)) {
			say("welcome")
			echo(ctx, conn, say)
		}, want: "<hi>", status: http.StatusSwitchingProtocols},
		"messages before": {talk: echo, after: "first", want: "<hi>", status: http.StatusSwitchingProtocols},
		"several messages": {talk: func(ctx context.Context, conn *websocket.Conn, say func(string)) {
			_, _, _ = conn.Read(ctx)
			say("one")
			say("two")
			<-ctx.Done()
		}, want: "one\ntwo", status: http.StatusSwitchingProtocols},
		"it closes": {talk: func(ctx context.Context, conn *websocket.Conn, say func(string)) {
			_, _, _ = conn.Read(ctx)
			say("bye")
		}, want: "bye", status: http.StatusSwitchingProtocols},
		"it says nothing": {talk: func(ctx context.Context, conn *websocket.Conn, _ func(string)) {
			_, _, _ = conn.Read(ctx)
			<-ctx.Done()
		}, status: http.StatusSwitchingProtocols},
		"it never ends": {talk: func(ctx context.Context, conn *websocket.Conn, say func(string)) {
			_, _, _ = conn.Read(ctx)
			for ctx.Err() == nil {
				say(strings.Repeat("x", 300))
			}
		}, want: strings.Repeat("x", 100), status: http.StatusSwitchingProtocols},
		"it refuses": {talk: echo, path: "/closed", want: "log in first\n", status: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender, at := socket(t, client.Config{Body: 100}, c.talk)
			at.Path = c.path
			r := message.NewMessage(at, "hi")
			r.Header.Set("Sec-WebSocket-Protocol", "v2")
			if c.after != "" {
				r.After = message.NewMessage(at, c.after)
			}
			for range 2 { // the second time the habits of the server are known
				answer, err := sender.Send(t.Context(), r, client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if string(answer.Body) != c.want || answer.Status != c.status {
					t.Errorf("%d %q, want %d %q", answer.Status, answer.Body, c.status, c.want)
				}
			}
		})
	}
}

func TestMessagesStayInScopeAndHarmless(t *testing.T) {
	sender, at := socket(t, client.Config{}, echo)
	for text, away := range map[string]bool{
		`{"type":"find","q":"a"}`: false, `{"action":"delete","id":1}`: true, `logout`: true,
	} {
		_, err := sender.Send(t.Context(), message.NewMessage(at, text), client.Options{})
		if errors.Is(err, client.ErrScope) != away {
			t.Errorf("%s: %v", text, err)
		}
	}
	elsewhere := *at
	elsewhere.Host = "127.0.0.1:1"
	_, err := sender.Send(t.Context(), message.NewMessage(&elsewhere, "hi"), client.Options{})
	if !errors.Is(err, client.ErrScope) {
		t.Errorf("out of scope: %v", err)
	}
	for text, writes := range map[string]bool{
		`{"type":"find","q":"a"}`: false, `{"type":"chat","text":"a"}`: true, `hello`: false,
	} {
		if got := client.Writes(message.NewMessage(at, text)); got != writes {
			t.Errorf("%s writes: %v", text, got)
		}
	}
}

// TestTalkTakesTime has an answer that comes late: the time until it is measured.
func TestTalkTakesTime(t *testing.T) {
	const late = 300 * time.Millisecond
	sender, at := socket(t, client.Config{}, func(ctx context.Context, conn *websocket.Conn, say func(string)) {
		_, _, _ = conn.Read(ctx)
		time.Sleep(late) // what is measured
		say("done")
	})
	answer, err := sender.Send(t.Context(), message.NewMessage(at, "hi"), client.Options{})
	if err != nil || answer.Took < late || string(answer.Body) != "done" {
		t.Errorf("%v, %q, %v", answer.Took, answer.Body, err)
	}
}
