package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/tech"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The bounds of a visit and of what is kept of it.
const (
	maxHops        = 10
	keptBody       = 16 << 10 // bytes of the body that an asset carries
	keptFields     = 100
	keptFieldBytes = 2048
	maxTechnology  = 128       // bytes of a name with its version
	maxFingerprint = 256 << 10 // bytes of a body that fingerprints are matched against
)

// Visit is what the start page of a server shows.
type Visit struct {
	Asset  discover.Asset // the HTTP fields
	Last   *url.URL       // of the page that was read
	Page   Page
	Denied []Refusal
	// Misdirected says that the server wants HTTPS on the port.
	Misdirected bool
}

// Refusal is a hop that the guard did not allow.
type Refusal struct{ URL, Why string }

// Visit fetches start and follows redirects as far as the guard allows. The fields describe the last page that
// answered. An error means that the first did not.
func (c *Client) Visit(ctx context.Context, start *url.URL) (*Visit, error) {
	v := &Visit{}
	k := keeper{Client: c}
	defer k.close()
	a, err := k.follow(ctx, start, v)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	v.Misdirected = len(v.Asset.Chain) == 1 && start.Scheme == "http" && Misdirected(a.Status, a.Body)
	if v.Misdirected {
		return v, nil
	}
	if isPage(a) {
		v.Page = ReadPage(a.Body, a.Get("content-type"))
	}
	v.describe(start, a)
	k.icon(ctx, v)
	if c.Apps != nil {
		v.technologies(c.Apps, a)
	}
	return v, nil
}

// wantsTLS are the words with which servers answer plain HTTP on an HTTPS port.
var wantsTLS = []string{
	"plain HTTP request was sent to HTTPS port", // nginx
	"speaking plain HTTP to an SSL-enabled",     // Apache
	"HTTP request to an HTTPS server",           // Go
	"requires TLS",                              // Tomcat
}

// Misdirected reports whether an answer says that the port is for HTTPS.
func Misdirected(status int, body []byte) bool {
	if status != 400 {
		return false
	}
	return containsAny(string(body[:min(len(body), 2048)]), wantsTLS...)
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

func (k *keeper) follow(ctx context.Context, at *url.URL, v *Visit) (*Answer, error) {
	var last *Answer
	seen := map[string]bool{}
	for {
		seen[at.String()] = true
		a, err := k.get(ctx, at)
		if err != nil && last == nil {
			return nil, err
		}
		if denied, ok := errors.AsType[*netguard.Denied](err); ok {
			v.Denied = append(v.Denied, Refusal{at.String(), denied.Why})
			v.notef("the redirect to %s leads out of scope: %s", shown(at), denied.Why)
			return last, nil
		} else if err != nil {
			v.notef("the redirect to %s was not answered: %s", shown(at), discover.Clean(err.Error(), 200))
			return last, nil
		}
		if last != nil {
			last.Release()
		}
		v.Last, last = at, a
		v.Asset.Chain = append(v.Asset.Chain, strconv.Itoa(a.Status))
		location := a.Get("location")
		if a.Status/100 != 3 || location == "" {
			return last, nil
		}
		next := resolve(at, location)
		if v.Asset.Redirect == "" {
			v.Asset.Redirect = discover.Clean(location, maxLink)
			if next != nil {
				v.Asset.Redirect = shown(next)
			}
		}
		switch {
		case k.Stay:
			return last, nil
		case next == nil:
			v.notef("the redirect does not lead to a web address")
			return last, nil
		case seen[next.String()]:
			v.notef("the redirects lead in a circle")
			return last, nil
		case len(seen) > maxHops:
			v.notef("more than %d redirects", maxHops)
			return last, nil
		}
		at = next
	}
}

func (v *Visit) describe(start *url.URL, a *Answer) {
	s := &v.Asset
	s.URL, s.Method, s.StatusCode, s.ContentLength = shown(start), "GET", a.Status, a.Length
	s.Title, s.Webserver = v.Page.Title, discover.Clean(a.Get("server"), 256)
	s.Headers = fields(a)
	sum := sha256.Sum256(a.Body)
	s.BodyHash = hex.EncodeToString(sum[:])
	if printable(a.Body) {
		s.Body = strings.ToValidUTF8(string(toUTF8(a.Body[:min(len(a.Body), keptBody)], a.Get("content-type"))), "\uFFFD")
	}
	s.WAF = edgeOf(wafs, s.Headers, nil, nil)
	if a.Cut != "" {
		v.notef("%s", discover.Clean(a.Cut, 200))
	}
	if a.Proto == "HTTP/0.9" {
		v.notef("the server sends a page without a header")
	}
}

func (v *Visit) technologies(apps *tech.Fingerprints, a *Answer) {
	fields := map[string][]string{}
	for _, f := range a.Fields[:min(len(a.Fields), keptFields)] {
		fields[f.Name] = append(fields[f.Name], f.Value[:min(len(f.Value), keptFieldBytes)])
	}
	names, details, err := apps.Name(fields, a.Body[:min(len(a.Body), maxFingerprint)])
	if err != nil {
		v.notef("technologies could not be named: %v", err)
	}
	for i, name := range names {
		names[i] = discover.Clean(name, maxTechnology)
	}
	for name, t := range details {
		t.Version = discover.Clean(t.Version, maxTechnology)
		details[name] = t
	}
	v.Asset.Technologies, v.Asset.Details = names, details
}

func (v *Visit) notef(format string, args ...any) {
	v.Asset.Notes = append(v.Asset.Notes, fmt.Sprintf(format, args...))
}

// fields are the header fields by name; those of one name are joined.
func fields(a *Answer) map[string]string {
	m := map[string]string{}
	for _, f := range a.Fields {
		name := discover.Clean(f.Name, 128)
		old, known := m[name]
		switch value := discover.Clean(f.Value, keptFieldBytes); {
		case name == "":
		case known && len(old)+len(value) < keptFieldBytes:
			m[name] = old + ", " + value
		case !known && len(m) < keptFields:
			m[name] = value
		}
	}
	return m
}

// isPage reports whether an answer's body may be HTML.
func isPage(a *Answer) bool {
	kind := strings.ToLower(a.Get("content-type"))
	return kind == "" && printable(a.Body) || containsAny(kind, "html", "xml") ||
		(kind == "" || strings.HasPrefix(kind, "text/plain")) && looksHTML(a.Body)
}

func looksHTML(b []byte) bool {
	return containsAny(strings.ToLower(string(b[:min(len(b), 512)])), "<html", "<!doctype", "<title")
}

// printable reports whether a body is text: it begins without zero bytes, or with the mark of UTF-16.
func printable(b []byte) bool {
	start := string(b[:min(len(b), 512)])
	return !strings.Contains(start, "\x00") || strings.HasPrefix(start, "\xff\xfe") || strings.HasPrefix(start, "\xfe\xff")
}

// shown is a URL in one bounded line.
func shown(u *url.URL) string { return discover.Clean(u.String(), maxLink) }
