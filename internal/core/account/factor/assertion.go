package factor

import (
	"context"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Challenge returns what a page gives to navigator.credentials.get, for a proof of this use by one of the user's keys.
// It fails with NotFound when they have none, or this server takes none.
func (f *Factors) Challenge(ctx context.Context, userID string, use Use) (KeyOptions, error) {
	if err := f.party.check(); err != nil {
		return KeyOptions{}, err
	}
	o, err := own(ctx, f.db, userID, "", "")
	if err == nil && len(o.keys) == 0 {
		err = errNoKeys
	}
	if err != nil {
		return KeyOptions{}, err
	}
	options, session, err := f.party.BeginLogin(o)
	if err != nil {
		return KeyOptions{}, err
	}
	return f.keepChallenge(ctx, userID, use, session, options.Response)
}

// readAnswer parses what a browser has returned, with the library's function for its kind.
func readAnswer[T any](answer []byte, parse func([]byte) (*T, error)) (*T, error) {
	if len(answer) > maxAnswer {
		return nil, errs.Field("credential", "credential may have %d bytes.", maxAnswer)
	}
	parsed, err := parse(answer)
	if err != nil {
		return nil, errs.Field("credential", "credential is not what navigator.credentials returned, as JSON.").Because(err)
	}
	return parsed, nil
}

func readCreation(answer []byte) (*protocol.ParsedCredentialCreationData, error) {
	return readAnswer(answer, protocol.ParseCredentialCreationResponseBytes)
}

// assertion is the answer of a key to a challenge.
type assertion struct {
	answer  *protocol.ParsedCredentialAssertionData
	session webauthn.SessionData // of the challenge
}

func readAssertion(answer []byte) (*assertion, error) {
	parsed, err := readAnswer(answer, protocol.ParseCredentialRequestResponseBytes)
	return &assertion{answer: parsed}, err
}

// takeAssertion checks the answer of a user's key and stores its count. It fails with Forbidden when it is wrong, and
// with errOldCount when its count is not above the last one.
func (f *Factors) takeAssertion(ctx context.Context, tx *db.Tx, userID string, a *assertion) error {
	if err := f.party.check(); err != nil {
		return err
	}
	o, err := own(ctx, tx, userID, "", tx.Dialect().ForUpdate())
	if err != nil {
		return err
	}
	if len(o.keys) == 0 {
		return errWrongKey
	}
	c, err := f.party.ValidateLogin(o, a.session, a.answer)
	if err != nil {
		return errWrongKey.Because(err)
	}
	if c.Authenticator.CloneWarning {
		return errOldCount
	}
	return db.ExecOr(ctx, tx, errWrongKey, `UPDATE security_key SET sign_count = ?, flags = ?, last_used_at = ?
		WHERE user_id = ? AND credential_id = ?`, int64(c.Authenticator.SignCount), int64(c.Flags.ProtocolValue()),
		db.At(f.Now()), userID, c.ID)
}

// markSuspect stores that a right answer of a key had an old count.
func (f *Factors) markSuspect(ctx context.Context, userID string, a *assertion) error {
	_, err := f.db.Exec(ctx, `UPDATE security_key SET suspect_at = ? WHERE user_id = ? AND credential_id = ?`,
		db.At(f.Now()), userID, a.answer.RawID)
	return err
}
