package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/core/domain"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/related"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Related finds the domains that are associated with one.
type Related struct {
	Domains *domain.Domains
	Finder  *related.Finder
	Prober  *related.Prober
}

const (
	searchTimeout  = 5 * time.Minute
	searchAttempts = 2
	probeTimeout   = 2 * time.Minute // for the web sites of one search; the next search tries the others
)

// handleDomains registers the jobs that search for associated domains and verify the ownership of domains.
func (w worker) handleDomains(q *queue.Queue) {
	queue.Handle(q, queue.Handler[domain.SearchArgs]{
		Work: w.searchDomain, Timeout: searchTimeout, MaxAttempts: searchAttempts,
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[domain.SearchArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up a search for associated domains", "domain", job.Args.Domain, "error", cause)
			return w.Related.Domains.Finish(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[domain.VerifyArgs]{Quick: true, Work: func(ctx context.Context, job queue.Job[domain.VerifyArgs]) error {
		return w.Related.Domains.Check(ctx, job.Args)
	}})
}

// searchDomain asks all sources about a domain, stores each answer, then probes the web sites of the domains.
func (w worker) searchDomain(ctx context.Context, job queue.Job[domain.SearchArgs]) error {
	a, domains := job.Args, w.Related.Domains
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
