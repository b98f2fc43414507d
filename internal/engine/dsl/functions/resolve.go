package functions

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	dnsTimeout = 5 * time.Second
	dnsTries   = 2
	typeCAA    = dnsmessage.Type(257)
)

// recordTypes are the record types of resolve.
var recordTypes = map[string]dnsmessage.Type{
	"4": dnsmessage.TypeA, "a": dnsmessage.TypeA, "6": dnsmessage.TypeAAAA, "aaaa": dnsmessage.TypeAAAA,
	"cname": dnsmessage.TypeCNAME, "ns": dnsmessage.TypeNS, "txt": dnsmessage.TypeTXT, "srv": dnsmessage.TypeSRV,
	"ptr": dnsmessage.TypePTR, "mx": dnsmessage.TypeMX, "soa": dnsmessage.TypeSOA, "caa": typeCAA,
}

// resolve is the first record of a name.
func resolve(env *Env, args []any) (any, error) {
	if env.Host == nil || env.Host.Resolver == nil {
		return nil, errNoHost
	}
	word := "a"
	if len(args) > 1 {
		word = strings.ToLower(String(args[1]))
	}
	kind, ok := recordTypes[word]
	if !ok {
		return nil, fmt.Errorf("there is no record type %s", Quote(word))
	}
	host := String(args[0])
	if kind == dnsmessage.TypePTR {
		host = reverseName(host)
	}
	name, err := dnsmessage.NewName(strings.TrimSuffix(host, ".") + ".")
	if err != nil {
		return nil, fmt.Errorf("%s is not a host name", Quote(host))
	}
	id := uint16(env.Host.intN(1 << 16))
	question := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: kind, Class: dnsmessage.ClassINET}},
	}
	packed, err := question.Pack()
	if err != nil {
		return nil, err
	}
	answer, err := env.Host.ask(env.context(), packed, id)
	if err != nil {
		return nil, err
	}
	for _, r := range answer.Answers {
		if r.Header.Type == kind {
			return recordText(r.Body), nil
		}
	}
	return nil, errors.New("there is no such record")
}

// reverseName is the name for a reverse lookup.
func reverseName(host string) string {
	ip := net.ParseIP(host)
	if ip == nil {
		return host
	}
	var b strings.Builder
	if v4 := ip.To4(); v4 != nil {
		fmt.Fprintf(&b, "%d.%d.%d.%d.in-addr.arpa", v4[3], v4[2], v4[1], v4[0])
		return b.String()
	}
	for _, x := range slices.Backward(ip) {
		fmt.Fprintf(&b, "%x.%x.", x&15, x>>4)
	}
	return b.String() + "ip6.arpa"
}

// ask sends a question over UDP, and over TCP if the response is truncated.
func (h *Host) ask(ctx context.Context, question []byte, id uint16) (m dnsmessage.Message, err error) {
	network := "udp"
	for range dnsTries + 1 {
		m, err = h.exchange(ctx, network, question, id)
		switch {
		case err == nil && m.Truncated && network == "udp":
			network = "tcp"
		case err == nil || ctx.Err() != nil:
			return m, err
		}
	}
	return m, err
}

func (h *Host) exchange(ctx context.Context, network string, question []byte, id uint16) (m dnsmessage.Message, err error) {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	conn, err := h.Resolver(ctx, network)
	if err != nil {
		return m, err
	}
	defer closeWith(ctx, conn)()
	if network == "tcp" {
		question = append(binary.BigEndian.AppendUint16(nil, uint16(len(question))), question...)
	}
	if _, err := conn.Write(question); err != nil {
		return m, err
	}
	buffer := make([]byte, 1<<16)
	for {
		n, err := readMessage(conn, network, buffer)
		if err != nil {
			return m, err
		}
		if m.Unpack(buffer[:n]) == nil && m.ID == id && m.Response {
			return m, nil
		}
		if network == "tcp" {
			return m, errors.New("the DNS server's answer makes no sense")
		}
	}
}

func readMessage(conn net.Conn, network string, buffer []byte) (int, error) {
	if network == "udp" {
		return conn.Read(buffer)
	}
	if _, err := io.ReadFull(conn, buffer[:2]); err != nil {
		return 0, err
	}
	return io.ReadFull(conn, buffer[:binary.BigEndian.Uint16(buffer)])
}

// closeWith closes a connection when ctx ends or the returned function is called.
func closeWith(ctx context.Context, conn net.Conn) func() {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return func() {
		stop()
		_ = conn.Close()
	}
}

// recordText is the content of a record; names have no dot at the end.
func recordText(body dnsmessage.ResourceBody) string {
	plain := func(n dnsmessage.Name) string { return strings.TrimSuffix(n.String(), ".") }
	switch r := body.(type) {
	case *dnsmessage.AResource:
		return net.IP(r.A[:]).String()
	case *dnsmessage.AAAAResource:
		return net.IP(r.AAAA[:]).String()
	case *dnsmessage.CNAMEResource:
		return plain(r.CNAME)
	case *dnsmessage.NSResource:
		return plain(r.NS)
	case *dnsmessage.PTRResource:
		return plain(r.PTR)
	case *dnsmessage.MXResource:
		return plain(r.MX)
	case *dnsmessage.SRVResource:
		return plain(r.Target)
	case *dnsmessage.SOAResource:
		return plain(r.NS)
	case *dnsmessage.TXTResource:
		return strings.Join(r.TXT, "")
	case *dnsmessage.UnknownResource:
		return caaText(r.Data)
	}
	return ""
}

// caaText is the value of a CAA record, which follows the flags and the tag with its length.
func caaText(data []byte) string {
	if len(data) < 2 || len(data) < 2+int(data[1]) {
		return ""
	}
	return string(data[2+data[1]:])
}
