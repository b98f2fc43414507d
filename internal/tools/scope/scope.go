// Package scope limits the tools of a task to the hosts that its instruction and request name, without those that the
// task, the team and the operator exclude. Every tool dials through it, and every request is counted.
package scope

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

// Boundary is what bounds the tools of a task.
type Boundary struct {
	Plan agent.Plan           // of the instructions
	Doc  task.Scope           // of the request
	Team hostpattern.Patterns // exclusions of the team
	Deny []netip.Prefix       // never dialled, by the operator
	// OnDenied gets each attempt to leave the scope, from any goroutine; may be nil.
	OnDenied func(Denial)
	Now      func() time.Time // default time.Now
	// Capture takes the requests that the tools send; nil: nobody asks for them.
	Capture *network.Recorder
	Budget
}

// Budget is how many requests may be sent; Sent are those of earlier runs. 0: no bound.
type Budget struct{ Requests, Sent int64 }

// Denial is a refused attempt to leave the scope.
type Denial struct {
	Address string `json:"place"` // host:port or URL
	Why     string `json:"why"`
}

// Scope enforces a Boundary.
type Scope struct {
	Boundary
	Net   *netguard.Scope
	Names []string // hosts in scope, perhaps with ports
	named []netguard.Target
	deny  []netip.Prefix
	sent  atomic.Int64
	spent atomic.Bool // a request was refused by Requests
}

// New fails with Invalid for a name that cannot be a target.
func New(b Boundary) (*Scope, error) {
	if b.Now == nil {
		b.Now = time.Now
	}
	if b.OnDenied == nil {
		b.OnDenied = func(Denial) {}
	}
	s := &Scope{Boundary: b, Names: b.Doc.Hosts}
	if len(s.Names) == 0 {
		for _, t := range b.Plan.Targets {
			s.Names = append(s.Names, HostPorts(t, b.Plan.Ports)...)
		}
	}
	targets := make([]netguard.Target, 0, len(s.Names))
	for _, text := range s.Names {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, errs.From(err).At("task")
		}
		targets = append(targets, target)
	}
	for _, text := range b.Doc.Exclude {
		s.Plan.Excluded = append(slices.Clip(s.Plan.Excluded), ExcludedTarget(text))
	}
	deny := slices.Concat(b.Deny, b.Team.Denied())
	for _, x := range s.Plan.Excluded {
		if p, ok := ExcludedRange(x); ok {
			deny = append(deny, p)
		}
	}
	s.named, s.deny = targets, deny
	var err error
	s.Net, err = netguard.NewScope(targets, netguard.Limits{Deny: deny, OnDenied: func(d netguard.Denied) {
		s.OnDenied(Denial{d.Addr, d.Why})
	}})
	return s, err
}

// Targets are what is in scope, without the exclusions that are not networks.
func (s *Scope) Targets() []netguard.Target { return s.named }

// Denied are networks that are not dialled.
func (s *Scope) Denied() []netip.Prefix { return s.deny }

// ExcludedTarget reads an exclusion: a URL, or a host, perhaps with port and path.
func ExcludedTarget(text string) agent.Target {
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
	port, _ := strconv.Atoi(u.Port()) // "" is 0: any. Hosts may have encoded capitals
	return agent.Target{Raw: raw, Kind: agent.KindHost, Host: strings.ToLower(u.Hostname()), Port: port,
		Path: strings.TrimSuffix(u.EscapedPath(), "/")}
}

// Dial connects to an address in scope.
func (s *Scope) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if why := s.DenyReason(addr); why != "" {
		return nil, s.Refuse(addr, why)
	}
	return s.Net.Dial(ctx, network, addr)
}

// Connect is Dial for a connection that counts as a request.
func (s *Scope) Connect(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := s.Take(); err != nil {
		return nil, err
	}
	return s.Dial(ctx, network, addr)
}

// DenyReason says why an address may not be dialled, or is empty.
func (s *Scope) DenyReason(addr string) string {
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

// Allow decides on a request of the engine and counts it.
func (s *Scope) Allow(u *url.URL) bool {
	return s.Allows("", u) == nil && s.Take() == nil
}

var errSpent = errs.New(errs.Forbidden, "request_budget_reached", "The budget of requests is used up.")

// Take counts a request before it is sent, or refuses it.
func (s *Scope) Take() error {
	if n := s.sent.Add(1); s.Requests > 0 && n+s.Sent > s.Requests {
		s.sent.Add(-1)
		s.spent.Store(true)
		return errSpent
	}
	return nil
}

// Total is the number of requests sent.
func (s *Scope) Total() int64 { return s.sent.Load() }

// Count counts a request without a check.
func (s *Scope) Count() { s.sent.Add(1) }

// IsSpent reports whether the budget refused a request.
func (s *Scope) IsSpent() bool { return s.spent.Load() }

// Left is how many requests may still be sent.
func (s *Scope) Left() int64 {
	if s.Requests == 0 {
		return math.MaxInt64
	}
	return max(0, s.Requests-s.Sent-s.sent.Load())
}

// Allows refuses a request that is not in scope, as far as known without dialling. An empty method is any.
func (s *Scope) Allows(method string, u *url.URL) error {
	why := ""
	switch {
	case s.Plan.Excludes(TargetOf(u)):
		why = "the task leaves it out"
	case method != "" && len(s.Doc.Methods) > 0 && !slices.Contains(s.Doc.Methods, method):
		why = "the method " + method + " is not in scope"
	case len(s.Doc.Paths) > 0 && !slices.ContainsFunc(s.Doc.Paths, func(p string) bool { return underPath(p, u) }):
		why = "its path is not in scope"
	case !s.Net.AllowsURL(u):
		why = "it is not in scope"
	}
	if why == "" {
		return nil
	}
	return s.Refuse(u.Redacted(), why)
}

// AllowsName reports whether a request may give its server this name, in a Host line or for TLS or the like. The packet
// goes to an address in scope, but on a shared one the name asks another site: it must be in scope too, or be one that
// nobody's site has.
func (s *Scope) AllowsName(name string) bool {
	host := agent.Target{Kind: agent.KindHost, Host: name}
	switch {
	case s.Team.Excludes(name), s.Plan.Excludes(host):
	case s.AllowsHost(name), netguard.NobodysName(name) && s.Net.AllowsName(name):
		return true
	}
	s.OnDenied(Denial{errs.Clip(name, brief.MaxReason), "it is not in scope as the name of a site"})
	return false
}

// underPath reports whether a URL lies under a path as a server would see it.
func underPath(base string, u *url.URL) bool {
	return agent.Plan{Excluded: []agent.Target{{Kind: agent.KindPath, Path: base}}}.Excludes(TargetOf(u))
}

// NamedPorts are the ports in the request or in a name.
func (s *Scope) NamedPorts() []int {
	ports := slices.Clone(s.Doc.Ports)
	for _, text := range s.Names {
		if _, port, err := net.SplitHostPort(text); err == nil {
			n, _ := strconv.Atoi(port) // 0: no port
			ports = append(ports, n)
		}
	}
	return ports
}

// AllowsPort reports whether a port of a host is in scope.
func (s *Scope) AllowsPort(host string, port int) bool {
	addr := net.JoinHostPort(host, strconv.Itoa(port))
	return s.DenyReason(addr) == "" && s.Net.AllowsURL(&url.URL{Scheme: "http", Host: addr})
}

// AllowsHost reports whether a host is in scope on some port, so that its name may be looked up.
func (s *Scope) AllowsHost(name string) bool {
	return slices.ContainsFunc(append(s.NamedPorts(), 80, 443), func(port int) bool { return s.AllowsPort(name, port) })
}

// ReadOnly reports whether an HTTP method changes nothing.
func ReadOnly(method string) bool {
	return slices.Contains([]string{"", http.MethodGet, http.MethodHead, http.MethodOptions}, method)
}

// Refuse reports and returns a refusal, which the engine counts as denied.
func (s *Scope) Refuse(place, why string) error {
	place = errs.Clip(place, brief.MaxReason)
	s.OnDenied(Denial{place, why})
	return errs.New(errs.Forbidden, netguard.CodeOutOfScope, "%s is refused: %s.", place, why)
}

// Rate is the most requests a second.
func (s *Scope) Rate() int { return int(math.Ceil(s.Plan.RateLimit)) }

// Describe describes the scope.
func (s *Scope) Describe() string {
	var b strings.Builder
	line := func(what string, list []string) {
		if len(list) > 0 {
			b.WriteString(what + ": " + strings.Join(list, ", ") + "\n")
		}
	}
	line("In scope", s.Names)
	if len(s.Names) == 0 {
		b.WriteString("Nothing is in scope: no target may be reached. Ask for one, or work with what is known.\n")
	}
	var out []string
	for _, x := range s.Plan.Excluded {
		out = append(out, x.String())
	}
	line("Left alone", out)
	line("Only these ports", strings.Fields(strings.Trim(fmt.Sprint(s.Doc.Ports), "[]")))
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

// HostPorts are a target's names in scope: with its port, the ports of the instruction, or none for all.
func HostPorts(t agent.Target, ports []int) []string {
	if t.Kind == agent.KindCIDR {
		return []string{t.Prefix}
	}
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := cmp.Or(t.Port, map[string]int{"https": 443, "http": 80}[t.Scheme])
	switch {
	case port == 0 && len(ports) == 0:
		return []string{host}
	case t.Port != 0 || len(ports) == 0:
		ports = []int{port}
	}
	out := make([]string, len(ports))
	for i, port := range ports {
		out[i] = host + ":" + strconv.Itoa(port)
	}
	return out
}

// ExcludedRange is the addresses of an exclusion of all ports and paths.
func ExcludedRange(t agent.Target) (netip.Prefix, bool) {
	if t.Port != 0 || t.Scheme != "" || t.Path != "" {
		return netip.Prefix{}, false
	}
	p, err := netguard.ParsePrefix(cmp.Or(t.Prefix, t.Host))
	return p, err == nil
}

// TargetOf is a URL as a target, to compare with exclusions.
func TargetOf(u *url.URL) agent.Target {
	port, _ := strconv.Atoi(u.Port()) // 0: of the scheme
	return agent.Target{Kind: agent.KindURL, Scheme: u.Scheme, Host: strings.ToLower(u.Hostname()), Port: port,
		Path: u.EscapedPath()}
}

// Covers reports whether a range in scope contains p.
func (s *Scope) Covers(p netip.Prefix) bool {
	return slices.ContainsFunc(s.Names, func(text string) bool {
		whole, err := netguard.ParsePrefix(text)
		return err == nil && whole.Bits() <= p.Bits() && whole.Contains(p.Addr())
	})
}
