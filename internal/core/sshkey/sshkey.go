// Package sshkey stores private keys and passwords for SSH, runs commands with them, and pins the keys of hosts.
//
// Keys are generated here or imported, and sealed. No answer has a private key or a password; a task names a key and
// gets
// the output of a command. The key of a host is stored the first time that a team connects to it; later a host with
// another one is refused before anything is sent to it.
package sshkey

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// The limits of keys (agent API, SSH Keys).
const (
	maxKeys     = 200 // of a user in a team
	maxPassword = 1000
	maxPrivate  = 64 << 10
	maxHost     = 255
	maxUser     = 128
	defaultPort = 22
)

// Key is what its owner sees of a key.
type Key struct {
	ID          string    `json:"id"`
	Name        string    `json:"name" doc:"The name by which tasks use it."`
	Algorithm   string    `json:"algorithm" doc:"ed25519, rsa-2048, rsa-4096, ecdsa-256, ecdsa-384, ecdsa-521, another size of an imported RSA key, or password."`
	AuthType    string    `json:"auth_type" enum:"key,password" doc:"How it signs in."`
	PublicKey   string    `json:"public_key,omitempty" doc:"A line for authorized_keys; absent of a password."`
	Fingerprint string    `json:"fingerprint,omitempty" doc:"SHA-256 of the public key, as OpenSSH shows it."`
	Host        string    `json:"default_host,omitempty" doc:"As in the request."`
	Port        int       `json:"default_port" doc:"As in the request."`
	Username    string    `json:"default_username,omitempty" doc:"As in the request."`
	ProjectID   string    `json:"project_id,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

// Keys is the service of SSH keys.
type Keys struct {
	db  *db.DB
	box *seal.Box
	now func() time.Time
}

// New makes the service.
func New(d *db.DB, box *seal.Box) *Keys { return &Keys{db: d, box: box, now: time.Now} }

const query = `SELECT k.id, k.name, k.algorithm, k.public_key, k.fingerprint, k.default_host, k.default_port, k.default_username,
	k.project_id, k.created_at, k.updated_at FROM ssh_key k`

func scan(r db.Row) (k Key, err error) {
	err = r.Scan(&k.ID, &k.Name, &k.Algorithm, &k.PublicKey, &k.Fingerprint, &k.Host, &k.Port, &k.Username, &k.ProjectID,
		db.Into(&k.CreatedAt), db.Into(&k.UpdatedAt))
	k.AuthType = "key"
	if k.Algorithm == Password {
		k.AuthType = Password
	}
	return k, err
}

// NewKey describes a key: exactly one of Algorithm, Password and PrivateKey.
type NewKey struct {
	Name       string
	Algorithm  string // to generate one
	Password   string
	PrivateKey string // PEM
	Passphrase string // of PrivateKey
	Host       string
	Port       int // 0: 22
	Username   string
	ProjectID  string
}

func (n NewKey) material() (material, error) {
	ways := 0
	for _, way := range []string{n.Algorithm, n.Password, n.PrivateKey} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways != 1:
		return material{}, errs.Field("algorithm", "Send exactly one of algorithm, password and private_key.")
	case n.Passphrase != "" && n.PrivateKey == "":
		return material{}, errs.Field("private_key_passphrase", "private_key_passphrase belongs to a private_key.")
	case n.Algorithm != "":
		return generate(n.Algorithm)
	case n.Password != "":
		if len([]rune(n.Password)) > maxPassword {
			return material{}, errs.Field("password", "password must have at most %d characters.", maxPassword)
		}
		return material{algorithm: Password, private: []byte(n.Password)}, nil
	case len(n.PrivateKey) > maxPrivate:
		return material{}, errs.Field("private_key", "private_key must have at most %d bytes.", maxPrivate)
	}
	return parse(n.PrivateKey, n.Passphrase)
}

var (
	nameShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
	hostShape = regexp.MustCompile(`^[A-Za-z0-9_.:%-]*$`)
)

// check refuses the parts of a key that are shown.
func (k Key) check() error {
	switch {
	case !nameShape.MatchString(k.Name):
		return errs.Field(
			"name",
			"name must be letters, digits, dots, underscores and hyphens, begin with a letter or digit, and have "+
				"at most 128 characters.",
		)
	case len(k.Host) > maxHost || !hostShape.MatchString(k.Host):
		return errs.Field("default_host", "default_host must be a name or an address with at most %d characters.", maxHost)
	case k.Port < 1 || k.Port > 65535:
		return errs.Field("default_port", "default_port must be between 1 and 65535.")
	case len(k.Username) > maxUser || strings.ContainsFunc(k.Username, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return errs.Field("default_username", "default_username must have at most %d characters, without blanks.", maxUser)
	}
	return nil
}

// sealContext binds a sealed value to its row.
func sealContext(id string) string { return "ssh_key/" + id }

// Create generates or stores a key of the caller's. A name that the caller has already is a Conflict.
func (ks *Keys) Create(ctx context.Context, n NewKey) (Key, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Key{}, err
	}
	now := db.At(ks.now())
	k := Key{ID: ids.New(), Name: n.Name, Host: n.Host, Port: n.Port, Username: n.Username, ProjectID: n.ProjectID}
	if k.Port == 0 {
		k.Port = defaultPort
	}
	if err := k.check(); err != nil {
		return Key{}, err
	}
	m, err := n.material()
	if err != nil {
		return Key{}, err
	}
	sealed, err := ks.box.Seal(m.private, sealContext(k.ID))
	if err != nil {
		return Key{}, err
	}
	err = ks.db.Tx(ctx, func(tx *db.Tx) error {
		if err := project.Check(ctx, tx, c.TeamID, c.UserID, n.ProjectID); err != nil {
			return err
		}
		count, err := db.Value[int](
			ctx,
			tx,
			`SELECT count(*) FROM ssh_key WHERE team_id = ? AND user_id = ?`,
			c.TeamID,
			c.UserID,
		)
		if err != nil {
			return err
		}
		if count >= maxKeys {
			return errs.New(errs.Conflict, "too_many_ssh_keys", "There are %d SSH keys; delete one first.", count)
		}
		if _, err = tx.Exec(ctx, `INSERT INTO ssh_key (id, team_id, user_id, project_id, name, algorithm, sealed, public_key, fingerprint,
			default_host, default_port, default_username, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			k.ID, c.TeamID, c.UserID, k.ProjectID, k.Name, m.algorithm, sealed, m.public, m.fingerprint, k.Host, k.Port,
			k.Username, now,
			now); err != nil {
			return err
		}
		k, err = scan(tx.QueryRow(ctx, query+` WHERE k.id = ?`, k.ID))
		return err
	})
	return k, taken(err)
}

func taken(err error) error {
	if db.IsDuplicate(err) {
		return errs.New(errs.Conflict, "ssh_key_exists", "There is an SSH key with this name.").At("name")
	}
	return err
}

// seen is the condition that a user sees a key: it is theirs, or of a project that they see. Its arguments are the
// user's id, twice.
var seen = `(k.user_id = ? OR ` + project.Sees("k.project_id") + `)`

// FindAll lists the caller's keys, or (projectID not empty) those of a project that they see, by name.
func (ks *Keys) FindAll(ctx context.Context, projectID string) ([]Key, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	if projectID == "" {
		return db.Select(
			ctx,
			ks.db,
			scan,
			query+` WHERE k.team_id = ? AND k.user_id = ? ORDER BY k.name, k.id`,
			c.TeamID,
			c.UserID,
		)
	}
	return db.Select(
		ctx,
		ks.db,
		scan,
		query+` WHERE k.team_id = ? AND k.project_id = ? AND `+seen+` ORDER BY k.name, k.id`,
		c.TeamID,
		projectID,
		c.UserID,
		c.UserID,
	)
}

// Find is a key that the caller sees.
func (ks *Keys) Find(ctx context.Context, id string) (Key, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Key{}, err
	}
	k, err := scan(
		ks.db.QueryRow(ctx, query+` WHERE k.id = ? AND k.team_id = ? AND `+seen, db.Clean(id), c.TeamID, c.UserID, c.UserID),
	)
	return k, db.OrMissing(err, "ssh_key")
}

// Update has the sent fields of a key: nil leaves one.
type Update struct {
	Name     *string
	Host     *string
	Port     *int
	Username *string
	Password *string // of a key that is one
}

// Update changes a key of the caller's.
func (ks *Keys) Update(ctx context.Context, id string, up Update) (k Key, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return k, err
	}
	err = ks.db.Tx(ctx, func(tx *db.Tx) error {
		own := ` WHERE k.id = ? AND k.team_id = ? AND k.user_id = ?`
		if k, err = scan(tx.QueryRow(ctx, query+own, db.Clean(id), c.TeamID, c.UserID)); err != nil {
			return db.OrMissing(err, "ssh_key")
		}
		set(&k.Name, up.Name)
		set(&k.Host, up.Host)
		set(&k.Port, up.Port)
		set(&k.Username, up.Username)
		if err := k.check(); err != nil {
			return err
		}
		var sealed any
		if up.Password != nil {
			if k.Algorithm != Password {
				return errs.Field("password", "password: this is a key and no password.")
			}
			m, err := NewKey{Password: *up.Password}.material()
			if err != nil {
				return errs.From(err).At("password")
			}
			if sealed, err = ks.box.Seal(m.private, sealContext(k.ID)); err != nil {
				return err
			}
		}
		k.UpdatedAt = db.At(ks.now()).Time
		_, err := tx.Exec(ctx, `UPDATE ssh_key SET name = ?, default_host = ?, default_port = ?, default_username = ?,
			sealed = coalesce(?, sealed), updated_at = ? WHERE id = ?`, k.Name, k.Host, k.Port, k.Username, sealed, db.At(k.UpdatedAt), k.ID)
		return err
	})
	return k, taken(err)
}

func set[T any](field *T, sent *T) {
	if sent != nil {
		*field = *sent
	}
}

// Delete deletes a key of the caller's.
func (ks *Keys) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(
		ctx,
		ks.db,
		errs.Missing("ssh_key"),
		`DELETE FROM ssh_key WHERE id = ? AND team_id = ? AND user_id = ?`,
		db.Clean(id),
		c.TeamID,
		c.UserID,
	)
}
