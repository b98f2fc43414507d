package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

// candidate is what the loop passes to Verify: the ids of stored issues.
type candidate struct {
	Issues []string `json:"issues"`
}

type reportArgs struct {
	Title       string     `json:"title"`
	Severity    string     `json:"severity"`
	Description string     `json:"description"`
	Remediation string     `json:"remediation"`
	Proof       task.Proof `json:"proof"`
}

func (k *Kit) reportIssue() action[reportArgs] {
	return action[reportArgs]{
		name: "report_issue", repeatable: true,
		schema: `{"type": "object", "required": ["title", "severity", "description", "proof"], "properties": {
			"title": {"type": "string"}, "severity": {"type": "string", "enum": ["critical", "high", "medium", "low", "info"]},
			"description": {"type": "string"}, "remediation": {"type": "string"},
			"proof": {"type": "object", "required": ["url"], "properties": {
				"method": {"type": "string", "description": "GET when absent"}, "url": {"type": "string"},
				"headers": {"type": "object", "additionalProperties": {"type": "string"}}, "body": {"type": "string"},
				"status": {"type": "integer", "description": "the answer's status"},
				"contains": {"type": "array", "items": {"type": "string"},
					"description": "texts that the answer's header or body must hold"},
				"absent": {"type": "array", "items": {"type": "string"}, "description": "texts that it must not hold"}}}}}`,
		requests: func(reportArgs) int { return 1 },
		approval: func(a reportArgs) *loop.Approval { return k.changes(requestOf(a.Proof).methods(), a.Proof.URL) },
		call:     k.callReport,
	}
}

// requestOf is the request of a proof, with the names of secrets in place of their values.
func requestOf(p task.Proof) webRequest {
	return webRequest{Method: p.Method, URL: p.URL, Headers: p.Headers, Body: p.Body}
}

// callReport sends the proof's request once: the answer must show the finding.
func (k *Kit) callReport(ctx context.Context, a reportArgs, _ func(string)) (loop.Result, error) {
	if err := a.check(); err != nil {
		return loop.Result{}, err
	}
	event, why, err := k.tryProof(ctx, a.Proof, "")
	if err != nil {
		return loop.Result{Requests: 1}, fmt.Errorf("the proof's request: %w", err)
	}
	if why != "" {
		return loop.Result{Requests: 1, Text: "Not reported: " + why + "."}, errors.New("the proof does not show it: " + why)
	}
	event.MatcherName = a.Title
	event.Info = syntax.Info{Name: a.Title, Description: a.Description, Remediation: a.Remediation}
	u, err := url.Parse(a.Proof.URL)
	if err != nil {
		return loop.Result{}, err
	}
	id, err := k.Run.StoreIssue(ctx, task.Issue{
		Title: a.Title, Severity: a.Severity, Description: a.Description, Remediation: a.Remediation,
		TemplateID: event.TemplateID,
		Target:     u.Scheme + "://" + u.Host, MatchedAt: a.Proof.URL, Event: event, Proof: &a.Proof,
	})
	if err != nil {
		return loop.Result{Requests: 1}, err
	}
	finding, err := json.Marshal(candidate{[]string{id}})
	return loop.Result{Text: "Stored as issue " + id + ", to be verified.", Candidate: finding, Requests: 1,
		Evidence: []string{"issue " + id}}, err
}

// Bounds in bytes.
const (
	maxIssueTitle = 300
	maxIssueText  = 20_000
)

func (a reportArgs) check() error {
	p := a.Proof
	switch {
	case strings.TrimSpace(a.Title) == "" || len(a.Title) > maxIssueTitle:
		return fmt.Errorf("title must have 1 to %d bytes", maxIssueTitle)
	case len(a.Description) > maxIssueText || len(a.Remediation) > maxIssueText:
		return fmt.Errorf("description and remediation must have at most %d bytes", maxIssueText)
	case p.Template != "":
		return errors.New("a template is run with run_template_text, which stores what matches")
	case len(p.Contains)+len(p.Absent) == 0 && (p.Status == 0 || p.Status == http.StatusOK):
		return errors.New("the proof must say what shows the finding: contains, absent, or a status other than 200")
	case slices.ContainsFunc(slices.Concat(p.Contains, p.Absent),
		func(s string) bool { return strings.TrimSpace(s) == "" }):
		return errors.New("contains and absent must not be empty texts")
	}
	return nil
}

// tryProof sends the request of a proof, perhaps to another path. why says what the answer lacks; empty: it shows the
// finding.
func (k *Kit) tryProof(ctx context.Context, p task.Proof, path string) (e engine.Event, why string, err error) {
	fill := k.secretReplacer(false)
	hide := k.secretReplacer(true)
	r := webRequest{Method: p.Method, URL: fill.Replace(p.URL), Headers: map[string]string{}, Body: fill.Replace(p.Body)}
	for name, value := range p.Headers {
		r.Headers[name] = fill.Replace(value)
	}
	if path != "" {
		u, err := url.Parse(r.URL)
		if err != nil {
			return e, "", err
		}
		u.Path, u.RawPath = path, ""
		r.URL = u.String()
	}
	answer, err := k.web.send(ctx, r)
	if err != nil {
		return e, "", err
	}
	text := headerText(answer.Header) + "\r\n" + string(answer.Body)
	e = engine.Event{
		TemplateID: "agent", MatchedAt: p.URL, Type: "http", Request: hide.Replace(engine.Clean(answer.Request)),
		Response: hide.Replace(answer.text(maxShown)), Timestamp: time.Now().UTC(),
	}
	if u, err := url.Parse(p.URL); err == nil {
		e.Host, e.Port, e.Path = u.Hostname(), u.Port(), u.Path
	}
	if p.Status != 0 && answer.Status != p.Status {
		return e, fmt.Sprintf("the status is %d and not %d", answer.Status, p.Status), nil
	}
	for _, want := range p.Contains {
		if !strings.Contains(text, fill.Replace(want)) {
			return e, "the answer does not hold " + errs.Clip(want, brief.MaxReason), nil
		}
	}
	for _, no := range p.Absent {
		if strings.Contains(strings.ToLower(text), strings.ToLower(no)) {
			return e, "the answer holds " + errs.Clip(no, brief.MaxReason), nil
		}
	}
	return e, "", nil
}

// secretReplacer puts secrets in, or takes them out.
func (k *Kit) secretReplacer(out bool) *strings.Replacer {
	var pairs []string
	for name, value := range k.Secrets {
		pair := []string{redact.Reference(name), value}
		if out {
			slices.Reverse(pair)
		}
		pairs = append(pairs, pair...)
	}
	return strings.NewReplacer(pairs...)
}
