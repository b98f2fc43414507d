// Package proof is the service of evidence: what a finding is proven by, whether that is as it was sealed, files of it
// for auditors, and proofs that are sent again.
//
// The chain of a team (package chain) grows in the transactions that store findings. Here it is read. Keep signs its
// end now and then, and brings findings of older versions into it; a file ends at a signed entry. The key that signs is
// the server's, one for all nodes, sealed in the database.
package proof

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Proofs is the service.
type Proofs struct {
	db    *db.DB
	queue *queue.Queue
	from  Sources
	now   func() time.Time

	mu  sync.Mutex
	key ed25519.PrivateKey // once it was read
}

// Sources are what the service reads.
type Sources struct {
	Findings *finding.Findings
	Scans    *scan.Scans
	Exports  *export.Exports // masks secrets
	Box      *seal.Box       // seals the key
	Logger   *slog.Logger
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, from Sources) *Proofs {
	return &Proofs{db: d, queue: q, from: from, now: time.Now}
}

// keyContext is the context of the sealed key (seal.Box).
const keyContext = "evidence_signer"

// PublicKey is the key with which this server signs, 64 hex digits.
func (ps *Proofs) PublicKey(ctx context.Context) (string, error) {
	if _, err := account.From(ctx); err != nil {
		return "", err
	}
	key, err := ps.signer(ctx)
	if err != nil {
		return "", err
	}
	return evidence.PublicKey(key), nil
}

// signer is the key of the server. It is made when it is first needed; of several nodes, the first one's is kept.
func (ps *Proofs) signer(ctx context.Context) (ed25519.PrivateKey, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.key != nil {
		return ps.key, nil
	}
	key, err := ps.readSigner(ctx)
	if db.IsNoRows(err) {
		if err := ps.makeSigner(ctx); err != nil {
			return nil, err
		}
		key, err = ps.readSigner(ctx)
	}
	if err == nil {
		ps.key = key
	}
	return key, err
}

func (ps *Proofs) readSigner(ctx context.Context) (ed25519.PrivateKey, error) {
	sealed, err := db.Value[[]byte](ctx, ps.db, `SELECT sealed_key FROM evidence_signer WHERE id = 1`)
	if err != nil {
		return nil, err
	}
	seed, err := ps.from.Box.Open(sealed, keyContext)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

func (ps *Proofs) makeSigner(ctx context.Context) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	sealed, err := ps.from.Box.Seal(private.Seed(), keyContext)
	if err != nil {
		return err
	}
	_, err = ps.db.Exec(ctx, `INSERT INTO evidence_signer (id, public_key, sealed_key, created_at) VALUES (1, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`, evidence.PublicKey(append(private.Seed(), public...)), sealed, db.At(ps.now()))
	return err
}

// Unmasked says who may export evidence in which secrets are shown.
type Unmasked string

// The policies.
const (
	Members Unmasked = "members" // and admins: the default
	Admins  Unmasked = "admins"
	Nobody  Unmasked = "nobody"
)

// Policy is the policy of the caller's team.
func (ps *Proofs) Policy(ctx context.Context) (Unmasked, error) {
	c, err := account.From(ctx)
	if err != nil {
		return "", err
	}
	return ps.policy(ctx, c.TeamID)
}

func (ps *Proofs) policy(ctx context.Context, teamID string) (Unmasked, error) {
	p, err := db.Value[Unmasked](ctx, ps.db, `SELECT unmasked FROM evidence_policy WHERE team_id = ?`, teamID)
	if db.IsNoRows(err) {
		return Members, nil
	}
	return p, err
}

// SetPolicy changes the policy of the caller's team; only its admins may.
func (ps *Proofs) SetPolicy(ctx context.Context, to Unmasked) error {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return err
	}
	_, err = ps.db.Exec(ctx, `INSERT INTO evidence_policy (team_id, unmasked) VALUES (?, ?)
		ON CONFLICT (team_id) DO UPDATE SET unmasked = excluded.unmasked`, c.TeamID, to)
	return err
}

// mayUnmask is an error unless the caller may have evidence in which secrets are shown.
func (ps *Proofs) mayUnmask(ctx context.Context) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	switch policy, err := ps.policy(ctx, c.TeamID); {
	case err != nil:
		return err
	case policy == Nobody:
		return errs.New(errs.Forbidden, "evidence_is_masked", "The team's policy has secrets masked in all exported evidence.")
	case policy == Admins:
		_, err := account.TeamAdmin(ctx)
		return err
	}
	return nil
}
