package factor

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const (
	maxKeys    = 10       // of one user
	maxKeyName = 64       // characters
	maxAnswer  = 64 << 10 // bytes of an answer of a key; usual ones have one or two thousand
	maxKeyID   = 1023     // bytes (WebAuthn, 4: Credential ID)
)

// SecurityKey is a security key or passkey of a user.
type SecurityKey struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"When it last proved who you are."`
	SuspectAt  *time.Time `json:"suspect_at,omitempty" doc:"When an answer was last refused because its count was not above that of the answer before: somebody may have a copy of the key."`
	Synced     bool       `json:"synced" doc:"Whether it is backed up or on several devices, as passkeys often are."`
}

var (
	errWrongKey = errs.New(errs.Forbidden, "wrong_key",
		"The answer is not one of your security keys' to this challenge, or the challenge was used or has expired.").
		At("credential")
	errOldCount = errs.New(errs.Forbidden, "key_may_be_copied", "The security key has counted fewer answers than this server "+
		"has seen: there may be a copy of it. Use another factor, and remove the key.").At("credential")
	errNoKeys = errs.New(errs.NotFound, "security_key_not_found", "You have no security key.")
	errNoKey  = errs.New(errs.NotFound, "security_key_not_found", "You have no such security key.")
)

// owner is a user and their keys, as the library wants them.
type owner struct {
	id, name string
	keys     []webauthn.Credential
}

func (o owner) WebAuthnID() []byte                         { return []byte(o.id) }
func (o owner) WebAuthnName() string                       { return o.name }
func (o owner) WebAuthnDisplayName() string                { return o.name }
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.keys }

// Keys are the security keys of a user, the oldest first.
func (f *Factors) Keys(ctx context.Context, userID string) ([]SecurityKey, error) {
	scan := func(r db.Row) (k SecurityKey, err error) {
		var flags byte
		err = r.Scan(&k.ID, &k.Name, db.Into(&k.CreatedAt), db.Into(&k.LastUsedAt), db.Into(&k.SuspectAt), &flags)
		k.Synced = protocol.AuthenticatorFlags(flags).HasBackupState()
		return k, err
	}
	return db.Select(ctx, f.db, scan, `SELECT id, name, created_at, last_used_at, suspect_at, flags FROM security_key
		WHERE user_id = ? ORDER BY created_at, id`, userID)
}

// own is a user with the keys that are stored, locked until the end of a transaction where lock says so.
func own(ctx context.Context, q db.Querier, userID, name, lock string) (owner, error) {
	scan := func(r db.Row) (c webauthn.Credential, err error) {
		var transports string
		var flags byte
		err = r.Scan(&c.ID, &c.PublicKey, &transports, &flags, &c.Authenticator.SignCount)
		c.Flags = webauthn.NewCredentialFlags(protocol.AuthenticatorFlags(flags))
		for one := range strings.FieldsFuncSeq(transports, func(r rune) bool { return r == ',' }) {
			c.Transport = append(c.Transport, protocol.AuthenticatorTransport(one))
		}
		return c, err
	}
	keys, err := db.Select(ctx, q, scan, `SELECT credential_id, public_key, transports, flags, sign_count
		FROM security_key WHERE user_id = ? ORDER BY created_at, id`+lock, userID)
	return owner{userID, name, keys}, err
}

// BeginKey returns what a page gives to navigator.credentials.create, for a further key of a user, who sees this name
// there. It fails with NotFound when this server takes no keys, and with Conflict when the user has as many as may be.
func (f *Factors) BeginKey(ctx context.Context, userID, name, sessionID string) (KeyOptions, error) {
	if err := f.party.check(); err != nil {
		return KeyOptions{}, err
	}
	o, err := own(ctx, f.db, userID, name, "")
	if err == nil && len(o.keys) >= maxKeys {
		err = errTooMany()
	}
	if err != nil {
		return KeyOptions{}, err
	}
	present := make([]protocol.CredentialDescriptor, len(o.keys))
	for i := range o.keys {
		present[i] = o.keys[i].Descriptor()
	}
	options, session, err := f.party.BeginRegistration(o, webauthn.WithExclusions(present))
	if err != nil {
		return KeyOptions{}, err
	}
	return f.keepChallenge(ctx, userID, register(sessionID), session, options.Response)
}

func errTooMany() error {
	return errs.New(errs.Conflict, "too_many_security_keys", "You have %d security keys: remove one first.", maxKeys)
}

// FinishKey adds the key that has answered BeginKey in the same session, under a name of the user's own. With the first
// of their factors it returns recovery codes, which are shown once, and runs first in the same transaction. A wrong
// answer is Forbidden, and also uses the challenge up; a body that is no answer, or a wrong name, is Invalid.
func (f *Factors) FinishKey(
	ctx context.Context, userID, sessionID, name string, answer json.RawMessage, first func(*db.Tx) error,
) (k SecurityKey, codes []string, err error) {
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); n == 0 || n > maxKeyName || db.Clean(name) != name {
		return k, nil, errs.Field("name", "name must have 1 to %d characters of text.", maxKeyName)
	}
	if err := f.party.check(); err != nil {
		return k, nil, err
	}
	parsed, err := readCreation(answer)
	if err != nil {
		return k, nil, err
	}
	session, err := f.takeChallenge(ctx, userID, register(sessionID))
	if err != nil {
		return k, nil, err
	}
	made, err := f.party.CreateCredential(owner{id: userID}, session, parsed)
	if err != nil {
		return k, nil, errWrongKey.Because(err)
	}
	k = SecurityKey{
		ID: ids.New(), Name: name, CreatedAt: db.At(f.Now()).Time, Synced: made.Flags.BackupState,
	}
	err = f.db.Tx(ctx, func(tx *db.Tx) error {
		has, err := f.checkNewKey(ctx, tx, userID, name)
		if err != nil {
			return err
		}
		if err := insertKey(ctx, tx, userID, k, made); err != nil || has {
			return err
		}
		if codes, err = f.makeRecoveryCodes(ctx, tx, userID); err != nil {
			return err
		}
		return first(tx)
	})
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "security_key_exists", "This security key is registered already.").At("credential")
	}
	return k, codes, err
}

// checkNewKey fails with Conflict when a user has as many keys as they may, or one of this name. has is whether they
// have a second factor.
func (f *Factors) checkNewKey(ctx context.Context, tx *db.Tx, userID, name string) (has bool, err error) {
	// Of two requests at once the second one waits here, and sees the key of the first.
	var all, named int
	_, err = db.Value[string](ctx, tx, `SELECT id FROM user_account WHERE id = ?`+tx.Dialect().ForUpdate(), userID)
	if err == nil {
		err = tx.QueryRow(ctx, `SELECT count(*), coalesce(sum(CASE WHEN name = ? THEN 1 ELSE 0 END), 0)
			FROM security_key WHERE user_id = ?`, name, userID).Scan(&all, &named)
	}
	switch {
	case err != nil:
		return false, err
	case named > 0:
		return false, errs.New(errs.Conflict, "security_key_name_taken", "You have a security key of this name.").At("name")
	case all >= maxKeys:
		return false, errTooMany()
	}
	return Enabled(ctx, tx, userID)
}

func insertKey(ctx context.Context, tx *db.Tx, userID string, k SecurityKey, c *webauthn.Credential) error {
	var transports []string
	for _, t := range c.Transport {
		if known[t] {
			transports = append(transports, string(t))
		}
	}
	if len(c.ID) > maxKeyID {
		return errWrongKey
	}
	_, err := tx.Exec(ctx, `INSERT INTO security_key (id, user_id, name, credential_id, public_key, transports, flags,
		sign_count, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, k.ID, userID, k.Name, c.ID, c.PublicKey,
		strings.Join(transports, ","), int64(c.Flags.ProtocolValue()), int64(c.Authenticator.SignCount), db.At(k.CreatedAt))
	return err
}

// known are the transports that are kept; a client may name any.
var known = map[protocol.AuthenticatorTransport]bool{
	protocol.USB: true, protocol.NFC: true, protocol.BLE: true, protocol.SmartCard: true, protocol.Hybrid: true,
	protocol.Internal: true,
}

// Own are the factors of one user, in one session.
type Own struct {
	*Factors

	UserID  string
	Session string // what challenges are bound to
}

// Find is what the user has.
func (o Own) Find(ctx context.Context) (SecondFactor, error) { return o.Factors.Find(ctx, o.UserID) }

// DeleteApp removes the authenticator app, with a proof of any of the user's factors.
func (o Own) DeleteApp(ctx context.Context, p Proof) error {
	return o.Prove(ctx, o.UserID, Change(o.Session), p, func(tx *db.Tx, take func() error) error {
		if err := take(); err != nil {
			return err
		}
		return RemoveApp(ctx, tx, o.UserID)
	})
}

// Keys are the user's security keys, the oldest first.
func (o Own) Keys(ctx context.Context) ([]SecurityKey, error) { return o.Factors.Keys(ctx, o.UserID) }

// Challenge is what a page gives to navigator.credentials.get, for a proof that removes a factor.
func (o Own) Challenge(ctx context.Context) (KeyOptions, error) {
	return o.Factors.Challenge(ctx, o.UserID, Change(o.Session))
}

// CheckKey fails with NotFound unless the user has a key of this id.
func (o Own) CheckKey(ctx context.Context, id string) error {
	n, err := db.Value[int](ctx, o.db, `SELECT count(*) FROM security_key WHERE id = ? AND user_id = ?`, id, o.UserID)
	if err == nil && n == 0 {
		err = errNoKey
	}
	return err
}

// DeleteKey removes a key, with a proof of any of the user's factors, which may be the key itself. The recovery codes
// go with the last factor. It fails with NotFound for another user's.
func (o Own) DeleteKey(ctx context.Context, id string, p Proof) error {
	return o.Prove(ctx, o.UserID, Change(o.Session), p, func(tx *db.Tx, take func() error) error {
		if err := take(); err != nil {
			return err
		}
		err := db.ExecOr(ctx, tx, errNoKey, `DELETE FROM security_key WHERE id = ? AND user_id = ?`, id,
			o.UserID)
		if err != nil {
			return err
		}
		return removeUnneeded(ctx, tx, o.UserID)
	})
}
