// Package ntlm makes the message that asks a Windows service for an NTLM challenge, and reads the names that are in it:
// smb, rdp and telnet tell them to anybody.
package ntlm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Challenge are the facts of a challenge.
type Challenge struct {
	Flags                                            uint32
	Target, Computer, Domain, DNSComputer, DNSDomain string
	Forest                                           string
	Version                                          string // of Windows, as 10.0.17763; "" for none
	Time                                             uint64 // in 100 ns since 1601
}

var signature = []byte("NTLMSSP\x00")

// Negotiate is the message that asks for a challenge.
func Negotiate() []byte {
	b := append(bytes.Clone(signature), 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, 0xe2888207) // Unicode, names of the target, NTLM, a version
	b = append(b, make([]byte, 16)...)                  // neither a domain nor a workstation
	return append(b, 10, 0, 0, 0, 0, 0, 0, 15)
}

const headerLength, maxPairs = 48, 64

// Parse finds a challenge in what a server sent; nil for none.
func Parse(b []byte) *Challenge {
	at := bytes.Index(b, signature)
	if at < 0 {
		return nil
	}
	b = b[at:]
	if len(b) < headerLength || binary.LittleEndian.Uint32(b[8:]) != 2 {
		return nil
	}
	c := &Challenge{Target: text(part(b, 12)), Flags: binary.LittleEndian.Uint32(b[20:])}
	if len(b) >= headerLength+8 && c.Flags&0x02000000 != 0 {
		c.Version = fmt.Sprintf("%d.%d.%d", b[48], b[49], binary.LittleEndian.Uint16(b[50:]))
	}
	pairs := part(b, 40)
	for range maxPairs {
		if len(pairs) < 4 {
			break
		}
		kind, n := binary.LittleEndian.Uint16(pairs), int(binary.LittleEndian.Uint16(pairs[2:]))
		if kind == 0 || n > len(pairs)-4 {
			break
		}
		value := pairs[4 : 4+n]
		switch kind {
		case 1:
			c.Computer = text(value)
		case 2:
			c.Domain = text(value)
		case 3:
			c.DNSComputer = text(value)
		case 4:
			c.DNSDomain = text(value)
		case 5:
			c.Forest = text(value)
		case 7:
			if n == 8 {
				c.Time = binary.LittleEndian.Uint64(value)
			}
		}
		pairs = pairs[4+n:]
	}
	return c
}

// part is what a length, a maximum and an offset at a place point to; nil for what is not there.
func part(b []byte, at int) []byte {
	n, offset := int64(binary.LittleEndian.Uint16(b[at:])), int64(binary.LittleEndian.Uint32(b[at+4:]))
	if offset+n > int64(len(b)) {
		return nil
	}
	return b[offset : offset+n]
}

// text is UTF-16 as a text.
func text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}
