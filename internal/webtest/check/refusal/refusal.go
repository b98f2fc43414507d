// Package refusal finds pages that are refused when they are asked for as usual, and given when they are asked for in
// another way: with another method, another spelling of the path, or a header that a proxy would add; and pages that
// stand in the answer that sends the visitor away to log in. A login of HTTP itself that refuses is tried with
// well-known passwords where that is allowed.
//
// A page is refused by its status, by sending the visitor away to log in, or by a short text that says so with status
// 200. It is open when another way gets a page that the usual way does not get, before and after it, twice; when the
// same way gets something else for a page that does not exist; and, of headers, when another value is refused.
//
// Requests: one for each page of the map and ten for names of pages of administrators; some thirty for each of 15 pages
// that are refused, one for each page that sends away.
package refusal

import (
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{bypass(), raising(), usual()} }

//go:embed ways.yaml
var waysText []byte

// lists are those of ways.yaml.
var lists = kit.Lists(waysText)

const (
	maxPages   = 300
	maxRefused = 15
	maxUsers   = 3
)

// bypass is the check for pages that another way opens, and for those in the answer that sends away. Where no user logs
// in, one request serves both.
//
//nolint:gocognit // one page after another, as nobody and as each user
func bypass() kit.Check {
	c := kit.Check{ID: "access-bypass", Class: "access-bypass", Level: client.Safe}.Describe()
	redirected := body()
	c.After = func(ctx context.Context, w *kit.World) error {
		refused := 0
		for _, r := range candidates(w) {
			nobody := &trial{w: w, c: &redirected, page: r}
			var err error
			if nobody.base, err = w.Shown(ctx, r, nil); err != nil {
				return err
			}
			if err := nobody.behind(ctx); err != nil {
				return err
			}
			t := &trial{w: w, c: &c, page: r, base: nobody.base}
			for _, u := range w.Users[:min(len(w.Users), maxUsers)] { // the first who is refused
				t.as = u
				if t.base, err = w.Shown(ctx, r, u); err != nil {
					return err
				}
				if err := (&trial{w: w, c: &redirected, page: r, as: u, base: t.base}).behind(ctx); err != nil {
					return err
				}
				if isRefused(t.base) {
					break
				}
			}
			if !isRefused(t.base) {
				continue
			}
			if refused++; refused > maxRefused {
				continue
			}
			if err := t.run(ctx); err != nil {
				return err
			}
		}
		if refused > maxRefused {
			w.Skip(nil, c.Class, strconv.Itoa(refused-maxRefused)+" more pages are refused")
		}
		return nil
	}
	return c
}

// candidates are the pages of the map, each once, and those that administrators often have.
func candidates(w *kit.World) (all []*message.Request) {
	seen := map[string]bool{}
	add := func(r *message.Request) {
		if key := r.URL.Host + r.URL.Path; !seen[key] && len(all) < maxPages && len(r.URL.Path) > 1 {
			seen[key] = true
			all = append(all, r)
		}
	}
	hosts := map[string]*url.URL{}
	for _, r := range w.Pages() {
		if r.Method == http.MethodGet && r.After == nil {
			hosts[r.URL.Host] = r.URL
			add(r)
		}
	}
	for _, at := range hosts {
		for _, name := range lists()["pages"] {
			add(message.From(http.MethodGet, &url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/" + name}))
		}
	}
	return all
}

// trial is the test of one page.
type trial struct {
	w    *kit.World
	c    *kit.Check
	page *message.Request
	as   *client.User
	base *message.Response // that refuses
}

func (t *trial) send(ctx context.Context, r *message.Request) (*message.Response, error) {
	return t.w.Ask(ctx, r, t.as)
}

// way is another way to ask for a page.
type way struct {
	about  string
	header bool // a header, of which another value is tried as a control
	ask    func(r *message.Request, isControl bool) *message.Request
}

// lower are values of parameters that say the contrary of those that are tried.
var lower = map[string]string{"true": "false", "1": "0", "admin": "guest"}

// ways are all ways: of another method, path, and header. POST, with no body, may write in some applications.
func ways(writes bool) (all []way) {
	methods := lists()["methods"]
	if writes {
		methods = append(methods, http.MethodPost)
	}
	for _, method := range methods {
		all = append(all, way{about: "the method " + method, ask: func(r *message.Request, _ bool) *message.Request {
			out := r.Clone()
			out.Method = method
			return out
		}})
	}
	for _, line := range lists()["parameters"] {
		name, value, _ := strings.Cut(line, "=")
		all = append(all, way{about: "the parameter " + line, header: true,
			ask: func(r *message.Request, isControl bool) *message.Request {
				set := value
				if isControl {
					set = lower[value]
				}
				return r.Put(message.Place{Component: message.Query, Name: name}, set)
			}})
	}
	for _, form := range lists()["paths"] {
		all = append(all, way{about: "the path " + form, ask: func(r *message.Request, _ bool) *message.Request {
			return spelled(r, form)
		}})
	}
	for _, line := range lists()["headers"] {
		name, value, _ := strings.Cut(line, ": ")
		if value == "{path}" { // the page is named by the header alone
			all = append(all, way{about: "the header " + name, ask: func(r *message.Request, _ bool) *message.Request {
				return message.From(http.MethodGet, &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: "/"}).
					With(name, r.URL.RequestURI())
			}})
			continue
		}
		all = append(all, way{about: "the header " + name, header: true,
			ask: func(r *message.Request, isControl bool) *message.Request {
				if isControl {
					return r.With(name, elsewhere.Replace(value))
				}
				return r.With(name, value)
			}})
	}
	return all
}

// elsewhere makes values of headers that say another thing.
var elsewhere = strings.NewReplacer("127.0.0.1", "203.0.113.77", "localhost", "host.example.org", "https", "gopher")

// spelled is a request with another spelling of its path: {dir} is the folder with its slash, {name} the last part,
// {first} its first letter as %XX and {rest} what follows it, {Name} the name in capitals.
func spelled(r *message.Request, form string) *message.Request {
	escaped := strings.TrimSuffix(r.URL.EscapedPath(), "/")
	dir, name := path.Split(escaped)
	if name == "" {
		return nil
	}
	raw := strings.NewReplacer("{dir}", dir, "{name}", name, "{first}", "%"+strconv.FormatInt(int64(name[0]), 16),
		"{rest}", name[1:], "{Name}", strings.ToUpper(name)).Replace(form)
	plain, err := url.PathUnescape(raw)
	if err != nil || raw == r.URL.EscapedPath() {
		return nil
	}
	out := r.Clone()
	out.URL.Path, out.URL.RawPath = plain, raw
	return out
}

// run tries all ways, until one opens the page.
func (t *trial) run(ctx context.Context) error {
	for _, way := range ways(t.w.Level >= client.Active) {
		r := way.ask(t.page, false)
		if r == nil {
			continue
		}
		opened, err := t.send(ctx, r)
		if err != nil {
			return err
		}
		if opened.Status != http.StatusOK || len(opened.Body) == 0 || kit.AsksForPassword(opened) || isRefused(opened) ||
			kit.Same(opened, t.base) || isMethods(opened) {
			continue
		}
		found, err := t.confirm(ctx, way, r, opened)
		if err != nil || found {
			return err
		}
	}
	return nil
}

// isMethods reports whether an answer only says which methods there are, as frameworks answer OPTIONS for any page.
func isMethods(r *message.Response) bool {
	names := func(text string) []string {
		return strings.FieldsFunc(text, func(c rune) bool { return c < 'A' || c > 'Z' })
	}
	rest := strings.Map(func(c rune) rune {
		if c == ',' || c == ' ' || c == '\n' {
			return -1
		}
		return c
	}, string(r.Body))
	allowed := names(strings.Join(r.Header.Values("Allow"), ","))
	return len(allowed) > 0 && rest == strings.Join(names(string(r.Body)), "") &&
		!slices.ContainsFunc(names(string(r.Body)), func(name string) bool { return !slices.Contains(allowed, name) })
}

// confirm reports a way that opens the page, if its controls say so.
func (t *trial) confirm(ctx context.Context, by way, r *message.Request, opened *message.Response) (bool, error) {
	word := kit.Word()
	controls := []struct {
		about string
		r     *message.Request
	}{{"a page that does not exist, in the same way", by.ask(missing(t.page, word), false)}}
	if by.header {
		controls = append(controls, struct {
			about string
			r     *message.Request
		}{"the same page with another value of the header", by.ask(t.page, true)})
	}
	evidence := []kit.Evidence{
		{Request: t.page, Response: t.base, Note: "the page is refused"},
		{Request: r, Response: opened, Note: "and given with " + by.about},
	}
	user, users := kit.Names(t.as)
	steps := []proof.Step{
		{ID: "refused", As: user, Send: t.page, Expect: []proof.Expect{says(t.base)}},
		{ID: "opened", As: user, Send: r, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
	}
	for i, control := range controls {
		answer, err := t.send(ctx, control.r)
		if err != nil || kit.Same(cut(opened, t.page), cut(answer, t.page, word)) {
			return false, err
		}
		evidence = append(evidence, kit.Evidence{Request: control.r, Response: answer, Note: control.about})
		steps = append(steps, proof.Step{ID: "control" + strconv.Itoa(i+1), As: user, Send: control.r,
			Expect: []proof.Expect{{What: proof.Same, Of: "opened", Not: true}}})
	}
	if isForm, err := t.isWithoutQuery(ctx, opened); err != nil || isForm {
		return false, err
	}
	if isFront, err := t.isFront(ctx, r, opened); err != nil || isFront {
		return false, err
	}
	refused, err := t.send(ctx, t.page)
	if err != nil || !isRefused(refused) {
		return false, err
	}
	again, err := t.send(ctx, r)
	if err != nil || !kit.Same(again, opened) {
		return false, err
	}
	t.w.Found(t.c, kit.Finding{Request: r, Detail: "it is given with " + by.about, Evidence: evidence,
		Proof: &proof.Program{About: "A page that is refused is given with " + by.about + ".", Users: users, Steps: steps}})
	return true, nil
}

// isWithoutQuery reports whether an answer is what the page shows where nothing is sent to it, such as the form whose
// values were refused.
func (t *trial) isWithoutQuery(ctx context.Context, opened *message.Response) (bool, error) {
	if t.page.URL.RawQuery == "" {
		return false, nil
	}
	bare := t.page.Clone()
	bare.URL.RawQuery = ""
	answer, err := t.send(ctx, bare)
	if err != nil || isRefused(answer) {
		return false, err
	}
	return kit.Same(cut(answer, bare), cut(opened, t.page)), nil
}

// isFront reports whether an answer is the front page of its host, but for what that page changes by itself. Small
// pages share nearly all of their lines, so that one line that neither the front page nor the refusal has makes it
// another.
func (t *trial) isFront(ctx context.Context, r *message.Request, opened *message.Response) (bool, error) {
	var fronts [2]*diff.Page
	for i := range fronts {
		at := message.From(http.MethodGet, &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: "/"})
		answer, err := t.send(ctx, at)
		if err != nil {
			return false, err
		}
		if fronts[i] = diff.New(answer); !kit.Same(answer, opened) {
			return false, nil
		}
	}
	return !diff.Adds(diff.New(opened), diff.Learn(fronts[:]...), fronts[0], fronts[1], diff.New(t.base)), nil
}

// missing is a page in the same folder that does not exist.
func missing(r *message.Request, word string) *message.Request {
	out := r.Clone()
	dir, name := path.Split(strings.TrimSuffix(r.URL.Path, "/"))
	out.URL.Path, out.URL.RawPath = dir+word+path.Ext(name), ""
	return out
}

// cut is an answer without the names that it was asked with.
func cut(r *message.Response, page *message.Request, words ...string) *message.Response {
	out := *r
	text := string(r.Body)
	for _, name := range append(words, page.URL.Path, path.Base(page.URL.Path),
		strings.ToUpper(path.Base(page.URL.Path))) {
		if len(name) > 1 {
			text = strings.ReplaceAll(text, name, "")
		}
	}
	out.Body = []byte(text)
	return &out
}
