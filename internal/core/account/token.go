package account

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// The claims of our own bearer tokens (RFC 9068). Others are refused.
const (
	tokenIssuer   = "vedette"
	tokenAudience = "vedette-api"
	tokenType     = "at+jwt"
	tokenSkew     = 60 * time.Second
)

// Token is the answer to a login.
type Token struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"` // seconds
}

// Login checks a password and issues a bearer token. Every failure is the same Unauthenticated, in about the
// same time.
func (a *Accounts) Login(ctx context.Context, email, password string) (Token, error) {
	var hash, id string
	err := a.db.QueryRow(ctx, `SELECT id, password_hash FROM user_account WHERE email = ?`,
		strings.ToLower(db.Clean(email))).Scan(&id, &hash)
	if err != nil && !db.IsNoRows(err) {
		return Token{}, err
	}
	ok, err := a.passwordMatches(ctx, password, hash)
	if err != nil {
		return Token{}, err
	}
	if !ok || id == "" {
		return Token{}, errs.New(errs.Unauthenticated, "invalid_credentials", "The email or the password is wrong.")
	}
	_, err = a.db.Exec(ctx, `UPDATE user_account SET last_sign_in_at = ? WHERE id = ?`, db.At(a.Now()), id)
	if err != nil {
		return Token{}, err
	}
	return a.sign(id)
}

// IssueToken issues a bearer token without a password, for the operator's command line.
func (a *Accounts) IssueToken(ctx context.Context, email string) (Token, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return Token{}, err
	}
	id, err := db.Value[string](ctx, a.db, `SELECT id FROM user_account WHERE email = ?`, email)
	if err != nil {
		return Token{}, db.OrMissing(err, "user")
	}
	return a.sign(id)
}

func (a *Accounts) sign(userID string) (Token, error) {
	now := a.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: tokenIssuer, Audience: jwt.ClaimStrings{tokenAudience}, Subject: userID, ID: ids.New(),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(a.TokenTTL)),
	})
	t.Header["typ"] = tokenType
	signed, err := t.SignedString(a.signing)
	return Token{AccessToken: signed, TokenType: "Bearer", ExpiresIn: int(a.TokenTTL.Seconds())}, err
}

var errToken = errs.New(errs.Unauthenticated, "invalid_token", "The bearer token is not valid, or has expired.")

// ByBearer is the caller of a bearer token: one of ours, or one of the operator's OpenID issuer, whose
// verified email identifies the user.
func (a *Accounts) ByBearer(ctx context.Context, token string) (Caller, error) {
	if len(token) > 16<<10 {
		return Caller{}, errToken
	}
	cond, verify := "u.id = ?", a.subject
	if a.issuer != nil && unverifiedIssuer(token) == a.issuer.url {
		cond, verify = "u.email = ?", a.issuer.email
	}
	arg, err := verify(ctx, token)
	if err != nil {
		return Caller{}, errToken.Because(err)
	}
	c, _, err := a.caller(ctx, "", cond, arg)
	if db.IsNoRows(err) {
		return Caller{}, errToken
	}
	return c, err
}

// subject is the user id in one of our own tokens, fully checked.
func (a *Accounts) subject(_ context.Context, token string) (string, error) {
	var claims jwt.RegisteredClaims
	parsed, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return a.signing, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(tokenIssuer), jwt.WithAudience(tokenAudience),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(tokenSkew), jwt.WithTimeFunc(a.Now))
	if err != nil {
		return "", err
	}
	if typ, _ := parsed.Header["typ"].(string); !strings.EqualFold(typ, tokenType) {
		return "", errors.New("wrong typ")
	}
	return claims.Subject, nil
}

// unverifiedIssuer reads which issuer a token claims, only to pick who verifies it.
func unverifiedIssuer(token string) string {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return ""
	}
	return claims.Issuer
}

// oidcIssuer verifies tokens of an OpenID provider by its published keys.
type oidcIssuer struct {
	url, audience string
	algorithms    []string
	http          *http.Client
	now           func() time.Time

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

// email is the verified email in a token of the issuer. The provider is looked up at the first token, so that
// the server starts without it.
func (o *oidcIssuer) email(ctx context.Context, token string) (string, error) {
	verifier, err := o.discover(ctx)
	if err != nil {
		return "", errs.New(errs.Unavailable, "identity_provider_unavailable", "The identity provider does not answer.").Because(err)
	}
	id, err := verifier.Verify(oidc.ClientContext(ctx, o.http), token)
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
	if claims.NotBefore != nil && claims.NotBefore.After(o.now().Add(tokenSkew)) {
		return "", errors.New("not valid yet")
	}
	if !claims.Verified {
		return "", errors.New("the issuer has not verified the email")
	}
	return ParseEmail(claims.Email)
}

func (o *oidcIssuer) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier == nil {
		// The provider keeps this context for later key fetches: it must outlive the request.
		provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.http), o.url)
		if err != nil {
			return nil, err
		}
		o.verifier = provider.Verifier(&oidc.Config{ClientID: o.audience, SupportedSigningAlgs: o.algorithms, Now: o.now})
	}
	return o.verifier, nil
}
