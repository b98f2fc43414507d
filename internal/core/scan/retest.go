package scan

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
)

// Retest runs the template of a finding on its target, except in denied networks, and stores the result.
func (ss *Scans) Retest(
	ctx context.Context, a finding.RetestArgs, engines *child.Pool, deny []netip.Prefix,
) error {
	f, proxy, err := ss.findings.ForRetest(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	result, err := ss.retest(ctx, a.TeamID, f, proxy, engines, deny)
	if err != nil {
		return err
	}
	return ss.findings.EndRetest(context.WithoutCancel(ctx), nil, a, result)
}

func (ss *Scans) retest(
	ctx context.Context, teamID string, f finding.Finding, proxy *setting.Proxy, engines *child.Pool, deny []netip.Prefix,
) (r finding.RetestResult, err error) {
	failed := func(why string) (finding.RetestResult, error) {
		return finding.RetestResult{State: finding.RetestFailed, Note: why}, nil
	}
	known, err := ss.catalog.Texts(ctx, teamID, []string{f.TemplateID})
	if err != nil {
		return r, err
	}
	text, found := known[f.TemplateID]
	if !found {
		return failed("The template is not in the catalogue, or cannot be run.")
	}
	if _, err := targets.Parse(f.Target); err != nil {
		return failed("The finding does not say where to look.")
	}
	excluded, err := ss.excluded(ctx, teamID, f.ScanID)
	if err != nil {
		return r, err
	}
	patterns, err := hostpattern.Parse(excluded.targets)
	if err != nil {
		return r, err
	}
	if patterns.Excludes(f.Target) || excluded.templates[f.TemplateID] {
		return failed("The target or the template is excluded.")
	}
	config, err := ss.config(ctx, ss.db, f.ScanID)
	if err != nil && !db.IsNoRows(err) { // the scan may have been deleted
		return r, err
	}
	if proxy != nil {
		config.Proxy = proxy
	}
	o, err := ss.Options(ctx, teamID, config)
	if err != nil {
		return failed(errs.From(err).Message)
	}
	o.Excluded = excluded.targets
	aside, err := ss.Aside(ctx, teamID)
	if err != nil {
		return r, err
	}
	if why, is := aside[text.Digest]; is {
		return failed("It could not be tested: " + why + ".")
	}
	r.State = finding.NotMatched
	job := ss.jobOf(o, []string{f.Target}, []child.Template{TextOf(text)}, deny)
	job.Parallel, job.StopAtFirstMatch = 0, false
	job.OnEvent = func(_ int, e engine.Event) {
		if finding.Fingerprint(e, "") == f.Hash {
			r.State = finding.Matched
		}
	}
	report, err := ss.Interactions.Run(ctx, engines, job)
	if refused, is := errors.AsType[*errs.Error](err); is {
		return failed(refused.Message)
	}
	if err == nil && len(report.Ended) > 0 {
		err = ss.SetAside(context.WithoutCancel(ctx), teamID, job.Templates[0], report.Ended[0].Why)
	}
	if err != nil || r.State == finding.Matched {
		return r, err
	}
	if state, reason := report.Cell(0, 0); state != engine.Tested {
		return failed(fmt.Sprintf("It could not be tested (%s): %s.", state, reason))
	}
	return r, nil
}
