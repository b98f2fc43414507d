package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/pause"
)

const (
	timeout   = 15 * time.Second // of one call
	maxTries  = 4                // of one call
	firstWait = time.Second
	maxWait   = 30 * time.Second
	maxPages  = 200
	maxHosts  = 50_000 // of one account
)

// do sends a call with an HTTP client, and a few times again while the provider limits the rate.
func (c *Client) do(ctx context.Context, client *http.Client, r apiclient.Request, out any) error {
	for try := 1; ; try++ {
		err := apiclient.Do(ctx, client, r, out)
		if err == nil || stateOf(err) != discover.SourceLimited || try == maxTries {
			return err
		}
		after, _ := apiclient.RetryAfter(err)
		if pause.For(ctx, min(max(after, c.wait<<(try-1)), maxWait)) != nil {
			return err
		}
	}
}

// get reads a JSON document. The secrets are those that header holds.
func (c *Client) get(ctx context.Context, service, at string, header http.Header, out any, secrets ...string) error {
	r := apiclient.Request{Service: service, Method: http.MethodGet, URL: at, Header: header, Secrets: secrets}
	return c.do(ctx, c.client, r, out)
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

func (c *Client) grant(
	ctx context.Context, service, at string, form url.Values, secrets ...string,
) (token string, err error) {
	var answer struct {
		Token string `json:"access_token"`
	}
	err = c.do(ctx, c.client, apiclient.Request{Service: service, URL: at, Body: form, Secrets: secrets}, &answer)
	if err == nil && answer.Token == "" {
		err = &apiclient.Error{Service: service, Status: http.StatusOK, Message: "it gave no token"}
	}
	return answer.Token, err
}

// eachPage reads pages, from 1, until there are no more.
func eachPage(read func(page int) (more bool, err error)) error {
	for page := 1; page <= maxPages; page++ {
		if more, err := read(page); err != nil || !more {
			return err
		}
	}
	return nil
}

// eachZone reads the records of zones until the inventory is full.
func (v *inventory) eachZone(zones []string, read func(zone string) error) error {
	for _, zone := range zones {
		if err := read(zone); err != nil || v.full() {
			return err
		}
	}
	return nil
}

func stateOf(err error) discover.SourceState {
	e, ok := errors.AsType[*apiclient.Error](err)
	if !ok {
		return discover.SourceFailed
	}
	code := func(codes ...string) bool { return slices.Contains(codes, e.Code) }
	switch {
	case e.Status == 0 && discover.IsTimeout(e.Cause):
		return discover.SourceTimedOut
	case e.Status == 0:
		if refused, ok := errors.AsType[*errs.Error](e.Cause); ok && refused.Code == netguard.CodeBlocked {
			return discover.SourceBlocked // we may not dial the address
		}
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable,
		code("Throttling", "ThrottlingException", "RequestLimitExceeded", "RESOURCE_EXHAUSTED", "TooManyRequests",
			"rateLimitExceeded"):
		return discover.SourceLimited
	case code("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "OptInRequired", "PERMISSION_DENIED",
		"AuthorizationFailed"):
		return discover.SourceBlocked // the key is valid, and may not do this
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden,
		code("invalid_client", "invalid_grant", "unauthorized_client", "AuthFailure", "InvalidClientTokenId",
			"SignatureDoesNotMatch",
			"ExpiredToken", "UnrecognizedClientException"):
		return discover.SourceKey
	}
	return discover.SourceFailed
}

// inventory is what was read of an account, and the first error.
type inventory struct {
	hosts []string
	known map[string]bool
	err   error
}

func (v *inventory) addError(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v *inventory) full() bool { return len(v.hosts) >= maxHosts }

func (v *inventory) add(host string) {
	if host != "" && !v.known[host] && !v.full() {
		v.known[host] = true
		v.hosts = append(v.hosts, host)
	}
}

func (v *inventory) address(text string) {
	if a, err := netip.ParseAddr(text); err == nil {
		v.add(a.Unmap().String())
	}
}

// public adds an address unless it is private.
func (v *inventory) public(text string) {
	if a, err := netip.ParseAddr(text); err == nil && a.Unmap().IsGlobalUnicast() && !a.Unmap().IsPrivate() {
		v.address(text)
	}
}

// name adds a host name, but no wildcard.
func (v *inventory) name(text string) {
	if text = strings.ToLower(strings.TrimSuffix(text, ".")); !strings.ContainsAny(text, `*\ /`) && len(text) < 254 {
		v.add(text)
	}
}

// record adds the name of a DNS record that leads to a host.
func (v *inventory) record(kind, name string) {
	if kind == "A" || kind == "AAAA" || kind == "CNAME" {
		v.name(name)
	}
}
