package service

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
)

// datagram is a UDP service: what to send, and how its answer is recognised.
type datagram struct {
	port    uint16
	service string
	send    string
	known   func(b []byte) (version string, ok bool)
}

const (
	udpTries = 2
	udpWait  = time.Second // for each try
)

// datagrams send what a client sends first; none changes anything.
var datagrams = []datagram{
	{53, "dns", versionBind, func(b []byte) (string, bool) {
		ok := len(b) >= 12 && string(b[:2]) == "VE" && b[2]&0x80 != 0
		return bindVersion(b), ok
	}},
	{69, "tftp", "\x00\x01vedette-no-such-file\x00octet\x00", func(b []byte) (string, bool) {
		return "", len(b) >= 4 && b[0] == 0 && (b[1] == 5 || b[1] == 3)
	}},
	{111, "rpcbind", rpcQuestion, func(b []byte) (string, bool) {
		return "", len(b) >= 24 && string(b[:4]) == "VEDE" && b[7] == 1
	}},
	{123, "ntp", "\x23" + strings.Repeat("\x00", 39) + "VedetteV", func(b []byte) (string, bool) {
		return "", len(b) >= 48 && b[0]&7 == 4
	}},
	{137, "netbios-ns", "\x56\x45\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x20CKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00\x00\x21\x00\x01", func(b []byte) (string, bool) {
		return "", len(b) > 12 && string(b[:2]) == "VE" && b[2]&0x80 != 0
	}},
	{161, "snmp", "\x30\x29\x02\x01\x00\x04\x06public\xa0\x1c\x02\x04VEDE\x02\x01\x00\x02\x01\x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x01\x00\x05\x00", readSNMP},
	{500, "ike", ikeQuestion, func(b []byte) (string, bool) {
		return "", len(b) >= 28 && string(b[:8]) == "VedetteV"
	}},
	{1900, "upnp", "M-SEARCH * HTTP/1.1\r\nHost: 239.255.255.250:1900\r\nMan: \"ssdp:discover\"\r\nMX: 1\r\nST: ssdp:all\r\n\r\n", readSSDP},
	{3478, "stun", "\x00\x01\x00\x00\x21\x12\xa4\x42VedetteVedet", func(b []byte) (string, bool) {
		return "", len(b) >= 20 && b[0] == 1 && string(b[8:20]) == "VedetteVedet"
	}},
	{5060, "sip", sipStart + "UDP nobody;branch=z9hG4bK1;rport" + sipEnd, func(b []byte) (string, bool) {
		return "", bytes.HasPrefix(b, []byte("SIP/2.0 "))
	}},
	{5353, "mdns", "\x56\x45\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09_services\x07_dns-sd\x04_udp\x05local\x00\x00\x0c\x80\x01", func(b []byte) (string, bool) {
		return "", len(b) > 12 && b[2]&0x80 != 0 && b[7] > 0
	}},
	{5683, "coap", "\x40\x01\x56\x45\xbb.well-known\x04core", func(b []byte) (string, bool) {
		return "", len(b) >= 4 && b[0]>>6 == 1 && string(b[2:4]) == "VE"
	}},
	{11211, "memcached", "\x56\x45\x00\x00\x00\x01\x00\x00version\r\n", func(b []byte) (string, bool) {
		_, v, ok := bytes.Cut(b, []byte("VERSION "))
		return string(bytes.TrimSpace(v)), ok
	}},
}

const (
	// ikeQuestion is a main mode offer of one transform (RFC 2409).
	ikeQuestion = "VedetteV\x00\x00\x00\x00\x00\x00\x00\x00\x01\x10\x02\x00\x00\x00\x00\x00\x00\x00\x00\x50" +
		"\x00\x00\x00\x34\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x28\x01\x01\x00\x01" +
		"\x00\x00\x00\x20\x01\x01\x00\x00\x80\x01\x00\x05\x80\x02\x00\x02\x80\x03\x00\x01\x80\x04\x00\x02" +
		"\x80\x0b\x00\x01\x80\x0c\x0e\x10"
)

// Datagram is a UDP service that answered.
type Datagram struct {
	Port    uint16
	Name    string // of the service; an answer that is not understood is not counted
	Version string
}

// UDP asks the common UDP services of a host, all at once, and gives those that answered, by port. Silence and
// closed ports look alike, and are left out. denied is the first error of dial.
func UDP(
	ctx context.Context, dial func(ctx context.Context, port uint16) (net.Conn, error),
) (found []Datagram, denied error) {
	answers := make([]*Datagram, len(datagrams))
	errs := make([]error, len(datagrams))
	var group sync.WaitGroup
	for i, d := range datagrams {
		group.Go(func() { answers[i], errs[i] = d.ask(ctx, dial) })
	}
	group.Wait()
	for i, a := range answers {
		if a != nil {
			found = append(found, *a)
		}
		if denied == nil {
			denied = errs[i]
		}
	}
	return found, denied
}

// ask sends the question, and once more when nothing answers.
func (d *datagram) ask(ctx context.Context, dial func(context.Context, uint16) (net.Conn, error)) (*Datagram, error) {
	conn, err := dial(ctx, d.port)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	b := make([]byte, maxAnswer)
	for range udpTries {
		if _, err := conn.Write([]byte(d.send)); err != nil {
			return nil, nil // a closed port
		}
		if ctx.Err() != nil {
			return nil, nil
		}
		_ = conn.SetReadDeadline(time.Now().Add(udpWait))
		n, err := conn.Read(b)
		if version, ok := d.known(b[:n]); err == nil && ok {
			return &Datagram{Port: d.port, Name: d.service, Version: discover.Clean(version, 128)}, nil
		}
	}
	return nil, nil
}

// readSNMP reads the system description (sysDescr.0).
func readSNMP(b []byte) (string, bool) {
	if len(b) < 20 || b[0] != 0x30 || !bytes.Contains(b, []byte("VEDE")) {
		return "", false
	}
	_, rest, ok := bytes.Cut(b, []byte("\x2b\x06\x01\x02\x01\x01\x01\x00\x04"))
	if !ok || len(rest) < 2 {
		return "", true
	}
	n, text := int(rest[0]), rest[1:]
	switch {
	case n == 0x81:
		n, text = int(text[0]), text[1:]
	case n == 0x82 && len(text) > 2:
		n, text = int(binary.BigEndian.Uint16(text)), text[2:]
	}
	return string(text[:min(n, len(text))]), true
}

var ssdpServer = regexp.MustCompile(`(?i)\r\nserver: *([^\r\n]{1,120})`)

func readSSDP(b []byte) (string, bool) {
	if !bytes.HasPrefix(b, []byte("HTTP/1.1 200")) && !bytes.HasPrefix(b, []byte("NOTIFY ")) {
		return "", false
	}
	if m := ssdpServer.FindSubmatch(b); m != nil {
		return string(m[1]), true
	}
	return "", true
}
