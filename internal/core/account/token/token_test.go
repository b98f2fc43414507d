package token

import (
	"testing"
	"time"
)

// TestATokenIsCheckedAgain: what is refused is tested in core/account, with sessions.
func TestATokenIsCheckedAgain(t *testing.T) {
	s := Signer{Key: []byte("key"), TTL: time.Hour, Now: time.Now}
	made, err := s.Sign("ada", "secret")
	if err != nil || made.TokenType != "Bearer" || made.ExpiresIn != 3600 {
		t.Fatalf("%+v, %v", made, err)
	}
	c, err := s.Verify(made.AccessToken)
	if err != nil || c.Subject != "ada" || c.SID != "secret" || ClaimedIssuer(made.AccessToken) != issuer {
		t.Errorf("%+v, %v", c, err)
	}
	other := Signer{Key: []byte("other"), TTL: time.Hour, Now: time.Now}
	if _, err := other.Verify(made.AccessToken); err == nil {
		t.Error("a token signed with another key is taken")
	}
	if got := ClaimedIssuer("no token"); got != "" {
		t.Errorf("no token claims %q", got)
	}
}
