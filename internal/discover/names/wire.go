package names

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// The bounds of an answer: what is beyond is not kept.
const (
	maxChain   = 16  // CNAMEs from a name to its end
	maxAddrs   = 256 // addresses of a name
	maxRecords = 100 // PTR records
)

const (
	headerSize = 12
	udpSize    = 1232 // of answers that we accept: fits every path
)

var errMalformed = errors.New("the answer cannot be read")

// pack writes a query for a name (lower-case ASCII, without a final dot) with id 0, and says where its question ends.
// edns adds the record that allows larger answers.
func pack(host string, kind uint16, edns bool) (msg []byte, end int) {
	msg = make([]byte, headerSize, headerSize+len(host)+2+4+11)
	msg[2] = 1 // recursion desired
	msg[5] = 1 // one question
	for label := range strings.SplitSeq(host, ".") {
		msg = append(append(msg, byte(len(label))), label...)
	}
	msg = append(msg, 0)
	msg = binary.BigEndian.AppendUint16(msg, kind)
	msg = binary.BigEndian.AppendUint16(msg, dns.ClassINET)
	end = len(msg)
	if edns {
		msg[11] = 1                 // one additional record:
		msg = append(msg, 0, 0, 41) // of the root, OPT
		msg = binary.BigEndian.AppendUint16(msg, udpSize)
		msg = append(msg, 0, 0, 0, 0, 0, 0)
	}
	return msg, end
}

// answers reports whether msg is a response that repeats the question, in any case (RFC 4343).
func answers(msg, question []byte) bool {
	if len(msg) < headerSize || msg[2]&0x80 == 0 || msg[2]>>3&15 != 0 {
		return false
	}
	if count := binary.BigEndian.Uint16(msg[4:]); count == 0 {
		// Some servers leave the question out when they refuse it.
		return len(msg) == headerSize && msg[3]&15 != 0
	} else if count != 1 || len(msg) < headerSize+len(question) {
		return false
	}
	for i, c := range question {
		d := msg[headerSize+i]
		if c != d && (d < 'A' || d > 'Z' || c != d+32) {
			return false
		}
	}
	return true
}

// answer is what a message says of the name that was asked about.
type answer struct {
	rcode int
	chain []string     // CNAME targets, in order
	loop  bool         // the chain leads back into itself, or is too long
	addrs []netip.Addr // of the chain's end, for A and AAAA
	names []string     // of the chain's end, for PTR
}

type rr struct {
	owner     string
	kind      uint16
	data, end int // where its data begins and ends
}

// read reads the answer to the question of so many bytes. Records that are not of the name asked
// about or of its CNAME chain are ignored.
func read(msg []byte, host string, length int, kind uint16) (answer, error) {
	if len(msg) < headerSize {
		return answer{}, errMalformed
	}
	a := answer{rcode: int(msg[3] & 15)}
	if len(msg) < headerSize+length { // a refusal without the question
		return a, nil
	}
	end := host // of the chain
	var list []rr
	off := headerSize + length
	for range binary.BigEndian.Uint16(msg[6:]) {
		r, ok := next(msg, off, host)
		if !ok {
			return a, errMalformed
		}
		off = r.end
		switch {
		case r.kind == dns.TypeCNAME && r.owner == end:
			var err error
			if end, err = a.follow(msg, host, r); err != nil || a.loop {
				return a, err
			}
		case (r.kind == kind || r.kind == dns.TypeCNAME) && len(list) < 4*maxAddrs:
			list = append(list, r)
		}
	}
	return a, a.collect(msg, host, end, kind, list)
}

// follow adds a CNAME to the chain, and returns its new end.
func (a *answer) follow(msg []byte, host string, r rr) (string, error) {
	target, err := readName(msg, r.data)
	if err != nil {
		return "", err
	}
	if target == host || slices.Contains(a.chain, target) || len(a.chain) == maxChain {
		a.loop = true
	}
	if len(a.chain) < maxChain {
		a.chain = append(a.chain, target)
	}
	return target, nil
}

// collect keeps the records of the chain's end. CNAMEs that stood before those that lead to them are followed first.
func (a *answer) collect(msg []byte, host, end string, kind uint16, list []rr) (err error) {
	for again := true; again; {
		again = false
		for _, r := range list {
			if r.kind != dns.TypeCNAME || r.owner != end {
				continue
			}
			if end, err = a.follow(msg, host, r); err != nil || a.loop {
				return err
			}
			again = true
		}
	}
	for _, r := range list {
		if r.kind == kind && r.owner == end {
			if err := a.add(msg, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *answer) add(msg []byte, r rr) error {
	if r.kind == dns.TypePTR {
		name, err := readName(msg, r.data)
		if err == nil && len(a.names) < maxRecords {
			a.names = append(a.names, name)
		}
		return err
	}
	addr, ok := netip.AddrFromSlice(msg[r.data:r.end])
	if !ok || addr.Is6() != (r.kind == dns.TypeAAAA) {
		return errMalformed
	}
	if len(a.addrs) < maxAddrs {
		a.addrs = append(a.addrs, addr)
	}
	return nil
}

// next reads the head of the record at off. Most records point back to host, the name asked about.
func next(msg []byte, off int, host string) (r rr, ok bool) {
	if off+1 < len(msg) && msg[off] == 0xc0 && msg[off+1] == headerSize {
		r.owner, off = host, off+2
	} else {
		name, after, err := dns.UnpackDomainName(msg, off)
		if err != nil {
			return r, false
		}
		r.owner, off = lowerName(name), after
	}
	if off+10 > len(msg) {
		return r, false
	}
	r.kind = binary.BigEndian.Uint16(msg[off:])
	r.data = off + 10
	r.end = r.data + int(binary.BigEndian.Uint16(msg[off+8:]))
	return r, r.end <= len(msg)
}

// readName reads a name, compressed or not. Bytes that no host name has are escaped, as in a zone file.
func readName(msg []byte, off int) (string, error) {
	name, _, err := dns.UnpackDomainName(msg, off)
	if err != nil {
		return "", errMalformed
	}
	return lowerName(name), nil
}

func lowerName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
