// Package openid asks an OpenID issuer who somebody is: by a bearer token of it, or by a sign-in in the browser.
package openid

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Issuer is an OpenID issuer whose bearer tokens are accepted (with an Audience), and at whose pages people sign in
// (with a ClientID). Its fields are set once.
type Issuer struct {
	URL          string
	Audience     string        // which bearer tokens must name; empty: none are accepted
	ClientID     string        // of this server at the issuer; empty: nobody signs in there
	ClientSecret string        // empty: the issuer knows this server as a public client
	RedirectURL  string        // of this server, where the issuer sends browsers back to
	Box          *seal.Box     // seals sign-ins that have begun
	Skew         time.Duration // between its clock and ours
	HTTP         *http.Client
	Now          func() time.Time

	mu       sync.Mutex
	provider *oidc.Provider
	failed   time.Time // when the issuer was last asked in vain
	failure  error
}

// Person is whom the issuer has identified.
type Person struct {
	Subject string // of the issuer, for ever the same person's
	Email   string // empty: the issuer has not verified one
}

const maxSubject = 255 // ASCII characters (OpenID Connect Core, 2)

// Bearer is whom a bearer token of the issuer stands for. The issuer is looked up at the first token, so that the
// server starts without it. It fails with Unavailable when it does not answer.
func (o *Issuer) Bearer(ctx context.Context, token string) (Person, error) {
	if o.Audience == "" {
		return Person{}, errors.New("tokens of the issuer are not accepted as bearer tokens")
	}
	_, p, err := o.verify(ctx, token, o.Audience)
	return p, err
}

// verify checks a token of the issuer for an audience.
func (o *Issuer) verify(ctx context.Context, token, audience string) (*oidc.IDToken, Person, error) {
	provider, err := o.discover(ctx)
	if err != nil {
		return nil, Person{}, err
	}
	verifier := provider.Verifier(&oidc.Config{
		ClientID: audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}, Now: o.Now,
	})
	id, err := verifier.Verify(oidc.ClientContext(ctx, o.HTTP), token)
	if err != nil {
		return nil, Person{}, err
	}
	var claims struct {
		Email     string           `json:"email"`
		Verified  bool             `json:"email_verified"`
		NotBefore *jwt.NumericDate `json:"nbf"`
	}
	if err := id.Claims(&claims); err != nil {
		return nil, Person{}, err
	}
	// go-oidc allows nbf five minutes of skew and exp none; ours is one minute.
	if claims.NotBefore != nil && claims.NotBefore.After(o.Now().Add(o.Skew)) {
		return nil, Person{}, errors.New("not valid yet")
	}
	p := Person{Subject: id.Subject}
	if p.Subject == "" || len(p.Subject) > maxSubject || db.Clean(p.Subject) != p.Subject {
		return nil, Person{}, errors.New("the subject is empty, too long or no text")
	}
	if claims.Verified {
		p.Email = claims.Email
	}
	return id, p, nil
}

// retryAfter is how long an issuer that did not answer is not asked again: who waits for it holds up others.
const retryAfter = 5 * time.Second

func (o *Issuer) discover(ctx context.Context) (*oidc.Provider, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider != nil {
		return o.provider, nil
	}
	if o.failure == nil || o.Now().Sub(o.failed) >= retryAfter {
		// The provider keeps this context for later key fetches: it must outlive the request.
		provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.HTTP), o.URL)
		if err == nil {
			o.provider, o.failure = provider, nil
			return provider, nil
		}
		o.failed, o.failure = o.Now(), err
	}
	return nil, errs.New(errs.Unavailable, "identity_provider_unavailable",
		"The identity provider does not answer.").Because(o.failure)
}

// isFor reports whether a token was made for this client, of all that it names (OpenID Connect Core, 3.1.3.7).
func isFor(id *oidc.IDToken, client string) bool {
	var claims struct {
		Party string `json:"azp"`
	}
	if err := id.Claims(&claims); err != nil {
		return false
	}
	return claims.Party == client ||
		claims.Party == "" && !slices.ContainsFunc(id.Audience, func(a string) bool { return a != client })
}
