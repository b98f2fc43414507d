// Package port finds the open TCP and UDP ports of hosts by connecting to them.
//
// One loop holds all connections that are under way. What it learns sets its pace: the
// time that a host's answers take bounds how long the next is waited for, answers widen
// the window of connections in flight and losses narrow it, and a host on which nothing
// answers is left after the ports that would most likely have. No connection is made
// before the guard has decided on its very address and port.
package port

import (
	"container/heap"
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Target is an address to be scanned.
type Target struct {
	Name     string // the host name on whose word the address is dialled; "" when it was named itself
	Addr     netip.Addr
	Except   []uint16 // ports of the list that are not tried
	Thorough bool     // try up to a thousand ports before the host counts as dead, not sixteen
}

// Config is how to scan. Dial or Admit must be set.
type Config struct {
	// Admit decides on each address and port before its packet; an error refuses it. When
	// set, connections are made directly, which is much the fastest. When nil, each goes
	// through Dial.
	Admit func(name string, to netip.AddrPort) error
	// Dial connects to host:port, where host is the target's name, or its address.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Pace bounds the connections over all hosts; nil is as fast as answers come.
	Pace *discover.Pace
	// Flying is the most connections under way; 0 is what the process's limit of open
	// files allows, at most 8192.
	Flying int
	// HostTime is the most time for one host; 0 is 15 minutes.
	HostTime time.Duration
}

// Result is what the scan learned of a target.
type Result struct {
	Open   []uint16 // ascending
	Alive  bool     // something answered, if only to refuse
	Tried  int      // ports that were tried
	Silent int      // of those, ports from which no answer came
	Denied int      // ports that the guard refused
	Why    string   // of the first refusal
	Note   string   // why not all ports were tried; "" when they were
}

// The bounds of a scan.
const (
	maxFlying   = 8192
	startFlying = 4096
	maxDialling = 256  // with a goroutine for each
	probeDead   = 16   // ports of a host that never answers
	probeQuiet  = 1000 // the same, of a thorough target
	maxOpen     = 1024 // open ports of one host: what has more accepts everything
	hostTime    = 15 * time.Minute
	idle        = 100 * time.Millisecond // the longest the loop sleeps without a look at ctx
	burst       = 64                     // connections between two looks at the answers
	strained    = 10 * time.Millisecond  // the pause when the system has no more sockets
	maxStrain   = 500                    // such pauses in a row end the scan
	lateness    = 20 * time.Millisecond  // of the loop, from which on it counts
)

// outcome is how a connection ended.
type outcome int

const (
	pending     outcome = iota // it has not
	opened                     // accepted
	refused                    // by a reset: the host is there
	unreachable                // so says a router, a firewall or the neighbour's silence
	unroutable                 // there is no way from here
	exhausted                  // of our own means: try again
	denied                     // by the guard, from behind a dial
)

// connector makes connections without waiting for them.
type connector interface {
	// start begins a connection as number slot. Unless pending, that is its end.
	start(slot int, h *host, port uint16) outcome
	// wait tells of connections that ended, after at most d.
	wait(d time.Duration, ended func(slot int, o outcome))
	// abandon gives up a connection that is pending.
	abandon(slot int)
	// close ends what is left.
	close()
}

// flight is a connection under way.
type flight struct {
	host    *host
	port    uint16
	second  bool
	pending bool
	sent    time.Time
	round   int // how often the slot was used; tells a new flight from an old deadline
}

// scan is one run.
type scan struct {
	Config

	conns   connector
	queue   []*host // with work and room, in turn
	flights []flight
	free    []int
	due     deadlines
	flying  int
	window  window
	strain  int           // times in a row that the system had no socket for us
	lag     time.Duration // that the loop itself was late, over all: nobody's answer is late for it
	now     time.Time
}

// Scan tries the ports of each target in their order, and returns what it learned of each target.
// The error is that of ctx, or of a system without sockets; the results say what was
// known by then.
func Scan(ctx context.Context, cfg Config, targets []Target, ports []uint16) ([]Result, error) {
	s := &scan{Config: cfg, now: time.Now()}
	most := min(descriptors(), maxFlying)
	if cfg.Admit == nil {
		most = min(most, maxDialling)
	}
	if cfg.Flying > 0 {
		most = min(most, cfg.Flying)
	}
	if s.HostTime <= 0 {
		s.HostTime = hostTime
	}
	var err error
	if s.conns, err = newConnector(ctx, cfg, most); err != nil {
		return nil, err
	}
	defer s.conns.close()
	s.window = window{size: float64(min(most, startFlying)), threshold: float64(most), most: float64(most)}
	hosts := s.admit(targets, ports, most)
	err = s.run(ctx)
	results := make([]Result, len(hosts))
	for i, h := range hosts {
		if !h.over && !h.Alive && len(h.ports) > 0 {
			h.Note = "nothing answered on its likeliest ports; the others were not tried"
		}
		results[i] = h.result()
	}
	return results, err
}

// admit makes the hosts, each with the ports that the guard lets it be asked on.
func (s *scan) admit(targets []Target, ports []uint16, most int) []*host {
	hosts := make([]*host, len(targets))
	networks := map[netip.Prefix]*roundTrip{}
	for i, t := range targets {
		t.Addr = t.Addr.Unmap()
		near := neighbourhood(t.Addr)
		if networks[near] == nil {
			networks[near] = &roundTrip{}
		}
		h := &host{Target: t, ports: ports, network: networks[near], budget: probeDead, patience: shortest,
			window: window{size: firstWindow, threshold: float64(most), most: float64(most)}}
		if s.Admit == nil {
			h.patience = dialled
		}
		if t.Thorough {
			h.budget = probeQuiet
		}
		if len(t.Except) > 0 {
			h.ports = slices.DeleteFunc(slices.Clone(ports), func(p uint16) bool { return slices.Contains(t.Except, p) })
		}
		hosts[i] = h
		s.offer(h)
	}
	return hosts
}

// offer puts a host into the queue when it has work and room, and is not in it.
func (s *scan) offer(h *host) {
	if !h.queued && h.room() {
		h.queued = true
		s.queue = append(s.queue, h)
	}
}

// run is the loop. It ends when no host has work and no connection is under way.
func (s *scan) run(ctx context.Context) error {
	for {
		s.now = time.Now()
		for range burst {
			if len(s.queue) == 0 || s.flying >= int(s.window.size) || s.early() > 0 {
				break
			}
			s.launch()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.strain > maxStrain {
			return errNoSockets
		}
		if len(s.queue) == 0 && s.flying == 0 {
			return nil
		}
		pause := s.pause()
		before := time.Now()
		s.conns.wait(pause, s.ended)
		if late := time.Since(before) - pause; late > lateness {
			s.lag += late
		}
		s.expire()
	}
}

// early is how long the next connection must wait for the pace's sake.
func (s *scan) early() time.Duration { return s.Pace.Early(s.now) }

// pause is how long the loop may sleep: not at all when it could send.
func (s *scan) pause() time.Duration {
	d := idle
	if len(s.due) > 0 {
		d = min(d, time.Until(s.due[0].at.Add(s.lag)))
	}
	if len(s.queue) > 0 && s.flying < int(s.window.size) {
		d = min(d, s.early())
	}
	if s.strain > 0 {
		d = max(d, strained)
	}
	return max(d, 0)
}

// launch begins the next connection of the next host.
func (s *scan) launch() {
	h := s.queue[0]
	s.queue, h.queued = s.queue[1:], false
	if s.ripe(h); !h.work() {
		return
	}
	port, second := h.next()
	to := netip.AddrPortFrom(h.Addr, port)
	if s.Admit != nil && !second {
		if err := s.Admit(h.Name, to); err != nil {
			h.Tried--
			h.deny(err)
			s.offer(h)
			return
		}
	}
	s.Pace.Take(s.now)
	slot := s.slot()
	f := &s.flights[slot]
	began := time.Now()
	*f = flight{host: h, port: port, second: second, pending: true, sent: began, round: f.round + 1}
	h.flying++
	s.flying++
	if o := s.conns.start(slot, h, port); o != pending {
		s.ended(slot, o)
		return
	}
	heap.Push(&s.due, deadline{began.Add(h.timeout() - s.lag), slot, f.round})
	s.offer(h)
}

// ripe starts the host's clock, and ends the host when its time is over.
func (s *scan) ripe(h *host) {
	switch {
	case h.started.IsZero():
		h.started = s.now
	case s.now.Sub(h.started) > s.HostTime:
		h.stop("its time was over before all ports were tried")
	}
}

// slot finds a number for a flight.
func (s *scan) slot() int {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.flights = append(s.flights, flight{})
	return len(s.flights) - 1
}

// ended takes in the end of a flight.
func (s *scan) ended(slot int, o outcome) {
	f := s.flights[slot]
	if !f.pending {
		return
	}
	s.flights[slot].pending = false
	s.free = append(s.free, slot)
	s.flying--
	h := f.host
	h.flying--
	if o != exhausted {
		s.strain = 0
	}
	switch now := time.Now(); o {
	case opened, refused:
		if o == opened {
			h.open(f.port)
		}
		s.window.grow(1)
		if h.answered(now.Sub(f.sent), f.second, now) {
			s.window.lose(firstWindow)
		}
	case unreachable: // a firewall that says so, or an address that nobody holds
		if !f.second {
			h.Silent++
		}
	case unroutable:
		h.stop("there is no route to it")
	case exhausted:
		s.strain++
		s.window.lose(leastWindow)
		h.putBack(f.port, f.second)
	case denied:
		h.Tried--
		h.deny(errRefused)
	case pending: // its time is over
		h.silent(f.port, f.second)
	}
	s.offer(h)
}

// expire gives up the flights whose time is over.
func (s *scan) expire() {
	now := time.Now().Add(-s.lag)
	for len(s.due) > 0 && !s.due[0].at.After(now) {
		d := heap.Pop(&s.due).(deadline) //nolint:forcetypeassert // it holds nothing else
		if f := s.flights[d.slot]; f.pending && f.round == d.round {
			s.conns.abandon(d.slot)
			s.ended(d.slot, pending)
		}
	}
}

// deadline is when a flight is given up, on a clock that stood while the loop was late.
type deadline struct {
	at          time.Time
	slot, round int
}

// deadlines is a heap, the nearest first.
type deadlines []deadline

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push adds a deadline, for container/heap.
func (d *deadlines) Push(x any) { *d = append(*d, x.(deadline)) } //nolint:forcetypeassert // only expire's own

// Pop takes the last, for container/heap.
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
