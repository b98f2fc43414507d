package account

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/strength"
	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const (
	resetTTL         = 30 * time.Minute
	resetTokenLength = 40
	maxResets        = 256 // requests that wait to be looked at; more are dropped, and logged
	mailsPerAddress  = 5   // of each kind, an hour
	mailsPerPerson   = 100 // invitations an hour, in all their teams
)

// ResetPath is the page of the link in a mail, below PublicURL.
const ResetPath = "/reset"

var errResetLink = errs.New(errs.Forbidden, "reset_link_invalid",
	"The link is not valid, was used, or is older than 30 minutes: ask for another one.").At("token")

// RequestReset has a link for a new password mailed to an account that has a password. Answer and time are the same
// whether there is one: the account is looked up later, by SendResets. Many requests from the same network are
// RateLimited. It fails with NotFound when the server sends no mail.
func (a *Accounts) RequestReset(email, from string) error {
	if a.Mail == nil {
		return errs.New(errs.NotFound, "mail_not_configured",
			"This server sends no mail: ask an operator for a new password.")
	}
	if err := a.checkPasswordsOn(); err != nil {
		return err
	}
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	peer := throttle.Peer(from)
	if err := a.resetRequests.Check(peer, "", a.Now()); err != nil {
		return err
	}
	a.resetRequests.Wrong(peer, "", a.Now())
	select {
	case a.resets <- email:
	default:
		a.Logger.Warn("too many requests for new passwords: one is dropped")
	}
	return nil
}

// SendResets sends the links that were asked for until ctx ends.
func (a *Accounts) SendResets(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case email := <-a.resets:
			if err := a.sendReset(ctx, email); err != nil {
				a.Logger.ErrorContext(ctx, "making a link for a new password", "error", err)
			}
		}
	}
}

func (a *Accounts) sendReset(ctx context.Context, email string) error {
	id, err := db.Value[string](ctx, a.db, `SELECT id FROM user_account WHERE email = ? AND password_hash <> ''
		AND disabled_at IS NULL AND NOT service`, email)
	if db.IsNoRows(err) || err == nil && !a.resetsTo.Take(email, a.Now()) {
		return nil
	}
	if err != nil {
		return err
	}
	token := ids.Random(resetTokenLength)
	_, err = a.db.Exec(ctx, `INSERT INTO password_reset (hash, user_id, expires_at) VALUES (?, ?, ?)`,
		ids.Hash(a.pepper, token), id, db.At(a.Now().Add(resetTTL)))
	if err != nil {
		return err
	}
	base := strings.TrimRight(a.PublicURL, "/")
	a.Mail.Put(email, "A new password for Vedette", fmt.Sprintf(`Somebody, probably you, has asked for a new password for %s at
%s

Set it within 30 minutes here. The link works once:
%s

If it was not you, ignore this mail: your password has not changed.
`, email, base, base+ResetPath+"?token="+url.QueryEscape(token)))
	return nil
}

// FinishReset gives the user of a link another password, ends all their sessions and voids their other links. Wrong
// tokens from the same network are RateLimited for a while. The result is whom it was done for.
func (a *Accounts) FinishReset(ctx context.Context, token, password, from string) (Caller, error) {
	if err := a.checkPasswordsOn(); err != nil {
		return Caller{}, err
	}
	peer := throttle.Peer(from)
	if err := a.guesses.Check(peer, "", a.Now()); err != nil {
		return Caller{}, err
	}
	if err := strength.Check("new_password", password, ""); err != nil {
		return Caller{}, err
	}
	hashed := ids.Hash(a.pepper, token)
	email := ""
	if len(token) == resetTokenLength {
		var err error
		email, err = db.Value[string](ctx, a.db, `SELECT u.email FROM password_reset r JOIN user_account u ON u.id = r.user_id
			WHERE r.hash = ? AND r.expires_at > ?`, hashed, db.At(a.Now()))
		if err != nil && !db.IsNoRows(err) {
			return Caller{}, err
		}
	}
	if email == "" {
		a.guesses.Wrong(peer, "", a.Now())
		return Caller{}, errResetLink
	}
	hash, err := a.hashPassword(ctx, "new_password", password, email)
	if err != nil {
		return Caller{}, err
	}
	var id string
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		id, err = db.Value[string](ctx, tx, `DELETE FROM password_reset WHERE hash = ? AND expires_at > ?
			RETURNING user_id`, hashed, db.At(a.Now()))
		if db.IsNoRows(err) {
			return errResetLink
		}
		if err != nil {
			return err
		}
		err = db.ExecOr(ctx, tx, errResetLink, `UPDATE user_account SET password_hash = ?
			WHERE id = ? AND disabled_at IS NULL AND NOT service`, hash, id)
		if err != nil {
			return err
		}
		return endSessions(ctx, tx, id, "")
	})
	if err != nil {
		return Caller{}, err
	}
	return a.known(ctx, "u.id = ?", id) // empty if they are in no team: there is no audit log for it
}

// mailInvitation tells a person that they are invited, when the transaction commits. It names the person who invites
// and nothing that they could write: a mail of this server must not carry a stranger's text. How many go to one
// address, and in the name of one person, is bounded.
func (a *Accounts) mailInvitation(tx *db.Tx, c Caller, email string) {
	if a.Mail == nil {
		return
	}
	tx.AfterCommit(func() {
		if !a.invitesOf.Take(c.Email, a.Now()) || !a.invitesTo.Take(email, a.Now()) {
			return
		}
		a.Mail.Put(email, "An invitation to a team on Vedette", fmt.Sprintf(`%s has invited you to a team on Vedette at
%s

Sign in with this address, or ask an operator of that server for an account. Your invitations are at
GET /v1/user/invitations; you are in the team when you accept.
`, c.Email, strings.TrimRight(a.PublicURL, "/")))
	})
}
