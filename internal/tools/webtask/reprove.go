package webtask

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// maxProgram is how many bytes of a proof are kept.
const maxProgram = 64 << 10

// kept is the proof that is stored with an issue, with names in place of secrets; nil: it has none that can be run
// again, or a large one.
func (w Step) kept(f webtest.Finding) *task.Proof {
	if f.Proof == nil {
		return nil
	}
	text, err := json.Marshal(f.Proof)
	if err != nil || len(text) > maxProgram {
		return nil
	}
	if hidden := w.Hide.Replace(string(text)); json.Valid([]byte(hidden)) {
		return &task.Proof{Program: json.RawMessage(hidden)}
	}
	return nil
}

// means is how a retest tests for an issue of the tester of web applications.
func means(i task.Issue) *task.RetestTemplate {
	if i.Proof != nil && len(i.Proof.Program) > 0 {
		return &task.RetestTemplate{Program: true, Reason: "no template finds it: the tester of web applications did"}
	}
	return &task.RetestTemplate{Reason: "no template finds it, and it has no proof that can be run again"}
}

// Reprove runs the proof that was kept with an issue, with new random values, as the users that its task names. shown
// says whether all held that it expects; why says why it could not be run.
func (w Step) Reprove(ctx context.Context, issue task.Issue) (shown bool, why string, err error) {
	program, site, why := w.program(issue)
	if why != "" {
		return false, why, nil
	}
	cfg, _ := w.Config(ctx, []*url.URL{site})
	outcome, err := webtest.Reprove(ctx, cfg, program)
	if cause := context.Cause(ctx); cause != nil {
		return false, "", cause
	}
	if err != nil {
		return false, errs.Clip(w.Hide.Replace(err.Error()), 300), nil
	}
	return outcome.Holds, "", nil
}

// program is the proof of an issue and the site that it is of; why says why there is none.
func (w Step) program(issue task.Issue) (p *proof.Program, site *url.URL, why string) {
	if issue.Proof == nil || len(issue.Proof.Program) == 0 {
		return nil, nil, "no proof was kept with it"
	}
	p = &proof.Program{}
	text := issue.Proof.Program
	if filled := []byte(w.Fill.Replace(string(text))); json.Valid(filled) {
		text = filled
	}
	if err := errors.Join(json.Unmarshal(text, p), p.Check()); err != nil {
		return nil, nil, "its proof cannot be read: " + strings.ReplaceAll(err.Error(), "\n", ", ")
	}
	site, err := url.Parse(issue.Target)
	if err != nil || site.Host == "" {
		return nil, nil, "its target is no address of a web application"
	}
	site.Path = "/"
	return p, site, ""
}
