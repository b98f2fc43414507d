package tools

import (
	"context"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Boundary is what bounds the tools of one task: what its instructions name, what its
// request says besides, what its team leaves out, and what the operator denies.
type Boundary struct {
	Plan agent.Plan         // of the instructions: targets and exclusions
	Doc  task.Scope         // of the request
	Team exclusion.Patterns // what the team leaves out
	Deny []netip.Prefix     // networks that are never dialled
	// OnDenied is told of each attempt to leave the scope, from any goroutine; nil drops it.
	OnDenied func(Denial)
	Now      func() time.Time // time.Now when nil
	Budget
}

// Budget is how many requests may be sent to targets, of which Sent were by earlier runs;
// 0 is no bound.
type Budget struct{ Requests, Sent int64 }

// Denial is an attempt to leave the scope. No packet left for Place.
type Denial struct {
	Place string `json:"place"` // host:port, or a URL
	Why   string `json:"why"`
}

// scope holds the tools to a Boundary. Every connection of every tool is dialled by it.
type scope struct {
	Boundary
	net   *netguard.Scope
	names []string // host:port, or hosts, that are in scope
	sent  atomic.Int64
	spent atomic.Bool // Requests kept something from being sent
}

// newScope fails with Invalid when something is named that cannot be a target.
func newScope(b Boundary) (*scope, error) {
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.OnDenied == nil {
		b.OnDenied = func(Denial) {}
	}
	s := &scope{Boundary: b, names: b.Doc.Hosts}
	if len(s.names) == 0 {
		for _, t := range b.Plan.Targets {
			s.names = append(s.names, scopeTexts(t, b.Plan.Ports)...)
		}
	}
	targets := make([]netguard.Target, 0, len(s.names))
	for _, text := range s.names {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, errs.From(err).At("task")
		}
		targets = append(targets, target)
	}
	for _, text := range b.Doc.Exclude {
		s.Plan.Excluded = append(slices.Clip(s.Plan.Excluded), excludedTarget(text))
	}
	deny := slices.Concat(b.Deny, b.Team.Denied())
	for _, x := range s.Plan.Excluded {
		if p, ok := excludedRange(x); ok {
			deny = append(deny, p)
		}
	}
	var err error
	s.net, err = netguard.NewScope(targets, netguard.Limits{Deny: deny, OnDenied: func(d netguard.Denied) {
		s.OnDenied(Denial{d.Addr, d.Why})
	}})
	return s, err
}

// excludedTarget reads what a request leaves out: a URL, or a host with or without a port
// and a path.
func excludedTarget(text string) agent.Target {
	text = strings.ToLower(strings.TrimSpace(text))
	if p, err := netguard.ParsePrefix(text); err == nil && !p.IsSingleIP() {
		return agent.Target{Raw: text, Kind: agent.KindCIDR, Prefix: p.String()}
	}
	raw := text
	if !strings.Contains(text, "://") {
		text = "any://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return agent.Target{Raw: raw, Kind: agent.KindHost, Host: raw}
	}
	port, _ := strconv.Atoi(u.Port()) // "" is 0: any; a host may have capitals behind a %C3%84
	return agent.Target{Raw: raw, Kind: agent.KindHost, Host: strings.ToLower(u.Hostname()), Port: port, Path: strings.TrimSuffix(u.EscapedPath(), "/")}
}

// Dial connects to a place in scope; it is what every tool dials with.
func (s *scope) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if why := s.refusesAddr(addr); why != "" {
		return nil, s.refuse(addr, why)
	}
	return s.net.Dial(ctx, network, addr)
}

func (s *scope) refusesAddr(addr string) string {
	host, text, err := net.SplitHostPort(addr)
	port, perr := strconv.Atoi(text)
	switch {
	case err != nil || perr != nil:
		return "it is not a host and a port"
	case s.Doc.Intrusiveness == task.Passive:
		return "the task is passive"
	case s.Doc.ExpiresAt != nil && !s.Now().Before(*s.Doc.ExpiresAt):
		return "the scope has expired"
	case len(s.Doc.Ports) > 0 && !slices.Contains(s.Doc.Ports, port):
		return "its port is not in scope"
	case s.Team.Excludes(addr):
		return "the team leaves it out"
	case s.Plan.Excludes(agent.Target{Kind: agent.KindHost, Host: strings.ToLower(host), Port: port}):
		return "the task leaves it out"
	}
	return ""
}

// Allow decides on a request of the engine before it is sent, and counts it.
func (s *scope) Allow(u *url.URL) bool {
	return s.allows("", u) == nil && s.take() == nil
}

// errSpent is why a request is not sent that would be one too many.
var errSpent = errs.New(errs.Forbidden, "request_budget_reached", "The budget of requests is used up.")

// take counts a request that is about to be sent, or says that there may be none.
func (s *scope) take() error {
	if n := s.sent.Add(1); s.Requests > 0 && n+s.Sent > s.Requests {
		s.sent.Add(-1)
		s.spent.Store(true)
		return errSpent
	}
	return nil
}

// left is how many requests may still be sent.
func (s *scope) left() int64 {
	if s.Requests == 0 {
		return math.MaxInt64
	}
	return max(0, s.Requests-s.Sent-s.sent.Load())
}

// allows says why a request over HTTP is not in scope, as far as that is known without
// dialling; nil when it is. An empty method is any.
func (s *scope) allows(method string, u *url.URL) error {
	why := ""
	switch {
	case s.Plan.Excludes(placeOf(u)):
		why = "the task leaves it out"
	case method != "" && len(s.Doc.Methods) > 0 && !slices.Contains(s.Doc.Methods, method):
		why = "the method " + method + " is not in scope"
	case len(s.Doc.Paths) > 0 && !slices.ContainsFunc(s.Doc.Paths, func(p string) bool { return underPath(p, u) }):
		why = "its path is not in scope"
	case !s.net.AllowsURL(u):
		why = "it is not in scope"
	}
	if why == "" {
		return nil
	}
	return s.refuse(u.Redacted(), why)
}

// underPath reports whether a URL lies under a path as a server would see it.
func underPath(base string, u *url.URL) bool {
	return agent.Plan{Excluded: []agent.Target{{Kind: agent.KindPath, Path: base}}}.Excludes(placeOf(u))
}

// knows reports whether a name may be looked up: a host that is in scope on some port.
func (s *scope) knows(name string) bool {
	ports := append([]int{80, 443}, s.Doc.Ports...)
	for _, text := range s.names {
		if _, port, err := net.SplitHostPort(text); err == nil {
			n, _ := strconv.Atoi(port) // a name without a number has no such port
			ports = append(ports, n)
		}
	}
	return slices.ContainsFunc(ports, func(port int) bool {
		addr := net.JoinHostPort(name, strconv.Itoa(port))
		return s.refusesAddr(addr) == "" && s.net.AllowsURL(&url.URL{Scheme: "http", Host: addr})
	})
}

// refuse tells of a refusal and makes its error, which the engine counts as denied.
func (s *scope) refuse(place, why string) error {
	place = clip(place, maxReason)
	s.OnDenied(Denial{place, why})
	return errs.New(errs.Forbidden, netguard.CodeOutOfScope, "%s is refused: %s.", place, why)
}

// rate is the engine's limit of requests a second.
func (s *scope) rate() int { return int(math.Ceil(s.Plan.RateLimit)) }

// words are the scope for people and models.
func (s *scope) words() string {
	var b strings.Builder
	line := func(what string, list []string) {
		if len(list) > 0 {
			b.WriteString(what + ": " + strings.Join(list, ", ") + "\n")
		}
	}
	line("In scope", s.names)
	if len(s.names) == 0 {
		b.WriteString("Nothing is in scope: no target may be reached. Ask for one, or work with what is known.\n")
	}
	var out []string
	for _, x := range s.Plan.Excluded {
		out = append(out, x.String())
	}
	line("Left alone", out)
	var ports []string
	for _, p := range s.Doc.Ports {
		ports = append(ports, strconv.Itoa(p))
	}
	line("Only these ports", ports)
	line("Only under these paths", s.Doc.Paths)
	line("Only these methods", s.Doc.Methods)
	if s.Doc.ExpiresAt != nil {
		line("Until", []string{s.Doc.ExpiresAt.UTC().Format(time.RFC3339)})
	}
	if s.Doc.Intrusiveness == task.Passive {
		b.WriteString("Passive: nothing is sent to any target.\n")
	}
	return b.String()
}

func clip(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
