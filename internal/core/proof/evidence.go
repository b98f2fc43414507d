package proof

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// State is whether the evidence of a finding is as it was sealed.
type State string

// The states.
const (
	Intact   State = "intact"
	Damaged  State = "changed"  // in the database
	Unsealed State = "unsealed" // an older version stored it, and it was not brought into the chain yet
)

// Evidence is what proves a finding.
type Evidence struct {
	Finding finding.Finding
	State   State
	Leaf    string         // hash of the record; empty: Unsealed
	Entry   evidence.Entry // that has it; zero: Unsealed
	Facts   evidence.Facts
	Fields  []evidence.Field
	Runs    evidence.Runs // with those of Again that could be tested
	Again   []Run         // the newest first, at most maxRuns
}

// maxRuns is how many runs of a proof are shown.
const maxRuns = 100

// Run is a proof that was sent again, or will be.
type Run struct {
	ID      string
	Seq     int64  // of its entry; 0: none yet
	Source  string // replay or retest
	State   string // queued, or an evidence.Result
	Note    string
	By      string // an email; empty: the service
	AskedAt time.Time
	EndedAt time.Time // zero: not yet
}

// Queued is the state of a run that has not ended.
const Queued = "queued"

// Of is the evidence of a finding of the caller's team, in which nothing is masked. A guest does not see who it was.
func (ps *Proofs) Of(ctx context.Context, findingID string) (e Evidence, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return e, err
	}
	if e.Finding, err = ps.from.Findings.Find(ctx, findingID); err != nil {
		return e, err
	}
	no := e.Finding.No()
	stored, found, err := ps.entryOf(ctx, ps.db, c.TeamID, no)
	if err != nil {
		return e, err
	}
	if e.State = Unsealed; found {
		if e.Entry, err = stored.Entry(); err != nil {
			return e, err
		}
		e.Leaf = leafOf(stored, no)
	}
	facts, key, fields, err := e.Finding.Seen().Record(stored.Secret)
	if err != nil {
		return e, err
	}
	switch {
	case !found:
	case evidence.LeafOf(facts, key, fields) == e.Leaf:
		e.State = Intact
	default:
		e.State = Damaged
	}
	e.Fields = fields
	if e.Facts, err = evidence.ReadFacts(facts); err != nil {
		return e, err
	}
	e.Runs = evidence.Runs{Shown: e.Facts.Shown, Total: e.Facts.Runs}
	// One moment for both, or a replay that ends between them is in the list and not in the count.
	err = ps.db.Snapshot(ctx, func(q db.Querier) error {
		if err := count(ctx, q, c.TeamID, no, &e.Runs); err != nil {
			return err
		}
		e.Again, err = runs(ctx, q, c.TeamID, no)
		return err
	})
	if c.Role == account.Guest {
		e.Entry.By = ""
		for i := range e.Again {
			e.Again[i].By = ""
		}
	}
	return e, err
}

func leafOf(stored chain.Stored, no int64) string {
	for _, l := range stored.Leaves {
		if l.No == no {
			return l.Hash
		}
	}
	return ""
}

// entryOf is the entry with the sighting of a number.
func (ps *Proofs) entryOf(
	ctx context.Context, q db.Querier, teamID string, no int64,
) (stored chain.Stored, found bool, err error) {
	for _, kind := range []evidence.Kind{evidence.Sighting, evidence.Adopted} {
		stored, err = chain.Read(q.QueryRow(ctx, `SELECT `+chain.Columns+` FROM evidence_entry
			WHERE team_id = ? AND kind = ? AND last_no >= ? ORDER BY last_no LIMIT 1`, teamID, kind, no))
		if err == nil && leafOf(stored, no) != "" {
			return stored, true, nil
		}
		if err != nil && !db.IsNoRows(err) {
			return stored, false, err
		}
	}
	return chain.Stored{}, false, nil
}

// count adds the runs of a finding that could be tested.
func count(ctx context.Context, q db.Querier, teamID string, no int64, r *evidence.Runs) error {
	return db.Each(ctx, q, func(row db.Row) error {
		var state string
		var n int
		if err := row.Scan(&state, &n); err != nil {
			return err
		}
		switch evidence.Result(state) {
		case evidence.Same, evidence.Changed:
			r.Shown, r.Total = r.Shown+n, r.Total+n
		case evidence.Gone:
			r.Total += n
		}
		return nil
	}, `SELECT state, count(*) FROM evidence_run WHERE team_id = ? AND no = ? GROUP BY state`, teamID, no)
}

const runColumns = `id, seq, source, state, note, asked_by, asked_at, ended_at`

func scanRun(r db.Row) (one Run, err error) {
	return one, r.Scan(&one.ID, &one.Seq, &one.Source, &one.State, &one.Note, &one.By, db.Into(&one.AskedAt),
		db.Into(&one.EndedAt))
}

func runs(ctx context.Context, q db.Querier, teamID string, no int64) ([]Run, error) {
	return db.Select(ctx, q, scanRun, `SELECT `+runColumns+` FROM evidence_run
		WHERE team_id = ? AND no = ? ORDER BY asked_at DESC, id DESC LIMIT ?`, teamID, no, maxRuns)
}

// notReplayable is why a finding cannot be replayed.
func notReplayable() error {
	return errs.New(errs.Conflict, "finding_unproven",
		"The finding is unproven: there is no template that showed it, which could be sent again.")
}
