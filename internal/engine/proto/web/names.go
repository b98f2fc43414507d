package web

import (
	"bytes"
	"strings"
)

// Names are the other names than that of its address that a request gives to the server, and that may decide which of
// its sites is asked: the Host line, the server name of TLS, a whole URL as the target, and the headers by which
// proxies pass a host on. In a raw request each line counts, also of what may be further requests in its body.
func (c *Client) Names(r *Request) []string {
	n := names{own: r.Address.Hostname()}
	n.add(r.SNI)
	if i := indexHeader(c.cfg.Headers, "Host"); i >= 0 {
		n.add(c.cfg.Headers[i].Value)
	}
	if r.Raw != nil {
		for line := range bytes.Lines(r.Raw) {
			n.addLine(string(line))
		}
		return n.found
	}
	n.add(r.Host)
	n.addTarget(r.Target)
	for _, h := range r.Headers {
		n.addHeader(h.Name, h.Value)
	}
	return n.found
}

// HeaderNames are the names that one header gives to a server of another name.
func HeaderNames(own, name, value string) []string {
	n := names{own: own}
	n.addHeader(name, value)
	return n.found
}

type names struct {
	own   string
	found []string
}

// addLine takes a line of a raw request: a request line with a whole URL, or a header.
func (n *names) addLine(line string) {
	if name, value, ok := strings.Cut(line, ":"); ok && !strings.Contains(name, " ") {
		n.addHeader(name, value)
		return
	}
	if fields := strings.Fields(line); len(fields) == 3 && strings.HasPrefix(fields[2], "HTTP/") {
		n.addTarget(fields[1])
		if fields[0] == "CONNECT" {
			n.add(fields[1])
		}
	}
}

func (n *names) addTarget(target string) {
	if _, rest, ok := strings.Cut(target, "://"); ok && !strings.HasPrefix(target, "/") {
		n.add(rest)
	}
}

func (n *names) addHeader(name, value string) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "host", "x-forwarded-host", "x-forwarded-server", "x-host", "x-original-host", "x-http-host-override":
		for one := range strings.SplitSeq(value, ",") {
			n.add(one)
		}
	case "forwarded": // RFC 7239
		for pair := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ';' || r == ',' }) {
			if key, host, ok := strings.Cut(pair, "="); ok && strings.EqualFold(strings.TrimSpace(key), "host") {
				n.add(strings.Trim(strings.TrimSpace(host), `"`))
			}
		}
	}
}

// add adds the host of text, which may have a scheme, a user, a port and a path, unless it is the address's own. What
// no host is called is left out: no site answers to it.
func (n *names) add(text string) {
	if text == "" || text == n.own {
		return
	}
	text = strings.ToLower(strings.TrimSpace(text))
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "//"), "/")
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = text[i+1:]
	}
	if rest, ok := strings.CutPrefix(text, "["); ok {
		text, _, _ = strings.Cut(rest, "]")
	} else if host, port, ok := strings.Cut(text, ":"); ok && !strings.Contains(port, ":") {
		text = host
	}
	text = strings.TrimSuffix(text, ".")
	if text == "" || strings.EqualFold(text, n.own) || strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`"'()<>{}|\^`+"`$%&*+,;=?#!", r)
	}) {
		return
	}
	n.found = append(n.found, text)
}
