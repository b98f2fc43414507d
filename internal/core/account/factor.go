package account

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/factor"
	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const (
	ticketTTL    = 5 * time.Minute
	ticketLength = 40
)

var (
	errTicket    = errs.New(errs.Unauthenticated, "invalid_ticket", "The ticket is not valid: sign in again.").At("ticket")
	errMustEnrol = errs.New(errs.Forbidden, "second_factor_missing",
		"This team requires a second factor: set yours up with POST /api/v1/user/second-factor.")
)

// CheckFactor fails with Forbidden when the caller's team requires a second factor that they have not set up.
func (c Caller) CheckFactor() error {
	if c.MustEnrol {
		return errMustEnrol
	}
	return nil
}

// mustEnrol is whether a team t requires a second factor that its member u does not have.
var mustEnrol = `(t.require_second_factor AND NOT u.service AND NOT ` + factor.Has("u.id") + `)`

// BeginFactor makes a secret for the caller's authenticator app. It has no effect until ConfirmFactor; a further call
// replaces it. Who has a password gives it, so that a stolen session cannot shut its owner out: a wrong one is
// Forbidden. It fails with Conflict when they have an app.
func (a *Accounts) BeginFactor(ctx context.Context, password, from string) (factor.NewSecondFactor, error) {
	c, err := From(ctx)
	if err == nil {
		err = a.provePassword(ctx, c, password, from)
	}
	if err != nil {
		return factor.NewSecondFactor{}, err
	}
	return a.factors.BeginApp(ctx, c.UserID, c.Email)
}

// provePassword fails with Forbidden unless it is the caller's password, or they have none that could sign in.
func (a *Accounts) provePassword(ctx context.Context, c Caller, password, from string) error {
	has, err := db.Value[bool](ctx, a.db, `SELECT password_hash <> '' FROM user_account WHERE id = ?`, c.UserID)
	if err != nil || !has || a.OIDCOnly {
		return err
	}
	_, _, err = a.checkPassword(ctx, c.Email, password, throttle.Peer(from))
	if errs.Is(err, errs.Unauthenticated) {
		err = errWrongPassword
	}
	return err
}

// ConfirmFactor turns the caller's authenticator app on with a first code, and ends their other sessions. With the
// first of their factors it returns recovery codes, which are shown once.
func (a *Accounts) ConfirmFactor(ctx context.Context, code string) (codes []string, err error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	return codes, a.factors.Try(ctx, c.UserID, func(tx *db.Tx) error {
		if codes, err = a.factors.ConfirmApp(ctx, tx, c.UserID, code); err != nil {
			return err
		}
		return endSessions(ctx, tx, c.UserID, c.SessionID)
	})
}

// bound is what challenges for the caller's security keys are bound to: their session, where they have one of ours.
func (c Caller) bound() string { return cmp.Or(c.SessionID, c.UserID) }

// OwnFactors are the caller's second factors.
func (a *Accounts) OwnFactors(ctx context.Context) (factor.Own, error) {
	c, err := From(ctx)
	return factor.Own{Factors: a.factors, UserID: c.UserID, Session: c.bound()}, err
}

// BeginSecurityKey returns what the caller's page gives to navigator.credentials.create. As with BeginFactor, who has a
// password gives it.
func (a *Accounts) BeginSecurityKey(ctx context.Context, password, from string) (factor.KeyOptions, error) {
	c, err := From(ctx)
	if err == nil {
		err = a.provePassword(ctx, c, password, from)
	}
	if err != nil {
		return factor.KeyOptions{}, err
	}
	return a.factors.BeginKey(ctx, c.UserID, c.Email, c.bound())
}

// FinishSecurityKey adds the key that has answered. With the first of their factors the caller's other sessions end,
// and recovery codes are returned, which are shown once.
func (a *Accounts) FinishSecurityKey(
	ctx context.Context, name string, answer json.RawMessage,
) (k factor.SecurityKey, codes []string, err error) {
	c, err := From(ctx)
	if err != nil {
		return k, nil, err
	}
	return a.factors.FinishKey(ctx, c.UserID, c.bound(), name, answer, func(tx *db.Tx) error {
		return endSessions(ctx, tx, c.UserID, c.SessionID)
	})
}

// RemoveFactor removes all second factors of any user. It checks no Caller: the operator's command line uses it.
func (a *Accounts) RemoveFactor(ctx context.Context, email string) error {
	id, err := a.userID(ctx, email)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error { return factor.Remove(ctx, tx, id) })
}

// askForCode returns an error with a ticket for the second step of a sign-in, if the user has a second factor. The
// transaction has locked the user's row.
func (a *Accounts) askForCode(ctx context.Context, tx *db.Tx, userID string) (ticket string, err error) {
	has, err := factor.Enabled(ctx, tx, userID)
	if err != nil || !has {
		return "", err
	}
	now := db.At(a.Now())
	if _, err := tx.Exec(ctx, `DELETE FROM login_ticket WHERE user_id = ? AND expires_at <= ?`, userID, now); err != nil {
		return "", err
	}
	ticket = ids.Random(ticketLength)
	_, err = tx.Exec(ctx, `INSERT INTO login_ticket (hash, user_id, expires_at) VALUES (?, ?, ?)`,
		ids.Hash(a.pepper, ticket), userID, db.At(a.Now().Add(ticketTTL)))
	return ticket, err
}

// ofTicket is whose sign-in a ticket continues, and its hash. Wrong tickets are slowed down by network.
func (a *Accounts) ofTicket(ctx context.Context, ticket, from string) (userID, hash string, err error) {
	if err := a.checkPasswordsOn(); err != nil { // begun before they were turned off
		return "", "", err
	}
	peer := throttle.Peer(from)
	if err := a.guesses.Check(peer, "", a.Now()); err != nil {
		return "", "", err
	}
	hash, err = ids.Hash(a.pepper, ticket), errTicket
	if len(ticket) == ticketLength {
		userID, err = db.Value[string](ctx, a.db, `SELECT user_id FROM login_ticket WHERE hash = ? AND expires_at > ?`, hash,
			db.At(a.Now()))
	}
	if db.IsNoRows(err) {
		err = errTicket
	}
	if errs.Is(err, errs.Unauthenticated) {
		a.guesses.Wrong(peer, "", a.Now())
	}
	return userID, hash, err
}

// ChallengeLogin returns what the page of a sign-in gives to navigator.credentials.get, for FinishLogin with the same
// ticket.
func (a *Accounts) ChallengeLogin(ctx context.Context, ticket, from string) (factor.KeyOptions, error) {
	id, hash, err := a.ofTicket(ctx, ticket, from)
	if err != nil {
		return factor.KeyOptions{}, err
	}
	return a.factors.Challenge(ctx, id, factor.SignIn(hash))
}

// FinishLogin is the second step of a sign-in: the ticket of the first one, and a proof of one of the user's factors. A
// ticket signs in once. Wrong tickets are slowed down by network, wrong proofs by user. c is who has signed in, or
// whose proof was wrong; empty for a wrong ticket.
func (a *Accounts) FinishLogin(
	ctx context.Context, ticket string, p factor.Proof, from Client,
) (t Token, c Caller, err error) {
	id, hash, err := a.ofTicket(ctx, ticket, from.Address)
	if err != nil {
		return Token{}, Caller{}, err
	}
	if c, err = a.known(ctx, "u.id = ?", id); err != nil {
		return Token{}, c, err
	}
	var sid string
	err = a.factors.Prove(ctx, id, factor.SignIn(hash), p, func(tx *db.Tx, take func() error) error {
		err := db.ExecOr(ctx, tx, errTicket, `UPDATE user_account SET last_sign_in_at = ?
			WHERE id = ? AND disabled_at IS NULL`, db.At(a.Now()), id)
		if err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
		if err := db.ExecOr(ctx, tx, errTicket, `DELETE FROM login_ticket WHERE hash = ?`, hash); err != nil {
			return err
		}
		sid, err = a.insertSession(ctx, tx, id, from)
		return err
	})
	if err != nil {
		return Token{}, c, err
	}
	t, err = a.tokens.Sign(id, sid)
	return t, c, err
}

// checkOwnFactor fails with Conflict for an admin who would require what they do not have.
func checkOwnFactor(ctx context.Context, tx *db.Tx, c Caller, require *bool) error {
	if require == nil || !*require {
		return nil
	}
	has, err := factor.Enabled(ctx, tx, c.UserID)
	if err == nil && !has {
		err = errs.New(errs.Conflict, "second_factor_missing", "Set up your own second factor first.").
			At("require_second_factor")
	}
	return err
}
