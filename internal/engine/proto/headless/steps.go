package headless

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// waiting is an event that the next navigation waits for.
type waiting struct {
	event string
	max   time.Duration
}

// stages are the actions that wait for a stage of the document.
var stages = map[string]string{
	"waitdom": "DOMContentLoaded", "waitload": "load", "waitfcp": "firstContentfulPaint",
	"waitfmp": "firstMeaningfulPaint", "waitidle": "networkIdle",
}

// slowness is how long the steps of slowed wait after a step debug: those that do what a person does.
const slowness = 5 * time.Second

var slowed = map[string]bool{
	"click": true, "rightclick": true, "text": true, "time": true, "select": true, "keyboard": true,
}

// step does one step. The errors are those of package browser, of rendering, and of package proto.
func (v *visit) step(s *step) error {
	args := arguments{visit: v, step: s}
	var err error
	if v.slow && slowed[s.action] {
		if err = v.page.Sleep(slowness); err != nil {
			return err
		}
	}
	switch s.action {
	case "navigate":
		err = v.navigate(&args)
	case "script":
		err = v.script(s, &args)
	case "screenshot":
		err = v.screenshot(s, &args)
	case "waitdom", "waitload", "waitfcp", "waitfmp", "waitidle":
		if most := args.span("timeout", 5*time.Second, time.Second); args.err == nil {
			err = v.page.Wait(stages[s.action], most)
		}
		v.at = v.page.URL()
	case "waitstable":
		still, most := args.span("duration", time.Second, time.Second), args.span("timeout", 5*time.Second, time.Second)
		if args.err == nil {
			err = v.page.Stable(still, most)
		}
		v.at = v.page.URL()
	case "waitevent":
		err = v.waitEvent(&args)
	case "waitdialog":
		err = v.waitDialog(s, &args)
	case "keyboard":
		if keys := args.text("keys"); args.err == nil {
			err = v.page.Keys(keys)
		}
	case "sleep":
		if d := args.span("duration", 5*time.Second, time.Second); args.err == nil {
			err = v.page.Sleep(d)
		}
	case "setmethod", "setbody", "addheader", "setheader", "deleteheader":
		v.rule(s, &args)
	case "debug":
		v.slow = true
	case "": // one without an action does nothing
	default:
		err = v.element(s, &args)
	}
	if args.err != nil {
		return args.err
	}
	return err
}

// arguments are those of a step; err is the first that could not be rendered.
type arguments struct {
	*visit
	step *step
	err  error
}

func (a *arguments) text(name string) string {
	text, err := a.step.args[name].Render(a.vars)
	if err != nil && a.err == nil {
		a.err = err
	}
	return text
}

// span is a time: a number of units, or a text such as 1m30s; anything else is the usual.
func (a *arguments) span(name string, usual, unit time.Duration) time.Duration {
	text := a.text(name)
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(0, int64(n)), int64(time.Hour/unit)) * int64(unit))
	}
	if d, err := time.ParseDuration(text); err == nil {
		return max(0, d)
	}
	return usual
}

// navigate goes to a URL with the parameters of the target, and waits for the events that were asked for.
func (v *visit) navigate(args *arguments) error {
	to := args.text("url")
	if args.err != nil {
		return args.err
	}
	v.went = withQuery(to, v.env.Target.Query)
	if err := v.page.Navigate(v.went); err != nil {
		return err
	}
	v.at = v.page.URL()
	for _, w := range v.waiting {
		if err := v.page.Event(w.event, w.max); err != nil {
			return err
		}
	}
	return nil
}

// withQuery adds the parameters of a query to a URL; they replace those of the same name.
func withQuery(to, query string) string {
	if query == "" {
		return to
	}
	to, fragment, hasFragment := strings.Cut(to, "#")
	base, own, _ := strings.Cut(to, "?")
	name := func(pair string) string { name, _, _ := strings.Cut(pair, "="); return name }
	given := strings.Split(strings.TrimPrefix(query, "?"), "&")
	taken := map[string]bool{}
	for _, pair := range given {
		taken[name(pair)] = true
	}
	var all []string
	for pair := range strings.SplitSeq(own, "&") {
		if pair != "" && !taken[name(pair)] {
			all = append(all, pair)
		}
	}
	to = base + "?" + strings.Join(append(all, given...), "&")
	if hasFragment {
		to += "#" + fragment
	}
	return to
}

func (v *visit) script(s *step, args *arguments) error {
	code, hook := args.text("code"), args.text("hook")
	if args.err != nil {
		return args.err
	}
	if hook == "true" {
		if err := v.page.Hook(code); err != nil {
			return err
		}
	}
	value, err := v.page.Eval(code)
	if err == nil && s.name != "" {
		v.out[s.name] = fmt.Sprint(value)
	}
	return err
}

func (v *visit) waitEvent(args *arguments) error {
	event, most := args.text("event"), args.span("max-duration", 5*time.Second, time.Second)
	if args.err != nil {
		return args.err
	}
	if !browser.KnowsEvent(event) {
		return proto.Unusable("there is no event %q", event)
	}
	v.page.Arm(event)
	v.waiting = append(v.waiting, waiting{event, most})
	return nil
}

func (v *visit) waitDialog(s *step, args *arguments) error {
	most := args.span("max-duration", 10*time.Second, time.Second)
	if args.err != nil {
		return args.err
	}
	dialog, ok, err := v.page.Dialog(most)
	if ok && s.name != "" {
		v.out[s.name], v.out[s.name+"_type"], v.out[s.name+"_message"] = true, dialog.Kind, dialog.Message
	}
	return err
}

// rule adds what setmethod and the like ask for.
func (v *visit) rule(s *step, args *arguments) {
	r := browser.Rule{Response: args.text("part") == "response", Name: args.text("key"), Value: args.text("value")}
	switch s.action {
	case "setmethod":
		r.Kind, r.Value = browser.SetMethod, args.text("method")
	case "setbody":
		r.Kind, r.Value = browser.SetBody, args.text("body")
	case "addheader":
		r.Kind = browser.AddHeader
	case "setheader":
		r.Kind = browser.SetHeader
	case "deleteheader":
		r.Kind = browser.DeleteHeader
	}
	if args.err == nil {
		v.page.AddRule(r)
	}
}

// selector is the element that a step is about.
func (a *arguments) selector() browser.Selector {
	s := browser.Selector{CSS: a.text("selector"), Regex: a.text("regex"), XPath: a.text("xpath"), JS: a.text("js"),
		Query: a.text("query")}
	switch by := a.text("by"); by {
	case "r", "regex":
		s.By = "regex"
	case "x", "xpath":
		s.By = "xpath"
	case "js", "search":
		s.By = by
	}
	return s
}

// element does a step that is about an element.
func (v *visit) element(s *step, args *arguments) error {
	selector, value := args.selector(), args.text("value")
	poll := args.span("pollTime", 100*time.Millisecond, time.Millisecond)
	most := args.span("timeout", 5*time.Second, time.Second)
	if args.err != nil {
		return args.err
	}
	switch {
	case s.action == "waitvisible":
		return v.page.WaitVisible(selector, poll, most)
	case s.action == "files" && !v.env.Pages.AnyFolder:
		return proto.Unusable("files of this machine are only uploaded with --allow-local-file-access")
	}
	e, err := v.page.Element(selector)
	if err != nil {
		return err
	}
	switch s.action {
	case "click", "rightclick":
		return e.Click(s.action == "rightclick")
	case "text":
		return e.Input(value)
	case "time":
		t, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return proto.Unusable("%q is no time such as 2006-01-02T15:04:05Z", value)
		}
		return e.Time(t)
	case "select":
		how := args.text("selector")
		if how == "r" {
			how = "regex"
		}
		return e.Select(value, how, args.text("selected") == "true")
	case "files":
		return v.files(e, value)
	case "getresource":
		data, err := e.Resource()
		v.keep(s, string(data), err)
		return err
	case "extract":
		return v.extract(s, e, args)
	}
	return proto.Unusable("there is no action %s", s.action)
}

func (v *visit) keep(s *step, text string, err error) {
	if err == nil && s.name != "" {
		v.out[s.name] = text
	}
}

func (v *visit) extract(s *step, e *browser.Element, args *arguments) error {
	if args.text("target") != "attribute" {
		text, err := e.Text()
		v.keep(s, text, err)
		return err
	}
	name := args.text("attribute")
	value, ok, err := e.Attribute(name)
	if err == nil && !ok {
		return proto.Inapplicable("the element has no attribute %s", name)
	}
	v.keep(s, value, err)
	return err
}

// files uploads files, which commas separate.
func (v *visit) files(e *browser.Element, value string) error {
	paths := strings.Split(value, ",")
	for i, path := range paths {
		full, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return proto.Unusable("there is no file %q", functions.String(path))
		}
		paths[i] = full
	}
	return e.Files(paths)
}

// screenshot writes what the page shows to a new file: in the folder where the command runs, unless files may be
// anywhere.
func (v *visit) screenshot(s *step, args *arguments) error {
	to, full, mkdir := args.text("to"), args.text("fullpage"), args.text("mkdir")
	if args.err != nil {
		return args.err
	}
	if !v.env.Files {
		return proto.Unusable("screenshots are written where the command line runs, not on a server")
	}
	if to == "" {
		to = "screenshot-" + ids.Random(12)
		v.keep(s, to, nil)
	}
	path, err := filepath.Abs(strings.TrimSuffix(to, ".png") + ".png")
	if err != nil {
		return proto.Unusable("%v", err)
	}
	if !v.env.Pages.AnyFolder && !withinFolder(path) {
		return proto.Unusable("a screenshot outside of this folder needs --allow-local-file-access")
	}
	picture, err := v.page.Screenshot(full == "true")
	if err != nil {
		return err
	}
	if mkdir == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return proto.Unusable("%v", err)
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return proto.Unusable("%v", err)
	}
	_, err = file.Write(picture)
	return errors.Join(err, file.Close())
}

// withinFolder reports whether a path leads to a place below the working folder, links followed.
func withinFolder(path string) bool {
	folder, err := os.Getwd()
	if err != nil {
		return false
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return false
	}
	parent := filepath.Dir(path)
	for { // the nearest folder that is there
		actual, err := filepath.EvalSymlinks(parent)
		if err == nil {
			rest, err := filepath.Rel(parent, path)
			return err == nil && filepath.IsLocal(relative(folder, filepath.Join(actual, rest)))
		}
		if up := filepath.Dir(parent); up != parent {
			parent = up
			continue
		}
		return false
	}
}

func relative(folder, path string) string {
	rel, err := filepath.Rel(folder, path)
	if err != nil {
		return ".."
	}
	return rel
}
