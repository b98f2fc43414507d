// Package port finds the open TCP ports of hosts by connecting to them.
//
// One loop holds all connections in flight and adapts to the answers: the time that a host's answers take bounds the
// wait for the next, answers widen the window of connections and losses narrow it, and a silent host is given up after
// its likeliest ports. No connection is made before the guard has decided on its very address and port.
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
	Name     string // the host name that led to the address; "": the address itself was named
	Addr     netip.Addr
	Except   []uint16 // ports of the list that are not tried
	Thorough bool     // try up to a thousand ports before the host counts as dead, not sixteen
}

// Config is how to scan. Dial or Admit must be set.
type Config struct {
	// Admit decides on each address and port before its packet; an error refuses it. When nil, Dial decides.
	Admit func(name string, to netip.AddrPort) error
	// Dial connects to host:port, where host is the target's name, or with Admit its address. When nil, connections are
	// made directly, which is much the fastest.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Pace bounds the connections over all hosts; nil does not.
	Pace *discover.Pace
}

// Result is that of one target.
type Result struct {
	Open   []uint16 // ascending
	Alive  bool     // something answered, if only to refuse
	Tried  int      // ports that were tried
	Denied int      // ports that the guard refused
	Why    string   // of the first refusal
	Note   string   // why not all ports were tried; "" when they were
}

// The bounds of a scan.
const (
	maxFlying   = 8192 // connections in flight, if the limit of open files allows
	startFlying = 4096
	maxDialling = 256                    // with a goroutine for each
	probeDead   = 16                     // ports of a host that never answers
	probeQuiet  = 1000                   // the same, of a thorough target
	maxOpen     = 1024                   // open ports of one host: one with more accepts everything
	hostTime    = 15 * time.Minute       // for one host
	idle        = 100 * time.Millisecond // the longest sleep of the loop between checks of ctx
	burst       = 64                     // connections between two reads of answers
	strained    = 10 * time.Millisecond  // the pause when the system has no more sockets
	maxStrain   = 500                    // such pauses in a row end the scan
	lateness    = 20 * time.Millisecond  // of the loop that counts
)

// outcome is how a connection ended.
type outcome int

const (
	pending     outcome = iota // it has not
	opened                     // accepted
	refused                    // by a reset: the host is there
	unreachable                // by a router, a firewall, or ARP without answer
	unroutable                 // there is no way from here
	exhausted                  // we have no sockets: try again
	denied                     // by the guard, within Dial
)

// connector makes connections without waiting for them.
type connector interface {
	// start begins a connection with the number slot. Unless pending, that is its outcome.
	start(slot int, h *host, port uint16) outcome
	// wait reports connections that ended, after at most d.
	wait(d time.Duration, ended func(slot int, o outcome))
	// abandon gives up a connection that is pending.
	abandon(slot int)
	// close ends what is left.
	close()
}

type flight struct {
	host    *host
	port    uint16
	second  bool
	pending bool
	sent    time.Time
	round   int // how often the slot was used: an old deadline has another
}

type scan struct {
	Config

	conns   connector
	queue   []*host // with work and room, in turn
	flights []flight
	free    []int
	due     deadlines
	flying  int
	window  window
	strain  int           // times in a row without a socket
	lag     time.Duration // the total delay of the loop itself, added to deadlines
	now     time.Time
}

// Scan tries the ports of each target in their order. The error is that of ctx, or of a system without sockets; the
// results say what was known by then.
func Scan(ctx context.Context, cfg Config, targets []Target, ports []uint16) ([]Result, error) {
	s := &scan{Config: cfg, now: time.Now()}
	most := min(descriptors(), maxFlying)
	if cfg.Dial != nil {
		most = min(most, maxDialling)
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
		slices.Sort(h.Open)
		results[i] = h.Result
	}
	return results, err
}

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
		if s.Dial != nil {
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

func (s *scan) offer(h *host) {
	if !h.queued && h.room() {
		h.queued = true
		s.queue = append(s.queue, h)
	}
}

// run is the loop. It ends when no host has work and no connection is in flight.
func (s *scan) run(ctx context.Context) error {
	for {
		s.now = time.Now()
		for range burst {
			if len(s.queue) == 0 || s.flying >= int(s.window.size) || s.Pace.UntilNext(s.now) > 0 {
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

// pause is how long the loop may sleep: not at all when it could send.
func (s *scan) pause() time.Duration {
	d := idle
	if len(s.due) > 0 {
		d = min(d, time.Until(s.due[0].at.Add(s.lag)))
	}
	if len(s.queue) > 0 && s.flying < int(s.window.size) {
		d = min(d, s.Pace.UntilNext(s.now))
	}
	if s.strain > 0 {
		d = max(d, strained)
	}
	return max(d, 0)
}

func (s *scan) launch() {
	h := s.queue[0]
	s.queue, h.queued = s.queue[1:], false
	if s.checkTime(h); !h.work() {
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
	s.Pace.Reserve(s.now)
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

func (s *scan) checkTime(h *host) {
	switch {
	case h.started.IsZero():
		h.started = s.now
	case s.now.Sub(h.started) > hostTime:
		h.stop("its time was over before all ports were tried")
	}
}

func (s *scan) slot() int {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.flights = append(s.flights, flight{})
	return len(s.flights) - 1
}

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
	case unreachable: // there is nothing to learn
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

// deadline is when a flight is given up, on a clock without the delays of the loop.
type deadline struct {
	at          time.Time
	slot, round int
}

// deadlines is a heap, the nearest first.
type deadlines []deadline

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *deadlines) Push(x any) { *d = append(*d, x.(deadline)) } //nolint:forcetypeassert // only expire's own

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
