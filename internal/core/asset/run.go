package asset

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Enumeration is what the inventory stores of an enumeration.
type Enumeration struct {
	ID         string // never used again, not even after its deletion
	TeamID     string
	Name       string
	SourceType string // source_type of its assets, such as discovery or cloud
}

// Register registers an enumeration, before its first asset is stored, or renames it.
func (as *Assets) Register(ctx context.Context, tx *db.Tx, e Enumeration) error {
	_, _, rev, err := as.reserve(ctx, tx, e.TeamID, 0)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO asset_enumeration (id, team_id, rev, name, source, run) VALUES (?, ?, ?, ?, ?, 0)
		ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, name = excluded.name, source = excluded.source`,
		e.ID, e.TeamID, rev, db.Clean(e.Name), db.Clean(e.SourceType))
	return err
}

// reserve reserves the next n asset numbers of a team and its next revision, and locks the team's
// inventory until tx ends. It returns the team's own number, the first reserved number, and the
// revision.
func (as *Assets) reserve(ctx context.Context, tx *db.Tx, teamID string, n int64) (teamNo, no, rev int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE asset_log SET last_no = last_no + ?, last_rev = last_rev + 1 WHERE team_id = ?
		RETURNING team_no, last_no, last_rev`, n, teamID).Scan(&teamNo, &no, &rev)
	if db.IsNoRows(err) {
		if err = tx.QueryRow(ctx, `INSERT INTO asset_team (one, last) VALUES (1, 1)
			ON CONFLICT (one) DO UPDATE SET last = asset_team.last + 1 RETURNING last`).Scan(&teamNo); err != nil {
			return 0, 0, 0, err
		}
		err = tx.QueryRow(ctx, `INSERT INTO asset_log (team_id, team_no, last_no, last_rev) VALUES (?, ?, ?, 1)
			ON CONFLICT (team_id) DO UPDATE
			SET last_no = asset_log.last_no + excluded.last_no, last_rev = asset_log.last_rev + excluded.last_rev
			RETURNING team_no, last_no, last_rev`, teamID, teamNo, n).Scan(&teamNo, &no, &rev)
	}
	return teamNo, no - n + 1, rev, err
}

// beginRun records that a run has begun. An enumeration that is not enrolled, or was deleted, is
// errs.Missing.
func (as *Assets) beginRun(ctx context.Context, tx *db.Tx, s Seen, rev int64) error {
	var run int64
	err := tx.QueryRow(ctx, `SELECT run FROM asset_enumeration WHERE id = ? AND team_id = ?`, s.EnumerationID,
		s.TeamID).Scan(&run)
	if db.IsNoRows(err) {
		return errs.Missing("enumeration")
	}
	if err != nil || run >= s.Run {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE asset_enumeration SET run = ?, rev = ? WHERE id = ?`, s.Run, rev,
		s.EnumerationID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO asset_run (enumeration_id, run, team_id, started_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (enumeration_id, run) DO NOTHING`, s.EnumerationID, s.Run, s.TeamID, db.At(s.At))
	return err
}

// End is the end of a run.
type End struct {
	TeamID        string
	EnumerationID string
	Run           int64
	At            time.Time
	Covered       bool // it covered everything: assets that it did not see are missing
}

// EndRun ends a run. If it covered everything, assets that it did not see are marked as missing.
// ended is false if the run had ended before.
func (as *Assets) EndRun(ctx context.Context, tx *db.Tx, e End) (ended bool, err error) {
	_, _, rev, err := as.reserve(ctx, tx, e.TeamID, 0)
	if err != nil {
		return false, err
	}
	if err := as.beginRun(ctx, tx, Seen{TeamID: e.TeamID, EnumerationID: e.EnumerationID, Run: e.Run, At: e.At},
		rev); err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `UPDATE asset_run SET ended_at = ?, covered = ? WHERE enumeration_id = ? AND run = ? AND ended_at IS NULL`,
		db.At(e.At), e.Covered, e.EnumerationID, e.Run)
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.Exec(ctx, `UPDATE asset_enumeration SET rev = ? WHERE id = ?`, rev, e.EnumerationID); err != nil ||
		!e.Covered {
		return true, err
	}
	// One statement a table, however many assets are missing.
	const missed = ` FROM asset WHERE enumeration_id = ? AND run < ? AND NOT is_missing`
	at := db.At(e.At)
	if _, err := tx.Exec(ctx, `INSERT INTO asset_change (team_id, rev, no, type, at, actor, fields) SELECT team_id, ?, no, ?, ?, '', ?`+missed,
		rev, NotSeen, at, []byte(`[{"name":"is_missing","from":false,"to":true}]`), e.EnumerationID, e.Run); err != nil {
		return true, err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO asset_past (until, until_rev, team_id, `+rowColumns+`) SELECT ?, ?, team_id, `+
		rowColumns+missed,
		at, rev, e.EnumerationID, e.Run); err != nil {
		return true, err
	}
	_, err = tx.Exec(ctx, `UPDATE asset SET is_missing = ?, since = ?, rev = ? WHERE enumeration_id = ? AND run < ? AND NOT is_missing`,
		true, at, rev, e.EnumerationID, e.Run)
	return true, err
}

// Totals counts assets.
type Totals struct {
	Assets    int
	Hosts     int // different hosts
	Ports     int // open ports
	HTTP      int // with HTTP
	Endpoints int // that were crawled
	New       int // that the latest run saw first
	Missing   int
}

// Totals counts the assets of an enumeration of a team.
func (as *Assets) Totals(ctx context.Context, teamID, enumerationID string) (t Totals, err error) {
	err = as.db.QueryRow(ctx, `SELECT count(*), count(DISTINCT a.host), coalesce(sum(CASE WHEN a.port > 0 THEN 1 ELSE 0 END), 0),
		coalesce(sum(CASE WHEN a.service IN ('http', 'https') THEN 1 ELSE 0 END), 0), coalesce(sum(a.endpoints), 0),
		coalesce(sum(CASE WHEN a.first_run = e.run THEN 1 ELSE 0 END), 0),
		coalesce(sum(CASE WHEN a.is_missing THEN 1 ELSE 0 END), 0)
		FROM asset a JOIN asset_enumeration e ON e.id = a.enumeration_id WHERE e.id = ? AND e.team_id = ?`, enumerationID,
		teamID).
		Scan(&t.Assets, &t.Hosts, &t.Ports, &t.HTTP, &t.Endpoints, &t.New, &t.Missing)
	return t, err
}
