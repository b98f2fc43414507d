package windows

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/ntlm"
)

// The commands and states of SMB 2 that a list of shares needs.
const (
	cmdSetup, cmdTree, cmdCreate, cmdRead, cmdControl = 1, 3, 5, 8, 11

	statusPending  = 0x00000103 // the answer comes later
	statusMore     = 0xc0000016 // the login goes on
	statusOverflow = 0x80000005 // there is more to read
	maxReads       = 64         // of one answer
	maxShares      = 10_000
	maxCredential  = 1000 // bytes of a user or a password
)

// listShares is ListShares(host, port, user, password): the names of all shares, by the service srvsvc (MS-SRVS) in a
// session of SMB 2.0 or 2.1, which is signed once somebody is logged in.
func listShares(h *host.Host, a *host.Args) (any, error) {
	user, password := a.Text(2), a.Text(3)
	if len(user) > maxCredential || len(password) > maxCredential {
		return nil, errors.New("a user or a password of more than 1000 bytes")
	}
	target, err := a.Address(0)
	if err != nil {
		return nil, err
	}
	name, _, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	return h.Ask(a, 0, func(conn net.Conn) (any, error) {
		if _, err := greet(conn, plain, 0x0202, 0x0210); err != nil {
			return nil, err
		}
		s := &session{conn: conn, id: 1}
		if err := s.login(user, password); err != nil {
			return nil, err
		}
		if err := s.open(name); err != nil {
			return nil, err
		}
		return s.shares()
	})
}

// session is a session of SMB 2 with the pipe of a service.
type session struct {
	conn    net.Conn
	id      uint64 // of the next message
	session []byte // 8 bytes; nil before the login
	tree    []byte // 4 bytes; nil for none
	key     []byte // signs messages; nil: they are not signed
	file    []byte // the pipe
}

// statusError is a refusal.
type statusError uint32

// Error implements error.
func (e statusError) Error() string {
	for status, text := range map[statusError]string{
		0xc000006d: "the user or the password is wrong", 0xc0000022: "access is denied",
		0xc000006e: "the account is restricted",
		0xc0000072: "the account is disabled", 0xc0000234: "the account is locked", 0xc00000cc: "there is no such share",
	} {
		if e == status {
			return fmt.Sprintf("%s (0x%08x)", text, uint32(e))
		}
	}
	return fmt.Sprintf("the server refused with 0x%08x", uint32(e))
}

// ask sends a message and reads its answer, of one of the states.
func (s *session) ask(command uint16, body []byte, states ...uint32) ([]byte, error) {
	b := append(header(command, s.id), body...)
	s.id++
	copy(b[36:], s.tree)
	copy(b[40:], s.session)
	if s.key != nil {
		b[16] |= 8
		mac := hmac.New(sha256.New, s.key)
		_, _ = mac.Write(b)
		copy(b[48:64], mac.Sum(nil))
	}
	got, err := send(s.conn, b)
	for n := 0; err == nil && len(got) > 16 && le.Uint32(got[8:]) == statusPending && n < maxReads; n++ {
		got, err = receive(s.conn)
	}
	if err != nil {
		return nil, err
	}
	if len(got) < 64+8 || string(got[:4]) != "\xfeSMB" || le.Uint16(got[12:]) != command {
		return nil, errNoSMB2
	}
	if status := le.Uint32(got[8:]); status != 0 && !slices.Contains(states, status) {
		return nil, statusError(status)
	}
	return got, nil
}

// login logs in with NTLM.
func (s *session) login(user, password string) error {
	got, err := setup(s.conn)
	s.id++
	if err != nil {
		return err
	}
	if len(got) < 72 || string(got[:4]) != "\xfeSMB" {
		return errNoSMB2
	}
	if status := le.Uint32(got[8:]); status != statusMore {
		return statusError(status)
	}
	s.session = bytes.Clone(got[40:48])
	message, key, err := ntlm.Login(got, "", user, password)
	if err != nil {
		return err
	}
	token := der(0xa1, der(0x30, der(0xa2, der(0x04, message))))
	body := append([]byte{25, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 88, 0}, byte(len(token)), byte(len(token)>>8))
	body = append(append(body, make([]byte, 8)...), token...)
	if got, err = s.ask(cmdSetup, body); err != nil {
		return err
	}
	if le.Uint16(got[66:])&3 == 0 { // neither a guest nor nobody
		s.key = key
	}
	return nil
}

// der is a value in ASN.1.
func der(tag byte, value []byte) []byte {
	n := len(value)
	switch {
	case n < 128:
		return append([]byte{tag, byte(n)}, value...)
	case n < 256:
		return append([]byte{tag, 0x81, byte(n)}, value...)
	}
	return append([]byte{tag, 0x82, byte(n >> 8), byte(n)}, value...)
}

// open opens the pipe of the service.
func (s *session) open(server string) error {
	path := utf16Of(`\\` + server + `\IPC$`)
	body := le.AppendUint16([]byte{9, 0, 0, 0, 72, 0}, uint16(len(path)))
	got, err := s.ask(cmdTree, append(body, path...))
	if err != nil {
		return err
	}
	s.tree = bytes.Clone(got[36:40])
	pipe := utf16Of("srvsvc")
	body = append([]byte{57, 0, 0, 0, 2, 0, 0, 0}, make([]byte, 16)...)
	for _, word := range []uint32{0x0012019f, 0, 7, 1, 0} { // to read and write what exists, beside others
		body = le.AppendUint32(body, word)
	}
	body = append(body, 120, 0, byte(len(pipe)), 0, 0, 0, 0, 0, 0, 0, 0, 0)
	if got, err = s.ask(cmdCreate, append(body, pipe...)); err != nil {
		return err
	}
	if len(got) < 144 {
		return errNoSMB2
	}
	s.file = bytes.Clone(got[128:144])
	bind := append([]byte("\xb8\x10\xb8\x10\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00"),
		"\xc8\x4f\x32\x4b\x70\x16\xd3\x01\x12\x78\x5a\x47\xbf\x6e\xe1\x88\x03\x00\x00\x00"+ // srvsvc 3.0
			"\x04\x5d\x88\x8a\xeb\x1c\xc9\x11\x9f\xe8\x08\x00\x2b\x10\x48\x60\x02\x00\x00\x00"...) // NDR 2
	answer, err := s.call(11, bind)
	if err == nil && (len(answer) < 16 || answer[2] != 12) {
		err = errors.New("the server lists no shares")
	}
	return err
}

const rpcHead = 16

// call sends a message to the service, and reads its answer with all that belongs to it.
func (s *session) call(kind byte, body []byte) ([]byte, error) {
	n := rpcHead + len(body)
	message := append([]byte{5, 0, kind, 3, 16, 0, 0, 0}, byte(n), byte(n>>8), 0, 0, 1, 0, 0, 0)
	message = append(message, body...)
	b := append([]byte{57, 0, 0, 0, 0x17, 0xc0, 0x11, 0}, s.file...)
	for _, word := range []uint32{120, uint32(len(message)), 0, 0, 0, 4280, 1, 0} {
		b = le.AppendUint32(b, word)
	}
	got, err := s.ask(cmdControl, append(b, message...), statusOverflow)
	if err != nil {
		return nil, err
	}
	answer, err := piece(got, 96)
	for reads := 0; err == nil && le.Uint32(got[8:]) == statusOverflow && reads < maxReads; reads++ {
		if got, err = s.read(); err == nil {
			answer = append(answer, got[80:]...)
		}
	}
	return answer, err
}

// read reads on from the pipe.
func (s *session) read() ([]byte, error) {
	b := append([]byte{49, 0, 80, 0, 0xb8, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, s.file...)
	got, err := s.ask(cmdRead, append(b, make([]byte, 17)...), statusOverflow)
	if err != nil {
		return nil, err
	}
	n := int64(le.Uint32(got[68:]))
	if got[66] != 80 || int64(len(got)) < 80+n {
		return nil, errNoSMB2
	}
	return got[:80+n], nil
}

// piece is what an offset and a length at a place of a message point to.
func piece(b []byte, at int) ([]byte, error) {
	if len(b) < at+8 {
		return nil, errNoSMB2
	}
	from, n := int64(le.Uint32(b[at:])), int64(le.Uint32(b[at+4:]))
	if from+n > int64(len(b)) {
		return nil, errNoSMB2
	}
	return bytes.Clone(b[from : from+n]), nil
}

// shares asks for all shares (NetrShareEnum, level 1).
func (s *session) shares() (any, error) {
	body := []byte{0, 0, 0, 0, 0, 0, 15, 0}
	for _, word := range []uint32{0, 1, 1, 0x20004, 0, 0, 0xffffffff, 0x20008, 0} {
		body = le.AppendUint32(body, word)
	}
	answer, err := s.call(0, body)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ { // parts follow until the last
		stub, last, err := joined(answer)
		if err == nil && last {
			return parseShares(stub)
		}
		if err != nil || n == maxReads {
			return nil, errors.Join(err, errShares)
		}
		got, err := s.read()
		if err != nil {
			return nil, err
		}
		answer = append(answer, got[80:]...)
	}
}

var errShares = errors.New("the list of shares cannot be read")

// joined is the text of the parts of an answer; last says that it is whole.
func joined(b []byte) (stub []byte, last bool, err error) {
	const head = 24
	for len(b) >= head {
		n := int(le.Uint16(b[8:]))
		switch {
		case b[2] != 2 || n < head:
			return nil, false, errShares
		case n > len(b):
			return nil, false, nil
		}
		stub = append(stub, b[head:n]...)
		if b[3]&2 != 0 {
			return stub, true, nil
		}
		b = b[n:]
	}
	return nil, false, nil
}

// parseShares are the names in an answer.
func parseShares(b []byte) (any, error) {
	word := func(at int) int64 {
		if at < 0 || at+4 > len(b) {
			return -1
		}
		return int64(le.Uint32(b[at:]))
	}
	if len(b) < 12 || word(len(b)-4) != 0 {
		if len(b) >= 4 {
			return nil, statusError(le.Uint32(b[len(b)-4:]))
		}
		return nil, errShares
	}
	names := []string{}
	n := word(12)
	if word(8) == 0 || word(16) == 0 || n == 0 {
		return names, nil
	}
	if n < 0 || n > maxShares || word(20) != n {
		return nil, errShares
	}
	at := 24 + 12*int(n)
	text := func() (string, bool) {
		size := word(at + 8)
		if size < 0 || at+12+2*int(size) > len(b) {
			return "", false
		}
		units := make([]uint16, size)
		for i := range units {
			units[i] = le.Uint16(b[at+12+2*i:])
		}
		at += 12 + (2*int(size)+3)/4*4
		return strings.TrimRight(string(utf16.Decode(units)), "\x00"), true
	}
	for range n {
		name, ok := text()
		if _, comment := text(); !ok || !comment {
			return nil, errShares
		}
		names = append(names, name)
	}
	return names, nil
}

// utf16Of is a text in UTF-16.
func utf16Of(text string) (b []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		b = le.AppendUint16(b, unit)
	}
	return b
}
