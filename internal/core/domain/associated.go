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

// PlanLimit is how many associated domains a query brings on any plan but the
// enterprise's (specification, Limits).
const PlanLimit = 10

// Sorts are the orders of associated domains, all ascending. What is not known comes last.
var Sorts = []string{"active", "domain", "source", "subdomain_count", "update_date"}

// Query asks for associated domains.
type Query struct {
	Domain  string   // empty: all verified domains of the caller's team
	Sources []string // of discover.AssociatedSources; none: all
	Active  *bool    // only those that answer, or that do not
	Sort    string   // one of Sorts; empty: domain
	Limit   int      // of a page; 0: all
	Page    int      // from 1; means something with Limit only
}

// Result is an answer to a Query.
type Result struct {
	Domain  string // that was asked about; all of them, with commas between
	Found   []discover.Associated
	Sources []string       // that could be used, of those that were asked for
	Counts  map[string]int // of the domains that the query brings on all its pages, by source
	Total   int            // of these domains
	Capped  bool           // the plan brings no more
	Running bool           // a search is under way: there may be more
	Health  []Health
}

// Associated gives what is known of a domain. The first question about one waits a little
// for the places that are asked then, and gives what has come; later ones are answered at
// once, and begin a new search when the answers are old. It never fails because a place
// does.
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
	return r, ds.gather(ctx, c, q, answers, &r)
}

func (q Query) check() error {
	for _, source := range q.Sources {
		if !slices.Contains(discover.AssociatedSources, source) {
			return errs.Field("source", "source %.40q is not known: it must be of %s.", source, strings.Join(discover.AssociatedSources, ", "))
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

// pollEvery is how often a question that waits looks whether its search has ended: the
// search may run in another process.
const pollEvery = 50 * time.Millisecond

// await begins the searches that are due, and waits for those that are the first of their
// domain. running reports that one has not ended.
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

// answer is what a place has said, as it is kept.
type answer struct {
	Health
	found []discover.Associated
}

// answers are all answers about some domains.
func (ds *Domains) answers(ctx context.Context, teamID string, domains []string) ([]answer, error) {
	var where db.Where
	where.And("team_id = ?", teamID)
	db.In(&where, "domain", domains)
	rows, err := ds.db.Query(ctx, `SELECT domain, place, source, state, count, detail, took_us, checked_at, found_at, found FROM domain_answer`+where.String()+` ORDER BY domain, place`, where.Args...)
	return db.Collect(rows, err, func(r db.Row) (a answer, err error) {
		var took int64
		var checked, found db.Time
		var list db.JSON[[]discover.Associated]
		err = r.Scan(&a.Domain, &a.Place, &a.Source, &a.State, &a.Count, &a.Detail, &took, &checked, &found, &list)
		a.Took, a.CheckedAt, a.FoundAt, a.found = time.Duration(took)*time.Microsecond, checked.Time, found.Time, list.V
		return a, err
	})
}

// gather makes the result of answers.
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
		all = slices.DeleteFunc(all, func(a discover.Associated) bool { return a.Evidence.Active == nil || *a.Evidence.Active != *q.Active })
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

// page is the part of a list that is asked for.
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
	// known first, then the smaller
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

// activity is a domain's place in the order by active: no, yes, not known.
func activity(a discover.Associated) int {
	switch {
	case a.Evidence.Active == nil:
		return 2
	case *a.Evidence.Active:
		return 1
	}
	return 0
}
