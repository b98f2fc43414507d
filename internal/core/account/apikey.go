package account

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Scope is what an API key may be used for.
type Scope string

// The scopes: a key to read is refused by every operation that changes something.
const (
	ScopeRead Scope = "read"
	ScopeFull Scope = "full"
)

// DefaultKey is the name of the key that a user makes without naming it.
const DefaultKey = "default"

// Key is what may be shown of an API key: never its value.
type Key struct {
	ID         string     `json:"id"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at" doc:"To within a minute; null: never."`
}

// KeyInfo is a Key with what tells several apart.
type KeyInfo struct {
	Key

	Name      string     `json:"name"`
	Prefix    string     `json:"prefix" doc:"How its value begins; empty for keys from before this was stored."`
	Scope     Scope      `json:"scope" enum:"read,full" doc:"read: it is refused wherever something would be changed."`
	ExpiresAt *time.Time `json:"expires_at" doc:"From when on it is refused; null: never."`
	Current   bool       `json:"current" doc:"Whether this request uses it."`
}

// NewKey is a new key with its value, which is shown only once (specification, "API key (created)").
type NewKey struct {
	CreatedAt time.Time `json:"created_at"`
	ID        string    `json:"id"`
	Key       string    `json:"key"`
}

// KeyOptions describe a key to make.
type KeyOptions struct {
	Name      string // DefaultKey when empty
	Scope     Scope  // ScopeFull when empty
	ExpiresAt *time.Time
}

// errNoKey is the NotFound of a user without a key.
var (
	errNoKey     = errs.New(errs.NotFound, "api_key_not_found", "You have no API key.")
	errKeyExists = errs.New(errs.Conflict, "api_key_exists", "You have an API key; rotate it to get a new value.")
)

const (
	maxKeyName = 64 // characters
	// keyPrefix is how much of a key's value is shown: svc_sk_ and 5 of 32 random characters.
	keyPrefix = 12
)

func (o *KeyOptions) check(now time.Time) error {
	if o.Name == "" {
		o.Name = DefaultKey
	}
	if o.Scope == "" {
		o.Scope = ScopeFull
	}
	switch {
	case utf8.RuneCountInString(o.Name) > maxKeyName || db.Clean(o.Name) != o.Name:
		return errs.Field("name", "name must have 1 to %d characters of text.", maxKeyName)
	case !slices.Contains([]Scope{ScopeRead, ScopeFull}, o.Scope):
		return errs.Field("scope", "scope must be read or full.")
	case o.ExpiresAt != nil && (!o.ExpiresAt.After(now) || o.ExpiresAt.Year() > 9999):
		return errs.Field("expires_at", "expires_at must be in the future.")
	}
	return nil
}

// CreateKey creates the caller's default key. It fails with Conflict when there is one, and with Forbidden when the
// caller's cap is used up.
func (a *Accounts) CreateKey(ctx context.Context) (NewKey, error) {
	k, _, err := a.CreateNamedKey(ctx, KeyOptions{})
	return k, err
}

// CreateNamedKey creates a key of the caller. It fails with Conflict when there is one of this name, or as many as
// KeysPerUser, and with Forbidden when the caller's cap is used up or when they used a key: one that is limited or
// leaked must not make others.
func (a *Accounts) CreateNamedKey(ctx context.Context, o KeyOptions) (NewKey, KeyInfo, error) {
	c, err := From(ctx)
	if err != nil {
		return NewKey{}, KeyInfo{}, err
	}
	return a.createKey(ctx, c.UserID, o, func(tx *db.Tx) error {
		if c.KeyID != "" {
			return errs.New(errs.Forbidden, "sign_in_required", "Send a bearer token: an API key makes no further keys.")
		}
		return checkCap(ctx, tx, c.UserID)
	})
}

// CreateKeyOf creates a key of any user. It checks no Caller and no spending cap: the operator's command line uses it.
func (a *Accounts) CreateKeyOf(ctx context.Context, email string, o KeyOptions) (NewKey, KeyInfo, error) {
	id, err := a.userID(ctx, email)
	if err != nil {
		return NewKey{}, KeyInfo{}, err
	}
	return a.createKey(ctx, id, o, func(*db.Tx) error { return nil })
}

func (a *Accounts) createKey(
	ctx context.Context, userID string, o KeyOptions, allowed func(*db.Tx) error,
) (NewKey, KeyInfo, error) {
	if err := o.check(a.Now()); err != nil {
		return NewKey{}, KeyInfo{}, err
	}
	k := a.freshKey()
	info := KeyInfo{Key: Key{ID: k.ID, CreatedAt: k.CreatedAt}, Name: o.Name, Prefix: k.Key[:keyPrefix], Scope: o.Scope}
	var expires any
	if o.ExpiresAt != nil {
		at := db.At(*o.ExpiresAt)
		info.ExpiresAt, expires = &at.Time, at
	}
	err := a.db.Tx(ctx, func(tx *db.Tx) error {
		// Of two requests at once the second one waits here, and sees the key of the first.
		_, err := db.Value[string](ctx, tx, `SELECT id FROM user_account WHERE id = ?`+tx.Dialect().ForUpdate(), userID)
		if err != nil {
			return db.OrMissing(err, "user")
		}
		if err := a.checkKeys(ctx, tx, userID, o.Name); err != nil {
			return err
		}
		if err := allowed(tx); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO api_key (id, user_id, name, hash, prefix, scope, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, k.ID, userID, o.Name, ids.Hash(a.pepper, k.Key), info.Prefix, o.Scope,
			db.At(k.CreatedAt), expires)
		return err
	})
	if err != nil {
		return NewKey{}, KeyInfo{}, err
	}
	return k, info, nil
}

// checkKeys fails with Conflict when a user has a key of this name, or as many keys as they may.
func (a *Accounts) checkKeys(ctx context.Context, tx *db.Tx, userID, name string) error {
	var all, named int
	err := tx.QueryRow(ctx, `SELECT count(*), coalesce(sum(CASE WHEN name = ? THEN 1 ELSE 0 END), 0) FROM api_key
		WHERE user_id = ?`, name, userID).Scan(&all, &named)
	most := max(1, a.KeysPerUser)
	switch {
	case err != nil:
		return err
	case named > 0 && name == DefaultKey, all > 0 && most == 1:
		return errKeyExists
	case named > 0:
		return errs.New(errs.Conflict, "api_key_name_taken", "You have an API key of this name.").At("name")
	case all >= most:
		return errs.New(errs.Conflict, "too_many_api_keys", "You have %d API keys; this server allows %d.", all, most)
	}
	return nil
}

// usual is the key that the operations on "your API key" mean: the one that the caller sent, or else the default one,
// or else the oldest.
const usual = `id = (SELECT id FROM api_key WHERE user_id = ?
	ORDER BY CASE WHEN id = ? THEN 0 WHEN name = '` + DefaultKey + `' THEN 1 ELSE 2 END, created_at, id LIMIT 1)`

// RotateKey gives the caller's key a new value; when this returns, no node accepts the old one. Name, scope and end
// stay. It is the key that the caller sent, or else the default one, or else the oldest.
func (a *Accounts) RotateKey(ctx context.Context) (NewKey, error) {
	c, err := From(ctx)
	if err != nil {
		return NewKey{}, err
	}
	k := a.freshKey()
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		var expires *time.Time
		err := tx.QueryRow(ctx, `SELECT expires_at FROM api_key WHERE `+usual, c.UserID, c.KeyID).Scan(db.Into(&expires))
		if db.IsNoRows(err) {
			return errNoKey
		}
		if err == nil && expires != nil && !expires.After(a.Now()) {
			err = errs.New(errs.Conflict, "api_key_expired", "Your API key has expired: delete it and make another.")
		}
		if err != nil {
			return err
		}
		return db.ExecOr(ctx, tx, errNoKey,
			`UPDATE api_key SET id = ?, hash = ?, prefix = ?, created_at = ?, last_used_at = NULL WHERE `+usual,
			k.ID, ids.Hash(a.pepper, k.Key), k.Key[:keyPrefix], db.At(k.CreatedAt), c.UserID, c.KeyID)
	})
	if err != nil {
		return NewKey{}, err
	}
	return k, nil
}

// FindKey is the caller's key: the one that they sent, or else the default one, or else the oldest.
func (a *Accounts) FindKey(ctx context.Context) (Key, error) {
	c, err := From(ctx)
	if err != nil {
		return Key{}, err
	}
	var k Key
	err = a.db.QueryRow(ctx, `SELECT id, created_at, last_used_at FROM api_key WHERE `+usual, c.UserID, c.KeyID).
		Scan(&k.ID, db.Into(&k.CreatedAt), db.Into(&k.LastUsedAt))
	if db.IsNoRows(err) {
		err = errNoKey
	}
	return k, err
}

// DeleteKey revokes the caller's key at once: the one that they sent, or else the default one, or else the oldest.
func (a *Accounts) DeleteKey(ctx context.Context) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, a.db, errNoKey, `DELETE FROM api_key WHERE `+usual, c.UserID, c.KeyID)
}

// FindKeys are the caller's keys, the oldest first. There are at most KeysPerUser, or as many as were allowed before.
func (a *Accounts) FindKeys(ctx context.Context) ([]KeyInfo, error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	return a.keysOf(ctx, c.UserID, c.KeyID)
}

// FindKeysOf are the keys of any user. It checks no Caller: the operator's command line uses it.
func (a *Accounts) FindKeysOf(ctx context.Context, email string) ([]KeyInfo, error) {
	id, err := a.userID(ctx, email)
	if err != nil {
		return nil, err
	}
	return a.keysOf(ctx, id, "")
}

func (a *Accounts) keysOf(ctx context.Context, userID, current string) ([]KeyInfo, error) {
	scan := func(r db.Row) (k KeyInfo, err error) {
		err = r.Scan(&k.ID, &k.Name, &k.Prefix, &k.Scope, db.Into(&k.CreatedAt), db.Into(&k.ExpiresAt),
			db.Into(&k.LastUsedAt))
		k.Current = k.ID == current
		return k, err
	}
	return db.Select(ctx, a.db, scan, `SELECT id, name, prefix, scope, created_at, expires_at, last_used_at FROM api_key
		WHERE user_id = ? ORDER BY created_at, id`, userID)
}

// RevokeKey revokes one of the caller's keys at once on every node. It fails with NotFound for another user's.
func (a *Accounts) RevokeKey(ctx context.Context, id string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, a.db, errs.Missing("api_key"), `DELETE FROM api_key WHERE id = ? AND user_id = ?`, id, c.UserID)
}

// RevokeKeyOf revokes a key of any user, given by id or name. It checks no Caller: the operator's command line uses it.
func (a *Accounts) RevokeKeyOf(ctx context.Context, email, key string) error {
	id, err := a.userID(ctx, email)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, a.db, errs.Missing("api_key"),
		`DELETE FROM api_key WHERE user_id = ? AND (id = ? OR name = ?)`, id, key, key)
}

func (a *Accounts) userID(ctx context.Context, email string) (string, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return "", err
	}
	id, err := db.Value[string](ctx, a.db, `SELECT id FROM user_account WHERE email = ?`, email)
	return id, db.OrMissing(err, "user")
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
	var expires *time.Time
	err := a.db.QueryOften(ctx, `SELECT `+callerColumns+`, k.id, k.scope = '`+string(ScopeRead)+`', k.expires_at, k.last_used_at
		FROM api_key k JOIN user_account u ON u.id = k.user_id `+callerTeams+` WHERE k.hash = ? `+callerOrder, hash).
		Scan(append(c.columns(), &c.KeyID, &c.ReadOnly, db.Into(&expires), &used)...)
	if db.IsNoRows(err) {
		return Caller{}, bad
	}
	if err != nil {
		return Caller{}, err
	}
	now := a.Now()
	if expires != nil && !expires.After(now) {
		return Caller{}, errs.New(errs.Unauthenticated, "api_key_expired", "The API key has expired.")
	}
	if now.Sub(used.Time) > lastUsedEvery {
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
