// Package runner has templates of a task's tools run by children of the engine, inside the scope of the task: the child
// asks before each dial and each request.
package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// Config is what a runner needs besides the scope.
type Config struct {
	Engines *child.Pool
	Scans   *scan.Scans // which keep what is set aside
	TeamID  string
	Task    *task.Run // whose ledger is kept; nil: none is
}

// Runner runs the templates of one task.
type Runner struct {
	Config
	scope *scope.Scope
	turn  sync.Mutex // with a rate limit: each child has a limiter of its own
}

// New makes a runner.
func New(c Config, s *scope.Scope) *Runner { return &Runner{Config: c, scope: s} }

// Text is a template that is in no catalogue.
func Text(path, text string) child.Template {
	digest := sha256.Sum256([]byte(text))
	return child.Template{Path: path, Digest: hex.EncodeToString(digest[:]), Data: []byte(text)}
}

// Builtin is a template of the binary, for the built-in planner.
type Builtin struct {
	*syntax.Template
	Text child.Template
}

// Texts are the templates of a list as a job takes them.
func Texts(list []Builtin) (out []child.Template) {
	for _, b := range list {
		out = append(out, b.Text)
	}
	return out
}

// Own is an error of Confirm or Control that is neither the target's nor the template's; nil for these.
func Own(err error) error {
	if errs.From(err).Kind == errs.Internal {
		return err
	}
	return nil
}

// Run tests targets with templates. notes name those that are set aside, or that ended the engine. The result is that
// of the templates that could run; nil when there were none.
func (r *Runner) Run(ctx context.Context, job child.Job) (result *child.Result, notes []string, err error) {
	aside, err := r.Scans.Aside(ctx, r.TeamID)
	if err != nil {
		return nil, nil, err
	}
	var fit []child.Template
	for _, t := range job.Templates {
		if why, is := aside[t.Digest]; is {
			notes = append(notes, fmt.Sprintf("%s was not run: %s.", t.Path, why))
			continue
		}
		fit = append(fit, t)
	}
	if len(fit) == 0 {
		return nil, notes, nil
	}
	job.Templates = fit
	job.Deny, job.Covers, job.Ask = r.scope.Denied(), r.scope.Targets(), r.answer
	job.Config = engine.Config{RateLimit: r.scope.Rate(), Retries: 1}
	job.OnTraffic, job.OnDropped = r.scope.Capture.By("templates"), r.scope.Capture.Drop
	if r.scope.Rate() > 0 {
		r.turn.Lock()
		defer r.turn.Unlock()
	}
	result, err = r.Scans.Interactions.Run(ctx, r.Engines, job)
	if err != nil {
		if _, died := errors.AsType[*child.Died](err); died {
			err = errs.New(errs.Invalid, "engine_ended", "%s in the work for %s.", err.Error(), namesOf(fit))
		}
		return nil, notes, err
	}
	if err := r.keep(ctx, job, result); err != nil {
		return result, notes, err
	}
	for _, ended := range result.Ended {
		t := fit[ended.Template]
		notes = append(notes, fmt.Sprintf("%s: %s%s; it is set aside.", t.Path, child.Blamed, ended.Why))
		if err := r.Scans.SetAside(context.WithoutCancel(ctx), r.TeamID, t, ended.Why); err != nil {
			return result, notes, err
		}
	}
	return result, notes, nil
}

func namesOf(all []child.Template) string {
	if len(all) == 1 {
		return all[0].Path
	}
	return fmt.Sprintf("%d templates", len(all))
}

// answer decides for a child.
func (r *Runner) answer(q child.Question) (why string) {
	switch q.Kind {
	case child.AskDial:
		if why = r.scope.DenyReason(q.Text); why != "" {
			_ = r.scope.Refuse(q.Text, why) // the child makes the error
		}
		return why
	case child.AskURL:
		if u, err := url.Parse(q.Text); err == nil && r.scope.Allow(u) {
			return ""
		}
		return "it is not in scope"
	case child.AskName:
		if !r.scope.AllowsName(q.Text) {
			why = "it is not in scope as the name of a site"
		}
		return why
	case child.TellDenied:
		r.scope.OnDenied(scope.Denial{Address: q.Text, Why: q.Why})
		return ""
	}
	return "it is not known what this asks"
}

// Confirm repeats the request of an event, as engine.Confirm does. An event that an out-of-band interaction has shown
// needs another interaction: its template runs again.
func (r *Runner) Confirm(
	ctx context.Context, target string, t child.Template, e engine.Event,
) (again engine.Event, shown bool, err error) {
	if e.Interaction != nil {
		return r.confirmInteraction(ctx, target, t, e)
	}
	shown, err = r.repeat(ctx, target, t, e, false, func(_ int, got engine.Event) { again = got })
	return again, shown, err
}

func (r *Runner) confirmInteraction(
	ctx context.Context, target string, t child.Template, e engine.Event,
) (again engine.Event, shown bool, err error) {
	result, notes, err := r.Run(ctx, child.Job{
		Targets: []string{target}, Templates: []child.Template{t},
		OnEvent: func(_ int, got engine.Event) {
			if got.MatcherName == e.MatcherName && got.ExtractorName == e.ExtractorName {
				again, shown = got, true
			}
		},
	})
	if err == nil && !shown {
		err = untested(result, notes)
	}
	return again, shown, err
}

// untested is why a job of one target and one template was not done; nil when it was.
func untested(result *child.Result, notes []string) error {
	if len(notes) > 0 {
		return errs.New(errs.Invalid, "template_ends_engine", "%s", notes[0])
	}
	if state, reason := result.Cell(0, 0); state != engine.Tested {
		return errs.New(errs.Invalid, "not_repeated", "its template cannot be run: %s", reason)
	}
	return nil
}

// Control reports whether an event also occurs where it must not, as engine.Control does; false when it has no control,
// as one of an out-of-band interaction. seen has the request and the answer; empty: there was no control.
func (r *Runner) Control(
	ctx context.Context, target string, t child.Template, e engine.Event,
) (seen engine.Event, shown bool, err error) {
	if e.Interaction != nil {
		return seen, false, nil
	}
	shown, err = r.repeat(ctx, target, t, e, true, func(_ int, got engine.Event) { seen = got })
	return seen, shown, err
}

func (r *Runner) repeat(
	ctx context.Context, target string, t child.Template, e engine.Event, control bool, on func(int, engine.Event),
) (bool, error) {
	result, notes, err := r.Run(ctx, child.Job{
		Targets: []string{target}, Templates: []child.Template{t}, OnEvent: on,
		Repeat: &child.Repeat{Event: e, URL: e.URL, Scheme: e.Scheme, Control: control},
	})
	if err != nil {
		return false, err
	}
	if result == nil { // the template is set aside
		return false, untested(nil, notes)
	}
	if len(notes) == 0 && result.Fault != "" {
		return false, errs.New(errs.Invalid, "not_repeated", "%s", result.Fault)
	}
	return result.Shown, untested(result, notes)
}
