package account

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Key is what may be shown of an API key: never its value.
type Key struct {
	ID         string     `json:"id"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
}

// NewKey is a new key with its value, which is shown only once (specification, "API key (created)").
type NewKey struct {
	CreatedAt time.Time `json:"created_at"`
	ID        string    `json:"id"`
	Key       string    `json:"key"`
}

var (
	errNoKey     = errs.New(errs.NotFound, "api_key_not_found", "You have no API key.")
	errKeyExists = errs.New(errs.Conflict, "api_key_exists", "You have an API key; rotate it to get a new value.")
)

// CreateKey creates the caller's key. It fails with Conflict when there is one, and with Forbidden when the
// caller's cap is used up.
func (a *Accounts) CreateKey(ctx context.Context) (NewKey, error) {
	c, err := From(ctx)
	if err != nil {
		return NewKey{}, err
	}
	k := a.freshKey()
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		err := db.ExecOr(ctx, tx, errKeyExists, `INSERT INTO api_key (id, user_id, hash, created_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (user_id) DO NOTHING`, k.ID, c.UserID, ids.Hash(a.pepper, k.Key), db.At(k.CreatedAt))
		if err != nil {
			return err
		}
		return checkCap(ctx, tx, c.UserID)
	})
	if err != nil {
		return NewKey{}, err
	}
	return k, nil
}

// RotateKey gives the caller's key a new value; when this returns, no node accepts the old one.
func (a *Accounts) RotateKey(ctx context.Context) (NewKey, error) {
	c, err := From(ctx)
	if err != nil {
		return NewKey{}, err
	}
	k := a.freshKey()
	err = db.ExecOr(ctx, a.db, errNoKey,
		`UPDATE api_key SET id = ?, hash = ?, created_at = ?, last_used_at = NULL WHERE user_id = ?`,
		k.ID, ids.Hash(a.pepper, k.Key), db.At(k.CreatedAt), c.UserID)
	if err != nil {
		return NewKey{}, err
	}
	return k, nil
}

// FindKey is the caller's key.
func (a *Accounts) FindKey(ctx context.Context) (Key, error) {
	c, err := From(ctx)
	if err != nil {
		return Key{}, err
	}
	var k Key
	err = a.db.QueryRow(ctx, `SELECT id, created_at, last_used_at FROM api_key WHERE user_id = ?`, c.UserID).
		Scan(&k.ID, db.Into(&k.CreatedAt), db.Into(&k.LastUsedAt))
	if db.IsNoRows(err) {
		err = errNoKey
	}
	return k, err
}

// DeleteKey revokes the caller's key at once.
func (a *Accounts) DeleteKey(ctx context.Context) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, a.db, errNoKey, `DELETE FROM api_key WHERE user_id = ?`, c.UserID)
}

// lastUsedEvery is the precision of last_used_at, because not every call may write.
const lastUsedEvery = time.Minute

// ByKey is the caller of an API key. The key is found by its hash, and never compared.
func (a *Accounts) ByKey(ctx context.Context, key string) (Caller, error) {
	bad := errs.New(errs.Unauthenticated, "invalid_api_key", "The API key is not valid.")
	if !ids.IsKey(key) {
		return Caller{}, bad
	}
	hash := ids.Hash(a.pepper, key)
	var c Caller
	var used db.Time
	err := a.db.QueryOften(ctx, `SELECT `+callerColumns+`, k.last_used_at FROM api_key k JOIN user_account u ON u.id = k.user_id `+
		callerTeams+` WHERE k.hash = ? `+callerOrder, hash).Scan(append(c.columns(), &used)...)
	if db.IsNoRows(err) {
		return Caller{}, bad
	}
	if err != nil {
		return Caller{}, err
	}
	if now := a.Now(); now.Sub(used.Time) > lastUsedEvery {
		if _, err := a.db.Exec(ctx, `UPDATE api_key SET last_used_at = ? WHERE hash = ?`, db.At(now), hash); err != nil {
			a.Logger.WarnContext(ctx, "storing when an API key was used", "error", err)
		}
	}
	return c, nil
}

func (a *Accounts) freshKey() NewKey {
	return NewKey{ID: ids.New(), Key: ids.NewKey(), CreatedAt: db.At(a.Now()).Time}
}

// checkCap fails when a user has used up the operator's cap, or their own one in the team that they act in by default:
// neither a team of their own nor a stranger's changes the answer. A cap of 0 is always used up.
func checkCap(ctx context.Context, q db.Querier, userID string) error {
	var reached bool
	err := q.QueryRow(ctx, `SELECT coalesce(u.spent_cents >= u.spending_cap_cents, FALSE)
		OR coalesce(m.spent_cents >= m.spending_cap_cents, FALSE)
		FROM user_account u JOIN member m ON m.user_id = u.id WHERE u.id = ? ORDER BY m.created_at, m.team_id LIMIT 1`,
		userID).Scan(&reached)
	if err == nil && reached {
		return errs.New(errs.Forbidden, "user_spending_cap_reached", "Your spending cap is used up.")
	}
	return err
}
