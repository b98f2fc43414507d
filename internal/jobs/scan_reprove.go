package jobs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/webtask"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// retestFinding tests for a finding again: with its template, or with the proof that the tester of web applications has
// kept with it.
func (w worker) retestFinding(ctx context.Context, a finding.RetestArgs) error {
	f, proxy, err := w.Findings.ForRetest(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(f.TemplateID, webtask.Template+"-") {
		return w.Scans.Retest(ctx, a, w.Engines, w.Deny)
	}
	result, err := w.reprove(ctx, a.TeamID, f, proxy)
	if err != nil {
		return err
	}
	return w.Findings.EndRetest(context.WithoutCancel(ctx), nil, a, result)
}

// reprove runs the proof of a finding with new random values.
func (w worker) reprove(ctx context.Context, teamID string, f finding.Finding, proxy *setting.Proxy) (
	r finding.RetestResult, err error,
) {
	failed := func(why string) (finding.RetestResult, error) {
		return finding.RetestResult{State: finding.RetestFailed, Note: why}, nil
	}
	web, err := w.Scans.WebOptions(ctx, teamID, f.ScanID)
	if err != nil {
		return r, err
	}
	hide, fill := web.Replacers()
	text, err := base64.StdEncoding.DecodeString(f.TemplateEncoded)
	var program proof.Program
	if err != nil || json.Unmarshal([]byte(fill.Replace(string(text))), &program) != nil || program.Check() != nil {
		return failed("No proof was kept with the finding that could be run again: run the scan again.")
	}
	if len(program.Users) > 0 && len(web.Users) == 0 && web.OAuth == nil {
		return failed("Its proof needs a logged-in user, and its scan has none: run the scan again.")
	}
	scanned, err := w.Scans.RunsWith(ctx, teamID, f.ScanID, proxy)
	if err != nil {
		return r, err
	}
	excluded, err := w.Scans.ExcludedFrom(ctx, teamID, f.ScanID)
	if err != nil {
		return r, err
	}
	start, cfg, err := w.config(scanned, web, f.Target, excluded)
	if err != nil {
		return failed(errs.From(err).Message)
	}
	cfg.Starts = []*url.URL{start}
	outcome, err := webtest.Reprove(ctx, cfg, &program)
	if cause := context.Cause(ctx); cause != nil {
		return r, cause
	}
	if err != nil {
		return failed("Its proof could not be run: " + errs.Clip(engine.Clean(err.Error()), 300) + ".")
	}
	r.State, r.Digest = finding.NotMatched, evidence.Hash(text)
	if outcome.Holds {
		seen := f.Event
		if n := len(outcome.Answers); n > 0 {
			first := outcome.Answers[0]
			seen.Request = hide.Replace(engine.Clean(first.Request.Text()))
			seen.Response = hide.Replace(webtask.ResponseText(first))
		}
		r.State, r.Event = finding.Matched, &seen
	}
	return r, nil
}
