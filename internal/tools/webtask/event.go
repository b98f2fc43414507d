package webtask

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// EventOf is a finding as the engine reports matches; hide takes secrets out of its texts.
func EventOf(f webtest.Finding, hide func(string) string) engine.Event {
	e := engine.Event{
		TemplateID: Template + "-" + f.Check, MatcherName: f.Place.String(), Type: "http", Timestamp: time.Now().UTC(),
		Info: syntax.Info{Name: f.Title, Author: []string{"vedette"}, Tags: []string{Template, f.Class},
			Description: f.Detail,
			Impact:      f.Impact, Remediation: f.Remediation, Severity: syntax.Severity(f.Severity)},
		Fuzzed: f.Place.Component != "", FuzzingPosition: string(f.Place.Component), FuzzingParameter: f.Place.Name,
	}
	if f.CWE > 0 {
		e.Info.Classification = &syntax.Classification{CWEID: []string{"cwe-" + strconv.Itoa(f.CWE)}}
	}
	if f.Request != nil {
		u := f.Request.URL
		e.MatchedAt, e.Host, e.Port, e.Path = u.Redacted(), u.Hostname(), portOf(u), u.Path
		e.FuzzingMethod = f.Request.Method
		e.Request = hide(engine.Clean(f.Request.Text()))
	}
	var last string // what the request of the event shows
	for _, shown := range f.Evidence {
		if shown.Request != nil && shown.Response != nil {
			if e.Response != "" {
				e.CompareWith(last, e.Request, e.Response)
			}
			e.Request, e.Response = hide(engine.Clean(shown.Request.Text())), hide(ResponseText(shown.Response))
			last = hide(engine.Clean(shown.Note))
		}
		if shown.Match != "" {
			e.ExtractedResults = append(e.ExtractedResults, errs.Clip(engine.Clean(shown.Match), 500))
		}
	}
	return e
}

// ResponseText is an answer as it is shown, with the beginning of its body.
func ResponseText(r *message.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", r.Status, http.StatusText(r.Status))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %s\r\n", name, strings.Join(r.Header[name], ", "))
	}
	_, _ = io.WriteString(&b, "\r\n"+string(r.Body[:min(len(r.Body), maxShown)])) // builders do not fail
	return engine.Clean(b.String())
}
