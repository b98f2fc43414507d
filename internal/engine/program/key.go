package program

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// AppendKey appends a key that two static entries share exactly when they send the same first request to a target;
// how they follow redirects does not count. For targets without a path (rootTarget), {{BaseURL}} and {{RootURL}} are
// the same, and so are a raw GET with ordinary headers alone and a path request.
func (b *Bound) AppendKey(dst []byte, block, entry int, rootTarget bool) []byte {
	e := &b.Blocks[block].Entries[entry]
	k := keyWriter{text: dst, bound: b}
	path, raw, noAccept := e.path, e.raw, e.isRaw
	if rootTarget && !e.isRaw {
		path = path.ReplaceFirst("BaseURL", rootURL)
	}
	if rootTarget && e.isRaw {
		if target, ok := e.plainGet(); ok {
			path, raw, noAccept = dsl.Parse("{{RootURL}}"+target).Bind(b.fixed(&b.Blocks[block])), dsl.Text{}, false
		}
	}
	k.field(e.method)
	k.field(e.port)
	before := len(k.text)
	if k.writeText(path); rootTarget && string(k.text[before:]) == rootURLKey {
		k.text = k.text[:before]
		k.writeText(rootSlash)
	}
	k.writeText(raw)
	k.writeText(e.body)
	how := e.sending
	k.text = strconv.AppendInt(k.text, how.maxBody, 10)
	k.flags(how.readAll, how.unsafe, how.automerge || !noAccept, noAccept, e.trimSlash && !rootTarget)
	for _, h := range e.headers {
		k.field(h.name)
		k.writeText(h.value)
	}
	return k.text
}

var (
	rootURL   = dsl.Parse("{{RootURL}}")
	rootSlash = dsl.Parse("{{RootURL}}/")

	rootURLKey = rootURL.Key() + "." // as put writes it
)

// keyWriter writes fields so that no two lists have the same text.
type keyWriter struct {
	text  []byte
	bound *Bound
}

func (k *keyWriter) field(s string) {
	k.text = strconv.AppendInt(k.text, int64(len(s)), 10)
	k.text = append(append(k.text, ':'), s...)
}

func (k *keyWriter) flags(all ...bool) {
	for _, set := range all {
		k.text = strconv.AppendBool(append(k.text, ' '), set)
	}
}

// writeText writes a text and the meaning of its open names.
func (k *keyWriter) writeText(t dsl.Text) {
	k.text = append(t.AppendKey(k.text), '.')
	if _, constant := t.Const(); !constant {
		k.writeValues(t.Names(), len(k.bound.variables))
	}
}

// writeValues writes what names mean that are not the target's own.
func (k *keyWriter) writeValues(names []string, n int) {
	for _, name := range names {
		if v, ok := k.bound.sharedValue(name); ok {
			k.field("=" + functions.String(v))
			continue
		}
		if rawurl.IsVariable(name) {
			continue
		}
		for i := n - 1; i >= 0; i-- {
			v := &k.bound.variables[i]
			if v.name != name {
				continue
			}
			if v.fixed != nil {
				k.field("=" + functions.String(v.fixed))
			} else {
				k.field("?" + v.text.Key())
				k.writeValues(v.text.Names(), i)
			}
			break
		}
	}
}

// ordinaryHeader reports whether a path request sends an equivalent header.
func ordinaryHeader(h web.Header) bool {
	switch h.Name {
	case "Host":
		return h.Value == "{{Hostname}}"
	case "User-Agent":
		return strings.HasPrefix(h.Value, "Mozilla/5.0 (") && !strings.Contains(h.Value, "{{")
	case "Accept":
		return strings.Contains(h.Value, "*/*")
	case "Accept-Language", "Accept-Encoding":
		return true
	case "Connection":
		return strings.EqualFold(h.Value, "close") || strings.EqualFold(h.Value, "keep-alive")
	}
	return false
}

// plainGet is the request target of a raw request that equals a path request on a target without a path.
func (e *Entry) plainGet() (target string, ok bool) {
	if !e.isRaw || e.sending.unsafe || len(e.headers) > 0 {
		return "", false
	}
	if body, constant := e.body.Const(); !constant || body != "" {
		return "", false
	}
	m, err := readMessage(e.raw.String(), false)
	if err != nil || m.method != "GET" || m.body != "" || m.annotations != (annotations{}) ||
		!strings.HasPrefix(m.target, "/") || strings.ContainsAny(m.target, "#") {
		return "", false
	}
	other := slices.ContainsFunc(m.headers, func(h web.Header) bool { return !ordinaryHeader(h) })
	return m.target, !other
}
