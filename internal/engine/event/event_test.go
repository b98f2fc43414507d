package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/oast"
)

// TestPending judges an interaction with a request that was written as JSON in between.
func TestPending(t *testing.T) {
	o, err := match.Compile("t.yaml", match.Spec{
		Matchers: []syntax.Matcher{
			{Type: "word", Name: "http", Part: "interactsh_protocol", Words: []string{"http"}},
			{Type: "word", Name: "dns", Part: "interactsh_protocol", Words: []string{"dns"}},
		},
		Extractors: []syntax.Extractor{{Type: "regex", Part: "interactsh_request", Regex: []string{"pass=.*"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := event.Pending{
		IDs: []string{"v1"}, Saved: oob.Save(o, &match.Response{Head: func() []byte { return nil }}, nil),
		Event:  event.Event{TemplateID: "ssrf", Request: "GET /", Response: "HTTP/1.1 200 OK", Meta: map[string]string{"a": "b"}},
		Target: "http://127.0.0.1", URL: "http://127.0.0.1/", Scheme: "http",
	}
	raw, err := json.Marshal(&p)
	if err != nil {
		t.Fatal(err)
	}
	var read event.Pending
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC()
	one := oast.Interaction{Protocol: "http", UniqueID: "v1", RawRequest: "GET /?pass=\x00\xff", RemoteAddress: "192.0.2.1", Timestamp: at}
	events := read.Judge(t.Context(), o, one, nil)
	if len(events) != 1 {
		t.Fatal(events)
	}
	ev := events[0]
	if ev.MatcherName != "http" || ev.TemplateID != "ssrf" || ev.Target != p.Target || ev.URL != p.URL || ev.Scheme != p.Scheme ||
		ev.Meta["a"] != "b" || ev.Interaction.RawRequest != `GET /?pass=\x00\xff` || !ev.Interaction.Timestamp.Equal(at) ||
		ev.ExtractedResults[0] != `pass=\x00\xff` || ev.Timestamp.IsZero() || ev.Request != "GET /" {
		t.Errorf("%+v", ev)
	}
	one.Protocol = "smtp"
	if events := read.Judge(t.Context(), o, one, nil); len(events) != 0 {
		t.Error(events)
	}
}
