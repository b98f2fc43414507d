package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Event is one finding, in the shape of the specification's VulnerabilityEvent. All
// texts are valid UTF-8 without NUL; other bytes of a response are written \xNN.
type Event struct {
	CurlCommand      string                  `json:"curl-command,omitempty"`
	ExtractedResults []string                `json:"extracted-results,omitempty"`
	ExtractorName    string                  `json:"extractor-name,omitempty"`
	Host             string                  `json:"host"` // of the target, without port
	Info             syntax.Info             `json:"info"`
	IP               string                  `json:"ip,omitempty"`         // the address that answered
	MatchedAt        string                  `json:"matched-at,omitempty"` // the URL of the answer that matched
	MatchedLine      []int                   `json:"matched-line,omitempty"`
	MatcherName      string                  `json:"matcher-name,omitempty"`
	MatcherStatus    bool                    `json:"matcher-status"`
	Path             string                  `json:"path,omitempty"`     // of the target
	Request          string                  `json:"request,omitempty"`  // at most 64 KiB
	Response         string                  `json:"response,omitempty"` // at most 64 KiB
	TemplateID       string                  `json:"template-id"`
	TemplatePath     string                  `json:"template-path,omitempty"`
	Timestamp        time.Time               `json:"timestamp"` // UTC
	Type             string                  `json:"type"`      // "http"
	Error            string                  `json:"error,omitempty"`
	IssueTrackers    map[string]IssueTracker `json:"issue_trackers,omitempty"` // filled by who files the issue
	Port             string                  `json:"port,omitempty"`

	origin *origin // where it came from; lost on the way through JSON
}

// IssueTracker is an issue that was filed for an event.
type IssueTracker struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

// origin is the step of a scan that made an event.
type origin struct {
	bound       *program.Bound
	block, step int
}

// maxDump bounds the request and the response in an event, in bytes.
const maxDump = 64 << 10

// newEvent tells of a finding in one answer of a chain. at is the URL that the step
// itself asked for; it stands for the first answer, since steps that are sent once for
// several may write the same URL in different ways.
func newEvent(o origin, target web.Address, at string, first bool, r *web.Exchange, f match.Finding) Event {
	if !first {
		at = r.Request.Address.String()
	}
	path := target.Path
	if path == "" {
		path = "/"
	}
	ev := Event{
		CurlCommand: Clean(r.Curl()), Host: strings.Trim(target.Hostname(), "[]"), Port: target.Port(), Path: Clean(path),
		Info: o.bound.Info, TemplateID: o.bound.ID, TemplatePath: o.bound.Path,
		IP: r.IP, MatchedAt: Clean(at), MatcherStatus: true, Type: "http",
		MatcherName: f.Matcher, ExtractorName: f.Extractor,
		Request: Clean(dump(r.Sent())), Response: Clean(dump(slices.Concat(r.Head(), r.Body))),
		Timestamp: time.Now().UTC(), origin: &o,
	}
	for _, v := range f.Extracted {
		ev.ExtractedResults = append(ev.ExtractedResults, Clean(clip(v, maxDump)))
	}
	return ev
}

// dump is the beginning of a message as text.
func dump(b []byte) string { return string(b[:min(len(b), maxDump)]) }

// Clean makes a text safe to store and to send as JSON: bytes that are not UTF-8, and
// NUL, become \xNN. Texts that are fine already are given back as they are.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if c == 0 || c == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}
