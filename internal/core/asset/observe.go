package asset

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/core/asset/observation"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Seen is assets that a run saw.
type Seen struct {
	TeamID        string
	EnumerationID string // registered
	Run           int64  // of the enumeration, from 1, growing
	At            time.Time
	Assets        []discover.Asset // with their screenshots, if any
}

// Observed is what storing changed.
type Observed struct {
	New       int
	Changed   int
	NewAssets []Brief   // at most maxBriefs
	Matches   []Matches // of each rule
}

const (
	maxBriefs = 100
	batch     = 250 // rows that one statement reads
)

// Prepared is assets that a run saw, ready to be stored once.
type Prepared struct {
	Seen // without assets
	all  []*incoming
}

// incoming is an observed asset with the row that it becomes.
type incoming struct {
	row
	doc    []byte
	seen   discover.Asset
	old    *row                // nil: the asset is new
	fields []observation.Field // that changed
}

// Prepare does the slow part, screenshots and documents, outside a transaction. Of an asset that was
// seen several times, the last observation counts.
func (as *Assets) Prepare(ctx context.Context, s Seen) (p Prepared, err error) {
	s.At = s.At.UTC().Truncate(time.Microsecond)
	at := map[string]int{}
	for _, a := range s.Assets {
		if strings.TrimSpace(a.Host) == "" {
			continue
		}
		in := &incoming{seen: a}
		if in.row, in.doc, err = rowOf(s.EnumerationID, a); err != nil {
			return p, err
		}
		if in.screenshot, err = as.storeScreenshot(ctx, a.Screenshot); err != nil {
			return p, err
		}
		if i, twice := at[in.hash]; twice {
			p.all[i] = in
			continue
		}
		at[in.hash] = len(p.all)
		p.all = append(p.all, in)
	}
	p.Seen, p.Assets = s, nil
	return p, nil
}

// Store stores what a run saw, and applies rules to assets that did not match them before. Existing
// assets are updated, and their earlier versions are kept; storing the same again changes nothing.
// Callers keep transactions short: some hundred assets each.
func (as *Assets) Store(ctx context.Context, tx *db.Tx, p Prepared, rules ...Rule) (o Observed, err error) {
	o.Matches = make([]Matches, len(rules))
	for part := range slices.Chunk(p.all, batch) {
		if err := as.store(ctx, tx, p.Seen, part, rules, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Observe is Prepare and Store.
func (as *Assets) Observe(ctx context.Context, tx *db.Tx, s Seen) (Observed, error) {
	p, err := as.Prepare(ctx, s)
	if err != nil {
		return Observed{}, err
	}
	return as.Store(ctx, tx, p)
}

// newVersion reports whether the asset changed so that its earlier version is kept.
func (in *incoming) newVersion() bool {
	return in.facts != in.old.facts || in.labels != in.old.labels || in.old.missing || in.screenshot != in.old.screenshot
}

func (as *Assets) store(ctx context.Context, tx *db.Tx, s Seen, part []*incoming, rules []Rule, o *Observed) error {
	teamNo, no, rev, err := as.reserve(ctx, tx, s.TeamID, int64(len(part)))
	if err != nil {
		return err
	}
	if err := as.beginRun(ctx, tx, s, rev); err != nil {
		return err
	}
	if err := findOld(ctx, tx, s, part); err != nil {
		return err
	}
	var write []*incoming
	var unchanged []int64
	for _, in := range part {
		in.rev = rev
		switch {
		case in.old == nil:
			in.no, in.docRev, in.firstRun, in.run = no, rev, s.Run, s.Run
			in.createdAt, in.since, in.seenAt = db.At(s.At), db.At(s.At), db.At(s.At)
			in.labels = joined(label.Guess(in.seen))
			write = append(write, in)
			no++
		case in.old.run > s.Run: // a later run has seen it
		default:
			in.inherit(s)
			if in.newVersion() || in.whole != in.old.whole {
				if err := in.compare(ctx, tx, s); err != nil {
					return err
				}
				write = append(write, in)
			} else if in.old.run < s.Run {
				unchanged = append(unchanged, in.no)
			}
		}
	}
	if write, err = as.applyRules(ctx, tx, s, teamNo, rules, write, o); err != nil {
		return err
	}
	var created, known []*incoming
	for _, in := range write {
		if in.old != nil {
			known = append(known, in)
			continue
		}
		created = append(created, in)
		if len(o.NewAssets) < maxBriefs {
			o.NewAssets = append(o.NewAssets, in.brief(teamNo))
		}
	}
	o.New += len(created)
	changed := 0
	for _, step := range []func() error{
		func() error { return insert(ctx, tx, s.TeamID, created) },
		func() (err error) { changed, err = update(ctx, tx, s, known); return err },
		func() error { return recordSeen(ctx, tx, s, unchanged, rev) },
		func() error { return index.Add(ctx, tx, s.TeamID, entries(created)) },
		func() error { return index.Put(ctx, tx, s.TeamID, entries(known)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	o.Changed += changed
	return nil
}

func entries(all []*incoming) []list.Row {
	out := make([]list.Row, len(all))
	for i, in := range all {
		out[i] = in.entry()
	}
	return out
}

// findOld reads the rows of the assets that exist.
func findOld(ctx context.Context, tx *db.Tx, s Seen, all []*incoming) error {
	byHash := make(map[string]*incoming, len(all))
	var args []any
	for _, in := range all {
		byHash[in.hash] = in
		args = append(args, s.EnumerationID, in.hash)
	}
	// A join with both parts of the key: with one enumeration and a list of hashes, PostgreSQL
	// scans the whole enumeration while it has no statistics.
	columns := "a." + strings.Join(strings.Fields(rowColumns), " a.")
	return db.Each(ctx, tx, func(r db.Row) error {
		old := new(row)
		err := r.Scan(old.dest()...)
		if err == nil {
			byHash[old.hash].old = old
		}
		return err
	}, `WITH wanted (enumeration_id, hash) AS (VALUES (?, ?)`+strings.Repeat(", (?, ?)", len(all)-1)+`)
		SELECT `+columns+` FROM wanted w JOIN asset a ON a.enumeration_id = w.enumeration_id AND a.hash = w.hash`, args...)
}

// inherit copies what an observation does not contain from the old row.
func (in *incoming) inherit(s Seen) {
	old := in.old
	in.no, in.firstRun, in.run, in.createdAt, in.seenAt = old.no, old.firstRun, s.Run, old.createdAt, db.At(s.At)
	in.since, in.docRev, in.labels = old.since, old.docRev, old.labels
	if in.screenshot == "" {
		in.screenshot = old.screenshot // taken later, if at all
	}
	if in.facts != old.facts {
		in.docRev = in.rev
	}
}

func (in *incoming) brief(teamNo int64) Brief {
	return Brief{
		IDOf(teamNo, in.no), in.enumeration, in.host, in.port, in.protocol, observation.Clip(in.seen.URL), in.title,
		words(in.technologies),
	}
}

// compare finds the fields that changed, and the labels to add because of that.
func (in *incoming) compare(ctx context.Context, tx *db.Tx, s Seen) error {
	if in.facts == in.old.facts {
		return nil
	}
	var doc []byte
	if err := tx.QueryRow(ctx, `SELECT doc FROM asset_doc WHERE team_id = ? AND no = ? AND rev = ?`,
		s.TeamID, in.no, in.old.docRev).Scan(&doc); err != nil {
		return err
	}
	var before discover.Asset
	err := json.Unmarshal(doc, &before)
	if err == nil {
		in.fields, err = observation.Changes(before, observation.Bound(in.seen))
	}
	// A label that was removed is not added again while its reason stays the same.
	had := label.Guess(before)
	added := slices.DeleteFunc(label.Guess(in.seen), func(l string) bool { return slices.Contains(had, l) })
	in.labels = joined(slices.Concat(words(in.old.labels), added))
	return err
}

// insert writes new rows with their documents.
func insert(ctx context.Context, tx *db.Tx, teamID string, created []*incoming) error {
	rows, docs := make([][]any, len(created)), make([][]any, len(created))
	for i, in := range created {
		rows[i] = append([]any{teamID}, in.values()...)
		docs[i] = []any{teamID, in.no, in.docRev, in.doc}
	}
	if err := tx.Insert(ctx, `asset (team_id, `+rowColumns+`)`, rows); err != nil {
		return err
	}
	return tx.Insert(ctx, `asset_doc (team_id, no, rev, doc)`, docs)
}

// update writes rows that exist, and returns how many became a new version.
func update(ctx context.Context, tx *db.Tx, s Seen, known []*incoming) (changed int, err error) {
	for _, in := range known {
		if in.newVersion() {
			if at := db.At(s.At); at.After(in.since.Time) {
				in.since = at
			}
			if err := in.archiveOld(ctx, tx, s.TeamID); err != nil {
				return 0, err
			}
			changed++
		}
		statement := `UPDATE asset_doc SET doc = ? WHERE team_id = ? AND no = ? AND rev = ?`
		if in.docRev != in.old.docRev {
			statement = `INSERT INTO asset_doc (doc, team_id, no, rev) VALUES (?, ?, ?, ?)`
		}
		if _, err := tx.Exec(ctx, statement, in.doc, s.TeamID, in.no, in.docRev); err != nil {
			return 0, err
		}
		set := strings.ReplaceAll(strings.Join(strings.Fields(rowColumns), " "), ",", " = ?,") + " = ?"
		if _, err := tx.Exec(ctx, `UPDATE asset SET `+set+` WHERE team_id = ? AND no = ?`,
			append(in.values(), s.TeamID, in.no)...); err != nil {
			return 0, err
		}
	}
	return changed, nil
}

// archiveOld keeps the earlier version of a row, and records what changed.
func (in *incoming) archiveOld(ctx context.Context, tx *db.Tx, teamID string) error {
	kind, fields := Changed, in.fields
	if in.old.missing {
		kind = SeenAgain
		fields = append(fields, changed("is_missing", true, false))
	}
	if in.screenshot != in.old.screenshot {
		fields = append(fields, changed("screenshot", in.old.screenshot, in.screenshot))
	}
	if in.labels != in.old.labels {
		fields = append(fields, changed("labels", words(in.old.labels), words(in.labels)))
	}
	if err := archive(ctx, tx, teamID, []int64{in.no}, in.since, in.rev); err != nil {
		return err
	}
	return record(ctx, tx, teamID, []int64{in.no}, in.rev, event{kind, in.since, "", fields})
}

// archive copies rows to the past versions.
func archive(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, until db.Time, rev int64) error {
	w := db.InTeam(teamID, "no", numbers)
	_, err := tx.Exec(ctx, `INSERT INTO asset_past (until, until_rev, team_id, `+rowColumns+`)
		SELECT ?, ?, team_id, `+rowColumns+` FROM asset`+w.String(),
		append([]any{until, rev}, w.Args...)...)
	return err
}

// recordSeen records that a run saw assets which did not change.
func recordSeen(ctx context.Context, tx *db.Tx, s Seen, numbers []int64, rev int64) error {
	if len(numbers) == 0 {
		return nil
	}
	w := db.InTeam(s.TeamID, "no", numbers) // for pairs of both, SQLite would read all assets
	_, err := tx.Exec(ctx, `UPDATE asset SET run = ?, seen_at = ?, rev = ?`+w.String(),
		append([]any{s.Run, db.At(s.At), rev}, w.Args...)...)
	return err
}
