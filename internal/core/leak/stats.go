package leak

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Stats are counts of the leaks of a domain or of an address.
type Stats struct {
	Devices   int // different ones, by their hardware id, name or address
	Combolist int // leaks of lists of logins, which say nothing of where they were used
	Countries []Group
	Of        map[Type]TypeStats // Personal, Employee and Customer
	Cut       bool
}

// TypeStats are counts of the leaks of a type.
type TypeStats struct {
	Count  int
	URLs   []Group // the hosts that occur most often
	Months []Month // the first one first
	Sample []Leak  // the latest
}

// Month is how many leaks were taken in a month.
type Month struct {
	Time  time.Time // its first day
	Count int
}

const (
	maxURLs   = 10
	maxSample = 10
)

// Stats counts the leaks of a domain or of an address, one of which must be given. Forbidden (domain_not_verified,
// team_admin_required) when it is not the caller's.
func (ls *Leaks) Stats(ctx context.Context, domain, email string) (out Stats, err error) {
	q := Query{Type: All, Domain: domain, Email: email}
	if err := q.clean(); err != nil {
		return out, err
	}
	v, err := ls.viewer(ctx, q)
	if err != nil {
		return out, err
	}
	devices, countries := map[string]int{}, map[string]int{}
	of := map[Type]*counter{Personal: newCounter(), Employee: newCounter(), Customer: newCounter()}
	out.Cut, err = ls.read(ctx, v, q.Email, func(l *Leak) {
		if device := cmp.Or(l.HardwareID, l.Hostname, l.DeviceIP); device != "" {
			devices[device]++
		}
		if l.Country != "" {
			countries[l.Country]++
		}
		if l.URL == "" {
			out.Combolist++
		}
		of[l.Type].add(l)
	})
	out.Devices, out.Countries, out.Of = len(devices), largest(countries, maxGroups), map[Type]TypeStats{}
	for t, c := range of {
		out.Of[t] = c.stats()
	}
	return out, err
}

// counter counts the leaks of a type.
type counter struct {
	n            int
	urls, months map[string]int
	sample       []Leak
}

func newCounter() *counter { return &counter{urls: map[string]int{}, months: map[string]int{}} }

const monthFormat = "2006-01"

func (c *counter) add(l *Leak) {
	c.n++
	if host := l.host(); host != "" {
		c.urls[host]++
	}
	if !l.LogDate.IsZero() {
		c.months[l.LogDate.Format(monthFormat)]++
	}
	if len(c.sample) < maxSample { // the latest come first
		c.sample = append(c.sample, *l)
	}
}

func (c *counter) stats() TypeStats {
	out := TypeStats{Count: c.n, URLs: largest(c.urls, maxURLs), Sample: c.sample}
	for text, n := range c.months {
		month, _ := time.Parse(monthFormat, text) // as add wrote it
		out.Months = append(out.Months, Month{month, n})
	}
	slices.SortFunc(out.Months, func(a, b Month) int { return a.Time.Compare(b.Time) })
	return out
}
