package factor

import (
	"context"
	"strings"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const (
	codePeriod    = 30 * time.Second // of a code (RFC 6238)
	recoveryCodes = 10
	recoveryChars = 16 // 95 random bits
	issuerName    = "Vedette"
)

// NewSecondFactor is what an authenticator app needs; it is shown once.
type NewSecondFactor struct {
	Secret string `json:"secret" doc:"For typing into an authenticator app, base32."`
	URI    string `json:"uri" doc:"The same as otpauth:// URI, for a QR code."`
}

// BeginApp makes a secret for a user's authenticator app, which shows it under the name. It has no effect until
// ConfirmApp; a further call replaces it. It fails with Conflict when they have an app.
func (f *Factors) BeginApp(ctx context.Context, userID, name string) (NewSecondFactor, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuerName, AccountName: name})
	if err != nil {
		return NewSecondFactor{}, err
	}
	sealed, err := f.Box.Seal([]byte(key.Secret()), sealContext(userID))
	if err != nil {
		return NewSecondFactor{}, err
	}
	return NewSecondFactor{key.Secret(), key.URL()}, db.ExecOr(ctx, f.db,
		errs.New(errs.Conflict, "second_factor_exists", "You have an authenticator app: remove it first."),
		`INSERT INTO second_factor (user_id, secret) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE
		SET secret = excluded.secret WHERE second_factor.confirmed_at IS NULL`, userID, sealed)
}

func sealContext(userID string) string { return "second factor " + userID }

// ConfirmApp turns a user's app on with a first code. With the first of a user's factors it returns recovery codes,
// which are shown once.
func (f *Factors) ConfirmApp(ctx context.Context, tx *db.Tx, userID, code string) ([]string, error) {
	has, err := Enabled(ctx, tx, userID)
	if err != nil {
		return nil, err
	}
	if err := f.takeAppCode(ctx, tx, userID, plain(code), false); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE second_factor SET confirmed_at = ? WHERE user_id = ?`, db.At(f.Now()), userID)
	if err != nil || has {
		return nil, err
	}
	return f.makeRecoveryCodes(ctx, tx, userID)
}

func (f *Factors) makeRecoveryCodes(ctx context.Context, tx *db.Tx, userID string) (codes []string, err error) {
	for range recoveryCodes {
		code := ids.Random(recoveryChars)
		codes = append(codes, code)
		_, err := tx.Exec(ctx, `INSERT INTO recovery_code (user_id, hash) VALUES (?, ?)`, userID, ids.Hash(f.Pepper, code))
		if err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// plain is a code without the spaces that people and apps put into it.
func plain(code string) string { return strings.ReplaceAll(code, " ", "") }

// takeAppCode uses a code of a user's app up. confirmed is whether the app must be confirmed, or must not.
func (f *Factors) takeAppCode(ctx context.Context, tx *db.Tx, userID, code string, confirmed bool) error {
	var sealed []byte
	var is bool
	var last int64
	err := tx.QueryRow(ctx, `SELECT secret, confirmed_at IS NOT NULL, last_step FROM second_factor WHERE user_id = ?`+
		tx.Dialect().ForUpdate(), userID).Scan(&sealed, &is, &last)
	if db.IsNoRows(err) || err == nil && is != confirmed {
		return errNone
	}
	if err != nil {
		return err
	}
	secret, err := f.Box.Open(sealed, sealContext(userID))
	if err != nil {
		return err
	}
	now, taken := f.Now(), int64(0)
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
