package audit

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/auditfile"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// insider is the team of the caller, who is no guest, with its chain whole.
func (l *Log) insider(ctx context.Context) (teamID string, err error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return "", err
	}
	return c.TeamID, l.ready(ctx, c.TeamID)
}

// List are entries of the caller's team that the filter picks, the newest first: at most limit, and only those before
// the one with the number before (0: all). A guest may not see them.
func (l *Log) List(ctx context.Context, f Filter, before int64, limit int) ([]Entry, error) {
	team, err := l.insider(ctx)
	if err != nil {
		return nil, err
	}
	w, err := f.where(l.db.Dialect())
	if err != nil {
		return nil, err
	}
	w.And("team_id = ?", team)
	w.And("seq > 0")
	if before > 0 {
		w.And("seq < ?", before)
	}
	return db.Select(ctx, l.db, scanEntry, `SELECT `+columns+` FROM audit_entry`+w.String()+` ORDER BY seq DESC LIMIT ?`,
		append(w.Args, limit)...)
}

// One is an entry of the caller's team, and the hash of the one before it. A guest may not see it. It fails with
// NotFound for an entry of another team.
func (l *Log) One(ctx context.Context, id string) (e Entry, prev string, err error) {
	team, err := l.insider(ctx)
	if err != nil {
		return e, "", err
	}
	e, err = scanEntry(l.db.QueryRow(ctx, `SELECT `+columns+` FROM audit_entry WHERE team_id = ? AND id = ?`, team, id))
	if err != nil {
		return e, "", db.OrMissing(err, "audit_log")
	}
	prev, _, err = hashAt(ctx, l.db, team, e.Seq-1)
	return e, prev, err
}

// hashAt is the hash of a team's entry with a number, which may be the last one that was removed, or 0 for the
// beginning.
func hashAt(ctx context.Context, q db.Querier, teamID string, seq int64) (hash string, known bool, err error) {
	if seq == 0 {
		return "", true, nil
	}
	hash, err = db.Value[string](ctx, q, `SELECT hash FROM audit_entry WHERE team_id = ? AND seq > 0 AND seq = ?
		UNION ALL SELECT floor_hash FROM audit_chain WHERE team_id = ? AND floor_seq = ?`, teamID, seq, teamID, seq)
	if db.IsNoRows(err) {
		return "", false, nil
	}
	return hash, err == nil, err
}

const exportPage = 1000 // entries that are read at once, so that a slow client holds no connection

// Export writes the log of the caller's team to w, the oldest entries first: those after the one with the number after
// that are there when it begins. A guest may not. begin is called once it is sure that something will be written.
func (l *Log) Export(ctx context.Context, format string, after int64) (write func(io.Writer) error, err error) {
	team, err := l.insider(ctx)
	if err != nil {
		return nil, err
	}
	end, err := findHead(ctx, l.db, team, "")
	if err != nil && !db.IsNoRows(err) {
		return nil, err
	}
	if after > end.seq {
		return nil, errs.Field("starting_after", "starting_after must be at most %d, the number of the newest entry.", end.seq)
	}
	h := auditfile.Header{
		TeamID: team, AfterSeq: max(after, end.floorSeq), LastSeq: end.seq, LastHash: end.hash,
		WrittenAt: auditfile.Time(l.now()),
	}
	if h.PrevHash, _, err = hashAt(ctx, l.db, team, h.AfterSeq); err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		out, err := auditfile.NewWriter(w, format, h)
		for at := h.AfterSeq; err == nil; {
			entries, readErr := db.Select(ctx, l.db, scanEntry, `SELECT `+columns+` FROM audit_entry WHERE team_id = ?
				AND seq > 0 AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, team, at, h.LastSeq, exportPage)
			if err = readErr; err != nil {
				return err
			}
			for _, e := range entries {
				at = e.Seq
				if err = out.Add(e.File()); err != nil {
					return err
				}
			}
			if len(entries) < exportPage {
				return out.Close()
			}
		}
		return err
	}, nil
}

// Earlier is the number and hash of an entry that somebody noted; Seq is 0 for none.
type Earlier struct {
	Seq  int64
	Hash string
}

// MaxVerified is how many entries one verification reads.
const MaxVerified = 100_000

// Verification is what was found in a chain.
type Verification struct {
	auditfile.Report

	Next int64 // the number after which to go on; 0: all of the chain was read
}

// Verify reads the chain of the caller's team after an entry, and compares it with an earlier state. A guest may not.
func (l *Log) Verify(ctx context.Context, after int64, noted Earlier) (v Verification, err error) {
	team, err := l.insider(ctx)
	if err != nil {
		return v, err
	}
	return v, l.db.Snapshot(ctx, func(q db.Querier) error {
		end, err := findHead(ctx, q, team, "")
		lost := db.IsNoRows(err)
		if err != nil && !lost {
			return err
		}
		after = max(after, end.floorSeq)
		prev, known, err := hashAt(ctx, q, team, after)
		if err != nil {
			return err
		}
		if !known {
			return errs.Field("starting_after", "starting_after: there is no entry with the number %d.", after)
		}
		w := auditfile.NewWalk(team, after, prev)
		if err := db.Each(ctx, q, func(r db.Row) error {
			e, err := scanEntry(r)
			if err == nil {
				w.Add(0, e.File())
			}
			return err
		}, `SELECT `+columns+` FROM audit_entry WHERE team_id = ? AND seq > 0 AND seq > ? ORDER BY seq LIMIT ?`, team, after,
			MaxVerified); err != nil {
			return err
		}
		if w.Entries == MaxVerified {
			v.Next = w.LastSeq
		} else if err := l.checkEnd(ctx, q, w, end, lost); err != nil {
			return err
		}
		if err := compare(ctx, q, w, end, noted); err != nil {
			return err
		}
		v.Report = w.Report
		return nil
	})
}

// checkEnd checks the end of a chain, and that there is nothing outside of it.
func (l *Log) checkEnd(ctx context.Context, q db.Querier, w *auditfile.Walk, end head, lost bool) error {
	switch {
	case lost && w.Entries > 0:
		w.Report.Add(auditfile.Problem{What: "Where the chain ends was deleted."})
	case !lost:
		w.End(end.seq, end.hash)
		if !l.isSealed(w.TeamID, &end) {
			w.Report.Add(auditfile.Problem{Seq: end.seq, What: "Where the chain ends was not written by this server, or its key was changed."})
		}
	}
	outside, err := db.Value[int](ctx, q, `SELECT count(*) FROM audit_entry WHERE team_id = ? AND seq = 0`, w.TeamID)
	if err == nil && outside > 0 {
		w.Report.Add(auditfile.Problem{What: fmt.Sprintf("%d entries are in the log but not in its chain.", outside)})
	}
	return err
}

// compare compares a chain with what was noted of it earlier.
func compare(ctx context.Context, q db.Querier, w *auditfile.Walk, end head, noted Earlier) error {
	if noted.Seq == 0 {
		return nil
	}
	if noted.Seq < end.floorSeq {
		return errs.Field("seq", "seq: the entry %d was removed because of its age: compare with %d or a later one.", noted.Seq,
			end.floorSeq)
	}
	hash, known, err := hashAt(ctx, q, w.TeamID, noted.Seq)
	switch {
	case err != nil:
		return err
	case !known:
		w.Report.Add(auditfile.Problem{Seq: noted.Seq, What: "The entry that was noted is missing."})
	case !strings.EqualFold(hash, noted.Hash):
		w.Report.Add(auditfile.Problem{Seq: noted.Seq, What: "The entry has another hash than was noted."})
	}
	return nil
}
