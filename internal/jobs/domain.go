package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/related"
)

// Related finds the domains that are associated with one.
type Related struct {
	Domains *domain.Domains
	Finder  *related.Finder
	Prober  *related.Prober
}

// probeTimeout bounds the probes of the web sites of one search; the next search tries the others.
const probeTimeout = 2 * time.Minute

// searchDomain asks all sources about a domain, stores each answer, then probes the web sites of the domains.
func (w worker) searchDomain(ctx context.Context, a domain.SearchArgs) error {
	domains := w.Related.Domains
	answers := map[string]discover.AssociatedAnswer{}
	var failed error
	w.Related.Finder.Find(ctx, a.Domain, func(answer discover.AssociatedAnswer) {
		answers[answer.Report.Source] = answer
		failed = errors.Join(failed, domains.Save(ctx, a, answer))
	})
	if err := errors.Join(failed, ctx.Err()); err != nil {
		return err
	}
	if err := domains.Settle(ctx, a, answers); err != nil {
		return err
	}
	names, err := domains.ToProbe(ctx, a)
	if err != nil {
		return err
	}
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	w.Related.Prober.Probe(probing, names, func(name string, seen discover.Evidence) {
		failed = errors.Join(failed, domains.SaveProbe(ctx, a, name, seen))
	})
	if err := errors.Join(failed, ctx.Err()); err != nil {
		return err
	}
	return domains.Finish(ctx, nil, a)
}
