// Package turnstile checks the answers to challenges of Cloudflare's Turnstile.
package turnstile

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Check is the operator's configuration. Without both keys nothing is checked.
type Check struct {
	SiteKey string // for clients
	Secret  string
	URL     string // which checks tokens
	HTTP    *http.Client
}

const maxAnswer = 64 << 10 // bytes

// Token checks the token of a client. It fails closed, with Forbidden and the site key for the client.
func (c Check) Token(ctx context.Context, token, remoteIP string) error {
	if c.SiteKey == "" || c.Secret == "" {
		return nil
	}
	refuse := func(code, message string) *errs.Error {
		return errs.New(errs.Forbidden, code, "%s", message).With("turnstile_site_key", c.SiteKey)
	}
	if token == "" {
		return refuse("turnstile_required", "Solve the challenge and send its token.")
	}
	form := url.Values{"secret": {c.Secret}, "response": {token}, "remoteip": {remoteIP}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return refuse("turnstile_unavailable", "The challenge could not be checked; try again.").Because(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Success bool `json:"success"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil || !answer.Success {
		return refuse("turnstile_failed", "The challenge token is not valid.").Because(err)
	}
	return nil
}
