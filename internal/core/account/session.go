package account

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/token"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Session is one sign-in of a user. Its bearer token is valid while it exists and has not expired.
type Session struct {
	ID         string
	UserAgent  string // of the client that signed in
	Address    string // of the client that signed in
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time // to within sessionUsedEvery
	Current    bool      // the caller uses it
}

// Client is who asks for a session.
type Client struct {
	Address   string // the network address
	UserAgent string // the header, or the name of a command
}

const (
	maxSessions      = 100 // of one user; the oldest ends
	maxUserAgent     = 200 // bytes that are kept
	sessionUsedEvery = 5 * time.Minute
	sidBytes         = 16 // 128 random bits
)

// CurrentSession stands for the id of the session that the caller uses.
const CurrentSession = "current"

// sessionHash is what is stored of the claim sid. It has 128 random bits: a hash without a key tells nobody what to
// put into a token, not even who reads the whole database.
func sessionHash(sid string) string {
	sum := sha256.Sum256([]byte(sid))
	return hex.EncodeToString(sum[:])
}

// insertSession makes a session of a user whose row the transaction has locked, and returns the claim sid of its token.
func (a *Accounts) insertSession(ctx context.Context, tx *db.Tx, userID string, from Client) (sid string, err error) {
	sid = base64.RawURLEncoding.EncodeToString(ids.Secret(sidBytes))
	now := a.Now()
	_, err = tx.Exec(ctx, `INSERT INTO user_session (id, user_id, hash, user_agent, address, created_at, expires_at, last_used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ids.New(), userID, sessionHash(sid),
		db.Clean(from.UserAgent[:min(len(from.UserAgent), maxUserAgent)]), db.Clean(from.Address), db.At(now),
		db.At(now.Add(a.TokenTTL)), db.At(now))
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, `DELETE FROM user_session WHERE user_id = ? AND (expires_at < ? OR id NOT IN
		(SELECT id FROM user_session WHERE user_id = ? ORDER BY created_at DESC, id DESC LIMIT ?))`,
		userID, db.At(now.Add(-token.Skew)), userID, maxSessions)
	return sid, err
}

// bySession is the caller of a bearer token of ours. One query finds the session and the user.
func (a *Accounts) bySession(ctx context.Context, userID, sid string) (Caller, error) {
	hash, now := sessionHash(sid), a.Now()
	var c Caller
	var used db.Time
	err := a.db.QueryOften(ctx, `SELECT `+callerColumns+`, s.id, s.last_used_at FROM user_session s `+
		`JOIN user_account u ON u.id = s.user_id `+callerTeams+` WHERE s.hash = ? AND s.user_id = ? AND s.expires_at > ? `+
		callerOrder, hash, userID, db.At(now.Add(-token.Skew))).Scan(append(c.columns(), &c.SessionID, &used)...)
	if db.IsNoRows(err) {
		return Caller{}, errToken
	}
	if err != nil {
		return Caller{}, err
	}
	if now.Sub(used.Time) > sessionUsedEvery {
		_, err := a.db.Exec(ctx, `UPDATE user_session SET last_used_at = ? WHERE id = ?`, db.At(now), c.SessionID)
		if err != nil {
			a.Logger.WarnContext(ctx, "storing when a session was used", "error", err)
		}
	}
	return c, nil
}

// CheckPresent fails with Unauthenticated when a caller from before would be refused now: they were disabled, are not
// in the team any more, or the session or key that they used has ended. The end of a token of the OpenID issuer is not
// known here.
func (a *Accounts) CheckPresent(ctx context.Context, c Caller) error {
	query := `SELECT count(*) FROM user_account u JOIN member m ON m.user_id = u.id AND m.team_id = ?
		WHERE u.id = ? AND u.disabled_at IS NULL`
	args := []any{c.TeamID, c.UserID}
	now := a.Now()
	if c.SessionID != "" {
		query += ` AND EXISTS (SELECT 1 FROM user_session s WHERE s.id = ? AND s.user_id = u.id AND s.expires_at > ?)`
		args = append(args, c.SessionID, db.At(now.Add(-token.Skew)))
	}
	if c.KeyID != "" {
		query += ` AND EXISTS (SELECT 1 FROM api_key k WHERE k.id = ? AND k.user_id = u.id
			AND (k.expires_at IS NULL OR k.expires_at > ?))`
		args = append(args, c.KeyID, db.At(now))
	}
	var present int
	if err := a.db.QueryOften(ctx, query, args...).Scan(&present); err != nil {
		return err
	}
	if present == 0 {
		return errs.New(errs.Unauthenticated, "access_ended", "Your access has ended: sign in again.")
	}
	return nil
}

// FindSessions are the caller's sessions that have not expired, the newest first; at most 100.
func (a *Accounts) FindSessions(ctx context.Context) ([]Session, error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	scan := func(r db.Row) (s Session, err error) {
		err = r.Scan(&s.ID, &s.UserAgent, &s.Address, db.Into(&s.CreatedAt), db.Into(&s.ExpiresAt), db.Into(&s.LastUsedAt))
		s.Current = s.ID == c.SessionID
		return s, err
	}
	return db.Select(ctx, a.db, scan, `SELECT id, user_agent, address, created_at, expires_at, last_used_at FROM user_session
		WHERE user_id = ? AND expires_at > ? ORDER BY created_at DESC, id DESC`, c.UserID, db.At(a.Now()))
}

// EndSession ends one of the caller's sessions; CurrentSession stands for the one they use. When it returns, no node
// accepts its token. It fails with NotFound for another user's.
func (a *Accounts) EndSession(ctx context.Context, id string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	if id == CurrentSession {
		id = c.SessionID
	}
	return db.ExecOr(ctx, a.db, errs.Missing("session"), `DELETE FROM user_session WHERE id = ? AND user_id = ?`, id, c.UserID)
}

// EndSessions ends all sessions of the caller, or all others than the one they use. When it returns, no node accepts
// their tokens. API keys stay.
func (a *Accounts) EndSessions(ctx context.Context, others bool) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	keep := ""
	if others {
		keep = c.SessionID
	}
	return endSessions(ctx, a.db, c.UserID, keep)
}

// endSessions ends the sessions of a user but one, and voids their links for a new password and begun sign-ins.
func endSessions(ctx context.Context, q db.Querier, userID, keep string) error {
	for _, table := range []string{"password_reset", "login_ticket", "security_key_challenge"} {
		if _, err := q.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = ?`, userID); err != nil {
			return err
		}
	}
	_, err := q.Exec(ctx, `DELETE FROM user_session WHERE user_id = ? AND id <> ?`, userID, keep)
	return err
}

const sweepBatch = 1000 // rows that one statement removes, so that it delays no other

// SweepRegularly removes expired sessions and links every hour until ctx ends. Several nodes may do it at once.
func (a *Accounts) SweepRegularly(ctx context.Context) {
	queue.Every(ctx, time.Hour, a.Logger, "removing expired sessions", a.Sweep)
}

// Sweep removes expired sessions and links for a new password.
func (a *Accounts) Sweep(ctx context.Context) error {
	for _, table := range []string{"password_reset", "login_ticket", "security_key_challenge", "sign_in_used"} {
		if _, err := a.db.Exec(ctx, `DELETE FROM `+table+` WHERE expires_at < ?`, db.At(a.Now())); err != nil {
			return err
		}
	}
	before := db.At(a.Now().Add(-token.Skew))
	for {
		n, err := a.db.Exec(ctx, `DELETE FROM user_session WHERE id IN
			(SELECT id FROM user_session WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, before, sweepBatch)
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
