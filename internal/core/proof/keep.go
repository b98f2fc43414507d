package proof

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// signInterval is how long an entry may be without a signed one at it or after it.
const signInterval = time.Minute

// Keep signs the ends of chains, and brings findings of older versions into them, until ctx ends.
func (ps *Proofs) Keep(ctx context.Context) {
	queue.Every(ctx, signInterval, ps.from.Logger, "keeping evidence", ps.KeepOnce)
}

// KeepOnce is one round of Keep.
func (ps *Proofs) KeepOnce(ctx context.Context) error {
	teams, err := db.Values[string](ctx, ps.db, `SELECT team_id FROM finding_log`)
	if err != nil {
		return err
	}
	for _, team := range teams {
		for more := true; more; {
			if more, err = ps.adopt(ctx, team); err != nil {
				return err
			}
		}
		if _, err := ps.sign(ctx, team); err != nil {
			return err
		}
	}
	return nil
}

// adoptAtOnce is how many findings one transaction brings into a chain.
const adoptAtOnce = 100

// adopt brings the next findings that an older version stored into the chain; more says that others are left. They are
// those with numbers before the first that was sealed when it was stored.
func (ps *Proofs) adopt(ctx context.Context, teamID string) (more bool, err error) {
	numbers, err := ps.unsealed(ctx, ps.db, teamID)
	if err != nil || len(numbers) == 0 {
		return false, err
	}
	err = ps.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lock(ctx, tx, teamID); err != nil {
			return err
		}
		// Another node may have been faster.
		if numbers, err = ps.unsealed(ctx, tx, teamID); err != nil || len(numbers) == 0 {
			return err
		}
		found, err := ps.from.Findings.Whole(ctx, teamID, numbers)
		if err != nil {
			return err
		}
		secret, leaves := chain.NewSecret(), []evidence.Leaf{}
		for _, f := range found {
			leaf, err := f.Seen().Leaf(secret)
			if err != nil {
				return err
			}
			leaves = append(leaves, evidence.Leaf{No: f.No(), Hash: leaf})
		}
		slices.SortFunc(leaves, func(a, b evidence.Leaf) int { return int(a.No - b.No) })
		_, err = chain.Append(ctx, tx, db.At(ps.now()), evidence.Entry{
			TeamID: teamID, Kind: evidence.Adopted, Engine: ps.from.Findings.Version,
		}, secret, leaves)
		return err
	})
	return len(numbers) == adoptAtOnce, err
}

// unsealed are the first numbers of findings that are in no entry.
func (ps *Proofs) unsealed(ctx context.Context, q db.Querier, teamID string) ([]int64, error) {
	return db.Values[int64](ctx, q, `SELECT no FROM finding WHERE team_id = ?
		AND no > (SELECT coalesce(max(last_no), 0) FROM evidence_entry WHERE team_id = ? AND kind = 'adopted')
		AND no < (SELECT coalesce(min(first_no), 9223372036854775807) FROM evidence_entry
			WHERE team_id = ? AND kind = 'sighting') ORDER BY no LIMIT ?`, teamID, teamID, teamID, adoptAtOnce)
}

// sign signs the last entry of a team, unless it is signed; it is Missing where there is none.
func (ps *Proofs) sign(ctx context.Context, teamID string) (h evidence.Head, err error) {
	h.TeamID = teamID
	err = ps.db.QueryRow(ctx, `SELECT seq, hash FROM evidence_entry WHERE team_id = ? ORDER BY seq DESC LIMIT 1`, teamID).
		Scan(&h.Seq, &h.Hash)
	if db.IsNoRows(err) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	known, err := ps.heads(ctx, teamID, h.Seq, h.Seq)
	if err != nil {
		return h, err
	}
	if len(known) > 0 {
		return known[0], nil
	}
	key, err := ps.signer(ctx)
	if err != nil {
		return h, err
	}
	h.At = evidence.Time(ps.now())
	h.Sign(key)
	_, err = ps.db.Exec(ctx, `INSERT INTO evidence_head (team_id, seq, hash, at, signature) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (team_id, seq) DO NOTHING`, teamID, h.Seq, h.Hash, h.At, h.Signature)
	return h, err
}

// heads are the signed entries of a team between two numbers, inclusive.
func (ps *Proofs) heads(ctx context.Context, teamID string, from, to int64) ([]evidence.Head, error) {
	return db.Select(ctx, ps.db, func(r db.Row) (evidence.Head, error) {
		h := evidence.Head{TeamID: teamID}
		err := r.Scan(&h.Seq, &h.Hash, &h.At, &h.Signature)
		return h, err
	}, `SELECT seq, hash, at, signature FROM evidence_head WHERE team_id = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
		teamID, from, to)
}

// errNoEvidence is for a scope that no entry of the chain is about.
func errNoEvidence() error {
	return errs.New(errs.NotFound, "evidence_not_found", "There is no evidence of it yet.")
}
