// Package headless visits targets with a browser (template language 3.7): each visit opens a page, goes through the
// steps of a block in it, and gives what the page became, with the values that steps have taken from it, to the
// operators. Pages are those of package browser: all that they ask for stays within the scope and the limits.
package headless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Probe is a compiled block.
type Probe struct {
	steps  []step
	agent  string // of the template; "" for that of a browser
	honest bool   // the browser's own
	bodies bool   // operators read the bodies of all responses
	alone  bool   // without the cookies of other blocks
}

// step is one action.
type step struct {
	action, name string
	number       int // from 1
	args         map[string]dsl.Text
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.Headless) (*Probe, error) {
	p := &Probe{honest: s.UserAgent == "default", alone: s.DisableCookie, bodies: s.Mentions("history")}
	switch s.UserAgent {
	case "custom":
		if p.agent = s.CustomUserAgent; p.agent == "" {
			return nil, syntax.Fault(file, s.Line, 0, "headless.custom_user_agent", "a user agent of one's own needs its text")
		}
	case "off":
		p.agent = " "
	}
	for i, a := range s.Steps {
		compiled := step{a.Action, a.Name, i + 1, map[string]dsl.Text{}}
		for _, arg := range a.Args {
			compiled.args[arg.Name] = dsl.Parse(arg.Value)
		}
		if why := problem(&a); why != "" {
			return nil, syntax.Fault(file, a.Line, 0, "headless.steps."+a.Action, "%s", why)
		}
		p.steps = append(p.steps, compiled)
	}
	return p, nil
}

// required are the arguments without which an action is none.
var required = map[string][]string{
	"navigate": {"url"}, "script": {"code"}, "text": {"value"}, "time": {"value"}, "select": {"value"}, "files": {"value"},
	"waitevent": {"event"}, "setmethod": {"part", "method"}, "setbody": {"part", "body"}, "addheader": {"part", "key"},
	"setheader": {"part", "key"}, "deleteheader": {"part", "key"},
}

// problem is why a step can do nothing; "" if it can.
func problem(a *syntax.Action) string {
	value := func(name string) string {
		i := slices.IndexFunc(a.Args, func(p syntax.Pair) bool { return p.Name == name })
		if i < 0 {
			return ""
		}
		return a.Args[i].Value
	}
	for _, name := range required[a.Action] {
		if value(name) == "" && name != "body" {
			return "the argument " + name + " is missing"
		}
	}
	if part := value("part"); part != "" && part != "request" && part != "response" && required[a.Action] != nil &&
		!strings.Contains(part, "{{") {
		return fmt.Sprintf("part: %q is neither request nor response", part)
	}
	if event := value("event"); a.Action == "waitevent" && !strings.Contains(event, "{{") && !browser.KnowsEvent(event) {
		return fmt.Sprintf("event: there is no event %q", event)
	}
	return ""
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return 1 }

// Names implements proto.Probe.
func (p *Probe) Names() []string {
	var texts []dsl.Text
	for _, s := range p.steps {
		for _, text := range s.args {
			texts = append(texts, text)
		}
	}
	names := proto.Names(texts...)
	slices.Sort(names)
	return names
}

// visit is one run.
type visit struct {
	*Probe
	env  *proto.Env
	vars *dsl.Env
	page *browser.Page

	out     map[string]any // what steps have taken, by name
	at      string         // where the page was after the last step that goes somewhere
	went    string         // where the last navigation was to, as text
	waiting []waiting      // for after the next navigation
	slow    bool           // there was a step debug
	refused error          // a refusal that ends the scan, such as that of its budget
}

// Run implements proto.Probe.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	if env.Pages.Open == nil {
		return proto.Unusable("%s", cmp.Or(env.Pages.Without, "there is no browser for templates that drive one"))
	}
	err := p.visit(ctx, env, found, false)
	if errors.Is(err, browser.ErrEnded) && ctx.Err() == nil { // another page may have ended it: again, without others
		err = p.visit(ctx, env, found, true)
	}
	return err
}

func (p *Probe) visit(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool, alone bool) (err error) {
	v := &visit{Probe: p, env: env, vars: env.Vars(env.Target), out: map[string]any{}}
	v.page, err = env.Pages.Open(ctx, browser.Options{
		Dial: env.Dial, Before: v.before, Timeout: env.Pages.Timeout, Headers: v.headers(), UserAgent: v.userAgent(),
		Honest: p.honest, Bodies: p.bodies, Alone: alone,
	})
	if errors.Is(err, browser.ErrNone) {
		return proto.Unusable("%v", err)
	}
	if err != nil {
		return err
	}
	defer v.page.Close()
	if err := v.cookies(true); err != nil {
		return err
	}
	for i := range p.steps {
		if err := v.step(&p.steps[i]); err != nil {
			return v.ended(&p.steps[i], err)
		}
	}
	if err := v.cookies(false); err != nil {
		return err
	}
	html, err := v.page.HTML()
	if err != nil && len(v.out) == 0 {
		return v.ended(nil, err)
	}
	found(v.reply(html))
	return cmp.Or(v.refused, v.incomplete())
}

// before applies the limits of the scan to a request of the page.
func (v *visit) before(ctx context.Context, u *url.URL) error {
	if v.env.Allow != nil && !v.env.Allow(u) {
		return errs.New(errs.Forbidden, "out_of_scope", "%s is out of scope", u.Host)
	}
	end, err := v.env.Begin(ctx, u.Host)
	if err != nil {
		return err
	}
	end() // a page asks for many things at once, and waits for all: one place each could make it wait for itself
	return nil
}

// headers are those of all requests.
func (v *visit) headers() []browser.Header {
	all := []browser.Header{{Name: "Accept-Language", Value: "en, en-GB, en-us;"}}
	for _, h := range v.env.Headers {
		if !strings.EqualFold(h.Name, "User-Agent") {
			all = append(all, browser.Header{Name: h.Name, Value: h.Value})
		}
	}
	return all
}

func (v *visit) userAgent() string {
	for _, h := range v.env.Headers {
		if strings.EqualFold(h.Name, "User-Agent") {
			return h.Value
		}
	}
	return v.agent
}

// cookies takes over the cookies of the template's other blocks, or gives them those of the page.
func (v *visit) cookies(in bool) error {
	if v.alone || v.env.Jar == nil || v.env.Target.Host == "" {
		return nil
	}
	at := v.env.Target.Parsed()
	if in {
		return v.page.SetCookies(at.String(), v.env.Jar.Cookies(at))
	}
	list, err := v.page.Cookies(at.String())
	if err == nil {
		v.env.Jar.SetCookies(at, list)
	}
	return err
}

// ended is what the error of a step means (nil: of the page as a whole). That a page is not what a template expects is
// an answer.
func (v *visit) ended(s *step, err error) error {
	where := "the page"
	if s != nil {
		where = fmt.Sprintf("step %d (%s)", s.number, s.action)
	}
	_, threw := errors.AsType[*browser.Thrown](err)
	_, ended := errors.AsType[*proto.End](err)
	switch {
	case ended, s == nil:
		return err
	case threw, errors.Is(err, browser.ErrNoElement):
		return proto.Inapplicable("%s: %v", where, err)
	case errors.Is(err, browser.ErrScheme):
		return proto.Unusable("%s: %v", where, err)
	}
	return err
}

// incomplete says which hosts the page could not reach. One that the template itself has named is a refusal; that a
// page names others is not of interest to the result, mostly.
func (v *visit) incomplete() error {
	var hosts []string
	named, err := url.QueryUnescape(v.went)
	if err != nil {
		named = v.went
	}
	for _, r := range v.page.Refused() {
		if !errs.Is(r.Err, errs.Forbidden) {
			continue
		}
		if strings.Contains(named, strings.TrimSuffix(strings.TrimSuffix(r.Host, ":80"), ":443")) {
			return r.Err
		}
		hosts = append(hosts, r.Host)
	}
	if len(hosts) == 0 {
		return nil
	}
	more := ""
	if n := len(hosts) - maxHosts; n > 0 {
		hosts, more = hosts[:maxHosts], fmt.Sprintf(" and %d more", n)
	}
	return &proto.End{Kind: proto.KindRefused, Why: "the page was not let reach what is out of scope: " +
		strings.Join(hosts, ", ") + more}
}

const maxHosts = 5 // that a reason names

func (v *visit) reply(html string) *proto.Reply {
	status := ""
	var header, history strings.Builder
	all := v.page.Exchanges()
	for i, x := range all {
		if i == 0 {
			status = strconv.Itoa(x.Status)
			for _, h := range x.Head {
				header.WriteString(h.Name + ": " + h.Value + "\n")
			}
		}
		history.WriteString(x.Request + x.Response)
	}
	r := &proto.Reply{Env: v.vars, MatchedAt: v.at, Response: html, Fields: map[string]any{
		"host": v.env.Input, "matched": v.at, "req": "", "data": html, "body": html, "resp": html, "header": header.String(),
		"status_code": status, "history": history.String(), "type": "headless",
	}}
	if len(all) > 0 {
		r.Request = all[0].Request
		r.Fields["req"] = r.Request
	}
	maps.Copy(r.Fields, v.out)
	at := v.env.Target
	r.Host, r.Port, r.Scheme, r.Path = at.Hostname(), at.Port(), at.Scheme, at.Path
	if u, err := url.Parse(v.at); err == nil && at.Host == "" {
		r.Host, r.Port, r.Scheme, r.Path = u.Hostname(), u.Port(), u.Scheme, u.Path
	}
	return r
}
