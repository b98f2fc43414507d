package turnstile

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestACheckFailsClosed: what a service answers is tested in core/account.
func TestACheckFailsClosed(t *testing.T) {
	c := Check{SiteKey: "site", Secret: "secret", URL: "http://127.0.0.1:9", HTTP: http.DefaultClient}
	if err := c.Token(t.Context(), "token", "192.0.2.1"); errs.From(err).Code != "turnstile_unavailable" {
		t.Error(err)
	}
	if err := c.Token(t.Context(), "", "192.0.2.1"); errs.From(err).Code != "turnstile_required" {
		t.Error(err)
	}
	if err := (Check{}).Token(t.Context(), "", ""); err != nil {
		t.Errorf("not configured: %v", err)
	}
}
