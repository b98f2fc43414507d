// Package webtask is the step of a task that tests web applications: the plan and the scope of the task become a
// configuration of the tester (package webtest), and what it has proved becomes verified issues.
package webtask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/scope"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// Step tests the applications of a task: what they do with their inputs and their users.
type Step struct {
	Run   *task.Run
	Scope *scope.Scope
	Plan  agent.Plan
	// Fill puts the values of secrets where their names stand, Hide the names where their values do.
	Fill, Hide *strings.Replacer
	Browser    *browser.Pool // nil: there is none
}

// Output is what was done.
type Output struct {
	Requests int64             `json:"requests"` // to targets
	Findings int               `json:"findings"`
	Gaps     []coverage.Reason `json:"not_tested,omitempty"`
}

const (
	webRequests    = 200_000 // of one application
	webTime        = 2 * time.Hour
	webReasons     = 6        // that the summary names
	maxDescription = 16 << 20 // bytes

	maxTitle, maxText, maxShown = 300, 20_000, 4000 // bytes of an issue and of an answer
)

// Test tests each application in turn. Repeated, it stores nothing twice. alive are the targets that answer.
func (w Step) Test(ctx context.Context, alive []string, emit func(agent.Update)) (agent.Result, error) {
	if len(alive) == 0 {
		return agent.Result{}, nil
	}
	before := w.Scope.Total()
	var out Output
	var lines []string
	var failed error
	for _, site := range w.sites(alive) {
		if ctx.Err() != nil {
			break
		}
		text, err := w.test(ctx, site, &out, emit)
		lines = append(lines, text)
		failed = errors.Join(failed, err)
	}
	out.Requests = w.Scope.Total() - before
	output, err := json.Marshal(out)
	return agent.Result{Output: output, Summary: strings.Join(lines, "\n")}, errors.Join(failed, err, context.Cause(ctx))
}

// sites are the addresses that answer, by site.
func (w Step) sites(alive []string) (out [][]*url.URL) {
	at := map[string]int{}
	for _, text := range alive {
		target, err := targets.Parse(text)
		if err != nil {
			continue
		}
		u, err := url.Parse(target.URL())
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if u.Path == "" {
			u.Path = "/"
		}
		i, ok := at[u.Scheme+u.Host]
		if !ok {
			i = len(out)
			at[u.Scheme+u.Host] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], u)
	}
	return out
}

// test tests one site, and says in words what was done, and what not.
func (w Step) test(ctx context.Context, starts []*url.URL, out *Output, emit func(agent.Update)) (string, error) {
	cfg, notes := w.Config(ctx, starts)
	known := w.known(ctx)
	var mu sync.Mutex
	var storing error
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cfg.OnFinding = func(f webtest.Finding) {
		if f.Confidence == kit.Probable || known[knownKey(f)] || isQuoted(f) {
			return
		}
		if err := w.Store(ctx, starts[0], f); err != nil {
			mu.Lock()
			storing = fmt.Errorf("storing a finding: %w", err)
			mu.Unlock()
			stop(storing)
			return
		}
		out.Findings++
	}
	cfg.OnProgress = func(p webtest.Progress) {
		emit(agent.Update{Text: fmt.Sprintf("%s: %d requests, %d findings", p.Stage, p.Requests, p.Findings), Done: p.Done,
			Total: p.Total})
	}
	cfg.OnNote = func(text string) { notes = append(notes, text) }
	report, err := webtest.Run(ctx, cfg)
	if report == nil {
		return "", err
	}
	if errors.Is(err, client.ErrBudget) || errors.Is(err, client.ErrDown) || errors.Is(err, client.ErrScope) {
		notes, err = append(notes, "It ended early: "+err.Error()+"."), nil
	}
	for _, why := range report.Refused { // first, and once
		about := "The login failed: " + why + "."
		notes = slices.DeleteFunc(notes, func(note string) bool { return strings.HasPrefix(note, about) })
		notes = slices.Insert(notes, 0,
			about+" From then on only what needs no login, and what other users are shown, was tested.")
	}
	return w.words(starts[0], report, notes, out), errors.Join(err, storing)
}

// words say what was tested of a site.
func (w Step) words(site *url.URL, r *webtest.Report, notes []string, out *Output) string {
	requests, places, checks := r.Coverage.Count()
	found := 0
	if r.Map != nil {
		found = len(r.Map.Entries)
	}
	text := fmt.Sprintf("The application at %s: %d requests and %d places of %d that were found were tested, %d tests in all.",
		site.Redacted(), requests, places, found, checks)
	ofMap, ofChecks := r.Coverage.Reasons()
	all := slices.Concat(ofMap, ofChecks)
	out.Gaps = append(out.Gaps, all...)
	said := []string{text}
	for _, reason := range all[:min(len(all), webReasons)] {
		said = append(said, fmt.Sprintf("Not tested, because %s: %d.", strings.TrimSuffix(reason.Why, "."), reason.Count))
	}
	if more := len(all) - webReasons; more > 0 {
		said = append(said, fmt.Sprintf("%d more reasons are in the journal.", more))
	}
	if w.level() < client.Active && slices.ContainsFunc(all, func(one coverage.Reason) bool {
		return strings.Contains(one.Why, "level safe does not allow")
	}) {
		said = append(said, "With active as its scope.intrusiveness, or an instruction that says “you may write test data”, "+
			"a task sends those forms and calls too.")
	}
	return strings.Join(append(notes, strings.Join(said, " ")), "\n")
}

// Config is how a site is tested. notes are about what could not be followed.
func (w Step) Config(ctx context.Context, starts []*url.URL) (cfg webtest.Config, notes []string) {
	cfg = webtest.Config{Starts: starts, Checks: w.checks(), Browser: w.Browser}
	cfg.Client = client.Config{Dial: w.Scope.Dial, Allow: w.Scope.Allows, Take: w.Scope.Take, Level: w.level(),
		Record: w.Scope.Capture.By("webtest"), Rate: w.Plan.RateLimit, Requests: webRequests, Until: time.Now().Add(webTime), Header: http.Header{}}
	if left := w.Scope.Left(); left < webRequests {
		cfg.Client.Requests = max(1, left*9/10)
	}
	access := w.Plan.Access
	for _, h := range access.Headers {
		cfg.Client.Header.Add(h.Name, w.secret(h.Value))
	}
	for _, l := range access.Logins {
		a := session.Account{User: l.User, Password: w.secret(l.Password), TOTP: w.secret(l.TOTP),
			Cookie: w.secret(access.Cookies), OAuth: w.oauth(starts[0])}
		if page, err := starts[0].Parse(l.Page); err == nil && l.Page != "" && page.Host == starts[0].Host {
			a.Login = page
		}
		cfg.Accounts = append(cfg.Accounts, a)
	}
	if access.OAuth != nil && len(access.Logins) == 0 {
		cfg.Accounts = append(cfg.Accounts, session.Account{Name: access.OAuth.ClientID, OAuth: w.oauth(starts[0]),
			Cookie: w.secret(access.Cookies)})
	} else if access.Cookies != "" && len(access.Logins) == 0 {
		cfg.Accounts = append(cfg.Accounts, session.Account{Cookie: w.secret(access.Cookies)})
	}
	for _, r := range access.Requests {
		if made := requestAt(starts[0], r); made != nil {
			cfg.Seeds = append(cfg.Seeds, made)
		}
	}
	for _, address := range access.Documents {
		doc, err := w.description(ctx, starts[0], address)
		if err != nil {
			notes = append(notes, fmt.Sprintf("The description at %s was not used: %s.", address, errs.Clip(err.Error(), 300)))
			continue
		}
		cfg.Documents = append(cfg.Documents, doc)
	}
	return cfg, notes
}

// level is how far the tests may go: as the scope says or, where it says nothing, the instruction.
func (w Step) level() client.Level {
	is := w.Scope.Doc.Intrusiveness
	if is == task.Active || is == task.Intrusive || is == "" && w.Plan.Writes {
		return client.Active
	}
	return client.Safe
}

// oauth is how the instruction says that a token is got; nil if it does not.
func (w Step) oauth(site *url.URL) *session.OAuth {
	o := w.Plan.Access.OAuth
	if o == nil {
		return nil
	}
	at, err := site.Parse(o.TokenURL)
	if err != nil {
		return nil
	}
	return &session.OAuth{
		Token: at, ClientID: w.secret(o.ClientID), ClientSecret: w.secret(o.ClientSecret), Scopes: o.Scopes,
	}
}

// secret puts the value of a secret where its name stands.
func (w Step) secret(text string) string { return w.Fill.Replace(text) }

// byTemplates are classes that the templates of a task look for on all its pages.
var byTemplates = []string{"secret-exposure", "directory-listing", "old-file", "exposed-file", "clickjacking",
	"cors", "weak-cookie"}

// checks are those that the plan asks for, without what templates look for.
func (w Step) checks() []check.Check {
	return slices.DeleteFunc(check.All(), func(c check.Check) bool {
		return !w.Plan.WantsClass(c.Class) || slices.Contains(byTemplates, c.Class)
	})
}

// requestAt is a request that the instruction describes, at the application; nil if it is for another host.
func requestAt(site *url.URL, r agent.Request) *message.Request {
	at := site
	if r.URL != "" {
		u, err := site.Parse(r.URL)
		if err != nil || u.Host != site.Host {
			return nil
		}
		at = u
	}
	made := message.From(r.Method, at)
	made.Body = []byte(r.Body)
	if r.Type != "" {
		made.Header.Set("Content-Type", r.Type)
	}
	return made
}

// description fetches what describes the API, from a host that is in scope.
func (w Step) description(ctx context.Context, site *url.URL, address string) (*spec.Document, error) {
	request, err := message.New(http.MethodGet, address)
	if err != nil {
		return nil, err
	}
	once := client.New(client.Config{Dial: w.Scope.Dial, Allow: w.Scope.Allows, Take: w.Scope.Take, Body: maxDescription,
		Record: w.Scope.Capture.By("webtest")})
	defer once.Close()
	answer, err := once.Send(ctx, request, client.Options{})
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("the answer has the status %d", answer.Status)
	}
	return spec.Read("", address, answer.Body,
		spec.Options{Base: site, Hosts: []string{site.Host}})
}

// isQuoted reports whether what an error tells stands on a page that is no error, as in an article about it: templates
// look at those.
func isQuoted(f webtest.Finding) bool {
	return f.Class == "verbose-error" && slices.ContainsFunc(f.Evidence, func(e kit.Evidence) bool {
		return e.Response != nil && e.Response.Status < http.StatusInternalServerError
	})
}

// known are the weaknesses that templates have found on a site, by what they are and where.
func (w Step) known(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	issues, err := w.Run.Issues(ctx)
	if err != nil {
		return out // then some may be told of twice
	}
	for _, i := range issues {
		if c := i.Event.Info.Classification; c != nil && i.TemplateID != Template {
			for _, cwe := range c.CWEID {
				out[strings.ToLower(cwe)+" "+i.Event.Host+":"+i.Event.Port] = true
			}
		}
	}
	return out
}

// knownKey is what known calls a finding of a whole site, which templates look at as well; "" for one of an input.
func knownKey(f webtest.Finding) string {
	if f.Place.Component != "" || f.Request == nil {
		return ""
	}
	return fmt.Sprintf("cwe-%d %s:%s", f.CWE, f.Request.URL.Hostname(), portOf(f.Request.URL))
}

func portOf(u *url.URL) string {
	if u.Port() != "" {
		return u.Port()
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// Template is what issues and findings of the web tester name as their template, before their check.
const Template = "webtest"

// Store stores a finding as an issue. Its check has shown it in two independent ways and with a control that must fail,
// and its proof was run again: it is verified.
func (w Step) Store(ctx context.Context, site *url.URL, f webtest.Finding) error {
	e := EventOf(f, w.Hide.Replace)
	description := f.Title + "."
	if f.Detail != "" {
		description += " " + f.Detail + "."
	}
	if f.Place.Component != "" {
		description += " Place: " + f.Place.String() + "."
	}
	if f.Payload != "" {
		description += " Sent: " + errs.Clip(f.Payload, 1000)
	}
	var descriptionSb325 strings.Builder
	for _, where := range f.Where {
		descriptionSb325.WriteString("\nAlso: " + where)
	}
	description += descriptionSb325.String()
	if f.Impact != "" {
		description += "\n" + f.Impact
	}
	id, err := w.Run.StoreIssue(ctx, task.Issue{
		Title: titleOf(f), Severity: string(f.Severity), Description: errs.Clip(description, maxText),
		Remediation: f.Remediation,
		TemplateID:  e.TemplateID, Target: site.Scheme + "://" + site.Host, MatchedAt: e.MatchedAt, Event: e,
		Proof: w.kept(f),
	})
	if err != nil {
		return err
	}
	issue, err := w.Run.Issue(ctx, id)
	if err != nil || issue.Verification != task.Pending {
		return err
	}
	return w.Run.Confirm(ctx, issue, task.Confirmation{Last: e, Confirmed: 1, Tried: 1, RetestTemplate: means(issue)})
}

func titleOf(f webtest.Finding) string {
	if f.Place.Component == "" || f.Place.Name == "" {
		return f.Title
	}
	return errs.Clip(f.Title+" ("+f.Place.String()+")", maxTitle)
}
