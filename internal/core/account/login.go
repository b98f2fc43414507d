package account

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/core/account/phc"
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

// Login checks a password and issues the bearer token of a new session. Every wrong login is the same
// Unauthenticated, in about the same time. With a second factor the right password is Forbidden, with a ticket for
// FinishLogin; after several, more from the same network are RateLimited for a while.
func (a *Accounts) Login(ctx context.Context, email, password string, from Client) (Token, error) {
	id, hash, err := a.checkPassword(ctx, strings.ToLower(db.Clean(email)), password, Peer(from.Address))
	if err != nil {
		return Token{}, err
	}
	ticket, sid := "", ""
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		// A password that was changed since it was checked opens no session: this row is locked until the commit.
		err := db.ExecOr(ctx, tx, errWrongLogin, `UPDATE user_account SET last_sign_in_at = CASE WHEN EXISTS
			(SELECT 1 FROM second_factor f WHERE f.user_id = user_account.id AND f.confirmed_at IS NOT NULL)
			THEN last_sign_in_at ELSE ? END WHERE id = ? AND password_hash = ? AND disabled_at IS NULL`,
			db.At(a.Now()), id, hash)
		if err != nil {
			return err
		}
		if ticket, err = a.askForCode(ctx, tx, id); err != nil || ticket != "" {
			return err
		}
		sid, err = a.insertSession(ctx, tx, id, from)
		return err
	})
	if err != nil {
		return Token{}, err
	}
	if ticket != "" {
		return Token{}, errs.New(errs.Forbidden, "second_factor_required",
			"Send the code of your authenticator app with the ticket of this answer to POST /api/v1/auth/login/second.").With("ticket", ticket)
	}
	return a.sign(id, sid)
}

// MayLogin fails with RateLimited while the network has to wait after wrong passwords. Login checks it too; asking
// first spares a challenge its request to another server.
func (a *Accounts) MayLogin(email, address string) error {
	if len(email) > maxEmail {
		email = "" // nobody's; see checkPassword
	}
	return a.guesses.Check(Peer(address), strings.ToLower(db.Clean(email)), a.Now())
}

// signIn makes a session of a user and its token. lock locks the user's row in the transaction.
func (a *Accounts) signIn(
	ctx context.Context, userID string, from Client, lock func(*db.Tx) error,
) (t Token, err error) {
	var sid string
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lock(tx); err != nil {
			return err
		}
		sid, err = a.insertSession(ctx, tx, userID, from)
		return err
	})
	if err != nil {
		return Token{}, err
	}
	return a.sign(userID, sid)
}

var errWrongLogin = errs.New(errs.Unauthenticated, "invalid_credentials", "The email or the password is wrong.")

// checkPassword returns the id of the user whose password it is, and its hash. Cheap refusals come first, and again
// when it is the caller's turn: of logins that waited together each knows the failures before it.
func (a *Accounts) checkPassword(ctx context.Context, email, password, peer string) (id, hash string, err error) {
	if len(email) > maxEmail {
		email = "" // nobody's; not kept in memory
	}
	if err := a.guesses.Check(peer, email, a.Now()); err != nil {
		return "", "", err
	}
	release, err := a.logins.Take(ctx, peer, email)
	if err != nil {
		return "", "", err
	}
	defer release()
	if err := a.guesses.Check(peer, email, a.Now()); err != nil {
		return "", "", err
	}
	err = a.db.QueryRow(ctx, `SELECT id, password_hash FROM user_account WHERE email = ? AND disabled_at IS NULL`,
		email).Scan(&id, &hash)
	if err != nil && !db.IsNoRows(err) {
		return "", "", err
	}
	if ok := phc.Matches(password, hash); !ok || id == "" {
		a.guesses.Wrong(peer, email, a.Now())
		return "", "", errWrongLogin
	}
	a.guesses.Right(peer, email)
	return id, hash, nil
}

// IssueToken issues the bearer token of a new session without a password, for the operator's command line.
func (a *Accounts) IssueToken(ctx context.Context, email string) (Token, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return Token{}, err
	}
	id, err := db.Value[string](ctx, a.db, `SELECT id FROM user_account WHERE email = ?`, email)
	if err != nil {
		return Token{}, db.OrMissing(err, "user")
	}
	return a.signIn(ctx, id, Client{UserAgent: "vedette token create"}, func(tx *db.Tx) error {
		var disabled, service bool
		err := tx.QueryRow(ctx, `SELECT disabled_at IS NOT NULL, service FROM user_account WHERE id = ?`+
			tx.Dialect().ForUpdate(), id).Scan(&disabled, &service)
		switch {
		case err == nil && disabled:
			err = errs.New(errs.Conflict, "user_disabled", "This user is disabled.").At("email")
		case err == nil && service:
			err = errServiceUser
		}
		return db.OrMissing(err, "user")
	})
}

// claims are those of our own bearer tokens.
type claims struct {
	jwt.RegisteredClaims
	SID string `json:"sid"` // the secret of the session; the database has only its hash
}

func (a *Accounts) sign(userID, sid string) (Token, error) {
	now := a.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{jwt.RegisteredClaims{
		Issuer: tokenIssuer, Audience: jwt.ClaimStrings{tokenAudience}, Subject: userID, ID: ids.New(),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(a.TokenTTL)),
	}, sid})
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
	if a.issuer == nil || unverifiedIssuer(token) != a.issuer.URL {
		own, err := a.verify(token)
		if err != nil {
			return Caller{}, errToken.Because(err)
		}
		return a.bySession(ctx, own.Subject, own.SID)
	}
	claimed, err := a.issuer.Email(ctx, token)
	if err != nil {
		return Caller{}, errToken.Because(err)
	}
	email, err := ParseEmail(claimed)
	if err != nil {
		return Caller{}, errToken.Because(err)
	}
	c, err := a.caller(ctx, "u.email = ? AND NOT u.service", email)
	if db.IsNoRows(err) {
		return Caller{}, errToken
	}
	return c, err
}

// verify checks a token of ours, except that its session exists.
func (a *Accounts) verify(token string) (c claims, err error) {
	parsed, err := jwt.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return a.signing, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(tokenIssuer),
		jwt.WithAudience(tokenAudience),
		jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(tokenSkew),
		jwt.WithTimeFunc(a.Now))
	if err != nil {
		return c, err
	}
	if typ, _ := parsed.Header["typ"].(string); !strings.EqualFold(typ, tokenType) {
		return c, errors.New("wrong typ")
	}
	return c, nil
}

// unverifiedIssuer reads which issuer a token claims, only to pick who verifies it.
func unverifiedIssuer(token string) string {
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		return ""
	}
	return claims.Issuer
}

const (
	loginsAtOnce = 2 // limits the memory and processors that logins use
	minPassword  = 10
	maxPassword  = 1024
)

func checkPasswordLength(field, password string) error {
	if len(password) < minPassword || len(password) > maxPassword {
		return errs.Field(field, "%s must have %d to %d bytes.", field, minPassword, maxPassword)
	}
	return nil
}

// hashPassword hashes a new password. Nobody waits for it who is not known: the setup link, an operator or the
// user themselves have asked.
func (a *Accounts) hashPassword(ctx context.Context, password string) (string, error) {
	if err := checkPasswordLength("password", password); err != nil {
		return "", err
	}
	release, err := a.newPasswords.Take(ctx, "", "")
	if err != nil {
		return "", err
	}
	defer release()
	return phc.Hash(password), nil
}

// Challenge checks the Turnstile token of a login or a key creation, if configured. It fails closed, with
// Forbidden and the site key for the client.
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
