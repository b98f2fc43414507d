package account

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Challenge checks the Turnstile token of a login or a key creation, if a challenge is configured. It fails
// closed, with Forbidden and the site key that a client needs to show the challenge.
func (a *Accounts) Challenge(ctx context.Context, token, remoteIP string) error {
	if a.TurnstileSiteKey == "" || a.TurnstileSecret == "" {
		return nil
	}
	refuse := func(code, message string) *errs.Error {
		return errs.New(errs.Forbidden, code, "%s", message).With("turnstile_site_key", a.TurnstileSiteKey)
	}
	if token == "" {
		return refuse("turnstile_required", "Solve the challenge and send its token.")
	}
	form := url.Values{"secret": {a.TurnstileSecret}, "response": {token}, "remoteip": {remoteIP}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.TurnstileVerifyURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return refuse("turnstile_unavailable", "The challenge could not be checked; try again.").Because(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Success bool `json:"success"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&answer); err != nil || !answer.Success {
		return refuse("turnstile_failed", "The challenge token is not valid.").Because(err)
	}
	return nil
}
