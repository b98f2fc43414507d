package openid

import (
	"net/http"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestAnIssuerThatDoesNotAnswer: what its tokens say is tested in core/account, with an issuer that does.
func TestAnIssuerThatDoesNotAnswer(t *testing.T) {
	i := Issuer{URL: "http://127.0.0.1:9", Audience: "vedette", HTTP: http.DefaultClient, Now: time.Now}
	if _, err := i.Bearer(t.Context(), "x.y.z"); !errs.Is(err, errs.Unavailable) {
		t.Error(err)
	}
}
