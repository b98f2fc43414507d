package webtool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/webtask"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

type testArgs struct {
	request

	Class    string `json:"class"`
	Place    string `json:"place"`
	Requests int    `json:"requests"`
}

// classes are those that there is a check for, sorted.
func classes() (names []string) {
	for _, c := range check.All() {
		names = append(names, c.Class)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func testSchema() string {
	list, err := json.Marshal(classes())
	if err != nil {
		panic(err) // they are texts
	}
	return `{"type": "object", "required": ["url", "class"], "properties": {` + requestSchema + `,
		"class": {"type": "string", "enum": ` + string(list) + `},
		"place": {"type": "string", "description": "as web_map lists it, such as query parameter id; all when absent"},
		"requests": {"type": "integer", "minimum": 1, "maximum": 5000, "description": "at most; 400 when absent"}}}`
}

// test tests one request for one class of weaknesses. What it proves is stored.
func (t *Tools) test(ctx context.Context, a testArgs, progress func(string)) (r loop.Result, err error) {
	if err := t.active("web_test"); err != nil {
		return r, err
	}
	target, err := a.message()
	if err != nil {
		return r, err
	}
	if a.Place != "" && !hasPlace(target, a.Place) {
		return r, fmt.Errorf("place: the request has no %q; it has %s", errs.Clip(a.Place, maxWhy), places(target))
	}
	who, err := t.user(a.As)
	if err != nil {
		return r, err
	}
	report, stored, err := t.run(ctx, a, target, who, progress)
	if report == nil {
		return r, err
	}
	r.Requests = int(report.Requests)
	if cause := context.Cause(ctx); cause != nil {
		return r, cause
	}
	if err != nil && !errors.Is(err, client.ErrBudget) {
		return r, errors.New(errs.Clip(err.Error(), maxWhy))
	}
	r.Text, r.Evidence = words(report, a.Class), stored
	return r, nil
}

// run runs the checks of the class; stored are keys of the findings.
func (t *Tools) run(ctx context.Context, a testArgs, target *message.Request, who *session.Session,
	progress func(string),
) (*webtest.Report, []string, error) {
	start := &url.URL{Scheme: target.URL.Scheme, Host: target.URL.Host, Path: "/"}
	cfg, _ := t.Step.Config(ctx, []*url.URL{start})
	cfg.Accounts, cfg.Documents, cfg.Seeds, cfg.Only, cfg.Place = nil, nil, []*message.Request{target}, true, a.Place
	if who != nil {
		cfg.Accounts = []session.Account{who.Account}
	}
	cfg.Client.Requests = int64(min(most(a.Requests), loop.Allowance(ctx)))
	cfg.Checks = slices.DeleteFunc(check.All(), func(c check.Check) bool { return c.Class != a.Class })
	var mu sync.Mutex
	var stored []string
	var failed error
	cfg.OnFinding = func(f webtest.Finding) {
		if f.Confidence != check.Proved {
			return
		}
		err := t.Step.Store(ctx, start, f)
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
		stored = append(stored, "issue "+f.Check+" "+f.Request.URL.Path+" "+f.Place.String())
	}
	cfg.OnProgress = func(p webtest.Progress) { progress(fmt.Sprintf("%s: %d requests", p.Stage, p.Requests)) }
	report, err := webtest.Run(ctx, cfg)
	return report, stored, errors.Join(err, failed)
}

func hasPlace(r *message.Request, name string) bool {
	return slices.ContainsFunc(message.Places(r), func(p message.Place) bool { return p.String() == name }) ||
		strings.HasPrefix(name, "header ") || strings.HasPrefix(name, "cookie ")
}

func places(r *message.Request) string {
	var names []string
	for _, p := range message.Places(r) {
		names = append(names, p.String())
	}
	if len(names) == 0 {
		return "no places"
	}
	return strings.Join(names[:min(len(names), 30)], ", ")
}

// words say what a test has found, and what it could not test.
func words(report *webtest.Report, class string) string {
	var lines []string
	for _, f := range report.Findings {
		text := "Proved, and stored as a verified issue: "
		if f.Confidence != check.Proved {
			text = "Only probable, and not stored: "
		}
		text += f.Title
		if f.Place.Component != "" {
			text += ", " + f.Place.String()
		}
		if f.Payload != "" {
			text += ", by " + errs.Clip(f.Payload, maxWhy)
		}
		if f.Detail != "" {
			text += " (" + errs.Clip(f.Detail, maxWhy) + ")"
		}
		lines = append(lines, text+".")
		for _, e := range f.Evidence[:min(len(f.Evidence), 3)] {
			if e.Note != "" {
				lines = append(lines, "  "+errs.Clip(e.Note, maxWhy))
			}
		}
		if n := len(f.Evidence); n > 0 && f.Evidence[n-1].Response != nil {
			lines = append(lines, errs.Clip(webtask.ResponseText(f.Evidence[n-1].Response), 1000))
		}
	}
	requests, tested, tests := report.Coverage.Count()
	if len(lines) == 0 {
		lines = append(lines, "No "+class+" was found.")
	}
	lines = append(lines, fmt.Sprintf("%d requests and %d places were tested, %d tests, %d requests sent.", requests, tested,
		tests, report.Requests))
	ofMap, ofChecks := report.Coverage.Reasons()
	for _, reason := range slices.Concat(ofMap, ofChecks) {
		lines = append(lines, fmt.Sprintf("Not tested, because %s: %d.", strings.TrimSuffix(reason.Why, "."), reason.Count))
	}
	return strings.Join(lines, "\n")
}
