// Package distill writes templates from confirmed issues: the requests and matchers that show an issue, tried on the
// target and on a control.
package distill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/generate"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/runner"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// Cost is the most requests that trying a template takes.
const Cost = 6

// Why a finding has no template of its own.
var (
	errPrivate       = errors.New("the task is private, and templates belong to the whole team")
	errCatalogued    = errors.New("the template that found it shows it again on the same target")
	errMethod        = errors.New("its method may change something each time")
	errNoBudget      = errors.New("the budget leaves no requests to try one")
	errNotReproduced = errors.New("what was made of its request and answer did not match again")
	errControl       = errors.New("what was made of it matches the control request, too")
	errSeveral       = errors.New("the template that found it looks at more than one answer, and shows it again by itself")
)

// Distiller writes templates for the issues of one task.
type Distiller struct {
	runner    *runner.Runner
	scope     *scope.Scope
	secrets   map[string]string // by name
	templates Templates
}

// New makes a Distiller.
func New(r *runner.Runner, s *scope.Scope, secrets map[string]string, templates Templates) *Distiller {
	return &Distiller{runner: r, scope: s, secrets: secrets, templates: templates}
}

// Write returns what shows a confirmed issue again without a model: a new template that was tried, or the one that
// found it.
func (d *Distiller) Write(ctx context.Context, issue task.Issue, last engine.Event) *task.RetestTemplate {
	m := &task.RetestTemplate{}
	if issue.Proof == nil {
		m.TemplateID = issue.TemplateID
	}
	text, err := d.compile(ctx, issue, last)
	if err == nil {
		var kept task.RetestTemplate
		if kept, err = d.templates.keep(ctx, fileName(issue), text); err == nil {
			return &kept
		}
	}
	m.Reason = brief.Reason(err)
	if e := errs.From(err); e.Kind != errs.Internal {
		m.Reason = e.Message
	}
	return m
}

// fileName is the template's file. A template that the task wrote has one, however often it matched.
func fileName(issue task.Issue) string {
	if issue.Proof != nil && issue.Proof.Template != "" {
		return fmt.Sprintf("task-%.8x.yaml", sha256.Sum256([]byte(issue.Proof.Template)))
	}
	return issue.Name() + ".yaml"
}

func (d *Distiller) compile(ctx context.Context, issue task.Issue, last engine.Event) (string, error) {
	switch p := issue.Proof; {
	case !d.templates.Shared:
		return "", errPrivate
	case p != nil && p.Template != "":
		return p.Template, nil // verification tried it
	case d.left(ctx) < Cost:
		return "", errNoBudget
	case p != nil:
		t, err := d.fromProof(issue, last)
		if err != nil {
			return "", err
		}
		return d.try(ctx, issue, t, reductions(p.Method), nil)
	case !isOnPage(issue):
		return "", errCatalogued
	}
	return d.fromTemplate(ctx, issue)
}

// left is what the budget of a call leaves.
func (d *Distiller) left(ctx context.Context) int {
	return int(min(int64(loop.Allowance(ctx)), d.scope.Left()))
}

// isOnPage reports whether an issue is about a page or parameter, not about a target.
func isOnPage(issue task.Issue) bool {
	site, rest := SiteOf(issue.Target)
	return site != "" && strings.Trim(rest, "/") != ""
}

// SiteOf splits a URL after its host.
func SiteOf(text string) (site, rest string) {
	scheme, tail, ok := strings.Cut(text, "://")
	if !ok {
		return "", ""
	}
	host := tail
	if i := strings.IndexAny(tail, "/?#"); i >= 0 {
		host, rest = tail[:i], tail[i:]
	}
	rest, _, _ = strings.Cut(rest, "#")
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return scheme + "://" + host, rest
}

// describe is a template without requests, with the issue's texts.
func describe(issue task.Issue, methods ...string) generate.Template {
	info := syntax.Info{
		Name: issue.Title, Severity: syntax.Severity(issue.Severity), Description: issue.Description,
		Remediation: issue.Remediation,
		Reference:   issue.Event.Info.Reference, Classification: issue.Event.Info.Classification, Tags: []string{"finding"},
	}
	if slices.ContainsFunc(methods, func(m string) bool { return !scope.ReadOnly(m) }) {
		info.Tags = append(info.Tags, "intrusive")
	}
	return generate.Template{ID: issue.Name(), Info: info}
}

// fromProof makes a template of a proof: its request, and matchers for its texts and the status. Secrets stay
// references.
func (d *Distiller) fromProof(issue task.Issue, last engine.Event) (generate.Template, error) {
	p := issue.Proof
	if !scope.ReadOnly(p.Method) && p.Method != http.MethodPost {
		return generate.Template{}, errMethod
	}
	t := describe(issue, p.Method)
	literal := func(text string) string {
		return generate.Literal(text, func(name string) bool { _, ok := d.secrets[name]; return ok })
	}
	_, target := SiteOf(p.URL)
	r := generate.Request{Method: cmp.Or(p.Method, http.MethodGet), Target: literal(escapeTarget(target)),
		Body: literal(p.Body)}
	for name, value := range p.Headers {
		if strings.ContainsAny(name+value, "\r\n") {
			return t, errors.New("a header of its request has several lines")
		}
		if !strings.EqualFold(name, "Content-Length") {
			r.Headers = append(r.Headers, syntax.Pair{Name: http.CanonicalHeaderKey(name), Value: literal(value)})
		}
	}
	slices.SortFunc(r.Headers, func(a, b syntax.Pair) int { return strings.Compare(a.Name, b.Name) })
	t.Requests, t.MatchersCondition = []generate.Request{r}, "and"
	t.Matchers = matchers(*p, last.Response, literal)
	return t, nil
}

// matchers are what a proof says about an answer.
func matchers(p task.Proof, response string, literal func(string) string) (out []syntax.Matcher) {
	head, body, _ := strings.Cut(response, "\r\n\r\n")
	if status := statusOf(head); status > 0 {
		out = append(out, syntax.Matcher{Type: "status", Status: []int{status}})
	}
	inHead := syntax.Matcher{Type: "word", Part: "header", Condition: "and", CaseInsensitive: true}
	inBody := syntax.Matcher{Type: "word", Part: "body", Condition: "and"}
	for _, text := range p.Contains {
		if !strings.Contains(body, text) && strings.Contains(strings.ToLower(head), strings.ToLower(text)) {
			inHead.Words = append(inHead.Words, literal(text))
		} else {
			inBody.Words = append(inBody.Words, literal(text))
		}
	}
	if title := titleOf(body); len(p.Contains) == 0 && title != "" {
		inBody.Words = append(inBody.Words, literal(title))
	}
	absent := syntax.Matcher{Type: "word", Part: "all", Negative: true, CaseInsensitive: true, Condition: "or"}
	for _, text := range p.Absent {
		absent.Words = append(absent.Words, literal(text))
	}
	for _, m := range []syntax.Matcher{inHead, inBody, absent} {
		if len(m.Words) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// statusOf is the status in the first line of an answer, or 0.
func statusOf(head string) (status int) {
	_, rest, _ := strings.Cut(head, " ")
	_, _ = fmt.Sscanf(rest, "%3d", &status) // 0 without a number
	return status
}

// titleOf is the title tag of a page, unless it has digits, which may change.
func titleOf(body string) string {
	title, _, ok := strings.Cut(body[max(0, strings.Index(strings.ToLower(body), "<title>")):], "</")
	if !ok || !strings.EqualFold(title[:min(len(title), len("<title>"))], "<title>") || len(title) > brief.MaxReason ||
		strings.ContainsAny(title[len("<title>"):], "0123456789\r\n<") || len(title) == len("<title>") {
		return ""
	}
	return title
}

// escapeTarget escapes what is not allowed in a request line.
func escapeTarget(target string) string {
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c > '~' || strings.IndexByte(`"<>`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// reductions remove a part of a request to see whether it is needed. A request that changes something is not repeated
// for that.
func reductions(method string) []func(*generate.Request) bool {
	if !scope.ReadOnly(method) {
		return nil
	}
	return []func(*generate.Request) bool{
		func(r *generate.Request) bool { had := len(r.Headers) > 0; r.Headers = nil; return had },
		func(r *generate.Request) bool { had := r.Body != ""; r.Body = ""; return had },
		func(r *generate.Request) (had bool) { r.Target, _, had = strings.Cut(r.Target, "?"); return had },
	}
}

// try tries a template on the target and a control, and returns its text without the parts of the request that are not
// needed. A needed part is a control: the template does not match without it. Otherwise it must not match the plain
// request or, without one, a path that does not exist.
func (d *Distiller) try(ctx context.Context, issue task.Issue, t generate.Template,
	spare []func(*generate.Request) bool, plain *generate.Template) (string, error) {
	shown, err := d.shows(ctx, issue, t)
	if err != nil || !shown {
		return "", cmp.Or(err, errNotReproduced)
	}
	needed := false
	for _, leave := range spare {
		less := t.Clone()
		if !leave(&less.Requests[0]) {
			continue
		}
		if shown, err = d.shows(ctx, issue, less); err != nil {
			return "", err
		}
		if shown {
			t = less
		} else {
			needed = true
		}
	}
	if needed {
		return t.Text(), nil
	}
	control := t.Clone()
	for i := range control.Requests {
		control.Requests[i].Target = siblingOf(control.Requests[i].Target)
	}
	if plain != nil {
		control = *plain
	}
	if shown, err = d.shows(ctx, issue, control); err != nil || shown {
		return "", cmp.Or(err, errControl)
	}
	return t.Text(), nil
}

// siblingOf is a path beside another one that does not exist.
func siblingOf(target string) string {
	p, _, _ := strings.Cut(target, "?")
	return strings.TrimSuffix(path.Dir("/"+strings.Trim(p, "/")), "/") + "/" + strings.ToLower(ids.Random(16)) +
		path.Ext(p) + target[len(p):]
}

// shows reports whether a template with the task's secrets matches on the site of an issue.
func (d *Distiller) shows(ctx context.Context, issue task.Issue, t generate.Template) (bool, error) {
	var pairs []string
	for name, value := range d.secrets {
		pairs = append(pairs, redact.Reference(name), generate.Literal(value, nil))
	}
	text := runner.Text(OwnTemplate, t.Filled(strings.NewReplacer(pairs...)).Text())
	site, _ := SiteOf(issue.MatchedAt)
	_, shown, err := d.runner.Confirm(ctx, site, text, engine.Event{})
	return shown, err
}

// fromTemplate narrows the template that found an issue down to the request that was sent and the matchers that
// matched.
func (d *Distiller) fromTemplate(ctx context.Context, issue task.Issue) (string, error) {
	raw, err := d.templates.Text(ctx, issue.TemplateID)
	if err != nil {
		return "", err
	}
	of, err := syntax.Parse(issue.TemplateID, raw)
	if err != nil {
		return "", err
	}
	if len(of.HTTP) != 1 || len(of.Protocols) != 1 || of.Flow != "" {
		return "", errSeveral
	}
	site, target := SiteOf(issue.Target)
	_, host, _ := strings.Cut(site, "://")
	sent, err := generate.Read(issue.Event.Request, host)
	if err != nil {
		return "", err
	}
	if !scope.ReadOnly(sent.Method) && sent.Method != http.MethodPost {
		return "", errMethod
	}
	t := describe(issue, sent.Method)
	t.Requests = []generate.Request{sent}
	plain := sent
	plain.Target = generate.Literal(escapeTarget(target), nil)
	if a := of.HTTP[0].Analyzer; a != nil {
		return d.fromCondition(ctx, issue, t, plain, a.Name)
	}
	t.Operators = matched(of.HTTP[0].Operators, issue.Event.MatcherName)
	if len(t.Matchers) == 0 {
		return "", errSeveral
	}
	if !issue.Event.Fuzzed {
		return d.try(ctx, issue, t, nil, nil)
	}
	control := t.Clone()
	control.Requests[0] = plain
	return d.try(ctx, issue, t, nil, &control)
}

// matched are the matchers that made an event with this name.
func matched(o syntax.Operators, name string) (out syntax.Operators) {
	out.MatchersCondition = o.MatchersCondition
	for _, m := range o.Matchers {
		if m.Internal || o.MatchersCondition != "and" && name != "" && m.Name != name {
			continue
		}
		m.Name = ""
		out.Matchers = append(out.Matchers, m)
	}
	return out
}

// fromCondition makes a template of a condition in a parameter: a true one changes nothing in the answer, a false one
// does.
func (d *Distiller) fromCondition(
	ctx context.Context, issue task.Issue, t generate.Template, plain generate.Request, analyzer string,
) (string, error) {
	holds := t.Requests[0]
	target, ok := falsified(holds.Target)
	if analyzer != "true_false" || !ok {
		return "", errSeveral
	}
	fails := holds
	fails.Target = target
	shape := func(n int) string { return fmt.Sprintf(`replace_regex(body_%d, "[0-9]+", "")`, n) }
	t.Requests = []generate.Request{plain, holds, fails}
	t.MatchersCondition = "and"
	t.Matchers = []syntax.Matcher{{Type: "dsl", Condition: "and", DSL: []string{
		"status_code_1 == status_code_2 && " + shape(1) + " == " + shape(2),
		"status_code_1 != status_code_3 || " + shape(1) + " != " + shape(3),
	}}}
	control := t.Clone()
	control.Requests[2] = holds
	return d.try(ctx, issue, t, nil, &control)
}

// falsified is a target whose query has a condition such as 7=7, made false.
func falsified(target string) (string, bool) {
	for _, equals := range []string{"=", "%3D", "%3d"} {
		for from := 0; ; {
			at := strings.Index(target[from:], equals)
			if at < 0 {
				break
			}
			at += from
			from = at + len(equals)
			rest := strings.TrimLeft(target[from:], "0123456789")
			number := strings.TrimSuffix(target[from:], rest)
			if number != "" && number != "0" && strings.HasSuffix(target[:at], number) {
				return target[:from] + "0" + rest, true
			}
		}
	}
	return "", false
}
