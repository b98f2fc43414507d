package names

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const maxHost = 253 // bytes of a name, without the final dot

// normalizeHost is the form in which a name is asked about and compared: lower-case ASCII without a final dot and a
// leading "*.". ok is false for what is no host name.
func normalizeHost(host string) (name string, ok bool) {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "*."), ".")
	upper := false
	label := 0
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 0x80:
			return toASCII(host)
		case c == '.':
			if label == 0 {
				return "", false
			}
			label = 0
			continue
		case c >= 'A' && c <= 'Z':
			upper = true
		case (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_':
			return "", false
		}
		if label++; label > 63 {
			return "", false
		}
	}
	if label == 0 || len(host) > maxHost {
		return "", false
	}
	if upper {
		host = strings.ToLower(host)
	}
	return host, true
}

// toASCII converts a name of another script to ASCII.
func toASCII(host string) (string, bool) {
	if strings.ContainsAny(host, "/:@?#") {
		return "", false
	}
	t, err := netguard.ParseTarget(host)
	if err != nil || t.Host == "" {
		return "", false
	}
	return t.Host, true
}

func parentOf(host string) string {
	_, parent, _ := strings.Cut(host, ".")
	return parent
}
