// Package observation prepares what discovery saw of an asset for the inventory: it bounds texts
// and lists, says which fields changed since the last observation, and guesses labels.
package observation

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// The bounds of one asset: bytes of a text, entries of a list.
const (
	maxText    = 1 << 10
	maxBody    = 8 << 10
	maxList    = 256
	maxMany    = 1000 // endpoints, names of a certificate
	maxDetails = 100  // technologies, headers
)

// Bound limits texts and lists of an asset, removes its screenshot, lowers the case of its host and
// replaces characters that a database cannot store.
func Bound(a discover.Asset) discover.Asset {
	a.Screenshot = nil
	a.Host = strings.TrimSuffix(strings.ToLower(Line(a.Host)), ".")
	if a.Protocol = strings.ToLower(Line(a.Protocol)); a.Protocol == "" && a.Port > 0 {
		a.Protocol = "tcp"
	}
	for _, text := range []*string{
		&a.Service, &a.Version, &a.URL, &a.Domain, &a.Title, &a.Webserver, &a.Method, &a.Favicon, &a.FaviconURL, &a.BodyHash,
		&a.Redirect, &a.CDN, &a.WAF,
	} {
		*text = Clip(*text)
	}
	a.Body = clip(a.Body, maxBody)
	for _, values := range []*[]string{&a.IP, &a.CNAME, &a.Chain, &a.Notes} {
		*values = clipAll(*values, maxList)
	}
	a.Technologies, a.Endpoints = clipAll(a.Technologies, maxDetails), clipAll(a.Endpoints, maxMany)
	a.Records, a.Headers, a.Details = first(a.Records), first(a.Headers), first(a.Details)
	a.Sources = a.Sources[:min(len(a.Sources), maxDetails)]
	a.Misconfiguration = a.Misconfiguration[:min(len(a.Misconfiguration), maxDetails)]
	for kind, values := range a.Records {
		a.Records[kind] = clipAll(values, maxList)
	}
	for name, value := range a.Headers {
		a.Headers[name] = Clip(value)
	}
	if a.TLS != nil {
		t := *a.TLS
		t.SubjectAN = clipAll(t.SubjectAN, maxMany)
		for _, text := range []*string{
			&t.Version, &t.Cipher, &t.JARM, &t.Serial, &t.SubjectCN, &t.SubjectOrg, &t.IssuerCN, &t.IssuerOrg,
		} {
			*text = Clip(*text)
		}
		a.TLS = &t
	}
	return a
}

// first keeps the first entries of a map, sorted by key so that the same ones stay each time.
func first[V any](m map[string]V) map[string]V {
	if m == nil {
		return nil
	}
	out := make(map[string]V, min(len(m), maxDetails))
	for _, key := range slices.Sorted(maps.Keys(m))[:min(len(m), maxDetails)] {
		out[Clip(key)] = m[key]
	}
	return out
}

func clipAll(values []string, most int) []string {
	if values == nil {
		return nil
	}
	out := make([]string, 0, min(len(values), most))
	for _, value := range values[:min(len(values), most)] {
		out = append(out, Clip(value))
	}
	return out
}

// Clip is a text of at most 1 KiB that both databases can store.
func Clip(text string) string { return clip(text, maxText) }

func clip(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return db.Clean(text)
}

// Line is Clip without line feeds, which separate the values of a column.
func Line(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(Clip(text), "\n", " "))
}

// Sorted is some values in order, each once.
func Sorted(values []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// Tracked is the part of an asset whose changes are recorded. Headers, bodies and crawled endpoints
// differ each time; only their latest values are kept.
func Tracked(a discover.Asset) discover.Asset {
	a.Headers, a.Body, a.BodyHash, a.Endpoints, a.Notes, a.Sources = nil, "", "", nil, nil, nil
	a.Technologies, a.IP = Sorted(a.Technologies), Sorted(a.IP) // their order means nothing
	a.Details = nil                                             // follows from the technologies
	return a
}

// Field is a field of an asset that changed, named as in lists.
type Field struct {
	Name string          `json:"name"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// Changes are the tracked fields that differ, by name; those of the certificate as tls_….
func Changes(before, after discover.Asset) (out []Field, err error) {
	from, err := fields(before)
	if err != nil {
		return nil, err
	}
	to, err := fields(after)
	all := maps.Clone(from)
	maps.Copy(all, to)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(from[name], to[name]) {
			out = append(out, Field{name, from[name], to[name]})
		}
	}
	return out, err
}

func fields(a discover.Asset) (map[string]json.RawMessage, error) {
	out, err := object(Tracked(a))
	if err != nil || a.TLS == nil {
		return out, err
	}
	delete(out, "tls")
	tls, err := object(*a.TLS)
	for name, value := range tls {
		out["tls_"+name] = value
	}
	return out, err
}

func object(v any) (out map[string]json.RawMessage, err error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(doc, &out)
}

// TLSFaults are words for what is wrong with a certificate.
func TLSFaults(t discover.TLS) (out []string) {
	for _, fault := range []struct {
		is   bool
		word string
	}{
		{t.Expired, "expired"}, {t.Mismatched, "mismatched"}, {t.Revoked, "revoked"},
		{t.SelfSigned, "self_signed"}, {t.Untrusted, "untrusted"},
	} {
		if fault.is {
			out = append(out, fault.word)
		}
	}
	return out
}

// Internal reports whether an asset's first address or, without one, its name is not of the public
// internet.
func Internal(a discover.Asset) bool {
	for _, text := range append(slices.Clone(a.IP[:min(len(a.IP), 1)]), a.Host) {
		if ip, err := netip.ParseAddr(text); err == nil {
			ip = ip.Unmap()
			return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()
		}
	}
	for _, suffix := range []string{".localhost", ".local", ".internal"} {
		if strings.HasSuffix(a.Host, suffix) {
			return true
		}
	}
	return !strings.Contains(a.Host, ".")
}
