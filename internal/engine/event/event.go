// Package event is what a scan reports: an Event for each finding, and a Pending for each request that an out-of-band
// interaction may turn into one.
package event

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/oast"
)

// Event is one finding in the format of the specification's VulnerabilityEvent. Texts are valid UTF-8 without NUL;
// other bytes of a response are written \xNN.
type Event struct {
	CurlCommand      string                  `json:"curl-command,omitempty"`
	ExtractedResults []string                `json:"extracted-results,omitempty"`
	ExtractorName    string                  `json:"extractor-name,omitempty"`
	Host             string                  `json:"host"` // of the target, without port
	Info             syntax.Info             `json:"info"`
	IP               string                  `json:"ip,omitempty"`           // the address that answered
	MatchedAt        string                  `json:"matched-at,omitempty"`   // the URL of the response that matched
	MatchedLine      []int                   `json:"matched-line,omitempty"` // of a file: only in imported events
	MatcherName      string                  `json:"matcher-name,omitempty"`
	MatcherStatus    bool                    `json:"matcher-status"`
	Path             string                  `json:"path,omitempty"`     // that was asked for, without the query
	Request          string                  `json:"request,omitempty"`  // url most 1 MiB
	Response         string                  `json:"response,omitempty"` // url most 1 MiB
	TemplateID       string                  `json:"template-id"`
	TemplatePath     string                  `json:"template-path,omitempty"`
	Timestamp        time.Time               `json:"timestamp"` // UTC
	Type             string                  `json:"type"`      // the protocol: "http", "tcp", …
	Error            string                  `json:"error,omitempty"`
	IssueTrackers    map[string]IssueTracker `json:"issue_trackers,omitempty"` // filled by the integration
	Port             string                  `json:"port,omitempty"`

	// Beyond the specification; left out when empty.
	Meta   map[string]string `json:"meta,omitempty"`            // the payload values of the request, by name
	Global bool              `json:"global-matchers,omitempty"` // the response belongs to the request of another template
	Marks  []Mark            `json:"marks,omitempty"`           // reasons to doubt the event

	Fuzzed           bool   `json:"is_fuzzing_result,omitempty"` // the request is one of a fuzzing rule
	FuzzingMethod    string `json:"fuzzing_method,omitempty"`
	FuzzingParameter string `json:"fuzzing_parameter,omitempty"`
	FuzzingPosition  string `json:"fuzzing_position,omitempty"` // query, path, header, cookie or body
	AnalyzerDetails  string `json:"analyzer_details,omitempty"` // what confirmed it

	Compared []Compared `json:"compared,omitempty"` // what the answer was compared with, at most MaxCompared

	Interaction *oast.Interaction `json:"interaction,omitempty"` // the out-of-band interaction that the request caused

	// Not part of the JSON.
	Target string `json:"-"` // as the scan was given it; "" for a self-contained template
	URL    string `json:"-"` // the target as a URL
	Scheme string `json:"-"` // of the target

	Origin *Origin `json:"-"` // nil for an event that was stored in between, or comes from elsewhere
}

// Compared is a request with whose answer that of an event was compared: the other one of a blind test, or the control
// of a verification.
type Compared struct {
	Note     string `json:"note,omitempty"` // what it shows
	Request  string `json:"request"`        // at most 16 KiB of each
	Response string `json:"response"`
}

// MaxCompared is how many an event has.
const MaxCompared = 3

const comparedBytes = 16 << 10

// CompareWith adds a request to those that the event was compared with, unless it has MaxCompared.
func (ev *Event) CompareWith(note, request, response string) {
	if len(ev.Compared) < MaxCompared {
		one := Compared{note, errs.Clip(request, comparedBytes), errs.Clip(response, comparedBytes)}
		ev.Compared = append(ev.Compared, one)
	}
}

// Texts are a request and its answer as events have them.
func Texts(x *web.Exchange) (request, response string) {
	return Clean(Dump(x.Sent())), Clean(Dump(slices.Concat(x.Head(), x.Body)))
}

// IssueTracker is an issue that was filed for an event.
type IssueTracker struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

// Origin is the request that made an event.
type Origin struct {
	Bound        *program.Bound
	Block, Entry int
	Tuple        int
	Fuzzed       string // the key of its mutation; "" for none
}

// Origins are the requests of a plain program that can have made an event: the one it remembers; for an event that
// was stored in between, those with its URL, or else all.
func (ev *Event) Origins(b *program.Bound, target rawurl.URL) []Origin {
	if ev.Origin != nil && ev.Origin.Bound == b {
		return []Origin{*ev.Origin}
	}
	var all, exact []Origin
	for j := range b.Blocks {
		for k := range b.Blocks[j].Entries {
			o := Origin{Bound: b, Block: j, Entry: k}
			req, err := b.Request(j, k, program.Input{Target: target})
			if err != nil {
				continue
			}
			all = append(all, o)
			if Clean(req.EventURL(nil)) == ev.MatchedAt {
				exact = append(exact, o)
			}
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return all
}

// maxDump bounds the request and the response in an event, in bytes.
const maxDump = 1 << 20

// Hop is one response of a chain as an event shows it.
type Hop struct {
	Exchange *web.Exchange
	URL      string // the requested URL as its template wrote it
	Body     []byte // nil for a response whose redirect was followed
}

// New makes the event of a finding in one response.
func New(
	o Origin, target targets.Target, address rawurl.URL, h Hop, f match.Finding, payload program.Payload,
) Event {
	x := h.Exchange
	ev := Base(o, target, f, payload)
	ev.CurlCommand, ev.IP, ev.MatchedAt, ev.Type = Clean(x.Curl()), x.IP, Clean(h.URL), "http"
	ev.Request, ev.Response = Clean(Dump(x.Sent())), Clean(Dump(slices.Concat(x.Head(), h.Body)))
	if o.Bound.SelfContained {
		address = x.Request.Address
	}
	ev.Host, ev.Port, ev.Scheme, ev.URL = strings.Trim(address.Hostname(), "[]"), address.Port(), address.Scheme,
		Clean(address.String())
	if ev.Path = Clean(x.Request.Address.Path); ev.Path == "" {
		ev.Path = "/"
	}
	return ev
}

// Base is what events of all protocols have.
func Base(o Origin, target targets.Target, f match.Finding, payload program.Payload) Event {
	ev := Event{
		Info: o.Bound.Info, TemplateID: o.Bound.ID, TemplatePath: o.Bound.Path, MatcherStatus: true,
		MatcherName: f.Matcher, ExtractorName: f.Extractor,
		Timestamp: time.Now().UTC(), Target: target.Input, Origin: &o,
	}
	for _, v := range f.Extracted {
		ev.ExtractedResults = append(ev.ExtractedResults, Clean(errs.Clip(v, maxDump)))
	}
	for _, v := range payload {
		if ev.Meta == nil {
			ev.Meta = make(map[string]string, len(payload))
		}
		ev.Meta[Clean(v.Name)] = Clean(errs.Clip(v.Text, maxDump))
	}
	return ev
}

// Place is MatchedAt without the out-of-band name of its interaction, which is another one each time.
func (ev *Event) Place() string {
	if ev.Interaction == nil || ev.Interaction.UniqueID == "" {
		return ev.MatchedAt
	}
	return strings.ReplaceAll(ev.MatchedAt, ev.Interaction.UniqueID, "")
}

// Fingerprint is equal for events that report the same at the same place.
func (ev *Event) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", ev.Target, ev.TemplateID, ev.MatcherName, ev.ExtractorName, ev.Place(),
		ev.ExtractedResults)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Dump is the beginning of a message.
func Dump(b []byte) string { return string(b[:min(len(b), maxDump)]) }

// Clean writes bytes that are not UTF-8, and NUL, as \xNN.
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
