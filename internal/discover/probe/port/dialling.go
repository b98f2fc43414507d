package port

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const leastFlying = 128 // connections in flight, however low the limit of open files

var (
	errNoSockets = errors.New("the system has no more sockets for a port scan")
	errRefused   = errors.New("the guard or the proxy refused the dial")
)

// dialling connects through Dial, with a goroutine for each connection.
type dialling struct {
	cfg    Config
	ctx    context.Context
	stop   context.CancelFunc
	group  sync.WaitGroup
	ends   chan end
	cancel map[int]func() // by slot
	round  map[int]int    // by slot
}

type end struct {
	slot, round int
	outcome     outcome
}

func newDialling(ctx context.Context, cfg Config) *dialling {
	ctx, stop := context.WithCancel(ctx)
	return &dialling{cfg: cfg, ctx: ctx, stop: stop, ends: make(chan end, 1024), cancel: map[int]func(){},
		round: map[int]int{}}
}

func (d *dialling) start(slot int, h *host, port uint16) outcome {
	name := h.Name
	if name == "" || d.cfg.Admit != nil {
		name = h.Addr.String()
	}
	addr := net.JoinHostPort(name, strconv.Itoa(int(port)))
	ctx, cancel := context.WithTimeout(d.ctx, longest)
	d.round[slot]++
	d.cancel[slot] = cancel
	round := d.round[slot]
	d.group.Go(func() {
		defer cancel()
		conn, err := d.cfg.Dial(ctx, "tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		if err != nil && ctx.Err() != nil && d.ctx.Err() == nil {
			return // it is abandoned
		}
		select {
		case d.ends <- end{slot, round, ending(err)}:
		case <-d.ctx.Done():
		}
	})
	return pending
}

func (d *dialling) wait(most time.Duration, ended func(slot int, o outcome)) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case e := <-d.ends:
		d.take(e, ended)
	case <-timer.C:
		return
	}
	for range len(d.ends) {
		d.take(<-d.ends, ended)
	}
}

// take reports an end, unless its slot has another connection now.
func (d *dialling) take(e end, ended func(slot int, o outcome)) {
	if d.round[e.slot] == e.round {
		ended(e.slot, e.outcome)
	}
}

func (d *dialling) abandon(slot int) {
	d.round[slot]++ // its end does not count any more
	d.cancel[slot]()
}

func (d *dialling) close() {
	d.stop()
	d.group.Wait()
}

// ending is the outcome that an error means.
func ending(err error) outcome {
	if _, no := errors.AsType[*netguard.Denied](err); no {
		return denied
	}
	switch {
	case err == nil:
		return opened
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return refused
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EAFNOSUPPORT), errors.Is(err, syscall.EINVAL):
		return unroutable
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOBUFS),
		errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EADDRNOTAVAIL):
		return exhausted
	}
	return unreachable
}
