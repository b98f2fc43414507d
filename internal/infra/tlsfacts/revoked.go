package tlsfacts

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/crypto/ocsp"
)

const (
	maxOCSP    = 64 << 10 // bytes of an answer
	maxCRL     = 4 << 20  // bytes of a list
	maxSources = 2        // of each kind that are asked
)

var errUnanswered = errors.New("no server gave a valid answer")

// Revoked reports whether the first certificate of a chain was revoked: by the stapled answer (nil for none), or else
// by asking with fetch (nil asks nobody). One that names no server to ask counts as not revoked. The error says that
// there was no valid answer.
func Revoked(
	ctx context.Context, chain []*x509.Certificate, staple []byte, now time.Time, fetch *http.Client,
) (bool, error) {
	leaf := chain[0]
	issuer := issuer(chain)
	if issuer == nil { // no answer could be verified
		return false, nil
	}
	if len(staple) > 0 {
		if r, err := ocsp.ParseResponseForCert(staple, leaf, issuer); err == nil && r.Status != ocsp.Unknown &&
			current(r, now) {
			return r.Status == ocsp.Revoked, nil
		}
	}
	if fetch == nil || len(leaf.OCSPServer) == 0 && len(leaf.CRLDistributionPoints) == 0 {
		return false, nil
	}
	failure := errUnanswered
	for i, urls := range [][]string{leaf.OCSPServer, leaf.CRLDistributionPoints} {
		check := ask
		if i == 1 {
			check = listed
		}
		for _, url := range urls[:min(len(urls), maxSources)] {
			revoked, err := check(ctx, fetch, url, leaf, issuer, now)
			if err == nil {
				return revoked, nil
			}
			failure = err
		}
	}
	return false, failure
}

// issuer is the certificate of the chain that signed the first, or nil.
func issuer(chain []*x509.Certificate) *x509.Certificate {
	for _, c := range chain[1:] {
		if chain[0].CheckSignatureFrom(c) == nil {
			return c
		}
	}
	return nil
}

// current reports whether an answer is valid now.
func current(r *ocsp.Response, now time.Time) bool {
	const skew = time.Hour
	return !r.ThisUpdate.After(now.Add(skew)) && (r.NextUpdate.IsZero() || r.NextUpdate.After(now.Add(-skew)))
}

// ask asks an OCSP responder (RFC 6960).
func ask(
	ctx context.Context, fetch *http.Client, url string, leaf, issuer *x509.Certificate, now time.Time,
) (bool, error) {
	request, err := ocsp.CreateRequest(leaf, issuer, nil)
	if err != nil {
		return false, err
	}
	raw, err := get(ctx, fetch, http.MethodPost, url, request, maxOCSP)
	if err != nil {
		return false, err
	}
	r, err := ocsp.ParseResponseForCert(raw, leaf, issuer)
	switch {
	case err != nil:
		return false, err
	case r.Status == ocsp.Unknown || !current(r, now):
		return false, errUnanswered
	}
	return r.Status == ocsp.Revoked, nil
}

// listed reads a revocation list (RFC 5280).
func listed(
	ctx context.Context, fetch *http.Client, url string, leaf, issuer *x509.Certificate, _ time.Time,
) (bool, error) {
	raw, err := get(ctx, fetch, http.MethodGet, url, nil, maxCRL)
	if err != nil {
		return false, err
	}
	list, err := x509.ParseRevocationList(raw)
	if err != nil {
		return false, err
	}
	if err := list.CheckSignatureFrom(issuer); err != nil {
		return false, err
	}
	for _, e := range list.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(leaf.SerialNumber) == 0 {
			const removed = 8 // removeFromCRL
			return e.ReasonCode != removed, nil
		}
	}
	return false, nil
}

func get(
	ctx context.Context, fetch *http.Client, method, url string, body []byte, most int64,
) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/ocsp-request")
	}
	answer, err := fetch.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", r.URL.Hostname(), answer.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("%s sends more than %d bytes", r.URL.Hostname(), most)
	}
	return raw, err
}
