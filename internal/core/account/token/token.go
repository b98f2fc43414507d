// Package token makes and checks the server's own bearer tokens (RFC 9068).
package token

import (
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// The claims of our own bearer tokens. Others are refused.
const (
	issuer   = "vedette"
	audience = "vedette-api"
	typ      = "at+jwt"
)

// Skew is how much the clocks of two nodes may differ.
const Skew = 60 * time.Second

// Token is the answer to a login.
type Token struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"` // seconds
}

// Signer makes and checks tokens.
type Signer struct {
	Key []byte        // of HMAC-SHA256, the same on every node
	TTL time.Duration // of a token
	Now func() time.Time
}

// Claims are those of our own bearer tokens.
type Claims struct {
	jwt.RegisteredClaims
	SID string `json:"sid"` // the secret of the session; the database has only its hash
}

// Sign makes the token of a user's session.
func (s *Signer) Sign(userID, sid string) (Token, error) {
	now := s.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, Claims{jwt.RegisteredClaims{
		Issuer: issuer, Audience: jwt.ClaimStrings{audience}, Subject: userID, ID: ids.New(),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(s.TTL)),
	}, sid})
	t.Header["typ"] = typ
	signed, err := t.SignedString(s.Key)
	return Token{AccessToken: signed, TokenType: "Bearer", ExpiresIn: int(s.TTL.Seconds())}, err
}

// Verify checks a token, except that its session exists.
func (s *Signer) Verify(token string) (c Claims, err error) {
	parsed, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.Key, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(Skew),
		jwt.WithTimeFunc(s.Now))
	if err != nil {
		return c, err
	}
	if t, _ := parsed.Header["typ"].(string); !strings.EqualFold(t, typ) {
		return c, errors.New("wrong typ")
	}
	return c, nil
}

// ClaimedIssuer is the issuer that a token claims, only to pick who verifies it.
func ClaimedIssuer(token string) string {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return ""
	}
	return claims.Issuer
}
