package httptool

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Headers are templates of header fields.
type Headers []pair

// connectionHeaders belong to the connection or the protocol.
var connectionHeaders = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Expect", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection",
}

const maxHeaders = 50

// CompileHeaders checks header fields. A credential, by its name, must be a secret, {{$NAME}}. An error is Invalid, at
// "headers".
func CompileHeaders(fields map[string]string) (Headers, error) {
	bad := func(name, why string) (Headers, error) {
		return nil, errs.Field("headers", "headers %.100q: %s.", name, why)
	}
	if len(fields) > maxHeaders {
		return nil, errs.Field("headers", "headers must have at most %d entries.", maxHeaders)
	}
	credential := regexp.MustCompile(`(?i)(^|[-_])(authorization|auth|cookie|(api)?-?keys?|tokens?|secrets?|passw(or)?d|signature|credentials?)($|[-_])`)
	seen := map[string]bool{}
	var out Headers
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		canonical := http.CanonicalHeaderKey(name)
		value, err := parse(fields[name])
		switch {
		case !isToken(name):
			return bad(name, "it is no name of a header")
		case slices.Contains(connectionHeaders, canonical):
			return bad(name, "it belongs to the connection and cannot be set")
		case seen[canonical]:
			return bad(name, "it is there twice")
		case err != nil:
			return bad(name, err.Error())
		case credential.MatchString(name) && literal(value):
			return bad(name, "do not write a credential out: keep it as a secret and write {{$NAME}}")
		}
		if _, err := inHeader(fields[name]); err != nil {
			return bad(name, "the value "+err.Error())
		}
		seen[canonical] = true
		out = append(out, pair{canonical, value})
	}
	return out, nil
}

func literal(t text) bool {
	return !slices.ContainsFunc(t, func(p part) bool { return p.literal == "" })
}

// isToken reports whether s can name a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// Params are the names of the arguments.
func (h Headers) Params() []string { return (&Request{headers: h}).Params() }

// Secrets are the names of the secrets.
func (h Headers) Secrets() []string { return (&Request{headers: h}).Secrets() }

// Fill puts the secrets in. Its errors contain none.
func (h Headers) Fill(secrets map[string]string) (map[string]string, error) {
	return h.fill(values{secrets: secrets})
}

func (h Headers) fill(v values) (map[string]string, error) {
	out := map[string]string{}
	for _, field := range h {
		if v.absent(field.value) {
			continue
		}
		value, err := v.fill(field.value, inHeader)
		if err != nil {
			return nil, err
		}
		out[field.name] = strings.TrimSpace(value)
	}
	return out, nil
}
