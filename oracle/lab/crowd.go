package lab

import (
	"hash/fnv"
	"strconv"
	"sync"
)

// Crowd is one site for many templates. Where several ask the same, one of them is
// given its answer; which one changes from round to round.
type Crowd struct {
	sites []*Site
	round int

	mu    sync.Mutex
	known map[string][]*Site // by request
}

// NewCrowd makes a crowd of positive sites.
func NewCrowd(templates []*Template, round int) *Crowd {
	c := &Crowd{round: round, known: map[string][]*Site{}}
	for _, t := range templates {
		c.sites = append(c.sites, NewSite(t, Positive))
	}
	return c
}

// Reset forgets what requests told.
func (c *Crowd) Reset() {
	for _, s := range c.sites {
		s.Reset()
	}
}

// site is whose answer a request gets: among the templates that send just this request,
// the one that the round's dice name.
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

// sends says whether the template has a request with this method and target. Targets
// that are nothing but placeholders match everything and do not count.
func (s *Site) sends(method, target string) bool {
	plain := unescaped(target)
	for _, r := range s.routes {
		if (r.method == method || r.method == "" && method == "GET") && r.literal && (r.target.re.MatchString(plain) || r.target.re.MatchString(target)) {
			return true
		}
	}
	return false
}
