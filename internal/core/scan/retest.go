package scan

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Retest runs the template of a finding on its target, except in denied networks, and stores the result.
func (ss *Scans) Retest(ctx context.Context, a finding.RetestArgs, deny []netip.Prefix) error {
	f, proxy, err := ss.findings.ForRetest(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	result, err := ss.retest(ctx, a.TeamID, f, proxy, deny)
	if err != nil {
		return err
	}
	return ss.findings.EndRetest(context.WithoutCancel(ctx), nil, a, result)
}

func (ss *Scans) retest(
	ctx context.Context, teamID string, f finding.Finding, proxy *setting.Proxy, deny []netip.Prefix,
) (r finding.RetestResult, err error) {
	failed := func(why string) (finding.RetestResult, error) {
		return finding.RetestResult{State: finding.RetestFailed, Note: why}, nil
	}
	known, err := ss.catalog.Programs(ctx, teamID, []string{f.TemplateID})
	if err != nil {
		return r, err
	}
	p := known[f.TemplateID].Program
	if p == nil {
		return failed("The template is not in the catalogue, or cannot be run.")
	}
	if _, err := engine.ParseTarget(f.Target); err != nil {
		return failed("The finding does not say where to look.")
	}
	excluded, err := ss.excluded(ctx, teamID, f.ScanID)
	if err != nil {
		return r, err
	}
	patterns, err := exclusion.ParsePatterns(excluded.targets)
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
	e, err := o.Open([]string{f.Target}, deny, ss.settings.Guard())
	if err != nil {
		return failed(errs.From(err).Message)
	}
	defer e.Close()
	r.State = finding.NotMatched
	report, err := e.Run(ctx, engine.Scan{
		Targets: []string{f.Target}, Programs: []*program.Program{p}, Vars: o.Scan.Vars,
		OnEvent: func(e engine.Event) {
			if finding.Fingerprint(e, "") == f.Hash {
				r.State = finding.Matched
			}
		},
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || r.State == finding.Matched {
		return r, err
	}
	if state, reason := report.Targets[0].Cell(0); state != engine.Tested {
		return failed(fmt.Sprintf("It could not be tested (%s): %s.", state, reason))
	}
	return r, nil
}
