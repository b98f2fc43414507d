package account

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Key is an API key as far as it may be shown: never its value.
type Key struct {
	ID         string     `json:"id"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
}

// NewKey is a key just made, with the value that is shown this once (specification,
// "API key (created)").
type NewKey struct {
	CreatedAt time.Time `json:"created_at"`
	ID        string    `json:"id"`
	Key       string    `json:"key"`
}

var (
	errNoKey     = errs.New(errs.NotFound, "api_key_not_found", "You have no API key.")
	errKeyExists = errs.New(errs.Conflict, "api_key_exists", "You have an API key; rotate it to get a new value.")
)

// CreateKey makes the caller's key. It fails with Conflict when there is one, and with
// Forbidden (code user_spending_cap_reached) when the caller's cap is used up.
func (a *Accounts) CreateKey(ctx context.Context) (NewKey, error) {
	c, err := From(ctx)
	if err != nil {
		return NewKey{}, err
	}
	k := a.freshKey()
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `INSERT INTO api_key (id, user_id, hash, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (user_id) DO NOTHING`,
			k.ID, c.UserID, ids.Hash(a.pepper, k.Key), db.At(k.CreatedAt))
		if err != nil {
			return err
		}
		if n == 0 {
			return errKeyExists
		}
		return checkCap(ctx, tx, c.UserID)
	})
	if err != nil {
		return NewKey{}, err
	}
	return k, nil
}

// RotateKey gives the caller's key a new value; the old one is void when this returns,
// on every node. It fails with NotFound when there is no key.
func (a *Accounts) RotateKey(ctx context.Context) (NewKey, error) {
	c, err := From(ctx)
	if err != nil {
		return NewKey{}, err
	}
	k := a.freshKey()
	n, err := a.db.Exec(ctx, `UPDATE api_key SET id = ?, hash = ?, created_at = ?, last_used_at = NULL WHERE user_id = ?`,
		k.ID, ids.Hash(a.pepper, k.Key), db.At(k.CreatedAt), c.UserID)
	if err == nil && n == 0 {
		err = errNoKey
	}
	if err != nil {
		return NewKey{}, err
	}
	return k, nil
}

// FindKey is what may be known of the caller's key.
func (a *Accounts) FindKey(ctx context.Context) (Key, error) {
	c, err := From(ctx)
	if err != nil {
		return Key{}, err
	}
	var k Key
	var created, used db.Time
	err = a.db.QueryRow(ctx, `SELECT id, created_at, last_used_at FROM api_key WHERE user_id = ?`, c.UserID).Scan(&k.ID, &created, &used)
	if db.IsNoRows(err) {
		return Key{}, errNoKey
	}
	k.CreatedAt, k.LastUsedAt = created.Time, used.Ptr()
	return k, err
}

// DeleteKey voids the caller's key at once.
func (a *Accounts) DeleteKey(ctx context.Context) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	n, err := a.db.Exec(ctx, `DELETE FROM api_key WHERE user_id = ?`, c.UserID)
	if err == nil && n == 0 {
		err = errNoKey
	}
	return err
}

// lastUsedEvery is how exact last_used_at is: a write per call would make every read a write.
const lastUsedEvery = time.Minute

// ByKey is the caller behind an API key. It costs one indexed read by the key's hash:
// the value itself is never compared.
func (a *Accounts) ByKey(ctx context.Context, key string) (Caller, error) {
	bad := errs.New(errs.Unauthenticated, "invalid_api_key", "The API key is not valid.")
	if !ids.IsKey(key) {
		return Caller{}, bad
	}
	hash := ids.Hash(a.pepper, key)
	c, used, err := a.caller(ctx, "", "k.hash = ?", hash)
	if db.IsNoRows(err) {
		return Caller{}, bad
	}
	if err != nil {
		return Caller{}, err
	}
	if now := a.Now(); now.Sub(used.Time) > lastUsedEvery {
		if _, err := a.db.Exec(ctx, `UPDATE api_key SET last_used_at = ? WHERE hash = ?`, db.At(now), hash); err != nil {
			a.Logger.WarnContext(ctx, "noting the use of an API key", "error", err)
		}
	}
	return c, nil
}

func (a *Accounts) freshKey() NewKey {
	return NewKey{ID: ids.New(), Key: ids.NewKey(), CreatedAt: db.At(a.Now()).Time}
}

// checkCap fails when a user has a spending cap and has used it up; a cap of 0 is used
// up from the start.
func checkCap(ctx context.Context, q db.Querier, userID string) error {
	var limit *int64
	var spent int64
	if err := q.QueryRow(ctx, `SELECT spending_cap_cents, spent_cents FROM user_account WHERE id = ?`, userID).Scan(&limit, &spent); err != nil {
		return err
	}
	if limit != nil && spent >= *limit {
		return errs.New(errs.Forbidden, "user_spending_cap_reached", "Your spending cap is used up.")
	}
	return nil
}
