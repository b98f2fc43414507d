package vex

import (
	"slices"
	"strconv"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
)

// Collected are findings by vulnerability and product, for CSAF and OpenVEX.
type Collected struct {
	products []string
	numbers  map[string]int // of products, by name
	groups   []*group
	byID     map[string]*group
}

// group is a vulnerability with what is said about each product.
type group struct {
	id    string
	isCVE bool
	first fact.Finding   // the first finding, for its texts
	said  map[int]string // the status of CSAF, by product
	order []int          // of products
	why   map[int]state
	seen  map[int]fact.Finding // when it was seen, and where; by product
}

// Add adds a finding.
func (c *Collected) Add(f *fact.Finding) {
	if c.numbers == nil {
		c.numbers, c.byID = map[string]int{}, map[string]*group{}
	}
	id, isCVE := vulnerability(f)
	g := c.byID[id]
	if g == nil {
		g = &group{
			id:    id,
			isCVE: isCVE,
			first: *f,
			said:  map[int]string{},
			why:   map[int]state{},
			seen:  map[int]fact.Finding{},
		}
		c.byID[id] = g
		c.groups = append(c.groups, g)
	}
	name := product(f)
	n, known := c.numbers[name]
	if !known {
		n = len(c.products)
		c.numbers[name] = n
		c.products = append(c.products, name)
	}
	s := stateOf(f.Status)
	said, before := g.said[n]
	if !before {
		g.order = append(g.order, n)
	}
	if !before || slices.Index(worst, s.csaf) < slices.Index(worst, said) {
		g.said[n], g.why[n] = s.csaf, s
		g.seen[n] = fact.Finding{Place: f.Place, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, Remediation: f.Remediation}
	}
}

func productID(n int) string { return "CSAFPID-" + strconv.Itoa(n+1) }

// with are the products of a group about which this is said, in order.
func (g *group) with(said string) (out []int) {
	for _, n := range g.order {
		if g.said[n] == said {
			out = append(out, n)
		}
	}
	return out
}
