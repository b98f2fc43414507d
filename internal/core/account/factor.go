package account

import (
	"context"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const (
	ticketTTL     = 5 * time.Minute
	ticketLength  = 40
	codePeriod    = 30 * time.Second // of a code (RFC 6238)
	recoveryCodes = 10
	recoveryChars = 16 // 95 random bits
	factorIssuer  = "Vedette"
)

// Factor is the state of a user's second factor.
type Factor struct {
	Enabled       bool `json:"enabled" doc:"Whether signing in by password asks for a code."`
	Pending       bool `json:"pending" doc:"Whether one was begun and not confirmed."`
	RecoveryCodes int  `json:"recovery_codes" doc:"How many recovery codes are left."`
}

// NewFactor is what an authenticator app needs; it is shown once.
type NewFactor struct {
	Secret string `json:"secret" doc:"For typing into an authenticator app, base32."`
	URI    string `json:"uri" doc:"The same as otpauth:// URI, for a QR code."`
}

var (
	errNoFactor  = errs.New(errs.NotFound, "second_factor_not_found", "You have no second factor.")
	errWrongCode = errs.New(errs.Forbidden, "wrong_code", "The code is wrong, has expired, or was used.").At("code")
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
const mustEnrol = `(t.require_second_factor AND NOT u.service AND NOT EXISTS (SELECT 1 FROM second_factor f
	WHERE f.user_id = u.id AND f.confirmed_at IS NOT NULL))`

// FindFactor is the state of the caller's second factor.
func (a *Accounts) FindFactor(ctx context.Context) (f Factor, err error) {
	c, err := From(ctx)
	if err != nil {
		return f, err
	}
	err = a.db.QueryRow(ctx, `SELECT confirmed_at IS NOT NULL, confirmed_at IS NULL,
		(SELECT count(*) FROM recovery_code r WHERE r.user_id = f.user_id) FROM second_factor f WHERE f.user_id = ?`,
		c.UserID).Scan(&f.Enabled, &f.Pending, &f.RecoveryCodes)
	if db.IsNoRows(err) {
		err = nil
	}
	return f, err
}

// BeginFactor makes a secret for the caller's authenticator app. It has no effect until ConfirmFactor; a further call
// replaces it. Who has a password gives it, so that a stolen session cannot shut its owner out: a wrong one is
// Forbidden.
// It fails with Conflict when they have a second factor.
func (a *Accounts) BeginFactor(ctx context.Context, password, from string) (NewFactor, error) {
	c, err := From(ctx)
	if err != nil {
		return NewFactor{}, err
	}
	has, err := db.Value[bool](ctx, a.db, `SELECT password_hash <> '' FROM user_account WHERE id = ?`, c.UserID)
	if err != nil {
		return NewFactor{}, err
	}
	if has {
		_, _, err := a.checkPassword(ctx, c.Email, password, throttle.Peer(from))
		if errs.Is(err, errs.Unauthenticated) {
			err = errWrongPassword
		}
		if err != nil {
			return NewFactor{}, err
		}
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: factorIssuer, AccountName: c.Email})
	if err != nil {
		return NewFactor{}, err
	}
	sealed, err := a.Box.Seal([]byte(key.Secret()), factorContext(c.UserID))
	if err != nil {
		return NewFactor{}, err
	}
	return NewFactor{key.Secret(), key.URL()}, db.ExecOr(ctx, a.db,
		errs.New(errs.Conflict, "second_factor_exists", "You have a second factor: remove it first."),
		`INSERT INTO second_factor (user_id, secret) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE
		SET secret = excluded.secret WHERE second_factor.confirmed_at IS NULL`, c.UserID, sealed)
}

func factorContext(userID string) string { return "second factor " + userID }

// ConfirmFactor turns the caller's second factor on with a first code of their app, ends their other sessions, and
// returns recovery codes, which are shown once.
func (a *Accounts) ConfirmFactor(ctx context.Context, code string) (codes []string, err error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	return codes, a.withCode(ctx, c.UserID, func(tx *db.Tx) error {
		if err := a.takeCode(ctx, tx, c.UserID, code, false); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE second_factor SET confirmed_at = ? WHERE user_id = ?`, db.At(a.Now()), c.UserID)
		if err != nil {
			return err
		}
		for range recoveryCodes {
			code := ids.Random(recoveryChars)
			codes = append(codes, code)
			_, err := tx.Exec(ctx, `INSERT INTO recovery_code (user_id, hash) VALUES (?, ?)`, c.UserID,
				ids.Hash(a.pepper, code))
			if err != nil {
				return err
			}
		}
		return endSessions(ctx, tx, c.UserID, c.SessionID)
	})
}

// DeleteFactor removes the caller's second factor, with a code of their app or a recovery code.
func (a *Accounts) DeleteFactor(ctx context.Context, code string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	return a.withCode(ctx, c.UserID, func(tx *db.Tx) error {
		if err := a.takeCode(ctx, tx, c.UserID, code, true); err != nil {
			return err
		}
		return deleteFactor(ctx, tx, c.UserID)
	})
}

// RemoveFactor removes the second factor of any user. It checks no Caller: the operator's command line uses it.
func (a *Accounts) RemoveFactor(ctx context.Context, email string) error {
	id, err := a.userID(ctx, email)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error { return deleteFactor(ctx, tx, id) })
}

func deleteFactor(ctx context.Context, tx *db.Tx, userID string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM recovery_code WHERE user_id = ?`, userID); err != nil {
		return err
	}
	return db.ExecOr(ctx, tx, errNoFactor, `DELETE FROM second_factor WHERE user_id = ?`, userID)
}

// withCode runs fn, which takes a code of a user, in a transaction. Wrong codes are counted by user: whoever tries them
// knows the password, or has a session.
func (a *Accounts) withCode(ctx context.Context, userID string, fn func(*db.Tx) error) error {
	if err := a.codes.Check(userID, userID, a.Now()); err != nil {
		return err
	}
	err := a.db.Tx(ctx, fn)
	switch {
	case err == nil:
		a.codes.Right(userID, userID)
	case errs.From(err).Code == errWrongCode.Code:
		a.codes.Wrong(userID, userID, a.Now())
	}
	return err
}

// takeCode uses a code of a user up: one of their app, of the present 30 seconds or the ones beside, or a recovery
// code.
// Each works once. enabled is whether the factor must be confirmed, or must not.
func (a *Accounts) takeCode(ctx context.Context, tx *db.Tx, userID, code string, enabled bool) error {
	var sealed []byte
	var confirmed bool
	var last int64
	err := tx.QueryRow(ctx, `SELECT secret, confirmed_at IS NOT NULL, last_step FROM second_factor WHERE user_id = ?`+
		tx.Dialect().ForUpdate(), userID).Scan(&sealed, &confirmed, &last)
	if db.IsNoRows(err) || err == nil && confirmed != enabled {
		return errNoFactor
	}
	if err != nil {
		return err
	}
	code = strings.ReplaceAll(code, " ", "")
	if len(code) == recoveryChars && enabled {
		return db.ExecOr(ctx, tx, errWrongCode, `DELETE FROM recovery_code WHERE user_id = ? AND hash = ?`, userID,
			ids.Hash(a.pepper, code))
	}
	secret, err := a.Box.Open(sealed, factorContext(userID))
	if err != nil {
		return err
	}
	now, taken := a.Now(), int64(0)
	for _, at := range []time.Time{now.Add(-codePeriod), now, now.Add(codePeriod)} {
		right, err := totp.GenerateCode(string(secret), at)
		if err != nil {
			return err
		}
		if step := at.Unix() / int64(codePeriod/time.Second); ids.Equal(right, code) && step > last {
			taken = max(taken, step)
		}
	}
	if taken == 0 {
		return errWrongCode
	}
	_, err = tx.Exec(ctx, `UPDATE second_factor SET last_step = ? WHERE user_id = ?`, taken, userID)
	return err
}

// askForCode returns an error with a ticket for the second step of a sign-in, if the user has a second factor. The
// transaction has locked the user's row.
func (a *Accounts) askForCode(ctx context.Context, tx *db.Tx, userID string) (ticket string, err error) {
	n, err := count(ctx, tx, `second_factor WHERE user_id = ? AND confirmed_at IS NOT NULL`, userID)
	if err != nil || n == 0 {
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

// FinishLogin is the second step of a sign-in: the ticket of the first one, and a code of the user's app or a recovery
// code. A ticket signs in once. Wrong tickets are slowed down by network, wrong codes by user.
func (a *Accounts) FinishLogin(ctx context.Context, ticket, code string, from Client) (Token, error) {
	peer := throttle.Peer(from.Address)
	if err := a.guesses.Check(peer, "", a.Now()); err != nil {
		return Token{}, err
	}
	hash := ids.Hash(a.pepper, ticket)
	var id string
	err := error(errTicket)
	if len(ticket) == ticketLength {
		id, err = db.Value[string](ctx, a.db, `SELECT user_id FROM login_ticket WHERE hash = ? AND expires_at > ?`, hash,
			db.At(a.Now()))
	}
	if db.IsNoRows(err) {
		err = errTicket
	}
	if err != nil {
		if errs.Is(err, errs.Unauthenticated) {
			a.guesses.Wrong(peer, "", a.Now())
		}
		return Token{}, err
	}
	var sid string
	err = a.withCode(ctx, id, func(tx *db.Tx) error {
		err := db.ExecOr(ctx, tx, errTicket, `UPDATE user_account SET last_sign_in_at = ?
			WHERE id = ? AND disabled_at IS NULL`, db.At(a.Now()), id)
		if err != nil {
			return err
		}
		if err := a.takeCode(ctx, tx, id, code, true); err != nil {
			return err
		}
		if err := db.ExecOr(ctx, tx, errTicket, `DELETE FROM login_ticket WHERE hash = ?`, hash); err != nil {
			return err
		}
		sid, err = a.insertSession(ctx, tx, id, from)
		return err
	})
	if err != nil {
		return Token{}, err
	}
	return a.sign(id, sid)
}

// checkOwnFactor fails with Conflict for an admin who would require what they do not have.
func checkOwnFactor(ctx context.Context, tx *db.Tx, c Caller, require *bool) error {
	if require == nil || !*require {
		return nil
	}
	n, err := count(ctx, tx, `second_factor WHERE user_id = ? AND confirmed_at IS NOT NULL`, c.UserID)
	if err == nil && n == 0 {
		err = errs.New(errs.Conflict, "second_factor_missing", "Set up your own second factor first.").
			At("require_second_factor")
	}
	return err
}
