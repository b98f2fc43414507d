package finding

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// head is the row that stands for a weakness in lists: the first that was stored.
type head struct {
	no       int64
	id       string
	status   Status
	seenAt   db.Time
	labels   string
	assignee string
	isOfScan bool // of the scan whose sightings are stored
}

// weaknessOf is the weakness of a row of finding in SQL.
const weaknessOf = `CASE WHEN weakness = '' THEN hash ELSE weakness END`

// recognize gives new rows their weaknesses, and the labels of what is known. Rows whose weakness has a head are
// repeats.
func recognize(ctx context.Context, tx *db.Tx, teamID string, now db.Time, rows []row) (k recognized, err error) {
	seen := make([]identity.Sighting, len(rows))
	var older []string
	for i, r := range rows {
		seen[i] = identity.Sighting{Hash: r.hash, Parts: r.parts}
		if hash := r.parts.Older(); hash != "" {
			older = append(older, hash)
		}
	}
	known, err := findHeads(ctx, tx, teamID, older)
	if err != nil {
		return k, err
	}
	for i, s := range seen {
		_, seen[i].OlderIsKnown = known[s.Parts.Older()]
	}
	weaknesses, joined, err := identity.Resolve(ctx, tx, teamID, now, seen)
	if err != nil {
		return k, err
	}
	before, err := findHeads(ctx, tx, teamID, joined)
	if err != nil {
		return k, err
	}
	for i, r := range rows {
		if _, had := before[r.hash]; had {
			k.moved, k.into = append(k.moved, r.hash), append(k.into, weaknesses[i])
		}
	}
	if k.heads, err = findHeads(ctx, tx, teamID, weaknesses); err != nil {
		return k, err
	}
	for i := range rows {
		r := &rows[i]
		r.weakness = weaknesses[i]
		h, is := k.heads[r.weakness]
		if r.isRepeat, r.labels, r.assignee = is, h.labels, h.assignee; !is {
			h = head{no: r.no, seenAt: r.seenAt}
			k.heads[r.weakness] = h
		}
		if slices.Contains(joined, r.hash) {
			k.grown = append(k.grown, h.no)
		}
	}
	slices.Sort(k.grown)
	k.grown = slices.Compact(k.grown)
	return k, nil
}

// recognized is what new rows are to what is known.
type recognized struct {
	heads map[string]head // by weakness
	moved []string        // hashes with earlier rows that became part of another weakness just now
	into  []string        // those weaknesses, of the same indices
	grown []int64         // the heads of weaknesses that got another hash
}

// findHeads reads the rows that stand for weaknesses, by weakness.
func findHeads(ctx context.Context, q db.Querier, teamID string, weaknesses []string) (map[string]head, error) {
	out := map[string]head{}
	err := eachOf(ctx, q, teamID, weaknesses, `f.no, f.id, f.status, f.seen_at, f.labels, f.assignee`, ` AND NOT f.is_repeat`,
		func(r db.Row, weakness *string) error {
			var h head
			err := r.Scan(weakness, &h.no, &h.id, &h.status, &h.seenAt, &h.labels, &h.assignee)
			out[*weakness] = h
			return err
		})
	return out, err
}

// eachOf reads columns of the rows of weaknesses for which cond holds. The columns begin with the weakness.
//
// A row of a hash that belongs to another weakness has that in its column weakness, which has an index of its own.
// All others are found by the index of hashes.
func eachOf(
	ctx context.Context, q db.Querier, teamID string, weaknesses []string, columns, cond string,
	do func(r db.Row, weakness *string) error,
) error {
	var weakness string
	each := func(r db.Row) error { return do(r, &weakness) }
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(weaknesses))), batch) {
		where, args := withHashes(teamID, part)
		if err := db.Each(ctx, q, each, `SELECT f.hash, `+columns+` FROM finding f`+where+` AND f.weakness = ''`+cond,
			args...); err != nil {
			return err
		}
		if err := db.Each(ctx, q, each, `SELECT f.weakness, `+columns+` FROM finding f WHERE f.team_id = ?
			AND f.weakness <> '' AND f.weakness IN (?`+strings.Repeat(", ?", len(part)-1)+`)`+cond,
			append([]any{teamID}, db.Anys(part)...)...); err != nil {
			return err
		}
	}
	return nil
}

// weaknessesOf are the weaknesses of hashes, each once.
func weaknessesOf(ctx context.Context, q db.Querier, teamID string, hashes []string) ([]string, error) {
	of, err := identity.Weaknesses(ctx, q, teamID, hashes)
	return slices.Compact(slices.Sorted(maps.Values(of))), err
}

// moveRows notes in the rows of hashes which weakness they belong to, after they joined one or left one, and lets the
// first row of each of those weaknesses, and of some others, stand for it.
func (fs *Findings) moveRows(ctx context.Context, tx *db.Tx, teamID string, hashes []string, others ...string) error {
	of, err := identity.Weaknesses(ctx, tx, teamID, hashes)
	if err != nil {
		return err
	}
	for _, hash := range slices.Sorted(maps.Keys(of)) {
		weakness := of[hash]
		if weakness == hash {
			weakness = "" // the column of a row that begins its weakness
		}
		where, args := withHashes(teamID, []string{hash})
		if _, err := tx.Exec(ctx, `UPDATE finding AS f SET weakness = ?`+where+` AND f.weakness <> ?`,
			slices.Concat([]any{weakness}, args, []any{weakness})...); err != nil {
			return err
		}
	}
	weaknesses := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(of)), others)))
	return fs.regroup(ctx, tx, teamID, slices.Compact(weaknesses))
}

// regroup lets the first row of each weakness stand for it, and no other.
func (fs *Findings) regroup(ctx context.Context, tx *db.Tx, teamID string, weaknesses []string) error {
	for part := range slices.Chunk(weaknesses, batch) {
		first, heads := map[string]int64{}, map[string][]int64{}
		err := eachOf(ctx, tx, teamID, part, `f.no, f.is_repeat`, ``, func(r db.Row, weakness *string) error {
			var no int64
			var isRepeat bool
			err := r.Scan(weakness, &no, &isRepeat)
			if first[*weakness] == 0 || no < first[*weakness] {
				first[*weakness] = no
			}
			if !isRepeat {
				heads[*weakness] = append(heads[*weakness], no)
			}
			return err
		})
		if err != nil {
			return err
		}
		var changed []int64
		for w, no := range first {
			for _, old := range slices.Concat(heads[w], []int64{no}) {
				if _, err := tx.Exec(ctx, `UPDATE finding SET is_repeat = ? WHERE team_id = ? AND no = ?`, old != no, teamID,
					old); err != nil {
					return err
				}
				changed = append(changed, old)
			}
		}
		slices.Sort(changed)
		if err := reindex(ctx, tx, teamID, slices.Compact(changed)...); err != nil {
			return err
		}
	}
	return nil
}

// WithSiblings are the numbers of findings and of all others of their weaknesses, ascending.
func WithSiblings(ctx context.Context, q db.Querier, teamID string, numbers []int64) (all []int64, err error) {
	for part := range slices.Chunk(numbers, batch) {
		hashes, err := hashesOf(ctx, q, teamID, part)
		if err != nil {
			return nil, err
		}
		weaknesses, err := weaknessesOf(ctx, q, teamID, hashes)
		if err != nil {
			return nil, err
		}
		err = eachOf(ctx, q, teamID, weaknesses, `f.no`, ``, func(r db.Row, weakness *string) error {
			var no int64
			err := r.Scan(weakness, &no)
			all = append(all, no)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// NumbersOf are the numbers of the findings of a weakness, ascending.
func (fs *Findings) NumbersOf(ctx context.Context, q db.Querier, teamID, weakness string) (all []int64, err error) {
	err = eachOf(ctx, q, teamID, []string{weakness}, `f.no`, ``, func(r db.Row, weakness *string) error {
		var no int64
		err := r.Scan(weakness, &no)
		all = append(all, no)
		return err
	})
	slices.Sort(all)
	return all, err
}

// WeaknessOf is the weakness of a finding of a team.
func (fs *Findings) WeaknessOf(ctx context.Context, q db.Querier, teamID, id string) (string, error) {
	weakness, err := db.Value[string](ctx, q, `SELECT `+weaknessOf+` FROM finding WHERE id = ? AND team_id = ?`, id, teamID)
	return weakness, db.OrMissing(err, "vulnerability")
}

// Named finds the findings of a team with some ids: their numbers, and one of the ids for each weakness. NotFound
// unless the team has all of them; more than MaxIDs are Invalid.
func (fs *Findings) Named(
	ctx context.Context, q db.Querier, teamID string, ids []string,
) (numbers []int64, weaknesses map[string]string, err error) {
	if len(ids) > MaxIDs {
		return nil, nil, errs.Field("vuln_ids", "vuln_ids must name at most %d findings.", MaxIDs)
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	weaknesses = map[string]string{}
	for part := range slices.Chunk(ids, batch) {
		w := db.ByUnique(teamID, "id", part)
		err := db.Each(ctx, q, func(r db.Row) error {
			var no int64
			var id, weakness string
			err := r.Scan(&no, &id, &weakness)
			numbers, weaknesses[weakness] = append(numbers, no), id
			return err
		}, `SELECT no, id, `+weaknessOf+` FROM finding`+w.String()+` ORDER BY +no`, w.Args...)
		if err != nil {
			return nil, nil, err
		}
	}
	if len(numbers) < len(ids) {
		return nil, nil, errs.Missing("vulnerability")
	}
	slices.Sort(numbers)
	return numbers, weaknesses, nil
}
