package port

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// spared are open files that a scan leaves to the rest of the process.
const spared = 256

// descriptors is how many connections the limit of open files allows: half of the rest, since scans and probes run
// beside each other.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return leastFlying
	}
	return max((int(min(limit.Cur, 1<<20))-spared)/2, leastFlying)
}

// newConnector connects directly, unless there is a Dial.
func newConnector(ctx context.Context, cfg Config, most int) (connector, error) {
	if cfg.Dial != nil {
		return newDialling(ctx, cfg), nil
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &sockets{epoll: fd, events: make([]syscall.EpollEvent, min(most, 1024))}, nil
}

// sockets connects with its own sockets, without goroutines: most of the cost is then the kernel's. A refused socket is
// used again.
type sockets struct {
	epoll  int
	fds    []int    // by slot, plus one; 0 is none
	spare  [2][]int // refused, for IPv4 and IPv6
	events []syscall.EpollEvent
}

const maxSpare = 16

func (s *sockets) start(slot int, h *host, port uint16) outcome {
	fd, err := s.socket(family(h.Addr))
	if err != nil {
		return ending(err)
	}
	to := address(h.Addr, port)
	err = syscall.Connect(fd, to)
	if errors.Is(err, syscall.EINPROGRESS) {
		// A second call gives the outcome: on loopback and for near hosts it is known already.
		err = syscall.Connect(fd, to)
	}
	if !errors.Is(err, syscall.EALREADY) {
		return s.finish(fd, family(h.Addr), err)
	}
	event := syscall.EpollEvent{Events: syscall.EPOLLOUT, Fd: int32(slot)} // Fd carries the slot
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

// family is 0 for IPv4 and 1 for IPv6.
func family(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}

func (s *sockets) socket(family int) (int, error) {
	if spare := s.spare[family]; len(spare) > 0 {
		s.spare[family] = spare[:len(spare)-1]
		return spare[len(spare)-1], nil
	}
	domain := [2]int{syscall.AF_INET, syscall.AF_INET6}[family]
	return syscall.Socket(domain, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
}

func address(a netip.Addr, port uint16) syscall.Sockaddr {
	if a.Is6() {
		zone, _ := strconv.ParseUint(a.Zone(), 10, 32)
		return &syscall.SockaddrInet6{Port: int(port), Addr: a.As16(), ZoneId: uint32(zone)}
	}
	return &syscall.SockaddrInet4{Port: int(port), Addr: a.As4()}
}

// finish gives the outcome of a socket, and closes or keeps the socket.
func (s *sockets) finish(fd, family int, err error) outcome {
	o := ending(err)
	switch {
	case o == refused && len(s.spare[family]) < maxSpare:
		s.spare[family] = append(s.spare[family], fd)
		return o
	case o == opened && self(fd):
		o = refused
	}
	hangUp(fd, o)
	return o
}

// hangUp closes a socket; that of an open port by a reset, so that thousands of sockets do not linger.
func hangUp(fd int, o outcome) {
	if o == opened {
		_ = syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	}
	_ = syscall.Close(fd)
}

// self reports whether a socket is connected to itself, as happens on loopback when the tried port is the socket's own.
func self(fd int) bool {
	here, err := syscall.Getsockname(fd)
	there, err2 := syscall.Getpeername(fd)
	return err == nil && err2 == nil && reflect.DeepEqual(here, there)
}

func (s *sockets) wait(d time.Duration, ended func(slot int, o outcome)) {
	ms := int((d + time.Millisecond - 1) / time.Millisecond)
	for {
		n, err := syscall.EpollWait(s.epoll, s.events, ms)
		if err != nil {
			return // interrupted by a signal
		}
		for _, e := range s.events[:n] {
			slot := int(e.Fd)
			fd := s.fds[slot] - 1
			s.fds[slot] = 0
			code, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
			if err == nil && code != 0 {
				err = syscall.Errno(code)
			}
			o := ending(err)
			if o == opened && self(fd) {
				o = refused
			}
			hangUp(fd, o)
			ended(slot, o)
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
	for _, fd := range slices.Concat(s.spare[0], s.spare[1]) {
		_ = syscall.Close(fd)
	}
	_ = syscall.Close(s.epoll)
}
