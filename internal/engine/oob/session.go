package oob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/oast"
)

// Config is how a Session asks. Zero fields get defaults.
type Config struct {
	Poll     time.Duration // between two questions; default 5 s
	Cooldown time.Duration // how long interactions are waited for at the end; default 5 s
	Keep     time.Duration // how long a request is remembered; default: to the end of the session
	Requests int           // that are remembered, the newest ones; default 20,000

	OnFault func(err error) // called when the server cannot be asked, once for each reason; may be nil
}

// maxEarly bounds the interactions that came before their request was handed over, which happens after its response.
const maxEarly = 10_000

// maxBytes bounds what is remembered of requests.
const maxBytes = 256 << 20

// Session asks an out-of-band server for interactions until Settle.
type Session struct {
	client *oast.Client
	config Config
	stop   context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	expect  map[string]*expected // by ID
	order   []*expected          // the oldest first
	bytes   int
	early   map[string][]oast.Interaction
	waiting int // in early
	dropped int
	last    string // what OnFault was called with
}

// expected is a request whose names may be contacted.
type expected struct {
	ids   []string
	found func(oast.Interaction)
	size  int
	since time.Time
}

// NewSession begins to ask.
func NewSession(client *oast.Client, c Config) *Session {
	if c.Poll <= 0 {
		c.Poll = 5 * time.Second
	}
	if c.Cooldown <= 0 {
		c.Cooldown = 5 * time.Second
	}
	if c.Requests <= 0 {
		c.Requests = 20_000
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Session{
		client: client, config: c, stop: stop, done: make(chan struct{}), expect: map[string]*expected{},
		early: map[string][]oast.Interaction{},
	}
	go s.run(ctx)
	return s
}

// Name is a Source.
func (s *Session) Name() (Name, bool) { return NamesOf(s.client.Names())() }

// Expect calls found with each interaction for one of these IDs, one call at a time. size is about how many bytes found
// holds.
func (s *Session) Expect(ids []string, size int, found func(oast.Interaction)) {
	e := &expected{ids: ids, found: found, size: size, since: time.Now()}
	s.mu.Lock()
	var due []oast.Interaction
	for _, id := range ids {
		s.expect[id] = e
		due = append(due, s.early[id]...)
		s.waiting -= len(s.early[id])
		delete(s.early, id)
	}
	s.order, s.bytes = append(s.order, e), s.bytes+size
	s.forget()
	s.mu.Unlock()
	for _, one := range due {
		found(one)
	}
}

// forget drops the oldest requests when there are too many, or when their time has come. The caller holds mu.
func (s *Session) forget() {
	for len(s.order) > 0 {
		e := s.order[0]
		old := s.config.Keep > 0 && time.Since(e.since) > s.config.Keep
		full := len(s.order) > s.config.Requests || s.bytes > maxBytes
		if !old && !full {
			return
		}
		if full {
			s.dropped++
		}
		s.order[0] = nil
		s.order, s.bytes = s.order[1:], s.bytes-e.size
		for _, id := range e.ids {
			if s.expect[id] == e { // a later request may have taken it over
				delete(s.expect, id)
			}
		}
	}
}

// run asks until the context ends.
func (s *Session) run(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(s.config.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.ask(ctx)
		}
	}
}

// askTime is how long the questions for all that came in may take.
const askTime = 10 * time.Second

// ask asks for all that came in. It ends although the session ends meanwhile: what the server has handed over, it does
// not hand over again.
func (s *Session) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	err := s.client.Drain(ctx, func(all []oast.Interaction) {
		for _, one := range all {
			s.take(one)
		}
	})
	if err == nil {
		return
	}
	s.mu.Lock()
	known := s.last == err.Error()
	s.last = err.Error()
	s.mu.Unlock()
	if !known && s.config.OnFault != nil {
		s.config.OnFault(err)
	}
}

func (s *Session) take(one oast.Interaction) {
	s.mu.Lock()
	s.forget()
	e := s.expect[one.UniqueID]
	switch {
	case e != nil:
	case s.waiting < maxEarly:
		s.early[one.UniqueID] = append(s.early[one.UniqueID], one)
		s.waiting++
	default:
		s.dropped++
	}
	s.mu.Unlock()
	if e != nil {
		e.found(one)
	}
}

// Settle waits for the cool-down if a request is remembered, asks for the last time and ends the session on the server.
func (s *Session) Settle(ctx context.Context) error {
	s.mu.Lock()
	open := len(s.order) > 0
	s.mu.Unlock()
	if open {
		over := time.NewTimer(s.config.Cooldown)
		defer over.Stop()
		select {
		case <-over.C:
		case <-ctx.Done():
		}
	}
	s.stop()
	<-s.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if open {
		s.ask(ctx)
	}
	err := s.client.Close(ctx)
	if errors.Is(err, oast.ErrSession) {
		err = nil // it was told before
	}
	if s.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests were forgotten before an interaction could come", s.dropped))
	}
	return err
}
