package dsl

import (
	"bufio"
	"errors"
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

var errNoHost = errors.New("this function reaches out, which is not possible here")

func networkFunctions() []fn {
	return []fn{
		{name: "resolve", min: 1, max: 2, worldly: true, waits: true, run: resolve},
		{name: "jarm", min: 1, max: 1, worldly: true, waits: true, run: jarmOf},
		{name: "public_ip", min: 0, max: 0, worldly: true, waits: true, run: publicIP},
		{name: "getNetworkPort", min: 2, max: 2, run: networkPort},
		{name: "wappalyzer", min: 2, max: 2, worldly: true, dear: true, run: technologies},
		{name: "print_debug", min: 1, max: -1, worldly: true, run: func(*Env, []any) (any, error) { return true, nil }},
	}
}

func publicIP(env *Env, _ []any) (any, error) {
	if env.Host == nil || env.Host.PublicIP == nil {
		return nil, errNoHost
	}
	ip, err := env.Host.PublicIP(env.context())
	if err != nil {
		return nil, err
	}
	return ip, nil
}

// networkPort is the port, or the default when that says nothing about the service.
func networkPort(_ *Env, args []any) (any, error) {
	switch port := String(args[0]); port {
	case "", "80", "443", "8080", "8081", "8443", "53":
		return String(args[1]), nil
	default:
		return port, nil
	}
}

// technologies are the names of what headers and body show, sorted.
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
	return slices.Sorted(maps.Keys(apps.Fingerprint(headers, []byte(String(args[1]))))), nil
}

// readHeaders reads header lines; a status line before them is left out.
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
