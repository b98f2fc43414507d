package builtin

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/vedette-sec/vedette/internal/agent"
)

// reading is what a piece of text may be.
type reading struct {
	targets    []agent.Target // valid
	exclusions []agent.Target // what its exclusion excludes
	why        string         // why something that looks like a target is none
}

// read recognises a target. It is strict about targets and generous about exclusions.
func read(piece string) (reading, bool) {
	raw := piece
	hidden := strings.ContainsFunc(piece, func(r rune) bool { return unicode.Is(unicode.Cf, r) })
	defanged := strings.Contains(piece, "[.]") || defangedScheme().MatchString(piece)
	if hidden || defanged {
		piece = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, piece)
		piece = strings.ReplaceAll(piece, "[.]", ".")
		piece = defangedScheme().ReplaceAllString(piece, "http$1://")
	}
	got, ok := readPlain(piece)
	if !ok {
		return reading{}, false
	}
	for _, list := range [][]agent.Target{got.targets, got.exclusions} {
		for i := range list {
			list[i].Raw = raw
		}
	}
	if got.exclusions == nil {
		got.exclusions = slices.Clone(got.targets)
	}
	switch {
	case hidden:
		got.targets, got.why = nil, "it holds invisible characters"
	case defanged:
		got.targets, got.why = nil, "it is written so that it cannot be followed; write it plainly to have it tested"
	case strings.ContainsRune(piece, utf8.RuneError): // some text is lost: Plan puts this for invalid UTF-8
		got.targets, got.why = nil, "it holds characters that cannot be read"
	}
	return got, true
}

var defangedScheme = shape(`(?i)^hxxp(s?)://`)

func readPlain(piece string) (reading, bool) {
	if scheme, rest, ok := strings.Cut(piece, "://"); ok {
		return readURL(strings.ToLower(scheme), rest, piece)
	}
	if strings.Contains(piece, "@") {
		return reading{}, false // an e-mail address
	}
	if list, ok := readRange(piece); ok {
		return reading{targets: list}, true
	}
	if got, ok := readNetwork(piece); ok {
		return got, true
	}
	if strings.HasPrefix(piece, "/") {
		return reading{}, false
	}
	if names, ok := strings.CutPrefix(piece, "*."); ok {
		return readWildcard(names)
	}
	return readHost(piece)
}

func readURL(scheme, rest, piece string) (reading, bool) {
	u, err := url.Parse(piece)
	if err != nil || u.Host == "" {
		return reading{why: "it is not a well-formed address"}, rest != ""
	}
	path := u.EscapedPath()
	if u.RawQuery != "" {
		path = "/" + strings.TrimPrefix(path, "/") + "?" + u.RawQuery
	}
	t := agent.Target{Kind: agent.KindURL, Scheme: scheme, Path: path}
	host, why := canonicalHost(u.Hostname())
	t.Host = host
	if p := u.Port(); p != "" {
		if t.Port, err = strconv.Atoi(p); err != nil || t.Port < 1 || t.Port > 65535 {
			t.Port, why = 0, "its port is not between 1 and 65535"
		}
	}
	got := reading{why: why}
	if host != "" {
		got.exclusions = []agent.Target{t}
	}
	switch {
	case scheme != "http" && scheme != "https":
		got.why = "only http and https addresses can be tested"
		t.Scheme, t.Path = "", ""
		if host != "" {
			got.exclusions = []agent.Target{{Kind: kindOf(host), Host: host}}
		}
	case u.User != nil:
		got.why = "addresses with a user name or password in them are refused"
	case why == "":
		got.targets = []agent.Target{t}
	}
	return got, true
}

func kindOf(host string) agent.Kind {
	if _, err := netip.ParseAddr(host); err == nil {
		return agent.KindIP
	}
	return agent.KindHost
}

// canonicalHost checks a host: lower-case ASCII, or an address. Spellings that programs read differently are refused.
func canonicalHost(host string) (name, why string) {
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", "addresses with a zone cannot be tested"
		}
		return a.Unmap().String(), ""
	}
	host = strings.TrimSuffix(host, ".")
	ascii := strings.ToLower(host)
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		var err error
		if ascii, err = idna.Lookup.ToASCII(host); err != nil {
			return "", "its name is not a valid international name"
		}
	}
	if !nameShape().MatchString(ascii) || len(ascii) > 253 {
		return "", "its host is not a valid name"
	}
	if last := ascii[strings.LastIndexByte(ascii, '.')+1:]; numberShape().MatchString(last) {
		return "", "its host is a number; write the address as four decimal parts"
	}
	return ascii, ""
}

var (
	nameShape   = shape(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)
	numberShape = shape(`^(0x[0-9a-f]*|[0-9]+)$`)
	v4Shape     = shape(`^\d{1,3}(\.\d{1,3}){3}`)
)

func readNetwork(piece string) (reading, bool) {
	if p, err := netip.ParsePrefix(piece); err == nil {
		if p.Addr().Is4In6() {
			return reading{why: "write IPv4 networks in their own form"}, true
		}
		return reading{targets: []agent.Target{networkTarget(p.Masked())}}, true
	}
	addr, rest := piece, ""
	switch {
	case strings.HasPrefix(piece, "["):
		end := strings.IndexByte(piece, ']')
		if end < 0 {
			return reading{}, false
		}
		addr, rest = piece[1:end], piece[end+1:]
	case v4Shape().MatchString(piece):
		n := len(v4Shape().FindString(piece))
		addr, rest = piece[:n], piece[n:]
	}
	a, err := netip.ParseAddr(addr)
	if err != nil {
		if v4Shape().MatchString(piece) && (rest == "" || rest[0] == ':' || rest[0] == '/') {
			return reading{why: "it is not a valid address"}, true
		}
		return reading{}, false
	}
	if a.Zone() != "" {
		return reading{why: "addresses with a zone cannot be tested"}, true
	}
	t := agent.Target{Kind: agent.KindIP, Host: a.Unmap().String()}
	return withRest(t, rest)
}

// withRest adds the :port and /path of a host. A path that is only a number is a mistyped network.
func withRest(t agent.Target, rest string) (reading, bool) {
	port, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		port, path = rest[:i], rest[i:]
	}
	exclusions := []agent.Target{t}
	if port != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(port, ":"))
		if port[0] != ':' || err != nil || n < 1 || n > 65535 {
			return reading{exclusions: exclusions, why: "its port is not between 1 and 65535"}, port[0] == ':'
		}
		t.Port = n
	}
	if numberShape().MatchString(strings.TrimPrefix(path, "/")) {
		return reading{exclusions: exclusions, why: "it is not a valid network"}, true
	}
	if path != "" {
		u, err := url.Parse("http://x" + path)
		if err != nil {
			return reading{exclusions: exclusions, why: "its path is not well-formed"}, true
		}
		t.Path = u.RequestURI()
		if path == "/" {
			t.Path = ""
		}
	}
	return reading{targets: []agent.Target{t}}, true
}

// readWildcard reads what follows "*.": such names would have to be discovered first.
func readWildcard(names string) (reading, bool) {
	host, why := canonicalHost(names)
	if host == "" || why != "" || !strings.Contains(host, ".") {
		return reading{}, false
	}
	return reading{
		exclusions: []agent.Target{{Kind: agent.KindHost, Host: "*." + host}},
		why:        "finding the names under a domain is not available yet; name the hosts",
	}, true
}

var hostPiece = shape(`^([\pL\pN][\pL\pN\pM_-]*(?:\.[\pL\pN_][\pL\pN\pM_-]*)*)\.?(?:([:/?#]).*)?$`)

// readHost reads a bare host name: its last part is a public suffix or a known private one, and it is not a file or a
// product.
func readHost(piece string) (reading, bool) {
	m := hostPiece().FindStringSubmatchIndex(piece)
	if m == nil {
		return reading{}, false
	}
	written, rest := piece[m[2]:m[3]], strings.TrimPrefix(piece[m[3]:], ".")
	host, why := canonicalHost(written)
	if why != "" {
		return reading{}, false
	}
	if host == "localhost" {
		return withRest(agent.Target{Kind: agent.KindHost, Host: host}, rest)
	}
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 || notHosts[host] {
		return reading{}, false
	}
	t := agent.Target{Kind: agent.KindHost, Host: host}
	last := host[dot+1:]
	_, public := publicsuffix.PublicSuffix(host)
	switch {
	case fileExtensions[last] && rest == "":
		return reading{}, false
	case fileTLDs[last] && rest == "" && fileNames[host[:dot]]:
		return reading{}, false
	case twoMeanings[last] && rest == "" && strings.Count(host, ".") == 1:
		return reading{exclusions: []agent.Target{t},
			why: "it looks like the name of a file; write https://" + host + "/ if it is a host"}, true
	case !public && !privateSuffixes[last] && !underPublic(host):
		if strings.Count(host, ".") < 1 || len(last) < 2 {
			return reading{}, false
		}
		return reading{exclusions: []agent.Target{t}, why: unknownSuffix}, true
	}
	return withRest(t, rest)
}

// unknownSuffix marks dotted words that are probably no hosts: they are not reported, but can be excluded.
const unknownSuffix = "its last part is not a known domain"

// underPublic reports whether the last label is a public suffix: PublicSuffix also knows private ones such as
// github.io, which are hosts.
func underPublic(host string) bool {
	_, public := publicsuffix.PublicSuffix("a." + host[strings.LastIndexByte(host, '.')+1:])
	return public
}

var addressRange = shape(`^(\d{1,3}(?:\.\d{1,3}){3})(?:\s*(?:-|–|—)\s*|\s+(?:to|through|thru|until)\s+)(\d{1,3}(?:\.\d{1,3}){3}|\d{1,3})$`)

// readRange reads "10.0.0.1-10.0.0.20" and "10.0.0.1-20" as networks.
func readRange(piece string) ([]agent.Target, bool) {
	m := addressRange().FindStringSubmatch(piece)
	if m == nil {
		return nil, false
	}
	end := m[2]
	if !strings.Contains(end, ".") {
		end = m[1][:strings.LastIndexByte(m[1], '.')+1] + end
	}
	from, err1 := netip.ParseAddr(m[1])
	to, err2 := netip.ParseAddr(end)
	if err1 != nil || err2 != nil || to.Less(from) {
		return nil, false
	}
	var list []agent.Target
	first, last := binary.BigEndian.Uint32(from.AsSlice()), binary.BigEndian.Uint32(to.AsSlice())
	for {
		// the largest network that starts at first and ends before last
		size := min(bits.TrailingZeros32(first), 32)
		for size > 0 && (size == 32 && last != 1<<32-1 || size < 32 && last-first < 1<<size-1) {
			size--
		}
		a, _ := netip.AddrFromSlice(binary.BigEndian.AppendUint32(nil, first))
		list = append(list, networkTarget(netip.PrefixFrom(a, 32-size)))
		end := uint64(first) + 1<<size
		if end > uint64(last) {
			return list, true
		}
		first = uint32(end)
	}
}

// networkTarget is a network, or its only address.
func networkTarget(p netip.Prefix) agent.Target {
	if p.IsSingleIP() {
		return agent.Target{Kind: agent.KindIP, Host: p.Addr().String()}
	}
	return agent.Target{Kind: agent.KindCIDR, Prefix: p.String()}
}
