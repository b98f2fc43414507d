package web

import (
	"crypto/md5" //nolint:gosec // what servers ask for
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"sync"
)

// Credentials answer HTTP digest challenges (RFC 7616): MD5 and SHA-256 with their
// session forms, qop auth or none. They remember the last challenge of a server and
// answer it ahead, until it is stale. A nil Credentials answers nothing. They are safe
// for any number of goroutines and must not be copied.
type Credentials struct {
	Username, Password string

	// Nonce makes the client's part of an answer; nil means 16 random bytes in hex.
	Nonce func() string

	mu    sync.Mutex
	known map[string]*challenge // by scheme, host and port
}

// challenge is what a server asked.
type challenge struct {
	realm, nonce, opaque, algorithm, qop string
	count                                uint32 // answers given to it
}

// answer is the Authorization line for a request, if its server has asked for one
// before.
func (c *Credentials) answer(req *Request) string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.known[req.Address.Scheme+req.Address.HostPort()]
	if ch == nil {
		return ""
	}
	ch.count++
	return c.respond(ch, req.method(), req.target())
}

// learn takes over the challenge of an answer, and says whether to answer it. A
// challenge that follows an answer to one is only answered when that was stale.
func (c *Credentials) learn(x *Exchange) bool {
	if c == nil || x.Status != 401 || x.Request.Raw != nil {
		return false
	}
	params, ok := digestChallenge(x)
	if !ok || x.extra.authorization != "" && !strings.EqualFold(params["stale"], "true") {
		return false
	}
	ch := &challenge{realm: params["realm"], nonce: params["nonce"], opaque: params["opaque"], algorithm: params["algorithm"]}
	if qop, offered := params["qop"]; offered {
		if !hasToken(qop, "auth") {
			return false
		}
		ch.qop = "auth"
	}
	if digestHash(ch.algorithm) == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]*challenge{}
	}
	c.known[x.Request.Address.Scheme+x.Request.Address.HostPort()] = ch
	return true
}

// respond calculates an answer.
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
	_, _ = rand.Read(b) // fails never
	return hex.EncodeToString(b)
}

// digestHash is the hash of an algorithm; nil when it is unknown.
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

// digestChallenge finds the first digest challenge that can be answered.
func digestChallenge(x *Exchange) (params map[string]string, ok bool) {
	for _, h := range x.Fields() {
		if !strings.EqualFold(h.Name, "Www-Authenticate") {
			continue
		}
		scheme, rest, _ := strings.Cut(trimBlanks(h.Value), " ")
		if !strings.EqualFold(scheme, "Digest") {
			continue
		}
		if params = parameters(rest); params["nonce"] != "" && digestHash(params["algorithm"]) != nil {
			return params, true
		}
	}
	return nil, false
}

// parameters reads name=value, name="value", …; names in lower case.
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
			value = trimBlanks(value)
		}
		params[strings.ToLower(trimBlanks(name))] = value
	}
}

// unquote reads up to the closing quote.
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
