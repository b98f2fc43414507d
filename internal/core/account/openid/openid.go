// Package openid checks tokens of an OpenID issuer.
package openid

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Issuer is an OpenID issuer whose tokens are accepted as bearer tokens. Its fields are set once.
type Issuer struct {
	URL      string
	Audience string        // which tokens must name
	Skew     time.Duration // between its clock and ours
	HTTP     *http.Client
	Now      func() time.Time

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

// Email is the verified email in a token of the issuer. The provider is looked up at the first token, so that
// the server starts without it.
func (o *Issuer) Email(ctx context.Context, token string) (string, error) {
	verifier, err := o.discover(ctx)
	if err != nil {
		return "", errs.New(errs.Unavailable, "identity_provider_unavailable",
			"The identity provider does not answer.").Because(err)
	}
	id, err := verifier.Verify(oidc.ClientContext(ctx, o.HTTP), token)
	if err != nil {
		return "", err
	}
	var claims struct {
		Email     string           `json:"email"`
		Verified  bool             `json:"email_verified"`
		NotBefore *jwt.NumericDate `json:"nbf"`
	}
	if err := id.Claims(&claims); err != nil {
		return "", err
	}
	// go-oidc allows nbf five minutes of skew and exp none; ours is one minute.
	if claims.NotBefore != nil && claims.NotBefore.After(o.Now().Add(o.Skew)) {
		return "", errors.New("not valid yet")
	}
	if !claims.Verified {
		return "", errors.New("the issuer has not verified the email")
	}
	return claims.Email, nil
}

func (o *Issuer) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier == nil {
		// The provider keeps this context for later key fetches: it must outlive the request.
		provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.HTTP), o.URL)
		if err != nil {
			return nil, err
		}
		o.verifier = provider.Verifier(&oidc.Config{
			ClientID: o.Audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}, Now: o.Now,
		})
	}
	return o.verifier, nil
}
