package names

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// maxUDP is the largest packet that is read; larger answers are asked for over TCP. It bounds the memory of
// thousands of waiting answers.
const maxUDP = 4096

// maxErrors is how many errors in a row end the use of a socket.
const maxErrors = 1000

var (
	errTimeout = errors.New("no server answered")
	errClosed  = errors.New("the client is closed")
)

// socket is a connected UDP socket to one name server. Questions share it; an answer belongs to one by its random id
// and the repeated question.
type socket struct {
	conn net.Conn

	mu      sync.Mutex
	pending map[uint16]*pendingAttempt
	closed  bool
}

// pendingAttempt is one attempt at a question that waits.
type pendingAttempt struct {
	question []byte
	attempt  int
	until    time.Time
	expired  bool            // a delivery without a message was sent
	reply    chan<- delivery // of all attempts, with room for two of each
}

// delivery is an answer, or without a message a timeout.
type delivery struct {
	attempt int
	msg     []byte
}

// listen delivers answers until the socket is closed.
func (s *socket) listen() {
	buffer := make([]byte, maxUDP)
	for failures := 0; failures < maxErrors; {
		n, err := s.conn.Read(buffer)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // the port is closed there
			failures++
			s.fail(false)
			continue
		}
		failures = 0
		s.deliver(buffer[:n])
	}
	s.fail(true)
}

// deliver gives msg to the call that it answers, if there is one.
func (s *socket) deliver(msg []byte) {
	if len(msg) < headerSize {
		return
	}
	id := binary.BigEndian.Uint16(msg)
	s.mu.Lock()
	c := s.pending[id]
	if c == nil || !answers(msg, c.question) {
		s.mu.Unlock()
		return
	}
	delete(s.pending, id)
	s.mu.Unlock()
	kept := append(make([]byte, 0, len(msg)), msg...)
	if len(msg) == maxUDP {
		kept[2] |= 2 // truncated, perhaps
	}
	c.reply <- delivery{c.attempt, kept}
}

// fail ends all calls; for ever, when the socket will not be read any more.
func (s *socket) fail(closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = s.closed || closed
	for _, c := range s.pending {
		c.expire()
	}
}

// expire ends calls whose time is up. Their answers may still come.
func (s *socket) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.pending {
		if now.After(c.until) {
			c.expire()
		}
	}
}

// expire delivers once that there is no answer.
func (c *pendingAttempt) expire() {
	if !c.expired {
		c.expired = true
		c.reply <- delivery{attempt: c.attempt}
	}
}

// send sends a copy of a query with an id. Answers go to the call's reply until leave is called with the id.
func (s *socket) send(query []byte, c *pendingAttempt) (id uint16, err error) {
	id, ok := s.register(c)
	if !ok {
		return 0, errClosed
	}
	msg := append(make([]byte, 0, len(query)), query...)
	binary.BigEndian.PutUint16(msg, id)
	if _, err := s.conn.Write(msg); err != nil {
		s.unregister(id, c)
		return 0, err
	}
	return id, nil
}

// register gives a call a random id that no other call of the socket has.
func (s *socket) register(c *pendingAttempt) (id uint16, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.pending) > 1<<15 {
		return 0, false
	}
	for {
		id = uint16(rand.Uint32()) // seeded by the system, not predictable
		if _, taken := s.pending[id]; !taken {
			s.pending[id] = c
			return id, true
		}
	}
}

func (s *socket) unregister(id uint16, c *pendingAttempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] == c {
		delete(s.pending, id)
	}
}

// askTCP asks over a connection of its own (RFC 7766): a length precedes each message.
func askTCP(conn net.Conn, query []byte, end int, deadline time.Time) ([]byte, error) {
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	id := uint16(rand.Uint32())
	out := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(query)), uint16(len(query)))
	out = append(out, query...)
	binary.BigEndian.PutUint16(out[2:], id)
	if _, err := conn.Write(out); err != nil {
		return nil, err
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	msg := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, msg); err != nil {
		return nil, err
	}
	if len(msg) < headerSize || binary.BigEndian.Uint16(msg) != id || !answers(msg, query[headerSize:end]) {
		return nil, errMalformed
	}
	return msg, nil
}
