package names

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names/permute"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Sources of names that are guessed.
const (
	SourceBruteforce = "bruteforce"
	SourcePermute    = "permutation"
)

const (
	sourcesAtOnce = 8
	maxSeeds      = 20_000 // names that permutations start from
	maxRounds     = 3      // of permuting what permutations found
	maxCandidates = 2_000_000
)

// Find looks for the names of a domain by the given steps (none: all): dns_passive and dns_scraping ask sources,
// dns_bruteforce tries words, dns_permute permutes the names that were found. Names of sources are emitted as they
// come, not looked up and without RCode; guessed names are emitted when DNS knows them and they are no wildcard's. Each
// is emitted once, with Sources naming the first; it is below the domain, allowed, and a host name. emit is called by
// one goroutine at a time. The error is the context's or an *errs.Error; a source that fails is only reported.
func Find(
	ctx context.Context, cfg Config, domain string, steps []discover.Step, emit func(discover.Name),
) (Report, error) {
	root, ok := normalizeHost(domain)
	if !ok {
		return Report{}, errs.Field("domain", "%.100q is no domain.", domain)
	}
	cfg.Domains = append(slices.Clone(cfg.Domains), root)
	r, err := newResolver(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	f := &finder{resolver: r, root: root, emit: emit, known: discover.NewNameSet()}
	f.askSources(ctx, steps)
	if discover.Has(steps, discover.DNSBruteforce) && ctx.Err() == nil {
		f.lookUpGuesses(ctx, SourceBruteforce, permute.Candidates(root, r.cfg.Words))
	}
	if discover.Has(steps, discover.DNSPermute) && ctx.Err() == nil {
		f.permute(ctx)
	}
	report := r.done()
	report.Sources = f.reports
	slices.SortFunc(report.Sources, func(a, b discover.SourceReport) int { return cmp.Compare(a.Source, b.Source) })
	return report, ctx.Err()
}

type finder struct {
	*resolver

	root string
	emit func(discover.Name)

	emitting sync.Mutex // guards what follows, and the calls of emit
	known    *discover.NameSet
	seeds    []string // of permutations
	reports  []discover.SourceReport
}

func (f *finder) askSources(ctx context.Context, steps []discover.Step) {
	chosen, skipped := f.cfg.chosen(steps, f.root)
	f.reports = append(f.reports, skipped...)
	var group errgroup.Group
	group.SetLimit(sourcesAtOnce)
	for _, s := range chosen {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			report := f.cfg.askSource(ctx, s, f.root, func(host string) {
				sources := []discover.SourceRef{{Source: s.name}}
				f.deliver(discover.Name{Host: host, Domain: f.cfg.domainOf(host), Sources: sources})
			})
			f.emitting.Lock()
			defer f.emitting.Unlock()
			f.reports = append(f.reports, report)
			return nil
		})
	}
	_ = group.Wait() // errors are in the reports
}

// deliver emits a name unless it is known, and reports whether it was new.
func (f *finder) deliver(n discover.Name) bool {
	f.emitting.Lock()
	defer f.emitting.Unlock()
	if !f.known.Add(n.Host) {
		return false
	}
	if len(f.seeds) < maxSeeds && n.Host != f.root {
		f.seeds = append(f.seeds, n.Host)
	}
	f.emit(n)
	return true
}

// lookUpGuesses looks up candidates and emits those that exist. It returns those that are new.
func (f *finder) lookUpGuesses(ctx context.Context, how string, names iter.Seq[string]) (added []string) {
	report := discover.SourceReport{Source: how, About: f.root}
	begun := time.Now()
	tried, unanswered := 0, 0
	f.each(ctx, limit(names, maxCandidates), func(n discover.Name) {
		tried++
		switch {
		case n.RCode == RCodeTimeout, n.RCode == RCodeMalformed:
			unanswered++
		case Exists(n):
			report.Count++
			n.Sources = []discover.SourceRef{{Source: how}}
			if f.deliver(n) && len(added) < maxSeeds {
				added = append(added, n.Host)
			}
		}
	})
	report.Took = time.Since(begun)
	report.Detail = fmt.Sprintf("%d candidates", tried)
	if unanswered > 0 {
		report.Detail += fmt.Sprintf(", %d of them without an answer", unanswered)
	}
	switch {
	case tried > 0 && unanswered > tried/2:
		report.State = discover.SourceTimedOut
	case tried >= maxCandidates:
		report.State = discover.SourceLimited
		report.Detail += ", which is as many as are allowed"
	case report.Count == 0:
		report.State = discover.SourceEmpty
	default:
		report.State = discover.SourceOK
	}
	f.reports = append(f.reports, report)
	return added
}

// permute permutes what was found, and what that finds again.
func (f *finder) permute(ctx context.Context) {
	tried := discover.NewNameSet()
	seeds := f.seeds
	total := discover.SourceReport{
		Source: SourcePermute, About: f.root, State: discover.SourceEmpty, Detail: "there was no name to start from",
	}
	left := maxCandidates
	for round := 0; round < maxRounds && len(seeds) > 0 && left > 0 && ctx.Err() == nil; round++ {
		words := permute.Words(f.seeds, f.root)
		asked := 0
		seeds = f.lookUpGuesses(ctx, SourcePermute, func(yield func(string) bool) {
			for name := range permute.Permutations(seeds, f.root, words) {
				if !tried.Add(name) {
					continue
				}
				if asked++; asked > left || !yield(name) {
					return
				}
			}
		})
		left -= asked
		one := f.reports[len(f.reports)-1]
		f.reports = f.reports[:len(f.reports)-1]
		one.Count, one.Took = one.Count+total.Count, one.Took+total.Took
		if round > 0 {
			one.Detail = fmt.Sprintf("%s; in round %d %s", total.Detail, round+1, one.Detail)
		}
		if one.State == discover.SourceEmpty && one.Count > 0 {
			one.State = discover.SourceOK
		}
		total = one
	}
	f.reports = append(f.reports, total)
}

func limit(names iter.Seq[string], n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		left := n
		for name := range names {
			if left--; left < 0 || !yield(name) {
				return
			}
		}
	}
}
