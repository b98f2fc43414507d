// Package factor has the second factors of users: what proves, beside a password, that a person signs in. It knows
// users by their ids only; who may do what, and sessions, are the business of core/account.
package factor

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Config is what Factors need.
type Config struct {
	Pepper []byte    // keys the hashes of recovery codes
	Box    *seal.Box // seals the secrets of apps; nil at the operator's command line, which only removes factors
	Now    func() time.Time

	PublicURL  string // of the server: security keys are bound to its host, and answer pages of its origin only
	VerifyUser bool   // security keys have to ask for a PIN or a fingerprint
}

// Factors are the second factors of all users.
type Factors struct {
	Config
	db    *db.DB
	codes *throttle.Guesses
	party party
}

// New makes the service.
func New(d *db.DB, c Config) *Factors {
	return &Factors{
		Config: c, db: d, codes: throttle.NewGuesses("too_many_wrong_codes", "wrong codes"),
		party: newParty(c.PublicURL, c.VerifyUser),
	}
}

// SecondFactor is what a user has to prove that they sign in.
type SecondFactor struct {
	Enabled       bool `json:"enabled" doc:"Whether signing in by password asks for a second factor."`
	App           bool `json:"app" doc:"Whether it may be an authenticator app."`
	Keys          int  `json:"security_keys" doc:"How many security keys it may be."`
	Pending       bool `json:"pending" doc:"Whether an app was begun and not confirmed."`
	RecoveryCodes int  `json:"recovery_codes" doc:"How many recovery codes are left."`
}

var (
	errNone      = errs.New(errs.NotFound, "second_factor_not_found", "You have no second factor.")
	errWrongCode = errs.New(errs.Forbidden, "wrong_code", "The code is wrong, has expired, or was used.").At("code")
)

// Has is the SQL condition that the user whose id is this expression has a second factor. The expression is one of the
// source code, such as u.id.
func Has(userID string) string {
	return `(EXISTS (SELECT 1 FROM second_factor WHERE second_factor.user_id = ` + userID +
		` AND second_factor.confirmed_at IS NOT NULL)
		OR EXISTS (SELECT 1 FROM security_key WHERE security_key.user_id = ` + userID + `))`
}

// Find is what a user has.
func (f *Factors) Find(ctx context.Context, userID string) (s SecondFactor, err error) {
	err = f.db.QueryRow(ctx, `SELECT coalesce(f.confirmed_at IS NOT NULL, FALSE),
		coalesce(f.user_id IS NOT NULL AND f.confirmed_at IS NULL, FALSE),
		(SELECT count(*) FROM security_key k WHERE k.user_id = u.id),
		(SELECT count(*) FROM recovery_code r WHERE r.user_id = u.id)
		FROM user_account u LEFT JOIN second_factor f ON f.user_id = u.id WHERE u.id = ?`,
		userID).Scan(&s.App, &s.Pending, &s.Keys, &s.RecoveryCodes)
	s.Enabled = s.App || s.Keys > 0
	return s, err
}

// Enabled reports whether a user has a second factor.
func Enabled(ctx context.Context, q db.Querier, userID string) (bool, error) {
	return db.Value[bool](ctx, q, `SELECT `+Has("u.id")+` FROM user_account u WHERE u.id = ?`, userID)
}

// Proof is what proves a second factor: one of its fields.
type Proof struct {
	Code string          // of the app, or a recovery code
	Key  json.RawMessage // what navigator.credentials.get has returned for a challenge
}

// Prove runs fn in a transaction. fn calls take once, which uses the proof up: a code of the user's app, of the present
// 30 seconds or the ones beside, a recovery code, or the answer of a security key to the challenge of this use. Each
// works once, a challenge also when its answer is refused. take fails with Forbidden for a wrong one, and with NotFound
// when the user has no second factor.
//
// Wrong proofs are counted by user: whoever tries them knows the password, or has a session. After several, more are
// RateLimited for a while. A body that is no answer of a key is Invalid, and is not counted.
func (f *Factors) Prove(
	ctx context.Context, userID string, use Use, p Proof, fn func(tx *db.Tx, take func() error) error,
) error {
	if len(p.Key) == 0 {
		return f.Try(ctx, userID, func(tx *db.Tx) error {
			return fn(tx, func() error { return f.takeCode(ctx, tx, userID, plain(p.Code)) })
		})
	}
	if p.Code != "" {
		return errs.Field("credential", "Send a code or a credential, not both.")
	}
	a, err := readAssertion(p.Key)
	if err != nil {
		return err
	}
	err = f.count(userID, func() error {
		if a.session, err = f.takeChallenge(ctx, userID, use); err != nil {
			return err
		}
		return f.db.Tx(ctx, func(tx *db.Tx) error {
			return fn(tx, func() error { return f.takeAssertion(ctx, tx, userID, a) })
		})
	})
	if e := errs.From(err); e != nil && e.Code == errOldCount.Code {
		err = cmp.Or(f.markSuspect(ctx, userID, a), err)
	}
	return err
}

// Try runs fn, which takes a code of a user, in a transaction. Wrong codes are counted as Prove says.
func (f *Factors) Try(ctx context.Context, userID string, fn func(*db.Tx) error) error {
	return f.count(userID, func() error { return f.db.Tx(ctx, fn) })
}

func (f *Factors) count(userID string, fn func() error) error {
	if err := f.codes.Check(userID, userID, f.Now()); err != nil {
		return err
	}
	err := fn()
	switch {
	case err == nil:
		f.codes.Right(userID, userID)
	case isWrong(err):
		f.codes.Wrong(userID, userID, f.Now())
	}
	return err
}

// isWrong is whether an error is about a proof that was tried and is not right.
func isWrong(err error) bool {
	e := errs.From(err)
	return e.Code == errWrongCode.Code || e.Code == errWrongKey.Code || e.Code == errOldCount.Code
}

func (f *Factors) takeCode(ctx context.Context, tx *db.Tx, userID, code string) error {
	has, err := Enabled(ctx, tx, userID)
	if err == nil && !has {
		err = errNone
	}
	if err != nil {
		return err
	}
	if len(code) == recoveryChars {
		return db.ExecOr(ctx, tx, errWrongCode, `DELETE FROM recovery_code WHERE user_id = ? AND hash = ?`, userID,
			ids.Hash(f.Pepper, code))
	}
	err = f.takeAppCode(ctx, tx, userID, code, true)
	if errs.Is(err, errs.NotFound) { // they have security keys only
		err = errWrongCode
	}
	return err
}

// RemoveApp removes a user's app, and the recovery codes with the last factor. It fails with NotFound when they have
// no app.
func RemoveApp(ctx context.Context, tx *db.Tx, userID string) error {
	if err := db.ExecOr(ctx, tx, errNone, `DELETE FROM second_factor WHERE user_id = ?`, userID); err != nil {
		return err
	}
	return removeUnneeded(ctx, tx, userID)
}

// removeUnneeded removes the recovery codes of a user without a second factor.
func removeUnneeded(ctx context.Context, tx *db.Tx, userID string) error {
	_, err := tx.Exec(ctx, `DELETE FROM recovery_code WHERE user_id = ? AND NOT EXISTS
		(SELECT 1 FROM user_account u WHERE u.id = recovery_code.user_id AND `+Has("u.id")+`)`, userID)
	return err
}

// Remove removes all second factors of a user. It fails with NotFound when there is nothing to remove.
func Remove(ctx context.Context, tx *db.Tx, userID string) error {
	removed := int64(0)
	for _, table := range []string{"recovery_code", "security_key_challenge", "security_key", "second_factor"} {
		n, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = ?`, userID)
		if err != nil {
			return err
		}
		removed += n
	}
	if removed == 0 {
		return errNone
	}
	return nil
}
