package webtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// printer prints findings when they are seen.
type printer struct {
	flags *flags
	w     io.Writer
	worst int // the best rank that was proved
	err   error
}

// finding is a finding as JSON.
type finding struct {
	Check       string         `json:"check"`
	Title       string         `json:"title"`
	Class       string         `json:"class"`
	Severity    string         `json:"severity"`
	Confidence  string         `json:"confidence"`
	CWE         string         `json:"cwe,omitempty"`
	OWASP       []string       `json:"owasp,omitempty"`
	API         []string       `json:"owasp_api,omitempty"`
	ASVS        []string       `json:"asvs,omitempty"`
	Method      string         `json:"method,omitempty"`
	URL         string         `json:"url,omitempty"`
	Place       *message.Place `json:"place,omitempty"`
	Payload     string         `json:"payload,omitempty"`
	Detail      string         `json:"detail,omitempty"`
	Where       []string       `json:"where,omitempty"`
	Impact      string         `json:"impact,omitempty"`
	Remediation string         `json:"remediation,omitempty"`
	Evidence    []exchange     `json:"evidence,omitempty"`
	Proof       *proof.Program `json:"proof,omitempty"`
	Curl        string         `json:"curl,omitempty"`
}

// exchange is a request and its answer as texts.
type exchange struct {
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	Match    string `json:"match,omitempty"`
	Note     string `json:"note,omitempty"`
}

// maxEvidence is how much of a body is printed.
const maxEvidence = 16 << 10

func (p *printer) finding(f webtest.Finding) {
	if f.Confidence == kit.Probable && !p.flags.probable {
		return
	}
	if f.Confidence != kit.Probable {
		p.worst = min(p.worst, cli.SeverityRank(string(f.Severity)))
	}
	var err error
	switch {
	case *p.flags.output == "json": // all of them, at the end
	case p.flags.jsonl:
		err = p.encode(asJSON(f), "")
	default:
		_, err = io.WriteString(p.w, line(f))
	}
	p.err = errors.Join(p.err, err)
}

// line is a finding for people, on one line that is safe for a terminal.
func line(f webtest.Finding) string {
	text := fmt.Sprintf("[%s] [%s] ", f.Severity, f.Check)
	if f.Confidence == kit.Probable {
		text += "(probable) "
	}
	text += f.Title
	if f.Request != nil {
		text += ": " + f.Request.Method + " " + f.Request.URL.Redacted()
	}
	if f.Place.Component != "" {
		text += ", " + f.Place.String()
	}
	if f.Detail != "" {
		text += " (" + f.Detail + ")"
	}
	if len(f.Where) > 0 {
		text += fmt.Sprintf(", and %s more", cli.Counted(len(f.Where), "place"))
	}
	return cli.Printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(text)) + "\n"
}

func asJSON(f webtest.Finding) finding {
	out := finding{Check: f.Check, Title: f.Title, Class: f.Class, Severity: string(f.Severity),
		Confidence: string(f.Confidence), OWASP: f.OWASP, API: f.API, ASVS: f.ASVS, Payload: f.Payload, Detail: f.Detail,
		Where: f.Where, Impact: f.Impact, Remediation: f.Remediation, Proof: f.Proof}
	if f.CWE > 0 {
		out.CWE = fmt.Sprintf("CWE-%d", f.CWE)
	}
	if f.Request != nil {
		out.Method, out.URL, out.Curl = f.Request.Method, f.Request.URL.Redacted(), curl(f.Request)
	}
	if f.Place.Component != "" {
		out.Place = &f.Place
	}
	for _, e := range f.Evidence {
		one := exchange{Match: e.Match, Note: e.Note}
		if e.Request != nil {
			one.Request = e.Request.Text()
		}
		if e.Response != nil {
			one.Response = response(e.Response)
		}
		out.Evidence = append(out.Evidence, one)
	}
	return out
}

// response is an answer as text, cut.
func response(r *message.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d\r\n", r.Status)
	_ = r.Header.Write(&b) // builders do not fail
	body := r.Body[:min(len(r.Body), maxEvidence)]
	b.WriteString("\r\n" + strings.ToValidUTF8(string(body), "�"))
	return b.String()
}

// curl is a command that sends a request again, and those that belong before it; for a message it is one of websocat.
func curl(r *message.Request) string {
	if r.IsMessage() {
		return websocat(r)
	}
	text := "curl -sik --path-as-is -X " + r.Method
	if r.After != nil {
		text = curl(r.After) + " && " + text
		text = strings.ReplaceAll(text, "curl -sik ", "curl -sik -b cookies -c cookies ")
		text = strings.ReplaceAll(text, "-c cookies -b cookies -c cookies", "-c cookies")
	}
	for name, values := range r.Header {
		var textSb143 strings.Builder
		for _, value := range values {
			textSb143.WriteString(" -H " + quoted(name+": "+value))
		}
		text += textSb143.String() //nolint:perfsprint // a few words
	}
	if len(r.Body) > 0 {
		if !utf8.Valid(r.Body) {
			return ""
		}
		text += " --data-binary " + quoted(string(r.Body))
	}
	return text + " " + quoted(r.URL.String())
}

// websocat is a command that opens a WebSocket and sends a message, behind those that belong before it.
func websocat(r *message.Request) string {
	said := ""
	var options strings.Builder
	for s := r; s.IsMessage(); s = s.After {
		if !utf8.Valid(s.Body) {
			return ""
		}
		if len(s.Body) > 0 {
			said = " " + quoted(string(s.Body)) + said
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != "Content-Type" {
			options.WriteString(" -H " + quoted(name+": "+r.Header.Get(name)))
		}
	}
	return `printf '%s\n'` + said + " | websocat -n -k" + options.String() + " " + quoted(r.SocketURL().String())
}

// quoted is a word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// encode writes JSON in which no character may move a terminal's cursor.
func (p *printer) encode(value any, indent string) error {
	encoder := json.NewEncoder(p.w)
	encoder.SetIndent("", indent)
	return encoder.Encode(value)
}

// whole prints the report of the run as one JSON document.
func (p *printer) whole(r *webtest.Report) error {
	requests, places, checks := r.Coverage.Count()
	all := []finding{}
	for _, f := range r.Findings {
		if f.Confidence != kit.Probable || p.flags.probable {
			all = append(all, asJSON(f))
		}
	}
	ofMap, ofChecks := r.Coverage.Reasons()
	return p.encode(map[string]any{
		"findings": all, "requests": r.Requests, "notes": r.Notes,
		"tested":     map[string]int{"requests": requests, "places": places, "checks": checks},
		"not_mapped": ofMap, "not_tested": ofChecks, "budget_reached": r.Over, "target_gone": r.Down, "blocked": r.Blocked,
		"partial": r.Partial(), "logged_in_again": r.Logins, "logins_failed": r.Refused, "written": orEmpty(r.Written),
		"left": orEmpty(r.Left),
	}, "  ")
}

// orEmpty has an empty list written as [].
func orEmpty[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// summary tells people what was done, and what not and why.
func summary(stderr io.Writer, r *webtest.Report) {
	proved, probable := 0, 0
	for _, f := range r.Findings {
		if f.Confidence == kit.Probable {
			probable++
		} else {
			proved++
		}
	}
	for _, why := range r.Refused {
		fmt.Fprintf(stderr, "the login failed, and what that user alone is shown was not tested, or no further: %s\n",
			cli.Printable(why))
	}
	requests, places, _ := r.Coverage.Count()
	fmt.Fprintf(stderr, "%s in %s and %s of %d that were found, with %d requests", cli.Counted(proved, "finding"),
		cli.Counted(requests, "request"), cli.Counted(places, "place"), len(r.Map.Entries), r.Requests)
	if probable > 0 {
		fmt.Fprintf(stderr, "; %d more are probable (--probable)", probable)
	}
	fmt.Fprintln(stderr)
	if r.Over != "" {
		fmt.Fprintf(stderr, "the budget of %s is used up\n", r.Over)
	}
	if r.Down && !r.Blocked { // of which a note says more
		fmt.Fprintln(stderr, "the target stopped answering")
	}
	if r.Logins > 0 {
		fmt.Fprintf(stderr, "logged in again: %d\n", r.Logins)
	}
	ofMap, ofChecks := r.Coverage.Reasons()
	for _, reasons := range []struct {
		what string
		all  []coverage.Reason
	}{{"not fetched", ofMap}, {"not tested", ofChecks}} {
		for i, one := range reasons.all {
			if i == 8 {
				fmt.Fprintf(stderr, "%s: %d more reasons, which --coverage lists\n", reasons.what, len(reasons.all)-i)
				break
			}
			fmt.Fprintf(stderr, "%s: %d, %s\n", reasons.what, one.Count, cli.Printable(one.Why))
		}
	}
}

// writeCoverage writes what was tested and what not.
func writeCoverage(name string, r *webtest.Report) error {
	ofMap, ofChecks := r.Coverage.Reasons()
	text, err := json.MarshalIndent(map[string]any{
		"requests": r.Requests, "ended": time.Now().UTC(), "not_mapped": ofMap, "not_tested": ofChecks,
		"places": r.Coverage.Rows(), "written": orEmpty(r.Written), "left": orEmpty(r.Left),
	}, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o600)
}
