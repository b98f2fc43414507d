package account

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/account/strength"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ChangePassword gives the caller another password, when current is the present one, and ends all their sessions but
// the one they use. A wrong current password is Forbidden and counts as a wrong login from the client's address.
func (a *Accounts) ChangePassword(ctx context.Context, current, password, from string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	if err := a.checkPasswordsOn(); err != nil {
		return err
	}
	if err := strength.Check("new_password", password, c.Email); err != nil {
		return err
	}
	id, old, err := a.checkPassword(ctx, c.Email, current, Peer(from))
	if err == nil && id != c.UserID {
		err = errWrongLogin
	}
	if errs.Is(err, errs.Unauthenticated) {
		return errWrongPassword
	}
	if err != nil {
		return err
	}
	hash, err := a.hashPassword(ctx, "new_password", password, c.Email)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		// Of two changes at once the second has checked a password that is no longer the present one.
		err := db.ExecOr(ctx, tx, errWrongPassword, `UPDATE user_account SET password_hash = ? WHERE id = ? AND password_hash = ?`,
			hash, c.UserID, old)
		if err != nil {
			return err
		}
		return endSessions(ctx, tx, c.UserID, c.SessionID)
	})
}

var errWrongPassword = errs.New(errs.Forbidden, "wrong_password",
	"This is not your password. If you have none, ask an operator of the server for one.").At("current_password")

// SetPassword gives a user another password and ends all their sessions. It checks no Caller: the operator's command
// line uses it.
func (a *Accounts) SetPassword(ctx context.Context, email, password string) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	hash, err := a.hashPassword(ctx, "password", password, email)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		id, err := lockUser(ctx, tx, email)
		if err != nil {
			return err
		}
		err = db.ExecOr(ctx, tx, errServiceUser, `UPDATE user_account SET password_hash = ? WHERE id = ? AND NOT service`,
			hash, id)
		if err != nil {
			return err
		}
		return endSessions(ctx, tx, id, "")
	})
}

var errServiceUser = errs.New(errs.Conflict, "service_user",
	"A service user does not sign in: make it an API key with 'vedette user keys create'.").At("email")

// lockUser is the id of a user, whose row the transaction locks.
func lockUser(ctx context.Context, tx *db.Tx, email string) (id string, err error) {
	id, err = db.Value[string](ctx, tx, `SELECT id FROM user_account WHERE email = ?`+tx.Dialect().ForUpdate(), email)
	if db.IsNoRows(err) {
		err = errs.Missing("user").At("email")
	}
	return id, err
}
