package account

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account/factor"
	"github.com/vedette-sec/vedette/internal/core/account/phc"
	"github.com/vedette-sec/vedette/internal/core/account/strength"
	"github.com/vedette-sec/vedette/internal/core/account/token"
	"github.com/vedette-sec/vedette/internal/core/account/turnstile"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// SecondFactorRequired is the code of the error with a ticket; see Login.
const SecondFactorRequired = "second_factor_required"

// Token is the answer to a login.
type Token = token.Token

// Login checks a password and issues the bearer token of a new session. Every wrong login is the same
// Unauthenticated, in about the same time. With a second factor the right password is Forbidden, with a ticket for
// FinishLogin; after several, more from the same network are RateLimited for a while.
func (a *Accounts) Login(ctx context.Context, email, password string, from Client) (Token, error) {
	if err := a.checkPasswordsOn(); err != nil {
		return Token{}, err
	}
	id, hash, err := a.checkPassword(ctx, strings.ToLower(db.Clean(email)), password, Peer(from.Address))
	if err != nil {
		return Token{}, err
	}
	ticket, sid := "", ""
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		// A password that was changed since it was checked opens no session: this row is locked until the commit.
		err := db.ExecOr(ctx, tx, errWrongLogin, `UPDATE user_account SET last_sign_in_at = CASE WHEN `+
			factor.Has("user_account.id")+` THEN last_sign_in_at ELSE ? END
			WHERE id = ? AND password_hash = ? AND disabled_at IS NULL`,
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
		return Token{}, errs.New(errs.Forbidden, SecondFactorRequired,
			"Send a code, or the answer of a security key, with the ticket of this answer to POST /api/v1/auth/login/second.").With("ticket", ticket)
	}
	return a.tokens.Sign(id, sid)
}

// Whose is the user of an address, for the audit log; empty when nobody who may sign in and is in a team has it.
func (a *Accounts) Whose(ctx context.Context, email string) (Caller, error) {
	if len(email) > maxEmail {
		return Caller{}, nil
	}
	return a.known(ctx, "u.email = ?", strings.ToLower(db.Clean(email)))
}

// known is the one user for whom cond holds; empty when there is none, or they are disabled or in no team.
func (a *Accounts) known(ctx context.Context, cond string, args ...any) (Caller, error) {
	c, err := a.caller(ctx, cond, args...)
	if db.IsNoRows(err) {
		return Caller{}, nil
	}
	return c, err
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
	return a.tokens.Sign(userID, sid)
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

var errToken = errs.New(errs.Unauthenticated, "invalid_token", "The bearer token is not valid, or has expired.")

// ByBearer is the caller of a bearer token: one of ours, or one of the operator's OpenID issuer; see byPerson.
func (a *Accounts) ByBearer(ctx context.Context, bearer string) (Caller, error) {
	if len(bearer) > 16<<10 {
		return Caller{}, errToken
	}
	if a.issuer == nil || token.ClaimedIssuer(bearer) != a.issuer.URL {
		own, err := a.tokens.Verify(bearer)
		if err != nil {
			return Caller{}, errToken.Because(err)
		}
		return a.bySession(ctx, own.Subject, own.SID)
	}
	person, err := a.issuer.Bearer(ctx, bearer)
	if err != nil {
		return Caller{}, errToken.Because(err)
	}
	c, err := a.byPerson(ctx, person)
	if db.IsNoRows(err) {
		return Caller{}, errToken
	}
	return c, err
}

const loginsAtOnce = 2 // limits the memory and processors that logins use

// hashPassword hashes a new password of the user with an address, if it is not easy to guess; the field is for the
// error. Nobody waits for it who is not known: the setup link, an operator or the user themselves have asked.
func (a *Accounts) hashPassword(ctx context.Context, field, password, email string) (string, error) {
	if err := strength.Check(field, password, email); err != nil {
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
	check := turnstile.Check{
		SiteKey: a.TurnstileSiteKey, Secret: a.TurnstileSecret, URL: a.TurnstileVerifyURL, HTTP: a.HTTP,
	}
	return check.Token(ctx, token, remoteIP)
}
