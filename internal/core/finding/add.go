package finding

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Sighting is an event that is to be stored as a finding.
type Sighting struct {
	Event           engine.Event
	Target          string // as the scan was given it; empty: the event's host
	Scheme          string // for an event whose URL has none
	TemplateURL     string
	TemplateEncoded string // base64
}

// Origin is the scan that saw something.
type Origin struct {
	TeamID string
	ScanID string
	Run    int64
}

// Added counts findings that were new to the scan, and those that it had already.
type Added struct{ New, Again int }

// Prepared is sightings of a scan, ready to be stored.
type Prepared struct {
	from Origin
	rows []row
}

// Prepare does the part of storing sightings that needs no transaction.
func Prepare(from Origin, seen []Sighting) (Prepared, error) {
	p := Prepared{from, make([]row, len(seen))}
	for i, s := range seen {
		var err error
		if p.rows[i], err = rowOf(from, s); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Add stores sightings; see Store.
func (fs *Findings) Add(ctx context.Context, tx *db.Tx, from Origin, seen []Sighting) (Added, error) {
	p, err := Prepare(from, seen)
	if err != nil {
		return Added{}, err
	}
	return fs.Store(ctx, tx, p)
}

// Store stores sightings in the caller's transaction. What an earlier run of the scan saw is marked as seen again; what
// this run saw already stays as it is. A new finding has the status that was decided for its hash. When it was fixed
// since it was seen last, in whichever scan, all findings with the hash are reopened as regressions.
func (fs *Findings) Store(ctx context.Context, tx *db.Tx, p Prepared) (Added, error) {
	var all Added
	for part := range slices.Chunk(p.rows, batch) {
		added, err := fs.store(ctx, tx, p.from, part)
		if err != nil {
			return all, err
		}
		all.New += added.New
		all.Again += added.Again
	}
	return all, nil
}

// batch is how many rows one statement reads.
const batch = 250

// known is a finding in the database that is seen again.
type known struct {
	id      string
	no, run int64
	status  Status
	changed db.Time
}

func (fs *Findings) store(ctx context.Context, tx *db.Tx, from Origin, seen []row) (Added, error) {
	rows := make([]row, 0, len(seen))
	byID := make(map[string]int, len(seen))
	for _, r := range seen {
		if _, twice := byID[r.id]; !twice {
			byID[r.id] = len(rows)
			rows = append(rows, r)
		}
	}
	// All change at one moment: their revisions grow as their numbers do, first those of findings that are known.
	n := int64(len(rows))
	no, rev, err := fs.reserve(ctx, tx, from.TeamID, n, 2*n)
	if err != nil {
		return Added{}, err
	}
	now := db.At(fs.now()) // reserve locks the team, so that times grow as numbers do
	templates := make([]string, len(rows))
	for i := range rows {
		r := &rows[i]
		r.no, r.rev, r.createdAt, templates[i] = no+int64(i), rev+n+int64(i), now, r.templateID
		if r.seenAt.IsZero() {
			r.seenAt = now
		}
	}
	if err := inherit(ctx, tx, from.TeamID, rows); err != nil {
		return Added{}, err
	}
	slices.Sort(templates)
	overrides, err := findOverrides(ctx, tx, from.TeamID, slices.Compact(templates))
	if err != nil {
		return Added{}, err
	}
	for i, r := range rows {
		rows[i].severity = overrides.severity(r.templateID, r.id, r.severity)
	}
	mayExist, err := insert(ctx, tx, from, rows)
	if err != nil {
		return Added{}, err
	}
	olds, err := findKnown(ctx, tx, rows, mayExist)
	if err != nil {
		return Added{}, err
	}
	slices.SortFunc(olds, func(a, b known) int { return cmp.Compare(a.no, b.no) })
	var added Added
	var back []string // hashes of what was fixed, and is seen
	for i, old := range olds {
		r := &rows[byID[old.id]]
		if old.no == r.no { // it was inserted just now
			continue
		}
		added.Again++
		r.rev = rev + int64(i)
		if err := seenAgain(ctx, tx, from, old, *r); err != nil {
			return added, err
		}
		if old.status == Fixed && r.seenAt.After(old.changed.Time) {
			back = append(back, r.hash)
		}
		r.id = ""
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.id == "" })
	added.New = len(rows)
	for _, r := range rows {
		if r.isBack {
			back = append(back, r.hash)
		}
	}
	if _, err := fs.decide(ctx, tx, from.TeamID, back, decision{Status: Open, IsRegression: true}); err != nil {
		return added, err
	}
	return added, storeDetails(ctx, tx, from, rows)
}

// storeDetails writes what belongs to new findings: their documents, the decisions that they began with, the counts of
// the scan, and the entries of the list.
func storeDetails(ctx context.Context, tx *db.Tx, from Origin, rows []row) error {
	docs, entries, counts := make([][]any, len(rows)), make([]list.Row, len(rows)), scanCounts{}
	for i, r := range rows {
		docs[i] = []any{from.TeamID, r.no, r.event, r.exchange}
		if r.status != Open {
			d := decision{Status: r.status, Actor: r.decidedBy, At: r.createdAt}
			if err := record(ctx, tx, from.TeamID, statusChange(r.no, r.rev, Open, d)); err != nil {
				return err
			}
		}
		counts.add(from.ScanID, r.severity, 1)
		entries[i] = entryOf(r.no, facets{
			severity: r.severity, status: r.status, scan: from.ScanID, host: r.host, port: r.port, template: r.templateID,
			name: r.name, categories: r.categories, tags: r.tags, internal: r.isInternal, ticket: r.isTicket,
			regression: r.isRegression,
		})
	}
	if err := tx.Insert(ctx, `finding_doc (team_id, no, event, exchange)`, docs); err != nil {
		return err
	}
	if err := counts.store(ctx, tx, from.TeamID); err != nil {
		return err
	}
	return findings.Add(ctx, tx, from.TeamID, entries)
}

// reserve reserves the next n numbers and m revisions of a team, and locks the team's findings until tx ends.
func (fs *Findings) reserve(ctx context.Context, tx *db.Tx, teamID string, n, m int64) (no, rev int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO finding_log (team_id, last_no, last_rev) VALUES (?, ?, ?)
		ON CONFLICT (team_id) DO UPDATE
		SET last_no = finding_log.last_no + excluded.last_no, last_rev = finding_log.last_rev + excluded.last_rev
		RETURNING last_no, last_rev`, teamID, n, m).Scan(&no, &rev)
	return no - n + 1, rev - m + 1, err
}

// lock lets one transaction at a time write a team's findings.
func (fs *Findings) lock(ctx context.Context, tx *db.Tx, teamID string) error {
	_, _, err := fs.reserve(ctx, tx, teamID, 0, 0)
	return err
}

// findKnown reads the findings that have the ids of the rows with these indices.
func findKnown(ctx context.Context, tx *db.Tx, rows []row, indices []int) ([]known, error) {
	if len(indices) == 0 {
		return nil, nil
	}
	ids := make([]string, len(indices))
	for i, index := range indices {
		ids[i] = rows[index].id
	}
	var w db.Where
	db.In(&w, "id", ids)
	return db.Select(ctx, tx, func(r db.Row) (k known, err error) {
		return k, r.Scan(&k.id, &k.no, &k.run, &k.status, &k.changed)
	}, `SELECT id, no, run, status, updated_at FROM finding`+w.String(), w.Args...)
}

// inherit gives new sightings what was decided about their hashes. What was fixed before it was seen is back.
func inherit(ctx context.Context, tx *db.Tx, teamID string, rows []row) error {
	hashes := make([]string, len(rows))
	for i, r := range rows {
		hashes[i] = r.hash
	}
	decided, err := decisions(ctx, tx, teamID, hashes)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		d, is := decided[r.hash]
		switch {
		case !is:
			r.status = Open
		case d.Status == Fixed && r.seenAt.After(d.At.Time):
			r.status, r.isRegression, r.isBack = Open, true, true
		default:
			r.status, r.isRegression, r.decidedBy = d.Status, d.IsRegression, d.Actor
		}
	}
	return nil
}

// seenAgain notes that a later run has seen a finding; the evidence of the first time stays.
func seenAgain(ctx context.Context, tx *db.Tx, from Origin, old known, r row) error {
	if old.run == from.Run {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE finding SET rev = ?, run = ?, seen_at = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
		r.rev, from.Run, r.seenAt, r.createdAt, from.TeamID, old.no)
	return err
}

// row is a sighting as it is stored. The transaction sets its numbers and the time.
type row struct {
	no, rev                int64
	id, hash, severity     string
	templateID, name       string
	host, categories, tags string
	port                   int
	isInternal, isTicket   bool
	status                 Status
	isRegression           bool
	isBack                 bool   // it was fixed, and this sighting is the first since
	decidedBy              string // an email; empty: the service
	createdAt, seenAt      db.Time
	event, exchange        []byte
}

func rowOf(from Origin, s Sighting) (r row, err error) {
	e := s.Event
	p := locationOf(e, s.Scheme)
	r = row{
		hash: p.fingerprint(e), severity: severityOf(e), templateID: db.Clean(e.TemplateID), name: db.Clean(e.Info.Name),
		host: db.Clean(p.host), port: p.port, tags: join(e.Info.Tags), categories: join(categoriesOf(e.Type, e.TemplatePath)),
		isInternal: internal(e.IP, p.host), isTicket: len(e.IssueTrackers) > 0, seenAt: db.At(e.Timestamp),
	}
	r.id = idOf(from.ScanID, r.hash)
	if r.exchange, err = json.Marshal(exchange{e.Request, e.Response, s.TemplateEncoded}); err != nil {
		return r, err
	}
	e.Request, e.Response = "", ""
	r.event, err = json.Marshal(storedEvent{e, cmp.Or(s.Target, e.Host, e.MatchedAt), p.scheme, s.TemplateURL})
	return r, err
}

// insert writes the rows that are new, and gives the indices of those that may not be.
func insert(ctx context.Context, tx *db.Tx, from Origin, rows []row) (mayExist []int, err error) {
	values := make([][]any, len(rows))
	for i, r := range rows {
		values[i] = []any{
			from.TeamID, r.no, r.rev, r.id, from.ScanID, r.hash, from.Run, r.severity, r.status, r.templateID, r.name,
			r.host, r.port, r.categories, r.tags, r.isInternal, r.isTicket, r.isRegression, r.createdAt, r.createdAt, r.seenAt,
		}
	}
	return tx.InsertNew(ctx, `finding (team_id, no, rev, id, scan_id, hash, run, severity, status, template_id, name, host, port,
		categories, tags, is_internal, is_ticket, is_regression, created_at, updated_at, seen_at)`, "id", values)
}
