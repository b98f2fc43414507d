package windows

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

func FuzzParse(f *testing.F) {
	f.Add(append(header(0, 0), make([]byte, 64)...))
	f.Add([]byte{0x60, 0x06, 0x06, 0x01, 0x2a, 0xa0, 0x01, 0x30})
	f.Fuzz(func(_ *testing.T, b []byte) {
		if g, err := parseGreeting(b); err == nil {
			g.log(map[string]any{})
		}
		mechanisms(b)
		setupLog(b)
		if isRDP(b) {
			rdpSystem(b)
		}
	})
}

func FuzzBER(f *testing.F) {
	f.Add([]byte("\x30\x05\x02\x01\x01\x61\x00"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		berFits(b, maxLevels)
		_, _ = decodeSID(string(b))
	})
}

// replies is a server that answers each message with the next of some texts.
type replies struct {
	net.Conn
	rest []byte
}

// Read implements net.Conn.
func (r *replies) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Write implements net.Conn.
func (r *replies) Write(b []byte) (int, error) { return len(b), nil }

// FuzzShares reads what a server says from the login on.
func FuzzShares(f *testing.F) {
	answer := func(command byte, status uint32, body string) []byte {
		b := header(uint16(command), 1)
		le.PutUint32(b[8:], status)
		b = append(append(b, make([]byte, 8)...), body...)
		return append([]byte{0, 0, 0, byte(len(b))}, b...)
	}
	f.Add(slices.Concat(
		answer(cmdSetup, statusMore, "NTLMSSP\x00\x02\x00\x00\x00"+strings.Repeat("\x00", 40)), answer(cmdSetup, 0, ""),
		answer(cmdTree, statusPending, ""), answer(cmdTree, 0, ""), answer(cmdCreate, 0, strings.Repeat("f", 80)),
		answer(cmdControl, 0, strings.Repeat("\x00", 24)+"\x70\x00\x00\x00\x10\x00\x00\x00"+"\x05\x00\x0c\x03")))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1})
	f.Fuzz(func(_ *testing.T, b []byte) {
		s := &session{conn: &replies{rest: b}}
		if s.login("a", "b") == nil && s.open("host") == nil {
			_, _ = s.shares()
		}
		_, _ = parseShares(b)
		_, _, _ = joined(b)
	})
}

// FuzzKerberos reads what a domain controller says.
func FuzzKerberos(f *testing.F) {
	f.Add([]byte("\x30\x14\x30\x12" + "\xa0\x03\x02\x01\x12" + "\xa1\x03\x1b\x01s" + "\xa2\x06\x04\x04\x00\x00\x10\x00"))
	f.Add([]byte("\x6b\x03\x02\x01\x05"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		var reply messages.ASRep
		if reply.Unmarshal(b) == nil {
			_, _ = hashOfReply(&reply)
			_, _ = hashOfTicket(&reply.Ticket, "u")
		}
		var hints types.PADataSequence
		if hints.Unmarshal(b) != nil {
			hints = types.PADataSequence{{PADataType: patype.PA_ETYPE_INFO2, PADataValue: b}}
		}
		_ = boundedDerivation(hints)
		_, _ = hintedType(hints)
	})
}
