package related

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"golang.org/x/net/html"
)

// ProofName names the proof of ownership: before "=" in a TXT record and a file, the name of a meta tag in a page.
const ProofName = "vedette-verification"

var proofFiles = []string{"/.well-known/" + ProofName + ".txt", "/" + ProofName + ".txt"}

const (
	proofTimeout = 15 * time.Second
	maxHopsHome  = 3
	maxRecords   = 200 // TXT records of a domain that are read
)

// Verifier looks for a proof that a user owns a domain. HTTP does not follow redirects.
type Verifier struct {
	HTTP     *http.Client
	Resolver *net.Resolver
}

// Verify reports whether a domain shows a token in the chosen way, and what was found. Only the domain itself is
// believed: a redirect is followed to the same host or its www, and nowhere else.
func (v *Verifier) Verify(
	ctx context.Context, domain string, by discover.ProofType, token string,
) (ok bool, found string) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	switch by {
	case discover.ProofTXT:
		return v.txt(ctx, domain, token)
	case discover.ProofMeta:
		return v.web(ctx, domain, []string{"/"}, "meta tag "+ProofName,
			func(page []byte) bool { return hasMeta(page, token) })
	case discover.ProofFile:
		return v.web(ctx, domain, proofFiles, "file with the token", func(page []byte) bool {
			text := strings.TrimSpace(strings.TrimPrefix(string(page), "\ufeff"))
			return equal(strings.TrimPrefix(text, ProofName+"="), token)
		})
	}
	return false, "There is no such way to verify a domain."
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (v *Verifier) txt(ctx context.Context, domain, token string) (ok bool, found string) {
	texts, err := v.Resolver.LookupTXT(ctx, domain+".")
	if missing, ok := errors.AsType[*net.DNSError](err); ok && missing.IsNotFound {
		return false, "The domain has no TXT record."
	}
	if err != nil {
		return false, "The TXT records of the domain could not be read."
	}
	others := 0
	for _, text := range texts[:min(len(texts), maxRecords)] {
		value, ours := strings.CutPrefix(strings.Trim(strings.TrimSpace(text), `"`), ProofName+"=")
		if ours && equal(strings.TrimSpace(value), token) {
			ok = true
		} else if ours {
			others++
		}
	}
	switch {
	case ok:
		return true, "The TXT record is there."
	case others > 0:
		return false, "There is a TXT record " + ProofName + " with another token."
	}
	return false, fmt.Sprintf("None of the %d TXT records of the domain is %s.", len(texts), ProofName)
}

// web reads pages of the domain, over TLS first.
func (v *Verifier) web(
	ctx context.Context, domain string, paths []string, what string, holds func(page []byte) bool,
) (ok bool, found string) {
	answered := false
	for _, scheme := range []string{"https://", "http://"} {
		for _, path := range paths {
			page, err := v.page(ctx, domain, scheme+domain+path)
			if err != nil {
				continue
			}
			answered = true
			if holds(page) {
				return true, "The " + what + " is there."
			}
		}
	}
	if !answered {
		return false, "The domain's web site did not show the " + what + ": it does not answer, or not with success."
	}
	return false, "The domain's web site answers, without the " + what + "."
}

// page fetches a page, over redirects within the site.
func (v *Verifier) page(ctx context.Context, domain, address string) ([]byte, error) {
	for range maxHopsHome {
		p, err := fetch(ctx, v.HTTP, address)
		if err != nil {
			return nil, err
		}
		if p.status == http.StatusOK {
			return p.body, nil
		}
		if p.location == nil || !sameSite(p.location, domain) {
			return nil, errors.New("no page")
		}
		address = p.location.String()
	}
	return nil, errors.New("too many redirects")
}

// sameSite reports whether a redirect leads to the same host, or its www.
func sameSite(to *url.URL, domain string) bool {
	host := strings.ToLower(to.Hostname())
	return (to.Scheme == "https" || to.Scheme == "http") && to.Port() == "" && (host == domain || host == "www."+domain)
}

// hasMeta reports whether the head of a page has a meta tag with the token. Visitors may have written the body.
func hasMeta(page []byte, token string) bool {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "head" {
				return false
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) == "body" {
				return false
			}
			if string(name) != "meta" {
				continue
			}
			attributes := map[string]string{}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				attributes[string(key)] = strings.TrimSpace(string(value))
			}
			if strings.EqualFold(attributes["name"], ProofName) && equal(attributes["content"], token) {
				return true
			}
		default:
		}
	}
}
