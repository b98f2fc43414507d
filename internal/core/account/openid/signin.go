package openid

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"golang.org/x/oauth2"
)

const (
	// SignInTTL is how long a sign-in at the issuer may take.
	SignInTTL = 10 * time.Minute

	randomLength = 40 // characters: 238 random bits
	maxAttempt   = 2048
	maxCode      = 4096
	sealContext  = "sign-in at the OpenID issuer"
)

// attempt is a sign-in that has begun. The browser keeps it, sealed, so that strangers can fill nothing here.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE (RFC 7636)
	Expires  time.Time `json:"expires"`
}

// SignIn is a finished sign-in at the issuer. Whoever opens a session for it keeps Used until Expires, and opens none
// when it is there already.
type SignIn struct {
	Person
	Used    string // stands for this sign-in
	Expires time.Time
}

var errSignIn = errs.New(errs.Forbidden, "sign_in_invalid",
	"This sign-in has expired, was used, or began in another browser: begin again.")

// ErrUsed refuses a sign-in that has opened a session.
var ErrUsed = errSignIn

// Begin is the address at the issuer where a person signs in, and what their browser keeps meanwhile. It fails with
// Unavailable when the issuer does not answer.
func (o *Issuer) Begin(ctx context.Context) (address, kept string, err error) {
	client, err := o.client(ctx)
	if err != nil {
		return "", "", err
	}
	a := attempt{ids.Random(randomLength), ids.Random(randomLength), oauth2.GenerateVerifier(), o.Now().Add(SignInTTL)}
	plain, err := json.Marshal(a)
	if err != nil {
		return "", "", err
	}
	sealed, err := o.Box.Seal(plain, sealContext)
	if err != nil {
		return "", "", err
	}
	return client.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)),
		base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Finish is who has signed in: kept is what their browser has kept, answer the query with which the issuer sent them
// back. It fails with Forbidden when they do not belong together or the issuer has not identified anybody.
func (o *Issuer) Finish(ctx context.Context, kept string, answer url.Values) (SignIn, error) {
	a, err := o.open(kept)
	if err != nil {
		return SignIn{}, errSignIn.Because(err)
	}
	if !ids.Equal(answer.Get("state"), a.State) {
		return SignIn{}, errSignIn.Because(errors.New("another state"))
	}
	// Which issuer answers (RFC 9207): an answer of another one must not bring its code here.
	if from := answer.Get("iss"); from != "" && from != o.URL {
		return SignIn{}, refused("it is another one").Because(errors.New("answered by another issuer"))
	}
	code := answer.Get("code")
	if problem := answer.Get("error"); problem != "" || code == "" || len(code) > maxCode {
		return SignIn{}, refused(named(problem))
	}
	client, err := o.client(ctx)
	if err != nil {
		return SignIn{}, err
	}
	token, err := client.Exchange(oidc.ClientContext(ctx, o.HTTP), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			return SignIn{}, refused("it does not take its code").Because(err)
		}
		return SignIn{}, errs.New(errs.Unavailable, "identity_provider_unavailable",
			"The identity provider does not answer.").Because(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, person, err := o.verify(ctx, raw, o.ClientID)
	if errs.Is(err, errs.Unavailable) {
		return SignIn{}, err
	}
	if err == nil && !ids.Equal(id.Nonce, a.Nonce) {
		err = errors.New("another nonce")
	}
	if err == nil && !isFor(id, o.ClientID) {
		err = errors.New("made for another client too")
	}
	if err != nil {
		return SignIn{}, refused("its token is not valid").Because(err)
	}
	used := sha256.Sum256([]byte(a.State))
	return SignIn{person, hex.EncodeToString(used[:]), a.Expires}, nil
}

func (o *Issuer) open(kept string) (a attempt, err error) {
	if kept == "" || len(kept) > maxAttempt {
		return a, errors.New("the browser has kept nothing")
	}
	sealed, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil {
		return a, err
	}
	plain, err := o.Box.Open(sealed, sealContext)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(plain, &a); err != nil {
		return a, err
	}
	if !o.Now().Before(a.Expires) {
		return a, errors.New("expired")
	}
	return a, nil
}

func refused(why string) *errs.Error {
	return errs.New(errs.Forbidden, "identity_refused", "The identity provider did not sign you in: %s.", why)
}

var errorShape = regexp.MustCompile(`^[a-z_]{1,40}$`)

// named is the code of an error of the issuer (RFC 6749, 4.1.2.1), if it looks like one: anybody can write into the
// address.
func named(problem string) string {
	if errorShape.MatchString(problem) {
		return problem
	}
	return "it sent no code"
}

// client is this server as the issuer's client.
func (o *Issuer) client(ctx context.Context) (*oauth2.Config, error) {
	provider, err := o.discover(ctx)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"` // none: client_secret_basic (Discovery, 3)
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, err
	}
	endpoint := provider.Endpoint()
	// Without a style the library would try both, and the first one may use the code up.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	basic := len(metadata.Methods) == 0 || slices.Contains(metadata.Methods, "client_secret_basic")
	if o.ClientSecret == "" || !basic {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, Endpoint: endpoint, RedirectURL: o.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "email"},
	}, nil
}
