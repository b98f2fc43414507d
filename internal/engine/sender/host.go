package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/pause"
)

// Host is the state of all requests to one host and port: limits, pauses, and whether the host answers.
type Host struct {
	refs int           // users; guarded by Sender.mu
	pace *rate.Limiter // nil without a limit

	mu      sync.Mutex
	max     int             // requests in flight without complaints
	limit   int             // requests in flight now
	busy    int             // in flight
	waiting []chan struct{} // waiting requests, first come first served

	resume         time.Time     // nothing is sent before
	paused         time.Duration // sum of all pauses so far
	goodResponses  int           // responses since the last complaint
	complaints     int           // in a row
	complainedURLs []string      // the first different URLs that it complained about

	spoke     bool          // it has answered
	ignores   int           // probes that it let wait
	misses    int           // requests in a row without a response
	checking  chan struct{} // open while a goroutine checks the host; else nil
	recovered bool          // it was in doubt, and answered then
	giveUpErr error         // why it was given up
	until     time.Time     // when to check again whether it is back
}

// Limits for one host.
const (
	maxIgnores       = 2                      // probes that a host may let wait before it is given up
	maxMisses        = 8                      // requests without a response before the host is in doubt
	giveUpTime       = 30 * time.Second       // until a host that was given up is checked again
	responsesPerSlot = 16                     // responses after which one more request may be in flight
	stallAfter       = 3                      // complaints in a row, or different URLs, that concern the whole host
	firstPause       = 500 * time.Millisecond // after a complaint without Retry-After; doubled each time
	longestPause     = 10 * time.Second
	allPauses        = time.Minute // together, for one host
	maxComplaints    = 3           // about one request, before its last response counts
)

// ErrSilent is why a host was given up in the middle of a scan.
var ErrSilent = errors.New("the host stopped answering")

// Acquire returns the state of a host and port; Release must follow.
func (s *Sender) Acquire(hostPort string) *Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[hostPort]
	if h == nil {
		h = &Host{max: s.cfg.PerHost, limit: s.cfg.PerHost}
		if s.cfg.HostRate > 0 {
			h.pace = s.cfg.limiter(s.cfg.HostRate)
		}
		s.hosts[hostPort] = h
	}
	h.refs++
	return h
}

// Release undoes Acquire.
func (s *Sender) Release(hostPort string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[hostPort]
	if h.refs--; h.refs == 0 {
		delete(s.hosts, hostPort)
	}
}

// enter waits for a slot and for the pauses of the host. It fails if the host was given up. If not, leave must
// follow.
func (h *Host) enter(ctx context.Context) error {
	for {
		if err := h.waitForSlot(ctx); err != nil {
			return err
		}
		h.mu.Lock()
		checking, giveUpErr, resume := h.checking, h.giveUpReason(), h.resume
		h.mu.Unlock()
		err := giveUpErr
		if err == nil && checking != nil {
			h.leave()
			select {
			case <-checking:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err == nil {
			err = pause.For(ctx, time.Until(resume))
		}
		if err == nil {
			err = wait(ctx, h.pace)
		}
		if err != nil {
			h.leave()
		}
		return err
	}
}

func (h *Host) waitForSlot(ctx context.Context) error {
	h.mu.Lock()
	if h.busy < h.limit && len(h.waiting) == 0 {
		h.busy++
		h.mu.Unlock()
		return nil
	}
	slot := make(chan struct{})
	h.waiting = append(h.waiting, slot)
	h.mu.Unlock()
	select {
	case <-slot:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.waiting, slot); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
	} else { // the slot became free meanwhile: pass it on
		h.busy--
		h.grant()
	}
	return ctx.Err()
}

// giveUpReason is why the host was given up; nil if it was not, or if it is time to check it again. The caller holds
// mu.
func (h *Host) giveUpReason() error {
	if h.giveUpErr != nil && time.Now().After(h.until) {
		h.giveUpErr, h.misses = nil, maxMisses-1 // the next miss puts it in doubt again
	}
	return h.giveUpErr
}

func (h *Host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
	h.grant()
}

// grant passes free slots to waiting requests. The caller holds mu.
func (h *Host) grant() {
	for h.busy < h.limit && len(h.waiting) > 0 {
		h.busy++
		close(h.waiting[0])
		h.waiting = h.waiting[1:]
	}
}

// answered records a response that is no complaint.
func (h *Host) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoke, h.misses, h.complaints = true, 0, 0
	if h.goodResponses++; h.goodResponses >= responsesPerSlot && h.limit < h.max {
		h.goodResponses = 0
		h.limit++
		h.grant()
	}
}

// complained records that the host wants fewer requests, and returns the pause before the n-th repetition of the
// rejected request. It is not sent again if the complaint is about this request alone, or the host's pauses are used
// up. after is the pause that the host asked for.
func (h *Host) complained(url string, after time.Duration, n int) (d time.Duration, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoke, h.misses = true, 0
	h.complaints++
	if len(h.complainedURLs) < stallAfter && !slices.Contains(h.complainedURLs, url) {
		h.complainedURLs = append(h.complainedURLs, url)
	}
	if n > maxComplaints || n > 1 && len(h.complainedURLs) < stallAfter {
		return 0, false
	}
	d = min(longestPause, firstPause<<(n-1))
	if after > 0 {
		d = min(longestPause, after)
	}
	if h.paused+d > allPauses {
		return 0, false
	}
	h.paused += d
	h.goodResponses = 0
	if after > 0 || h.complaints >= stallAfter {
		h.limit = max(1, h.limit/2)
		h.resume = time.Now().Add(d)
	}
	return d, true
}

// missed records a request without response. first is true for the one caller that must check the host now (examine);
// others wait in enter. reset says that the host broke the connection off.
func (h *Host) missed(reset bool) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reset {
		h.limit, h.goodResponses = max(1, h.limit/2), 0
	}
	if h.misses++; h.misses < maxMisses || h.checking != nil || h.giveUpErr != nil {
		return false
	}
	h.checking = make(chan struct{})
	return true
}

// ignored records that the host let a probe wait in vain, and gives up a host that does only that: other targets on it
// need not wait as long.
func (h *Host) ignored(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ignores++; h.ignores >= maxIgnores && !h.spoke {
		h.ignores = 0
		h.giveUpErr, h.until = fmt.Errorf("%w (%s)", ErrSilent, web.Reason(err)), time.Now().Add(giveUpTime)
	}
}

func (h *Host) inDoubt() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.checking != nil || h.giveUpErr != nil
}

// checkHost requests the root of a host that did not answer, after growing pauses, and gives it up if it never answers.
func (s *Sender) checkHost(ctx context.Context, h *Host, at rawurl.URL, before Before) {
	root := web.Request{Address: at.Root(), Fresh: true, Timeout: s.cfg.Timeout}
	var err error
	for _, d := range s.cfg.RecheckPauses {
		if err = pause.For(ctx, d); err != nil {
			break
		}
		if err = before(ctx); err != nil {
			break
		}
		if _, err = s.client.Do(ctx, root); err == nil {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.misses = 0
	switch {
	case ctx.Err() != nil:
		h.misses = maxMisses - 1 // unknown: the next miss decides who checks
	case err != nil:
		h.giveUpErr, h.until = fmt.Errorf("%w (%s)", ErrSilent, web.Reason(err)), time.Now().Add(giveUpTime)
	}
	h.recovered = h.recovered || err == nil
	close(h.checking)
	h.checking = nil
}

// Recovered reports whether the host was in doubt and answers again.
func (h *Host) Recovered() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recovered && h.giveUpErr == nil
}
