package scan

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
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
	known, err := ss.catalog.Texts(ctx, teamID, []string{f.TemplateID})
	if err != nil {
		return r, err
	}
	text, found := known[f.TemplateID]
	if !found {
		return retestFailed("The template is not in the catalogue, or cannot be run.")
	}
	return ss.look(ctx, teamID, f, proxy, engines, deny, TextOf(text))
}

func retestFailed(why string) (finding.RetestResult, error) {
	return finding.RetestResult{State: finding.RetestFailed, Note: why}, nil
}

// look runs a template on the target of a finding and looks for the same.
func (ss *Scans) look(
	ctx context.Context, teamID string, f finding.Finding, proxy *setting.Proxy, engines *child.Pool, deny []netip.Prefix,
	text child.Template,
) (r finding.RetestResult, err error) {
	failed := retestFailed
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
	r.State, r.Digest = finding.NotMatched, text.Digest
	job := ss.jobOf(o, []string{f.Target}, []child.Template{text}, deny)
	refused, err := ss.admit(ctx, teamID, job.Templates)
	if err != nil {
		return r, err
	}
	if why, is := refused[0]; is {
		return failed("It could not be tested: " + why + ".")
	}
	job.Parallel, job.StopAtFirstMatch = 0, false
	job.OnEvent = func(_ int, e engine.Event) {
		// What a task found may have another template than the one that was made of it.
		isOther := f.Proof != nil && f.Proof.Template != "" && f.Proof.Template != f.TemplateID &&
			e.TemplateID != f.TemplateID
		if r.Event == nil && (isOther || finding.Fingerprint(e, "") == f.Hash) {
			r.State, r.Event = finding.Matched, &e
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

// Replay sends the proof of a finding again: the template that showed it, as it was then, on its target. What is no
// longer at the address where it was seen is not looked for in private networks.
func (ss *Scans) Replay(
	ctx context.Context, teamID string, f finding.Finding, engines *child.Pool, deny []netip.Prefix,
) (r finding.RetestResult, err error) {
	text, found, err := ss.TemplateOf(ctx, teamID, f)
	if err != nil {
		return r, err
	}
	if !found {
		return retestFailed("The template that showed it is not in the catalogue any more, or was changed.")
	}
	if was, err := netip.ParseAddr(f.Event.IP); err == nil && !netguard.IsSpecial(was) {
		deny = slices.Concat(deny, netguard.Special())
	}
	return ss.look(ctx, teamID, f, nil, engines, deny, text)
}

// TemplateOf is the template that showed a finding, as it was then: of the catalogue, or the one that is kept with the
// finding. found is false where it is neither.
func (ss *Scans) TemplateOf(
	ctx context.Context,
	teamID string,
	f finding.Finding,
) (t child.Template, found bool, err error) {
	if f.Proof == nil {
		return t, false, nil
	}
	id, digest := cmp.Or(f.Proof.Template, f.TemplateID), f.Proof.Digest
	known, err := ss.catalog.Texts(ctx, teamID, []string{id})
	if err != nil {
		return t, false, err
	}
	if text, is := known[id]; is && (digest == "" || text.Digest == digest) {
		return TextOf(text), true, nil
	}
	own, err := base64.StdEncoding.DecodeString(f.TemplateEncoded)
	if err != nil || digest == "" || evidence.Hash(own) != digest {
		return t, false, nil //nolint:nilerr // it came with no template
	}
	return child.Template{Path: cmp.Or(f.Event.TemplatePath, f.TemplateID+".yaml"), Digest: digest, Data: own}, true, nil
}
