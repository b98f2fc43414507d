package port

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"time"
)

// spared are the open files that a scan leaves to the rest of the process.
const spared = 256

// descriptors is how many connections the limit of open files leaves room for: half of
// what is not spared, since scans and probes run beside each other.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return leastFlying
	}
	return max((int(min(limit.Cur, 1<<20))-spared)/2, leastFlying)
}

// newConnector makes direct connections when the guard decides beforehand, and dials
// otherwise.
func newConnector(ctx context.Context, cfg Config, most int) (connector, error) {
	if cfg.Admit == nil {
		return newDialling(ctx, cfg), nil
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &sockets{epoll: fd, events: make([]syscall.EpollEvent, min(most, 1024))}, nil
}

// sockets connects with sockets of its own, without a goroutine for each: the kernel's
// share of a connection is then most of its cost.
type sockets struct {
	epoll  int
	fds    []int // by slot, plus one; 0 is none
	events []syscall.EpollEvent
}

func (s *sockets) start(slot int, h *host, port uint16) outcome {
	family := syscall.AF_INET
	if h.Addr.Is6() {
		family = syscall.AF_INET6
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return ending(err)
	}
	if err := connect(fd, netip.AddrPortFrom(h.Addr, port)); !errors.Is(err, syscall.EINPROGRESS) {
		return s.finish(fd, err)
	}
	// The slot travels in the event beside nothing else.
	event := syscall.EpollEvent{Events: syscall.EPOLLOUT, Fd: int32(slot)}
	if err := syscall.EpollCtl(s.epoll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
		_ = syscall.Close(fd)
		return exhausted
	}
	for len(s.fds) <= slot {
		s.fds = append(s.fds, 0)
	}
	s.fds[slot] = fd + 1
	return pending
}

// connect begins to connect a socket that does not block.
func connect(fd int, to netip.AddrPort) error {
	if a := to.Addr(); a.Is6() {
		return syscall.Connect(fd, &syscall.SockaddrInet6{Port: int(to.Port()), Addr: a.As16()})
	}
	return syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
}

// finish closes a socket whose connection ended with err, and says how.
func (s *sockets) finish(fd int, err error) outcome {
	o := ending(err)
	if o == opened && self(fd) {
		o = refused
	}
	if o == opened { // leave by a reset: no thousands of sockets that wait for stragglers
		_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	}
	_ = syscall.Close(fd)
	return o
}

// self reports whether a socket is connected to itself, as happens on loopback when the
// port that is asked happens to be the socket's own: nobody listens there.
func self(fd int) bool {
	here, err := syscall.Getsockname(fd)
	there, err2 := syscall.Getpeername(fd)
	if err != nil || err2 != nil {
		return false
	}
	switch a := here.(type) {
	case *syscall.SockaddrInet4:
		b, ok := there.(*syscall.SockaddrInet4)
		return ok && a.Port == b.Port && a.Addr == b.Addr
	case *syscall.SockaddrInet6:
		b, ok := there.(*syscall.SockaddrInet6)
		return ok && a.Port == b.Port && a.Addr == b.Addr
	}
	return false
}

func (s *sockets) wait(d time.Duration, ended func(slot int, o outcome)) {
	ms := int((d + time.Millisecond - 1) / time.Millisecond)
	for {
		n, err := syscall.EpollWait(s.epoll, s.events, ms)
		if err != nil {
			return // interrupted by a signal: the loop comes back
		}
		for _, e := range s.events[:n] {
			slot := int(e.Fd)
			fd := s.fds[slot] - 1
			s.fds[slot] = 0
			code, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
			if err == nil && code != 0 {
				err = syscall.Errno(code)
			}
			ended(slot, s.finish(fd, err))
		}
		if n < len(s.events) {
			return
		}
		ms = 0 // there may be more
	}
}

func (s *sockets) abandon(slot int) {
	_ = syscall.Close(s.fds[slot] - 1)
	s.fds[slot] = 0
}

func (s *sockets) close() {
	for _, fd := range s.fds {
		if fd > 0 {
			_ = syscall.Close(fd - 1)
		}
	}
	_ = syscall.Close(s.epoll)
}
