package lab

import (
	"hash/fnv"
	"strconv"
	"sync"
)

// Crowd is one site for many templates. When several send the same request, one of them gets its
// answer; which one depends on the round.
type Crowd struct {
	sites []*Site
	round int

	mu    sync.Mutex
	known map[string][]*Site // by request
}

// NewCrowd combines the positive sites of templates.
func NewCrowd(templates []*Template, round int) *Crowd {
	c := &Crowd{round: round, known: map[string][]*Site{}}
	for _, t := range templates {
		c.sites = append(c.sites, NewSite(t, Positive))
	}
	return c
}

// Reset forgets values from earlier requests.
func (c *Crowd) Reset() {
	for _, s := range c.sites {
		s.Reset()
	}
}

// site is the site that answers a request: of the templates that send this request, the one that the
// round's random numbers select.
func (c *Crowd) site(method, target, body string) *Site {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := method + " " + target + "\n" + body
	claimants, ok := c.known[key]
	if !ok {
		for _, s := range c.sites {
			if s.sends(method, target) {
				claimants = append(claimants, s)
			}
		}
		c.known[key] = claimants
	}
	if len(claimants) == 0 {
		return nil
	}
	dice := fnv.New32a()
	dice.Write([]byte(strconv.Itoa(c.round) + method + target))
	return claimants[int(dice.Sum32()&0xffff)%len(claimants)]
}

// sends reports whether the template has a request with this method and target. Targets
// that consist of placeholders only match everything and do not count.
func (s *Site) sends(method, target string) bool {
	plain := unescaped(target)
	for _, r := range s.routes {
		if (r.method == method || r.method == "" && method == "GET") && r.literal &&
			(r.target.re.MatchString(plain) || r.target.re.MatchString(target)) {
			return true
		}
	}
	return false
}
