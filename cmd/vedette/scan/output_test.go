package scan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"pgregory.net/rapid"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func TestLine(t *testing.T) {
	full := engine.Event{
		TemplateID: "x", MatcherName: "m", Type: "http", Info: syntax.Info{Severity: "high"}, MatchedAt: "http://h/?q",
		Timestamp: at, MatcherStatus: true,
		Global: true, ExtractedResults: []string{" a\x1b[0m", "b\nc"}, Meta: map[string]string{"w": "2", "v": "1"},
		FuzzingPosition: "query", FuzzingParameter: "q\x07", FuzzingMethod: "GET", ExtractorName: "e",
	}
	for want, c := range map[string]struct {
		flags   scanFlags
		colours bool
		change  func(*engine.Event)
	}{
		`[x:m] [global] [http] [high] http://h/?q ["a\x1b[0m","b\nc"] [v="1",w="2"] [query:"q\a"] [GET]`: {},
		`http://h/?q`: {flags: scanFlags{noMeta: true}},
		`[2026-01-02 03:04:05] [x:e] [matched] [http] [high] http://h/?q`: {flags: scanFlags{timestamps: true, status: true},
			change: func(e *engine.Event) {
				*e = engine.Event{TemplateID: "x", ExtractorName: "e", Type: "http", Info: e.Info, MatchedAt: e.MatchedAt,
					Timestamp: at, MatcherStatus: true}
			}},
		`[x] [failed] [http] [low] h failed: no � answer`: {flags: scanFlags{status: true}, change: func(e *engine.Event) {
			*e = engine.Event{TemplateID: "x", Type: "http", Info: syntax.Info{Severity: "low"}, MatchedAt: "h",
				Error: "failed: no \x1b answer"}
		}},
		"[x y] [http] [\x1b[31mhigh\x1b[0m] h�[31m": {colours: true, change: func(e *engine.Event) {
			*e = engine.Event{TemplateID: "x\ny", Type: "http", Info: e.Info, MatchedAt: "h\x1b[31m"}
		}},
	} {
		e := full
		if c.change != nil {
			c.change(&e)
		}
		s := sink{flags: &c.flags}
		if got := s.line(&e, c.colours); got != want+"\n" {
			t.Errorf("\n got %q\nwant %q", got, want+"\n")
		}
	}
}

// A line of JSON is one line, says what the event says, and holds nothing that acts on a
// terminal.
func TestJSONLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b\u009b\u202e\u2028\n<")))).Draw(t,
			"text")
		e := engine.Event{TemplateID: "x", MatchedAt: text, Timestamp: at}
		line, err := jsonLine(&e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || bytes.ContainsFunc(line[:len(line)-1], cli.IsControl) {
			t.Fatalf("%q", line)
		}
		var back engine.Event
		if err := json.Unmarshal(line, &back); err != nil ||
			!reflect.DeepEqual(back.MatchedAt, strings.ToValidUTF8(text, "�")) {
			t.Fatalf("%v: %q became %q", err, text, back.MatchedAt)
		}
	})
}
