package domain

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// PlanLimit is how many associated domains a query returns on any plan but the enterprise's (specification,
// Limits).
const PlanLimit = 10

// Sorts are the orders of associated domains, all ascending. Unknown values come last.
var Sorts = []string{"active", "domain", "source", "subdomain_count", "update_date"}

// Query asks for associated domains.
type Query struct {
	Domain  string   // empty: all verified domains of the caller's team
	Sources []string // of discover.AssociatedSources; none: all
	Active  *bool    // only those that answer, or do not
	Sort    string   // one of Sorts; empty: domain
	Limit   int      // of a page; 0: all
	Page    int      // from 1; needs Limit
}

// Result is an answer to a Query.
type Result struct {
	Domain  string // the queried ones, with commas between
	Found   []discover.Associated
	Sources []string       // of the queried ones, those that have answered
	Counts  map[string]int // domains on all pages, by source
	Total   int            // domains on all pages
	Capped  bool           // the plan allows no more
	Running bool           // a search is under way: there may be more
	Health  []Health
}

// Associated returns the domains that are associated with a domain. The first query waits a little for its search;
// later ones return at once, and start a new search when the answers are old. A failing source is not an error.
func (ds *Domains) Associated(ctx context.Context, q Query) (Result, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := q.check(); err != nil {
		return Result{}, err
	}
	var names []string
	if q.Domain != "" {
		name, err := parse(q.Domain)
		if err != nil {
			return Result{}, err
		}
		names = []string{name}
	} else if names, err = ds.verified(ctx, c.TeamID); err != nil {
		return Result{}, err
	}
	r := Result{Domain: strings.Join(names, ",")}
	var keys []string
	for _, name := range names {
		if key := registered(name); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if r.Running, err = ds.await(ctx, c.TeamID, keys); err != nil {
		return r, err
	}
	answers, err := ds.answers(ctx, c.TeamID, keys)
	if err != nil {
		return r, err
	}
	err = ds.gather(ctx, c, q, answers, &r)
	return r, err
}

func (q Query) check() error {
	for _, source := range q.Sources {
		if !slices.Contains(discover.AssociatedSources, source) {
			return errs.Field("source", "source %.40q is not known: it must be of %s.",
				source, strings.Join(discover.AssociatedSources, ", "))
		}
	}
	if q.Sort != "" && !slices.Contains(Sorts, q.Sort) {
		return errs.Field("sort", "sort %.40q is not known: it must be one of %s.", q.Sort, strings.Join(Sorts, ", "))
	}
	if q.Limit < 0 {
		return errs.Field("limit", "limit must be 1 or more.")
	}
	if q.Page < 0 {
		return errs.Field("page", "page must be 1 or more.")
	}
	return nil
}

// pollEvery is how often a waiting query checks whether its search, perhaps of another process, has ended.
const pollEvery = 50 * time.Millisecond

// await starts the searches that are due, and waits for first ones. running reports that one has not ended.
func (ds *Domains) await(ctx context.Context, teamID string, domains []string) (running bool, err error) {
	var first []string
	for _, domain := range domains {
		isFirst, err := ds.begin(ctx, teamID, domain)
		if err != nil {
			return false, err
		}
		if isFirst {
			first = append(first, domain)
		}
	}
	deadline := time.NewTimer(ds.Wait)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for len(first) > 0 {
		s, err := ds.find(ctx, ds.db, teamID, first[0], "")
		if err != nil && !db.IsNoRows(err) {
			return false, err
		}
		if !s.finished.IsZero() {
			first = first[1:]
			continue
		}
		select {
		case <-tick.C:
			continue
		case <-deadline.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		break
	}
	for _, domain := range domains {
		s, err := ds.find(ctx, ds.db, teamID, domain, "")
		if err != nil && !db.IsNoRows(err) {
			return false, err
		}
		running = running || s.finished.IsZero()
	}
	return running, nil
}

type answer struct {
	Health
	found []discover.Associated
}

func (ds *Domains) answers(ctx context.Context, teamID string, domains []string) ([]answer, error) {
	var where db.Where
	where.And("team_id = ?", teamID)
	db.In(&where, "domain", domains)
	scan := func(r db.Row) (a answer, err error) {
		err = a.scan(r, db.Into(&a.found))
		return a, err
	}
	return db.Select(ctx, ds.db, scan, `SELECT domain, place, source, state, count, detail, took_us, checked_at, found_at,
		found FROM domain_answer`+where.String()+` ORDER BY domain, place`, where.Args...)
}

func (ds *Domains) gather(ctx context.Context, c account.Caller, q Query, answers []answer, r *Result) error {
	var lists [][]discover.Associated
	used := map[string]bool{}
	for _, a := range answers {
		if len(q.Sources) > 0 && !slices.Contains(q.Sources, a.Source) {
			continue
		}
		r.Health = append(r.Health, a.Health)
		if !a.FoundAt.IsZero() {
			used[a.Source] = true
		}
		lists = append(lists, a.found)
	}
	r.Sources = []string{}
	for _, source := range discover.AssociatedSources {
		if used[source] {
			r.Sources = append(r.Sources, source)
		}
	}
	all := discover.MergeAssociated(lists...)
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = a.Domain
	}
	seen, err := ds.probes(ctx, c.TeamID, names)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Evidence.Merge(seen[all[i].Domain])
	}
	if q.Active != nil {
		all = slices.DeleteFunc(all, func(a discover.Associated) bool {
			return a.Evidence.Active == nil || *a.Evidence.Active != *q.Active
		})
	}
	order(all, q.Sort)
	if c.Plan != account.Enterprise && len(all) > PlanLimit {
		all, r.Capped = all[:PlanLimit], true
	}
	r.Total, r.Counts = len(all), map[string]int{}
	for _, source := range r.Sources {
		r.Counts[source] = 0
	}
	for _, a := range all {
		for _, source := range a.Sources {
			r.Counts[source]++
		}
	}
	r.Found = q.page(all)
	return nil
}

func (q Query) page(all []discover.Associated) []discover.Associated {
	if q.Limit == 0 {
		return all
	}
	page := max(q.Page, 1) - 1
	if page > len(all)/q.Limit { // before the product, which may overflow
		return []discover.Associated{}
	}
	from := min(page*q.Limit, len(all))
	return all[from : from+min(q.Limit, len(all)-from)]
}

// order sorts a list that is in the order of domains.
func order(all []discover.Associated, by string) {
	compare := map[string]func(a, b discover.Associated) int{
		"active": func(a, b discover.Associated) int { return activity(a) - activity(b) },
		"source": func(a, b discover.Associated) int { return slices.Compare(a.Sources, b.Sources) },
		"subdomain_count": func(a, b discover.Associated) int {
			return cmp.Compare(a.Evidence.SubdomainCount, b.Evidence.SubdomainCount)
		},
		"update_date": func(a, b discover.Associated) int {
			x, y := a.Evidence.UpdateDate, b.Evidence.UpdateDate
			if (x == "") != (y == "") {
				return strings.Compare(y, x)
			}
			return strings.Compare(x, y)
		},
	}[by]
	if compare != nil {
		slices.SortStableFunc(all, compare)
	}
}

// activity is a domain's rank in the order by active: no, yes, unknown.
func activity(a discover.Associated) int {
	switch {
	case a.Evidence.Active == nil:
		return 2
	case *a.Evidence.Active:
		return 1
	}
	return 0
}
