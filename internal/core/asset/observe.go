package asset

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Seen is what one run saw, or a part of it.
type Seen struct {
	TeamID        string
	EnumerationID string // enrolled
	Run           int64  // of the enumeration, from 1, growing
	At            time.Time
	Assets        []discover.Asset // with their screenshots, if any
}

// Observed is what became of what was seen.
type Observed struct {
	New       int
	Changed   int
	NewAssets []Brief // the first maxBriefs of the new ones
}

const (
	maxBriefs = 100
	batch     = 250 // rows that one statement reads
)

// Prepared is what a run saw, ready to be stored once.
type Prepared struct {
	seen   Seen // without assets
	sights []*sight
}

// Prepare makes what a run saw ready to be stored: pictures are on disk, documents are
// written. It needs no transaction, and takes most of the time.
func (as *Assets) Prepare(ctx context.Context, s Seen) (Prepared, error) {
	s.At = s.At.UTC().Truncate(time.Microsecond)
	sights, err := as.sights(ctx, s, s.Assets)
	s.Assets = nil
	return Prepared{s, sights}, err
}

// Store stores what a run saw, in the caller's transaction. Rows are keyed by
// enumeration, host, port and protocol: seen again, an asset's row says so, and what
// changed of it is kept; seen twice alike in one run, nothing changes. What a policy
// deletes is not stored. Callers keep transactions short: some hundred assets each.
func (as *Assets) Store(ctx context.Context, tx *db.Tx, p Prepared) (Observed, error) {
	var all Observed
	for part := range slices.Chunk(p.sights, batch) {
		if err := as.observe(ctx, tx, p.seen, part, &all); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Observe is Prepare and Store in one.
func (as *Assets) Observe(ctx context.Context, tx *db.Tx, s Seen) (Observed, error) {
	p, err := as.Prepare(ctx, s)
	if err != nil {
		return Observed{}, err
	}
	return as.Store(ctx, tx, p)
}

// sight is an observation on its way to its row.
type sight struct {
	row
	doc    []byte
	seen   discover.Asset
	old    *row    // what is there of it
	fields []Field // that changed of the document
}

// version reports whether the row becomes another version: the old one is then kept.
func (s *sight) version() bool {
	return s.old != nil && (s.facts != s.old.facts || s.labels != s.old.labels || s.old.missing || s.screenshot != s.old.screenshot)
}

func (as *Assets) observe(ctx context.Context, tx *db.Tx, s Seen, sights []*sight, all *Observed) error {
	teamNo, no, rev, err := as.number(ctx, tx, s.TeamID, int64(len(sights)))
	if err != nil {
		return err
	}
	if err := as.begin(ctx, tx, s, rev); err != nil {
		return err
	}
	if err := findOld(ctx, tx, s, sights); err != nil {
		return err
	}
	var news []*sight
	var again []int64
	for _, g := range sights {
		g.rev = rev
		switch {
		case g.old == nil:
			g.no, g.row.doc = no, rev
			g.firstRun, g.run, g.createdAt, g.since, g.seenAt = s.Run, s.Run, db.At(s.At), db.At(s.At), db.At(s.At)
			g.labels = joined(autoLabels(g.seen))
			news = append(news, g)
			no++
		case g.old.run > s.Run: // another run has looked since
		default:
			g.follow(s)
			switch {
			case g.version() || g.whole != g.old.whole:
				if err := as.recall(ctx, tx, s, g); err != nil {
					return err
				}
				news = append(news, g)
			case g.old.run < s.Run:
				again = append(again, g.no)
			}
		}
	}
	if news, err = as.applyPolicies(ctx, tx, s, teamNo, news); err != nil {
		return err
	}
	var fresh, changed []*sight
	for _, g := range news {
		if g.old == nil {
			fresh = append(fresh, g)
		} else {
			changed = append(changed, g)
		}
	}
	for _, step := range []func() error{
		func() error { return as.insert(ctx, tx, s.TeamID, fresh) },
		func() error { return as.change(ctx, tx, s, changed, all) },
		func() error { return touch(ctx, tx, s, again, rev) },
		func() error { return index.Add(ctx, tx, s.TeamID, entries(fresh)) },
		func() error { return index.Put(ctx, tx, s.TeamID, entries(changed)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, g := range fresh {
		if len(all.NewAssets) < maxBriefs {
			all.NewAssets = append(all.NewAssets, g.brief(teamNo))
		}
	}
	all.New += len(fresh)
	return as.tally(ctx, tx, s, len(fresh), changed)
}

// entries are what the index knows of rows.
func entries(sights []*sight) []list.Row {
	out := make([]list.Row, len(sights))
	for i, g := range sights {
		out[i] = g.entry()
	}
	return out
}

// sights are the rows of what was seen, each once: the last look counts.
func (as *Assets) sights(ctx context.Context, s Seen, seen []discover.Asset) ([]*sight, error) {
	var out []*sight
	at := map[string]int{}
	for _, a := range seen {
		if strings.TrimSpace(a.Host) == "" {
			continue
		}
		r, doc, err := rowOf(s.EnumerationID, a)
		if err != nil {
			return nil, err
		}
		if r.screenshot, err = as.keepScreenshot(ctx, a.Screenshot); err != nil {
			return nil, err
		}
		g := &sight{row: r, doc: doc, seen: a}
		if i, twice := at[r.hash]; twice {
			out[i] = g
			continue
		}
		at[r.hash] = len(out)
		out = append(out, g)
	}
	return out, nil
}

// findOld finds what is there of what was seen.
func findOld(ctx context.Context, tx *db.Tx, s Seen, sights []*sight) error {
	if len(sights) == 0 {
		return nil
	}
	byHash := make(map[string]*sight, len(sights))
	var args []any
	for _, g := range sights {
		byHash[g.hash] = g
		args = append(args, s.EnumerationID, g.hash)
	}
	// A join with both parts of the key: a list of hashes beside one enumeration leads
	// PostgreSQL, while it has no statistics, to walk all of the enumeration.
	columns := "a." + strings.Join(strings.Fields(rowColumns), " a.")
	rows, err := tx.Query(ctx, `WITH wanted (enumeration_id, hash) AS (VALUES (?, ?)`+strings.Repeat(", (?, ?)", len(sights)-1)+`)
		SELECT `+columns+` FROM wanted w JOIN asset a ON a.enumeration_id = w.enumeration_id AND a.hash = w.hash`, args...)
	olds, err := db.Collect(rows, err, func(r db.Row) (*row, error) {
		old := new(row)
		return old, r.Scan(old.dest()...)
	})
	for _, old := range olds {
		byHash[old.hash].old = old
	}
	return err
}

// follow takes over what the row has from before.
func (s *sight) follow(seen Seen) {
	old := s.old
	s.no, s.firstRun, s.run, s.createdAt, s.seenAt, s.since, s.row.doc, s.labels = old.no, old.firstRun, seen.Run, old.createdAt, db.At(seen.At), old.since, old.doc, old.labels
	if s.screenshot == "" {
		s.screenshot = old.screenshot // pictures come when they are ready
	}
	if s.facts != old.facts {
		s.row.doc = s.rev
	}
}

func (s *sight) brief(teamNo int64) Brief {
	return Brief{idOf(teamNo, s.no), s.enumeration, s.host, s.port, s.protocol, clip(s.seen.URL, maxText), s.title, words(s.technologies)}
}

// insert writes new rows with their documents.
func (as *Assets) insert(ctx context.Context, tx *db.Tx, teamID string, fresh []*sight) error {
	rows, docs := make([][]any, len(fresh)), make([][]any, len(fresh))
	for i, g := range fresh {
		rows[i] = append([]any{teamID}, g.values()...)
		docs[i] = []any{teamID, g.no, g.row.doc, g.doc}
	}
	if err := tx.Insert(ctx, `asset (team_id, `+rowColumns+`)`, rows); err != nil {
		return err
	}
	return tx.Insert(ctx, `asset_doc (team_id, no, rev, doc)`, docs)
}

// change writes rows of which something changed; those that become another version are
// counted, and what they were is kept.
func (as *Assets) change(ctx context.Context, tx *db.Tx, s Seen, changed []*sight, all *Observed) error {
	for _, g := range changed {
		if g.version() {
			if at := db.At(s.At); at.After(g.since.Time) {
				g.since = at
			}
			if err := as.supersede(ctx, tx, s, g); err != nil {
				return err
			}
			all.Changed++
		}
		statement := `UPDATE asset_doc SET doc = ? WHERE team_id = ? AND no = ? AND rev = ?`
		if g.row.doc != g.old.doc {
			statement = `INSERT INTO asset_doc (doc, team_id, no, rev) VALUES (?, ?, ?, ?)`
		}
		if _, err := tx.Exec(ctx, statement, g.doc, s.TeamID, g.no, g.row.doc); err != nil {
			return err
		}
		set := strings.ReplaceAll(strings.Join(strings.Fields(rowColumns), " "), ",", " = ?,") + " = ?"
		if _, err := tx.Exec(ctx, `UPDATE asset SET `+set+` WHERE team_id = ? AND no = ?`, append(g.values(), s.TeamID, g.no)...); err != nil {
			return err
		}
	}
	return nil
}

// recall learns what changed of a document, and gives the labels that come of it.
func (as *Assets) recall(ctx context.Context, tx *db.Tx, s Seen, g *sight) error {
	if g.facts == g.old.facts {
		return nil
	}
	var before []byte
	if err := tx.QueryRow(ctx, `SELECT doc FROM asset_doc WHERE team_id = ? AND no = ? AND rev = ?`, s.TeamID, g.no, g.old.doc).Scan(&before); err != nil {
		return err
	}
	var err error
	if g.fields, err = fieldsChanged(before, g.doc); err != nil {
		return err
	}
	var was discover.Asset
	if err := json.Unmarshal(before, &was); err != nil {
		return err
	}
	// A label that somebody took off does not come back while its reason is the same.
	had := autoLabels(was)
	added := slices.DeleteFunc(autoLabels(g.seen), func(label string) bool { return slices.Contains(had, label) })
	g.labels = joined(slices.Concat(words(g.old.labels), added))
	return nil
}

// supersede keeps what a row was, and says what changed.
func (as *Assets) supersede(ctx context.Context, tx *db.Tx, s Seen, g *sight) error {
	kind, fields := Changed, g.fields
	if g.old.missing {
		kind = SeenAgain
		fields = append(fields, Field{"is_missing", json.RawMessage("true"), json.RawMessage("false")})
	}
	if g.screenshot != g.old.screenshot {
		fields = append(fields, changedField("screenshot", g.old.screenshot, g.screenshot))
	}
	if g.labels != g.old.labels {
		fields = append(fields, changedField("labels", words(g.old.labels), words(g.labels)))
	}
	if err := keep(ctx, tx, s.TeamID, []int64{g.no}, g.since, g.rev); err != nil {
		return err
	}
	return record(ctx, tx, s.TeamID, []int64{g.no}, g.rev, event{kind, g.since, "", fields})
}

// keep copies rows as they are to what they were until a moment.
func keep(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, until db.Time, rev int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO asset_past (until, until_rev, team_id, `+rowColumns+`) SELECT ?, ?, team_id, `+rowColumns+` FROM asset WHERE team_id = ? AND no IN (`+marks(len(numbers))+`)`,
		append([]any{until, rev, teamID}, anys(numbers)...)...)
	return err
}

// touch notes that a run saw rows as they were.
func touch(ctx context.Context, tx *db.Tx, s Seen, numbers []int64, rev int64) error {
	if len(numbers) == 0 {
		return nil
	}
	args := []any{s.Run, db.At(s.At), rev}
	for _, no := range numbers {
		args = append(args, s.TeamID, no)
	}
	// Both parts of the key, as where rows are looked for.
	_, err := tx.Exec(ctx, `UPDATE asset SET run = ?, seen_at = ?, rev = ? WHERE (team_id, no) IN (VALUES (?, CAST(? AS BIGINT))`+strings.Repeat(", (?, ?)", len(numbers)-1)+`)`, args...)
	return err
}

// tally adds to what a run found.
func (as *Assets) tally(ctx context.Context, tx *db.Tx, s Seen, fresh int, changed []*sight) error {
	n := 0
	for _, g := range changed {
		if g.version() {
			n++
		}
	}
	if fresh+n == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE asset_run SET found = found + ?, changed = changed + ? WHERE enumeration_id = ? AND run = ?`, fresh, n, s.EnumerationID, s.Run)
	return err
}

func anys[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// keepScreenshot stores a PNG and returns its digest; what is no PNG, or is too large, is
// not kept.
func (as *Assets) keepScreenshot(ctx context.Context, png []byte) (string, error) {
	if as.blobs == nil || len(png) > maxPicture || !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) {
		return "", nil
	}
	d, _, err := as.blobs.Put(ctx, bytes.NewReader(png))
	return d.String(), err
}
