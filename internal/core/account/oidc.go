package account

import (
	"context"
	"net/url"

	"github.com/vedette-sec/vedette/internal/core/account/openid"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The pages of a sign-in at the operator's OpenID issuer, below PublicURL.
const (
	SignInPath   = "/sign-in/oidc"
	CallbackPath = SignInPath + "/callback"
)

var (
	errNoAccount = errs.New(errs.Forbidden, "no_account",
		"Nobody here is whom the identity provider names: ask an operator of this server for an account.")
	errPasswordsOff = errs.New(errs.Forbidden, "passwords_off",
		"Passwords are off on this server: sign in with a browser at "+SignInPath+".")
)

// SignsInByOIDC reports whether people can sign in at an OpenID issuer.
func (a *Accounts) SignsInByOIDC() bool { return a.issuer != nil && a.issuer.ClientID != "" }

// checkPasswordsOn fails with Forbidden when only the OpenID issuer signs in.
func (a *Accounts) checkPasswordsOn() error {
	if a.OIDCOnly {
		return errPasswordsOff
	}
	return nil
}

// BeginSignIn is the address at the OpenID issuer where a person signs in, and what their browser keeps until
// FinishSignIn. It fails with NotFound when there is no issuer, and with Unavailable when it does not answer.
func (a *Accounts) BeginSignIn(ctx context.Context) (address, kept string, err error) {
	if !a.SignsInByOIDC() {
		return "", "", errs.New(errs.NotFound, "oidc_not_configured", "This server signs in by password.")
	}
	return a.issuer.Begin(ctx)
}

// FinishSignIn opens a session for whom the OpenID issuer has identified: kept is what their browser has kept, answer
// the query with which the issuer sent it back. The first time, the issuer's subject is bound to the account with the
// same e-mail address, if the issuer has verified that; later the subject alone counts. It fails with Forbidden when
// anything of it is not right. Failures from the same network are RateLimited after a while.
func (a *Accounts) FinishSignIn(
	ctx context.Context, kept string, answer url.Values, from Client,
) (t Token, c Caller, err error) {
	if !a.SignsInByOIDC() {
		return t, c, errs.Missing("page")
	}
	peer := Peer(from.Address)
	if err := a.signIns.Check(peer, "", a.Now()); err != nil {
		return t, c, err
	}
	defer func() {
		if errs.Is(err, errs.Forbidden) {
			a.signIns.Wrong(peer, "", a.Now())
		}
	}()
	done, err := a.issuer.Finish(ctx, kept, answer)
	if err != nil {
		return t, c, err
	}
	c, err = a.byPerson(ctx, done.Person)
	if db.IsNoRows(err) {
		return t, c, errNoAccount
	}
	if err != nil {
		return t, c, err
	}
	t, err = a.signIn(ctx, c.UserID, from, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO sign_in_used (hash, expires_at) VALUES (?, ?)`, done.Used, db.At(done.Expires))
		if db.IsDuplicate(err) {
			return openid.ErrUsed
		}
		if err != nil {
			return err
		}
		err = db.ExecOr(ctx, tx, errNoAccount, `UPDATE user_account SET last_sign_in_at = ?
			WHERE id = ? AND disabled_at IS NULL AND NOT service`, db.At(a.Now()), c.UserID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO user_identity (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, a.issuer.URL, done.Subject, c.UserID, db.At(a.Now()))
		if err != nil {
			return err
		}
		// Of two subjects with the same address that come at once, the first one has the account.
		n, err := count(ctx, tx, `user_identity WHERE issuer = ? AND subject = ? AND user_id = ?`, a.issuer.URL, done.Subject,
			c.UserID)
		if err == nil && n == 0 {
			err = errNoAccount
		}
		return err
	})
	return t, c, err
}

// byPerson is the caller whom the issuer has identified: the user to whom the subject is bound, or else the one with
// this verified address to whom no other subject is.
func (a *Accounts) byPerson(ctx context.Context, p openid.Person) (Caller, error) {
	email, err := ParseEmail(p.Email)
	if err != nil {
		email = "" // nobody's
	}
	return a.caller(ctx, `NOT u.service AND u.id = coalesce(
		(SELECT i.user_id FROM user_identity i WHERE i.issuer = ? AND i.subject = ?),
		(SELECT x.id FROM user_account x WHERE x.email = ? AND NOT EXISTS
			(SELECT 1 FROM user_identity i WHERE i.issuer = ? AND i.user_id = x.id)))`,
		a.issuer.URL, p.Subject, email, a.issuer.URL)
}

// Unlink forgets which subject of the OpenID issuer a user is, so that their next sign-in is by e-mail address again,
// and ends their sessions. It checks no Caller: the operator's command line uses it.
func (a *Accounts) Unlink(ctx context.Context, email string) error {
	id, err := a.userID(ctx, email)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		err := db.ExecOr(ctx, tx, errs.Missing("identity").At("email"), `DELETE FROM user_identity WHERE user_id = ?`, id)
		if err != nil {
			return err
		}
		return endSessions(ctx, tx, id, "")
	})
}
