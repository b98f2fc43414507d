package list

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Page answers a list of a team's rows. What it says of them is true of one moment: a total that counts a row
// which the page lacks would tell a reader that there is nothing to see.
func (x *Index) Page(ctx context.Context, d *db.DB, team string, query Query) (p Page, err error) {
	err = d.Snapshot(ctx, func(q db.Querier) error {
		p, err = x.page(ctx, q, team, query)
		return err
	})
	return p, err
}

func (x *Index) page(ctx context.Context, q db.Querier, team string, query Query) (p Page, err error) {
	p.Numbers, p.End = []int64{}, 1
	s, err := x.search(ctx, q, team, query)
	if err != nil || s.team == 0 {
		return p, err
	}
	var last int64
	err = q.QueryRow(ctx, `SELECT coalesce(max(key), 0) FROM `+x.Name+`_list WHERE key < ? AND key >= ?`, s.high,
		keyOf(s.team, 0)).Scan(&last)
	if err != nil {
		return p, err
	}
	if p.End = noOf(last) + 1; query.Before > 0 {
		p.End = min(p.End, query.Before)
	}
	s.high = keyOf(s.team, p.End) // what arrives now is not counted
	if err = s.part(ctx, &p, query); err != nil || p.Total > 0 {
		return p, err
	}
	if query.WithoutTotal {
		p.Total, p.TotalIsEstimate = query.Offset+len(p.Numbers), len(p.Numbers) == query.Limit
		return p, nil
	}
	p.Total, p.TotalIsEstimate, err = s.total(ctx)
	if more := query.Offset + len(p.Numbers); len(p.Numbers) > 0 && p.Total < more {
		p.Total = more // what is on pages is there
	}
	return p, err
}

// part fills a page in any order. Numbers are distinct: what follows them in an order says nothing.
func (s *search) part(ctx context.Context, p *Page, query Query) error {
	switch {
	case len(query.Orders) == 0:
		return s.arrival(ctx, p, query)
	case query.Orders[0].Column == s.x.number():
		query.Oldest = !query.Orders[0].Desc
		return s.arrival(ctx, p, query)
	}
	return s.ordered(ctx, p, query)
}

// ordered fills a page in another order.
func (s *search) ordered(ctx context.Context, p *Page, query Query) error {
	if s.index.text != "" || !s.index.exact {
		all, ok, err := s.few(ctx, s.low, s.high)
		if err != nil {
			return err
		}
		if ok {
			p.Total = len(all)
			return s.sortFew(ctx, p, numbersOf(all), query)
		}
	}
	if done, err := s.grouped(ctx, p, query); done || err != nil {
		return err
	}
	return s.walkOrder(ctx, p, query)
}

// OrderBy is the ORDER BY clause of an order: of equal rows the newest comes first. number is the column
// with the number of arrival.
func OrderBy(number string, orders []Order) string {
	var b strings.Builder
	b.WriteString(" ORDER BY ")
	for _, o := range orders {
		b.WriteString(o.Column + direction(o.Desc) + ", ")
	}
	return b.String() + number + " DESC"
}

func (s *search) sortFew(ctx context.Context, p *Page, numbers []int64, query Query) error {
	cond, arg := among(s.x.number(), s.q, numbers)
	rows, err := s.q.Query(ctx, "SELECT "+s.x.number()+" FROM "+s.x.Table+" WHERE "+s.x.team()+" = ? AND "+cond+
		OrderBy(s.x.number(), query.Orders)+" LIMIT ? OFFSET ?", s.teamID, arg, query.Limit, query.Offset)
	p.Numbers, err = db.Collect(rows, err, func(r db.Row) (no int64, err error) { return no, r.Scan(&no) })
	return err
}

// grouped fills a page group by group, where the order is that of a facet with few values. The
// further fields of an order apply within each group.
func (s *search) grouped(ctx context.Context, p *Page, query Query) (done bool, err error) {
	o := query.Orders[0]
	if o.Facet == "" {
		return false, nil
	}
	values, err := s.values(ctx, o.Facet, limits.groups+1)
	if err != nil || len(values) > limits.groups {
		return false, err
	}
	if o.Desc {
		slices.Reverse(values)
	}
	skip := query.Offset
	for _, value := range values {
		group := *s
		one, err := s.resolve(ctx, Has(o.Facet, value))
		if err != nil {
			return false, err
		}
		group.filter = All(one, s.filter)
		group.cols, group.index = columns(group.filter), group.narrow(group.filter)
		var part Page
		rest := Query{Orders: query.Orders[1:], Offset: skip, Limit: query.Limit - len(p.Numbers)}
		if skip <= limits.few { // to walk past so many costs less than a count
			if err := group.part(ctx, &part, rest); err != nil {
				return false, err
			}
		}
		if skip > 0 && len(part.Numbers) == 0 {
			n, estimate, err := group.total(ctx)
			if err != nil {
				return false, err
			}
			if estimate && n <= skip { // it is not known where the next group begins
				p.Numbers = p.Numbers[:0]
				return false, nil
			}
			if n <= skip {
				skip -= n
				continue
			}
			if err := group.part(ctx, &part, rest); err != nil {
				return false, err
			}
		}
		p.Numbers, skip = append(p.Numbers, part.Numbers...), 0
		if len(p.Numbers) == query.Limit {
			break
		}
	}
	return true, nil
}
