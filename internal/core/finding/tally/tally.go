// Package tally counts the findings of scans by severity, in the transactions that change them, so that lists of scans
// need not count.
package tally

import (
	"context"
	"maps"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// batch is how many scans one statement reads.
const batch = 250

// Counts are changes of the number of findings by scan and severity.
type Counts map[string]map[string]int64

// Add adds n findings of a scan.
func (s Counts) Add(scanID, severity string, n int64) {
	if s[scanID] == nil {
		s[scanID] = map[string]int64{}
	}
	s[scanID][severity] += n
}

// Store adds the changes to the scans' counts.
func (s Counts) Store(ctx context.Context, tx *db.Tx, teamID string) error {
	for _, scanID := range slices.Sorted(maps.Keys(s)) {
		sum := int64(0)
		for _, severity := range listing.Severities {
			n := s[scanID][severity]
			if sum += n; n == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, `INSERT INTO finding_tally (scan_id, severity, total) VALUES (?, ?, ?)
				ON CONFLICT (scan_id, severity) DO UPDATE SET total = finding_tally.total + excluded.total`, scanID, severity,
				n); err != nil {
				return err
			}
		}
		if err := AddTotal(ctx, tx, teamID, scanID, sum); err != nil {
			return err
		}
	}
	return nil
}

// AddTotal adds n to the number of all findings of a scan, which may be new.
func AddTotal(ctx context.Context, tx *db.Tx, teamID, scanID string, n int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_total (scan_id, team_id, total) VALUES (?, ?, ?)
		ON CONFLICT (scan_id) DO UPDATE SET total = finding_total.total + excluded.total`, scanID, teamID, n)
	return err
}

// OfScans are the numbers of findings of scans, by scan and severity.
func OfScans(ctx context.Context, q db.Querier, scanIDs []string) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	for part := range slices.Chunk(scanIDs, batch) {
		var w db.Where
		db.In(&w, "scan_id", part)
		err := db.Each(ctx, q, func(r db.Row) error {
			var id, severity string
			var total int
			err := r.Scan(&id, &severity, &total)
			if out[id] == nil {
				out[id] = map[string]int{}
			}
			if total != 0 {
				out[id][severity] = total
			}
			return err
		}, `SELECT scan_id, severity, total FROM finding_tally`+w.String(), w.Args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
