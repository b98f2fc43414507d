package names

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
)

// The bounds of an answer: what is beyond is not kept.
const (
	maxChain   = 16   // CNAMEs from a name to its end
	maxAddrs   = 256  // addresses of a name
	maxRecords = 100  // records of another kind
	maxText    = 4096 // bytes of one of these
)

const (
	headerSize = 12
	udpSize    = 1232 // what we say that we can take: fits every path
)

// errGarbage is the error for a message that is not DNS.
var errGarbage = errors.New("the answer cannot be read")

// pack writes a query for a name (lower-case ASCII, without a final dot) with id 0, and
// says where its question ends. edns adds the record that allows larger answers.
func pack(host string, kind uint16, edns bool) (msg []byte, question int) {
	msg = make([]byte, headerSize, headerSize+len(host)+2+4+11)
	msg[2] = 1 // recursion desired
	msg[5] = 1 // one question
	for label := range strings.SplitSeq(host, ".") {
		msg = append(append(msg, byte(len(label))), label...)
	}
	msg = append(msg, 0)
	msg = binary.BigEndian.AppendUint16(msg, kind)
	msg = binary.BigEndian.AppendUint16(msg, dns.ClassINET)
	question = len(msg)
	if edns {
		msg[11] = 1                 // one additional record:
		msg = append(msg, 0, 0, 41) // of the root, OPT
		msg = binary.BigEndian.AppendUint16(msg, udpSize)
		msg = append(msg, 0, 0, 0, 0, 0, 0)
	}
	return msg, question
}

// answers reports whether msg answers the question: a response with the question in it.
// Letters are compared without regard to case, as RFC 4343 has it.
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
	loop  bool         // the chain leads back into itself, or is too long to be true
	addrs []netip.Addr // of the chain's end, for A and AAAA
	texts []string     // of the chain's end, for other kinds
}

// rr is one record of the answer section, not yet judged.
type rr struct {
	owner string
	kind  uint16
	data  int // where its data begins
	end   int // and ends
}

// read reads the answer to the question that ends at headerSize+question. Records that
// are not of the name asked about or of its CNAME chain are ignored.
func read(msg []byte, host string, question int, kind uint16) (answer, error) {
	if len(msg) < headerSize {
		return answer{}, errGarbage
	}
	a := answer{rcode: int(msg[3] & 15)}
	if len(msg) < headerSize+question { // a refusal without the question
		return a, nil
	}
	end := host // of the chain
	var other []rr
	off := headerSize + question
	for range binary.BigEndian.Uint16(msg[6:]) {
		r, ok := next(msg, off, host)
		if !ok {
			return a, errGarbage
		}
		off = r.end
		switch {
		case r.kind == dns.TypeCNAME && kind != dns.TypeCNAME && r.owner == end:
			target, _, err := readName(msg, r.data)
			if err != nil {
				return a, err
			}
			end = a.follow(host, target)
			if a.loop {
				return a, nil
			}
		case r.kind == kind || r.kind == dns.TypeCNAME:
			if len(other) < 4*maxAddrs {
				other = append(other, r)
			}
		}
	}
	return a, a.take(msg, host, end, kind, other)
}

// follow adds a link to the chain, and returns its new end.
func (a *answer) follow(host, target string) string {
	if target == host || slices.Contains(a.chain, target) || len(a.chain) == maxChain {
		a.loop = true
	}
	if len(a.chain) < maxChain {
		a.chain = append(a.chain, target)
	}
	return target
}

// take keeps the records of the chain's end. Links that stood before the ones that lead
// to them are followed first.
func (a *answer) take(msg []byte, host, end string, kind uint16, list []rr) error {
	for again := true; again; {
		again = false
		for _, r := range list {
			if r.kind != dns.TypeCNAME || kind == dns.TypeCNAME || r.owner != end {
				continue
			}
			target, _, err := readName(msg, r.data)
			if err != nil {
				return err
			}
			if end = a.follow(host, target); a.loop {
				return nil
			}
			again = true
		}
	}
	for _, r := range list {
		if r.kind != kind || r.owner != end {
			continue
		}
		if err := a.keep(msg, r); err != nil {
			return err
		}
	}
	return nil
}

// keep takes one record over.
func (a *answer) keep(msg []byte, r rr) error {
	if r.kind != dns.TypeA && r.kind != dns.TypeAAAA {
		text, err := readText(msg, r)
		if err == nil && len(a.texts) < maxRecords {
			a.texts = append(a.texts, text)
		}
		return err
	}
	addr, ok := netip.AddrFromSlice(msg[r.data:r.end])
	if !ok || addr.Is6() != (r.kind == dns.TypeAAAA) {
		return errGarbage
	}
	if len(a.addrs) < maxAddrs {
		a.addrs = append(a.addrs, addr)
	}
	return nil
}

// next reads the head of the record at off. host is the name asked about, to which most
// records point back.
func next(msg []byte, off int, host string) (r rr, ok bool) {
	if off+1 < len(msg) && msg[off] == 0xc0 && msg[off+1] == headerSize {
		r.owner, off = host, off+2
	} else {
		var err error
		if r.owner, off, err = readName(msg, off); err != nil {
			return r, false
		}
	}
	if off+10 > len(msg) {
		return r, false
	}
	r.kind = binary.BigEndian.Uint16(msg[off:])
	r.data = off + 10
	r.end = r.data + int(binary.BigEndian.Uint16(msg[off+8:]))
	return r, r.end <= len(msg)
}

// readName reads a name, compressed or not. Bytes that are no part of a host name come
// escaped, as in a zone file.
func readName(msg []byte, off int) (name string, next int, err error) {
	name, next, err = dns.UnpackDomainName(msg, off)
	if err != nil {
		return "", 0, errGarbage
	}
	return bare(name), next, nil
}

// bare is a name without its final dot, in lower case.
func bare(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// readText writes a record of another kind as people write it, without the owner.
func readText(msg []byte, r rr) (string, error) {
	header := dns.RR_Header{Name: ".", Rrtype: r.kind, Class: dns.ClassINET, Rdlength: uint16(r.end - r.data)}
	record, _, err := dns.UnpackRRWithHeader(header, msg[:r.end], r.data)
	if err != nil {
		return "", errGarbage
	}
	return clip(textOf(record)), nil
}

// textOf is a record's data in words.
func textOf(record dns.RR) string {
	number := func(n uint16) string { return strconv.Itoa(int(n)) + " " }
	switch r := record.(type) {
	case *dns.MX:
		return number(r.Preference) + bare(r.Mx)
	case *dns.NS:
		return bare(r.Ns)
	case *dns.PTR:
		return bare(r.Ptr)
	case *dns.TXT:
		return strings.Join(r.Txt, "")
	case *dns.SRV:
		return number(r.Priority) + number(r.Weight) + number(r.Port) + bare(r.Target)
	case *dns.SOA:
		return fmt.Sprintf("%s %s %d %d %d %d %d", bare(r.Ns), bare(r.Mbox), r.Serial, r.Refresh, r.Retry, r.Expire, r.Minttl)
	case *dns.CAA:
		return number(uint16(r.Flag)) + r.Tag + ` "` + r.Value + `"`
	}
	return strings.TrimPrefix(record.String(), record.Header().String())
}

// clip bounds a text.
func clip(s string) string {
	if len(s) > maxText {
		return s[:maxText]
	}
	return s
}
