// Package signer keeps the certificates of those whose templates may run programs, and decides which may.
//
// A program of a template runs on a server where three things hold: the operator allows programs, the template is
// signed, and the signature verifies against a certificate that an admin of the team has added or that the operator
// trusts.
package signer

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// The limits of keys.
const (
	maxKeys        = 100 // of a team
	maxName        = 128 // characters
	maxCertificate = 16 << 10
)

// Why the programs of a template do not run.
const (
	NotAllowed = "it runs programs, which the operator of this server does not allow (--code)"
	NotTrusted = "it runs programs, and no key that the team or the operator trusts verifies its signature"
)

// Key is a certificate that a team trusts.
type Key struct {
	ID          string
	Name        string
	Owner       string // as the certificate names them
	Fragment    string // the key's name in signatures: what follows the colon
	Certificate string // PEM
	AddedBy     string // the user
	CreatedAt   time.Time
}

// Config is what the operator decides.
type Config struct {
	Allowed      bool     // programs of templates
	Certificates [][]byte // in PEM, whose signatures every team trusts
}

// Signers is the service.
type Signers struct {
	db     *db.DB
	config Config
	now    func() time.Time
}

// New makes the service. The error is about the operator's certificates.
func New(d *db.DB, c Config) (*Signers, error) {
	for _, one := range c.Certificates {
		if _, _, err := templates.SignerOf(one); err != nil {
			return nil, err
		}
	}
	return &Signers{d, c, time.Now}, nil
}

// Allowed says whether this server runs programs of templates at all.
func (s *Signers) Allowed() bool { return s.config.Allowed }

// Add has the caller's team trust a certificate; the name may be empty, for its owner's. Only an admin of the team may.
// One that the team has already is a Conflict.
func (s *Signers) Add(ctx context.Context, name, certificate string) (Key, error) {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return Key{}, err
	}
	if len(certificate) > maxCertificate {
		return Key{}, errs.Field("certificate", "certificate must have at most %d bytes.", maxCertificate)
	}
	if strings.Contains(certificate, "PRIVATE KEY") {
		return Key{}, errs.Field("certificate", "certificate must be a certificate: a private key stays with its owner, and was not kept.")
	}
	owner, fragment, err := templates.SignerOf([]byte(certificate))
	if err != nil {
		return Key{}, errs.Field("certificate", "certificate: it is none that 'vedette templates keys' makes, in PEM, for ECDSA.")
	}
	owner = db.Clean(errs.ClipChars(owner, maxName))
	if name = strings.TrimSpace(name); name == "" {
		name = owner
	}
	if len([]rune(name)) > maxName || db.Clean(name) != name {
		return Key{}, errs.Field("name", "name must have at most %d characters, and none that control.", maxName)
	}
	k := Key{ID: ids.New(), Name: name, Owner: owner, Fragment: fragment, Certificate: certificate, AddedBy: c.UserID,
		CreatedAt: db.At(s.now()).Time}
	err = s.db.Tx(ctx, func(tx *db.Tx) error {
		// one at a time
		if _, err := tx.Exec(ctx, `UPDATE team SET updated_at = updated_at WHERE id = ?`, c.TeamID); err != nil {
			return err
		}
		has, err := db.Value[int](ctx, tx, `SELECT count(*) FROM template_key WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		if has >= maxKeys {
			return errs.New(errs.Conflict, "too_many_template_keys", "There are %d keys; delete one first.", has)
		}
		_, err = tx.Exec(ctx, `INSERT INTO template_key (id, team_id, name, owner, fragment, certificate, added_by, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, k.ID, c.TeamID, k.Name, k.Owner, k.Fragment, k.Certificate, k.AddedBy, db.At(k.CreatedAt))
		return err
	})
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "template_key_exists", "The team trusts this key already.").At("certificate")
	}
	return k, err
}

// FindAll lists the keys that the caller's team trusts, by name.
func (s *Signers) FindAll(ctx context.Context) ([]Key, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return s.of(ctx, c.TeamID)
}

func (s *Signers) of(ctx context.Context, teamID string) ([]Key, error) {
	return db.Select(ctx, s.db, func(r db.Row) (k Key, err error) {
		err = r.Scan(&k.ID, &k.Name, &k.Owner, &k.Fragment, &k.Certificate, &k.AddedBy, db.Into(&k.CreatedAt))
		return k, err
	}, `SELECT id, name, owner, fragment, certificate, added_by, created_at FROM template_key WHERE team_id = ?
		ORDER BY name, id`, teamID)
}

// Delete ends the trust in a key of the caller's team. What it signed runs no more. Only an admin of the team may.
func (s *Signers) Delete(ctx context.Context, id string) error {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return err
	}
	n, err := s.db.Exec(ctx, `DELETE FROM template_key WHERE team_id = ? AND id = ?`, c.TeamID, id)
	if err == nil && n == 0 {
		err = errs.Missing("template_key")
	}
	return err
}

// Admit marks as Signed the templates whose programs may run for a team, and returns why not, by their index, for the
// others that have programs.
func (s *Signers) Admit(ctx context.Context, teamID string, all []child.Template) (refused map[int]string, err error) {
	var trusted [][]byte
	refused = map[int]string{}
	for i := range all {
		t := &all[i]
		open := func(name string) ([]byte, error) {
			if text, ok := t.Files[name]; ok {
				return text, nil
			}
			return nil, errs.Field("file", "there is no file %.200s", name)
		}
		programs, signed, err := templates.CheckSignature(t.Path, t.Data, open, trusted)
		if err == nil && programs && s.config.Allowed && trusted == nil { // most scans have no program, and ask for no key
			if trusted, err = s.trusted(ctx, teamID); err == nil {
				_, signed, err = templates.CheckSignature(t.Path, t.Data, open, trusted)
			}
		}
		switch {
		case err != nil:
			return nil, err
		case !programs:
		case !s.config.Allowed:
			refused[i] = NotAllowed
		case !signed:
			refused[i] = NotTrusted
		default:
			t.Signed = true
		}
	}
	return refused, nil
}

// Refusal says why the programs of a template that names no files may not run for the caller's team; "" when they may,
// or when it has none.
func (s *Signers) Refusal(ctx context.Context, text string) (string, error) {
	caller, err := account.From(ctx)
	if err != nil {
		return "", err
	}
	refused, err := s.Admit(ctx, caller.TeamID, []child.Template{{Path: "template.yaml", Data: []byte(text)}})
	return refused[0], err
}

// trusted are the certificates of a team and of the operator.
func (s *Signers) trusted(ctx context.Context, teamID string) ([][]byte, error) {
	keys, err := s.of(ctx, teamID)
	all := append([][]byte{}, s.config.Certificates...)
	for _, k := range keys {
		all = append(all, []byte(k.Certificate))
	}
	return all, err
}
