package fixed

import (
	"net/netip"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/targets"
)

// placeOf is the same for targets that mean the same place however they are written, and the host as findings have it.
// What is no target has no place. A target without a scheme is a place of its own: it is looked for under several.
func placeOf(target string) (place, host string, is bool) {
	t, err := targets.Parse(target)
	if err != nil {
		return "", "", false
	}
	a := t.AsGiven()
	host = strings.TrimSuffix(strings.Trim(a.Hostname(), "[]"), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	_, port := splitPort(a.Host)
	if port == defaultPorts[t.Named] {
		port = ""
	}
	return strings.Join([]string{t.Named, host, port, strings.TrimSuffix(a.Path, "/"), a.Query}, "\x00"), host, true
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}

// splitPort splits host or host:port, as targets write it.
func splitPort(authority string) (host, port string) {
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		return authority[:i], authority[i+1:]
	}
	return authority, ""
}
