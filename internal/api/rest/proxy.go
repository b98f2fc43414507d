package rest

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

const (
	forwardedFor   = "X-Forwarded-For"
	forwardedProto = "X-Forwarded-Proto"
)

type secureKey struct{}

// IsSecure reports whether the client sent a request over TLS: to this server, or to a trusted proxy that says so.
func IsSecure(r *http.Request) bool {
	return r.TLS != nil || r.Context().Value(secureKey{}) != nil
}

// BehindProxies sets the RemoteAddr of requests that came through a trusted proxy to the client's address. A client
// may write anything into X-Forwarded-For, so it is read from the right, where each proxy adds who called it, to the
// first address that is not a trusted proxy. It is ignored in requests from anybody else, and so is X-Forwarded-Proto.
func BehindProxies(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := Address(r.RemoteAddr)
		if isTrusted(trusted, peer) && isHTTPS(r.Header.Values(forwardedProto)) {
			r = r.WithContext(context.WithValue(r.Context(), secureKey{}, true))
		}
		client := clientOf(trusted, peer, r.Header.Values(forwardedFor))
		if client != peer {
			r = r.WithContext(r.Context()) // a shallow copy: the server's own stays as it is
			r.RemoteAddr = net.JoinHostPort(client, "0")
		}
		next.ServeHTTP(w, r)
	})
}

// isHTTPS reports whether the nearest proxy, which wrote the last entry, was called over TLS.
func isHTTPS(forwarded []string) bool {
	entries := strings.Split(strings.Join(forwarded, ","), ",")
	return strings.EqualFold(strings.TrimSpace(entries[len(entries)-1]), "https")
}

// clientOf is the client of a request from peer, which is an address without a port.
func clientOf(trusted []netip.Prefix, peer string, forwarded []string) string {
	rest := strings.Join(forwarded, ",")
	for isTrusted(trusted, peer) && rest != "" {
		entry := rest
		if i := strings.LastIndexByte(rest, ','); i >= 0 {
			entry, rest = rest[i+1:], rest[:i]
		} else {
			rest = ""
		}
		hop, ok := parseHop(strings.TrimSpace(entry))
		if !ok {
			break // the last proxy that said who it was is all that is known
		}
		peer = hop
	}
	return peer
}

func isTrusted(trusted []netip.Prefix, address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, p := range trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// parseHop reads an address with or without a port.
func parseHop(text string) (string, bool) {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return a.Unmap().WithZone("").String(), true
	}
	a, err := netip.ParseAddrPort(text)
	return a.Addr().Unmap().WithZone("").String(), err == nil
}
