package functions

import (
	"bufio"
	"context"
	"errors"
	"maps"
	"math"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

var errNoHost = errors.New("this function reaches out, which is not possible here")

func networkFunctions() []Function {
	return []Function{
		{Name: "resolve", Min: 1, Max: 2, Impure: true, Waits: true, Run: unavailable},
		{Name: "jarm", Min: 1, Max: 1, Impure: true, Waits: true, Run: jarmOf},
		{Name: "public_ip", Min: 0, Max: 0, Impure: true, Waits: true, Run: unavailable},
		function("getNetworkPort", 2, 2, networkPort),
		{Name: "wappalyzer", Min: 2, Max: 2, Impure: true, Expensive: true, Run: technologies},
		{Name: "print_debug", Min: 1, Max: -1, Impure: true, Run: func(*Env, []any) (any, error) { return true, nil }},
	}
}

// unavailable stands for functions that would contact hosts outside the scope of a scan.
func unavailable(*Env, []any) (any, error) { return nil, errNoHost }

const jarmTimeout = 10 * time.Second // of one connection

// jarmOf is the JARM fingerprint of a TLS server; 62 zeros when it answers nothing.
func jarmOf(env *Env, args []any) (any, error) {
	if env.Host == nil || env.Host.Dial == nil {
		return nil, errNoHost
	}
	address, ctx := String(args[0]), env.context()
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context) (net.Conn, error) { return env.Host.Dial(ctx, "tcp", address) }
	return tlsfacts.JARM(ctx, host, int(port), jarmTimeout, math.MaxInt, dial), ctx.Err()
}

// networkPort is the port, or the default for a port that is common for the web or DNS.
func networkPort(_ *Env, args []any) (any, error) {
	switch port := String(args[0]); port {
	case "", "80", "443", "8080", "8081", "8443", "53":
		return String(args[1]), nil
	default:
		return port, nil
	}
}

// maxFingerprinted is how much of a body is looked at, in bytes: thousands of expressions read it.
const maxFingerprinted = 512 << 10

// technologies are the sorted names of what headers and body reveal.
func technologies(env *Env, args []any) (any, error) {
	if env.Host == nil {
		return nil, errNoHost
	}
	headers, err := readHeaders(String(args[0]))
	if err != nil {
		return nil, err
	}
	apps, err := env.Host.fingerprints()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(apps.Fingerprint(headers, []byte(errs.Clip(String(args[1]), maxFingerprinted))))), nil
}

// readHeaders parses header lines, without a status line before them.
func readHeaders(raw string) (textproto.MIMEHeader, error) {
	raw = strings.TrimLeft(raw, "\r\n")
	if line, rest, ok := strings.Cut(raw, "\n"); ok && strings.HasPrefix(line, "HTTP/") {
		raw = rest
	}
	raw = strings.TrimRight(raw, "\r\n")
	if raw == "" {
		return textproto.MIMEHeader{}, nil
	}
	return textproto.NewReader(bufio.NewReader(strings.NewReader(raw + "\r\n\r\n"))).ReadMIMEHeader()
}
