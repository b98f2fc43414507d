package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
)

// TestScannersTakeTheProfile: third-party scanners read the profile before they store a key. They
// require status 200, an email, and headers within 4096 bytes.
func TestScannersTakeTheProfile(t *testing.T) {
	h := serve(t, "sqlite")
	ada := h.person("ada", "blue", account.Admin)
	r := h.request(http.MethodGet, "/v1/user?utm_source=nuclei", nil, "")
	r.Header.Set("X-Api-Key", ada.key)
	got := h.do(r)
	var user struct{ Email, Name string }
	if err := json.Unmarshal(got.body, &user); err != nil || got.status != http.StatusOK ||
		user.Email != "ada@example.com" || user.Name != "ada" {
		t.Errorf("%d %s, %v", got.status, got.body, err)
	}
	var headers bytes.Buffer
	if err := got.header.Write(&headers); err != nil || headers.Len() == 0 || headers.Len() >= 4096 {
		t.Errorf("%d bytes of headers, %v", headers.Len(), err)
	}
}
