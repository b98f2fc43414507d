// Package digest answers HTTP digest challenges (RFC 7616): MD5 and SHA-256 with their session forms, qop auth or
// none.
package digest

import (
	"crypto/md5" //nolint:gosec // what servers ask for
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
)

// Credentials answer challenges. They cache the last challenge of each origin and answer it in advance until it is
// stale. A nil Credentials answers nothing. They are safe for any number of goroutines and must not be copied.
type Credentials struct {
	Username, Password string

	// Nonce makes a client nonce; nil means 16 random bytes in hex.
	Nonce func() string

	mu    sync.Mutex
	known map[string]*challenge // by origin
}

type challenge struct {
	realm, nonce, opaque, algorithm, qop string
	count                                uint32 // answers given to it
}

// Authorization is the Authorization header for a request, if its origin (scheme, host and port) has sent a
// challenge.
func (c *Credentials) Authorization(origin, method, uri string) string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.known[origin]
	if ch == nil {
		return ""
	}
	ch.count++
	return c.respond(ch, method, uri)
}

// Learn caches the first usable challenge in the WWW-Authenticate headers of a response, and reports whether to send
// the request again. A request that was already answered is only sent again if the server called the answer stale.
func (c *Credentials) Learn(origin string, headers []string, answered bool) bool {
	params, ok := digestChallenge(headers)
	if !ok || answered && !strings.EqualFold(params["stale"], "true") {
		return false
	}
	ch := &challenge{realm: params["realm"], nonce: params["nonce"], opaque: params["opaque"],
		algorithm: params["algorithm"]}
	if qop, offered := params["qop"]; offered {
		if !slices.ContainsFunc(strings.Split(qop, ","),
			func(q string) bool { return strings.EqualFold(strings.TrimSpace(q), "auth") }) {
			return false
		}
		ch.qop = "auth"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*challenge{}
	}
	c.known[origin] = ch
	return true
}

func (c *Credentials) respond(ch *challenge, method, uri string) string {
	sum := func(parts ...string) string {
		h := digestHash(ch.algorithm)()
		h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	cnonce, nc := c.nonce(), fmt.Sprintf("%08x", ch.count)
	ha1 := sum(c.Username, ch.realm, c.Password)
	if strings.HasSuffix(strings.ToLower(ch.algorithm), "-sess") {
		ha1 = sum(ha1, ch.nonce, cnonce)
	}
	ha2 := sum(method, uri)
	response := sum(ha1, ch.nonce, ha2)
	if ch.qop != "" {
		response = sum(ha1, ch.nonce, nc, cnonce, ch.qop, ha2)
	}
	line := fmt.Sprintf(`Digest username=%s, realm=%s, nonce=%s, uri=%s, response="%s"`,
		quoted(c.Username), quoted(ch.realm), quoted(ch.nonce), quoted(uri), response)
	if ch.algorithm != "" {
		line += ", algorithm=" + ch.algorithm
	}
	if ch.opaque != "" {
		line += ", opaque=" + quoted(ch.opaque)
	}
	if ch.qop != "" || strings.HasSuffix(strings.ToLower(ch.algorithm), "-sess") {
		line += `, cnonce="` + cnonce + `"`
	}
	if ch.qop != "" {
		line += ", qop=auth, nc=" + nc
	}
	return line
}

func (c *Credentials) nonce() string {
	if c.Nonce != nil {
		return c.Nonce()
	}
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// digestHash is the hash of an algorithm; nil if it is unknown.
func digestHash(algorithm string) func() hash.Hash {
	switch strings.ToUpper(strings.TrimSuffix(strings.ToLower(algorithm), "-sess")) {
	case "", "MD5":
		return md5.New
	case "SHA-256":
		return sha256.New
	}
	return nil
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// digestChallenge finds the first usable challenge.
func digestChallenge(headers []string) (params map[string]string, ok bool) {
	for _, h := range headers {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(h), " ")
		if !strings.EqualFold(scheme, "Digest") {
			continue
		}
		if params = parameters(rest); params["nonce"] != "" && digestHash(params["algorithm"]) != nil {
			return params, true
		}
	}
	return nil, false
}

// parameters parses name=value, name="value", …; names in lower case.
func parameters(s string) map[string]string {
	params := map[string]string{}
	for {
		name, rest, ok := strings.Cut(strings.TrimLeft(s, " \t,"), "=")
		if !ok {
			return params
		}
		var value string
		if rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, `"`) {
			value, s = unquote(rest[1:])
		} else {
			value, s, _ = strings.Cut(rest, ",")
			value = strings.TrimSpace(value)
		}
		params[strings.ToLower(strings.TrimSpace(name))] = value
	}
}

func unquote(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
