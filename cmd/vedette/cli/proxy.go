package cli

import (
	"net/netip"
	"os"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// ProxyHelp is the help of --proxy.
const ProxyHelp = "proxy for all connections to targets: socks5://, socks5h:// or http://, or a file with its URL " +
	"(default: VEDETTE_PROXY)"

// ReadProxy is the proxy that --proxy or VEDETTE_PROXY names, as a URL or as a file with one, so that its password need
// not stand where other users of the machine see it; nil without either.
func ReadProxy(text string) (*netguard.Proxy, error) {
	from := "--proxy"
	if text == "" {
		text, from = os.Getenv("VEDETTE_PROXY"), "VEDETTE_PROXY"
	}
	if text == "" {
		return nil, nil
	}
	if !strings.Contains(text, "://") {
		lines, err := ReadLines(text)
		if err != nil {
			return nil, Usagef("%s: it is neither a URL nor a file that can be read: %w", from, err)
		}
		if len(lines) != 1 {
			return nil, Usagef("%s: the file must have one line, the URL of a proxy", from)
		}
		text = lines[0]
	}
	p, err := netguard.ParseAnyProxy(text)
	if err != nil {
		return nil, Usagef("%s: %s", from, Plain(err))
	}
	return p, nil
}

// ProxyGuard dials the proxy of a user: wherever it is, since they named it on their own machine.
func ProxyGuard() *netguard.Guard {
	return &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
}
