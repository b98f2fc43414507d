package asset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// What is kept of one asset at most: bytes of a text, entries of a list.
const (
	maxText    = 1 << 10
	maxBody    = 8 << 10
	maxList    = 256
	maxMany    = 1000 // endpoints, names of a certificate
	maxDetails = 100  // technologies, headers
	maxPicture = 8 << 20
)

// bounded is an asset as it is kept: host in lower case, lists and texts within their
// bounds, text that both databases can store.
func bounded(a discover.Asset) discover.Asset {
	a.Screenshot = nil
	a.Host = strings.TrimSuffix(strings.ToLower(line(a.Host)), ".")
	if a.Protocol = strings.ToLower(line(a.Protocol)); a.Protocol == "" && a.Port > 0 {
		a.Protocol = "tcp"
	}
	for _, text := range []*string{
		&a.Service, &a.Version, &a.URL, &a.Domain, &a.Title, &a.Webserver, &a.Method, &a.Favicon, &a.FaviconURL, &a.BodyHash, &a.Redirect, &a.CDN, &a.WAF,
	} {
		*text = clip(*text, maxText)
	}
	a.Body = clip(a.Body, maxBody)
	a.IP, a.CNAME, a.Chain, a.Notes = clipAll(a.IP, maxList), clipAll(a.CNAME, maxList), clipAll(a.Chain, maxList), clipAll(a.Notes, maxList)
	a.Technologies, a.Endpoints = clipAll(a.Technologies, maxDetails), clipAll(a.Endpoints, maxMany)
	a.Records, a.Headers, a.Details = few(a.Records), few(a.Headers), few(a.Details)
	a.Sources = a.Sources[:min(len(a.Sources), maxDetails)]
	a.Misconfiguration = a.Misconfiguration[:min(len(a.Misconfiguration), maxDetails)]
	for kind, values := range a.Records {
		a.Records[kind] = clipAll(values, maxList)
	}
	for name, value := range a.Headers {
		a.Headers[name] = clip(value, maxText)
	}
	if a.TLS != nil {
		t := *a.TLS
		t.SubjectAN = clipAll(t.SubjectAN, maxMany)
		for _, text := range []*string{&t.Version, &t.Cipher, &t.JARM, &t.Serial, &t.SubjectCN, &t.SubjectOrg, &t.IssuerCN, &t.IssuerOrg} {
			*text = clip(*text, maxText)
		}
		a.TLS = &t
	}
	return a
}

// few is the first entries of a map by their names: which they are must not change from
// one look to the next.
func few[V any](m map[string]V) map[string]V {
	if m == nil {
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make(map[string]V, min(len(m), maxDetails))
	for _, name := range names[:min(len(names), maxDetails)] {
		out[clip(name, maxText)] = m[name]
	}
	return out
}

func clipAll(values []string, most int) []string {
	if values == nil {
		return nil
	}
	out := make([]string, 0, min(len(values), most))
	for _, value := range values[:min(len(values), most)] {
		out = append(out, clip(value, maxText))
	}
	return out
}

// clip is a text within a bound of bytes that both databases can store.
func clip(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	return db.Clean(text)
}

// line is a short text without line feeds, which part words in columns.
func line(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(clip(text, maxText), "\n", " "))
}

// joined makes a column of words: each once, in their order.
func joined(values []string) string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		if value = line(value); value != "" && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return strings.Join(out, "\n")
}

func sorted(values []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// keyOf names an asset within its enumeration, and alike in every other: 32 hex digits.
func keyOf(a discover.Asset) string {
	return digest([]byte(a.Host + "\n" + strconv.Itoa(a.Port) + "\n" + a.Protocol))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// tracked is what of an asset makes a change when it changes. Headers, bodies and what
// was crawled differ at each look: the last is kept, and nothing is said of it.
func tracked(a discover.Asset) discover.Asset {
	a.Headers, a.Body, a.BodyHash, a.Endpoints, a.Notes, a.Sources = nil, "", "", nil, nil, nil
	a.Technologies, a.IP = sorted(a.Technologies), sorted(a.IP) // whose order is nobody's
	a.Details = nil                                             // says nothing that the technologies do not
	return a
}

// rowOf makes the row of an observation, and its document. It is without numbers, times
// and labels.
func rowOf(enumeration string, a discover.Asset) (r row, doc []byte, err error) {
	a = bounded(a)
	if doc, err = json.Marshal(a); err != nil {
		return r, nil, err
	}
	facts, err := json.Marshal(tracked(a))
	if err != nil {
		return r, nil, err
	}
	kinds := make([]string, len(a.Misconfiguration))
	for i, m := range a.Misconfiguration {
		kinds[i] = m.Type
	}
	r = row{
		enumeration: enumeration, hash: keyOf(a), host: a.Host, port: a.Port, protocol: a.Protocol, internal: internal(a),
		status: a.StatusCode, length: a.ContentLength, title: line(a.Title), service: line(a.Service), webserver: line(a.Webserver), domain: strings.ToLower(line(a.Domain)),
		ip: joined(a.IP), cname: joined(a.CNAME), technologies: joined(sorted(a.Technologies)), favicon: line(a.Favicon), misconfiguration: joined(sorted(kinds)),
		facts: digest(facts), whole: digest(doc),
	}
	r.endpoints = int64(len(a.Endpoints))
	if scheme, _, ok := strings.Cut(a.URL, "://"); r.service == "" && ok {
		r.service = strings.ToLower(line(scheme))
	}
	if a.TLS != nil {
		r.tls, r.certificate = joined(tlsFaults(*a.TLS)), line(a.TLS.Serial)
	}
	return r, doc, nil
}

// tlsFaults are the words for what is wrong with a certificate.
func tlsFaults(t discover.TLS) (out []string) {
	for _, fault := range []struct {
		is   bool
		word string
	}{{t.Expired, "expired"}, {t.Mismatched, "mismatched"}, {t.Revoked, "revoked"}, {t.SelfSigned, "self_signed"}, {t.Untrusted, "untrusted"}} {
		if fault.is {
			out = append(out, fault.word)
		}
	}
	return out
}

// internal reports whether an asset's first address, or where there is none its name, is
// not of the public internet.
func internal(a discover.Asset) bool {
	for _, text := range append(slices.Clone(a.IP[:min(len(a.IP), 1)]), a.Host) {
		if ip, err := netip.ParseAddr(text); err == nil {
			ip = ip.Unmap()
			return ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()
		}
	}
	return a.Host == "localhost" || strings.HasSuffix(a.Host, ".localhost") || strings.HasSuffix(a.Host, ".local") ||
		strings.HasSuffix(a.Host, ".internal") || !strings.Contains(a.Host, ".")
}

// Field is one field of an asset that changed, under the name that lists show it by.
type Field struct {
	Name string          `json:"name"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// fieldsChanged are the tracked fields that differ, by name.
func fieldsChanged(before, after []byte) ([]Field, error) {
	var old, now discover.Asset
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(after, &now); err != nil {
		return nil, err
	}
	a, err := members(tracked(old))
	if err != nil {
		return nil, err
	}
	b, err := members(tracked(now))
	if err != nil {
		return nil, err
	}
	var out []Field
	for name, from := range a {
		if to := b[name]; !bytes.Equal(from, to) {
			out = append(out, Field{name, orNull(from), orNull(to)})
		}
	}
	for name, to := range b {
		if _, had := a[name]; !had {
			out = append(out, Field{name, orNull(nil), to})
		}
	}
	slices.SortFunc(out, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// members are the fields of an asset; those of its certificate as tls_….
func members(a discover.Asset) (map[string]json.RawMessage, error) {
	out, err := object(a)
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

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}
