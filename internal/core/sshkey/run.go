package sshkey

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// ForTask are the keys that a user's task may use: their own of no project, and those of its project. passwords are the
// values of those that are passwords, so that they can be taken out of what hosts answer.
func (ks *Keys) ForTask(ctx context.Context, teamID, userID, projectID string) (keys []Key, passwords []string,
	err error) {
	keys, err = db.Select(ctx, ks.db, scan, query+` WHERE k.team_id = ? AND (k.project_id = '' AND k.user_id = ?
		OR k.project_id <> '' AND k.project_id = ? AND `+seen+`) ORDER BY k.name, k.id`, teamID, userID, projectID, userID, userID)
	for _, k := range keys {
		if k.Algorithm == Password && err == nil {
			var text []byte
			text, err = ks.open(ctx, k.ID)
			passwords = append(passwords, string(text))
		}
	}
	return keys, passwords, err
}

func (ks *Keys) open(ctx context.Context, id string) ([]byte, error) {
	sealed, err := db.Value[[]byte](ctx, ks.db, `SELECT sealed FROM ssh_key WHERE id = ?`, id)
	if err != nil {
		return nil, db.OrMissing(err, "ssh_key")
	}
	return ks.box.Open(sealed, sealContext(id))
}

// Command is a command on a host.
type Command struct {
	TeamID   string // for which the host's key is pinned
	Address  string // host:port
	Username string
	Text     string
}

// Output is what a command did.
type Output struct {
	Text        string // what it wrote, the beginning of it
	Cut         bool   // whether there was more
	ExitCode    int    // -1: it was ended by a signal, or the host did not say
	Fingerprint string // of the host's key
	First       bool   // whether the host's key was pinned by this
}

const (
	maxOutput = 64 << 10 // bytes
	handshake = 15 * time.Second
)

// Run signs in over a connection with a key and runs a command. It closes the connection. A host with another key than
// before is Forbidden, and gets neither a password nor a signature.
func (ks *Keys) Run(ctx context.Context, conn net.Conn, k Key, c Command) (out Output, err error) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	private, err := ks.open(ctx, k.ID)
	if err != nil {
		return out, err
	}
	var auth []ssh.AuthMethod
	if k.Algorithm == Password {
		auth = []ssh.AuthMethod{ssh.Password(string(private)), ssh.KeyboardInteractive(
			func(_, _ string, questions []string, _ []bool) ([]string, error) {
				answers := make([]string, len(questions))
				for i := range answers {
					answers[i] = string(private)
				}
				return answers, nil
			})}
	} else {
		signer, err := ssh.ParsePrivateKey(private)
		if err != nil {
			return out, err
		}
		auth = []ssh.AuthMethod{ssh.PublicKeys(signer)}
	}
	var pinned error // what the library wraps
	config := &ssh.ClientConfig{User: c.Username, Auth: auth, Timeout: handshake,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			out.Fingerprint = ssh.FingerprintSHA256(key)
			out.First, pinned = ks.pin(ctx, c.TeamID, c.Address, key)
			return pinned
		}}
	if config.HostKeyAlgorithms, err = ks.algorithms(ctx, c); err != nil {
		return out, err
	}
	_ = conn.SetDeadline(ks.now().Add(handshake)) // a host that says nothing
	client, channels, requests, err := ssh.NewClientConn(conn, c.Address, config)
	if pinned != nil {
		return out, pinned
	}
	if err != nil {
		return out, errs.New(errs.FailedDependency, "ssh_failed", "SSH to %s failed: %s", c.Address, reason(err))
	}
	_ = conn.SetDeadline(time.Time{})
	session, err := ssh.NewClient(client, channels, requests).NewSession()
	if err != nil {
		return out, errs.New(errs.FailedDependency, "ssh_failed", "SSH to %s failed: %s", c.Address, reason(err))
	}
	defer session.Close()
	var text bounded
	session.Stdout, session.Stderr = &text, &text
	err = session.Run(c.Text)
	out.Text, out.Cut = text.read()
	exit := &ssh.ExitError{}
	missing := &ssh.ExitMissingError{}
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case errors.As(err, &exit):
		out.ExitCode = exit.ExitStatus()
	case errors.As(err, &missing):
		out.ExitCode = -1
	case err != nil:
		return out, errs.New(errs.FailedDependency, "ssh_failed", "SSH to %s failed: %s", c.Address, reason(err))
	}
	return out, nil
}

const maxReason = 200

func reason(err error) string { return errs.Clip(strings.TrimPrefix(err.Error(), "ssh: "), maxReason) }

// bounded keeps the beginning of what is written to it. A session writes to it from two goroutines.
type bounded struct {
	mu   sync.Mutex
	text bytes.Buffer
	cut  bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	keep := min(len(p), maxOutput-b.text.Len())
	b.text.Write(p[:keep])
	b.cut = b.cut || keep < len(p)
	return len(p), nil
}

func (b *bounded) read() (text string, cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.ToValidUTF8(b.text.String(), "�"), b.cut
}

// Host is a host whose key is pinned.
type Host struct {
	ID          string    `json:"id"`
	Address     string    `json:"address" doc:"Host and port."`
	PublicKey   string    `json:"public_key" doc:"The host's key, as in known_hosts."`
	Fingerprint string    `json:"fingerprint" doc:"SHA-256 of the host's key, as OpenSSH shows it."`
	CreatedAt   time.Time `json:"created_at" doc:"When the team first connected to it."`
}

func authorized(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// pin stores the key of a host, or compares it with the stored one.
func (ks *Keys) pin(ctx context.Context, teamID, address string, key ssh.PublicKey) (first bool, err error) {
	id := ids.New()
	var known, stored string
	err = ks.db.QueryRow(ctx, `SELECT public_key, fingerprint FROM ssh_host WHERE team_id = ? AND address = ?`, teamID, address).
		Scan(&known, &stored)
	if db.IsNoRows(err) {
		err = ks.db.Tx(ctx, func(tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO ssh_host (id, team_id, address, public_key, fingerprint, created_at)
				VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, address) DO NOTHING`, id, teamID, address, authorized(key),
				ssh.FingerprintSHA256(key), db.At(ks.now())); err != nil {
				return err
			}
			var by string
			err := tx.QueryRow(ctx, `SELECT id, public_key, fingerprint FROM ssh_host WHERE team_id = ? AND address = ?`, teamID, address).
				Scan(&by, &known, &stored)
			first = by == id
			return err
		})
	}
	if err != nil {
		return false, err
	}
	if known != authorized(key) {
		return false, errs.New(errs.Forbidden, "ssh_host_key_changed", "The key of %s is %s, and was %s when the team first connected to it. "+
			"Nothing was sent. If the host was set up anew, an admin can forget its old key.", address, ssh.FingerprintSHA256(key), stored)
	}
	return first, nil
}

// algorithms are those of the pinned key of a host, so that it presents that one of several; nil: any.
func (ks *Keys) algorithms(ctx context.Context, c Command) ([]string, error) {
	known, err := db.Value[string](ctx, ks.db, `SELECT public_key FROM ssh_host WHERE team_id = ? AND address = ?`, c.TeamID, c.Address)
	if db.IsNoRows(err) {
		return nil, nil
	}
	kind, _, _ := strings.Cut(known, " ")
	if kind == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}, err
	}
	return []string{kind}, err
}

// Hosts lists the hosts of the caller's team whose keys are pinned, by address, at most 1000.
func (ks *Keys) Hosts(ctx context.Context) ([]Host, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, ks.db, func(r db.Row) (h Host, err error) {
		return h, r.Scan(&h.ID, &h.Address, &h.PublicKey, &h.Fingerprint, db.Into(&h.CreatedAt))
	}, `SELECT id, address, public_key, fingerprint, created_at FROM ssh_host WHERE team_id = ? ORDER BY address LIMIT 1000`, c.TeamID)
}

// Forget forgets the key of a host, so that the next connection pins the one that it has then. Admins of the team may.
func (ks *Keys) Forget(ctx context.Context, id string) error {
	if _, err := account.Writer(ctx); err != nil {
		return err
	}
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, ks.db, errs.Missing("ssh_host"), `DELETE FROM ssh_host WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
}
