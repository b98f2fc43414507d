package finding

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Sighting is one event on its way to become a finding.
type Sighting struct {
	Event           engine.Event
	Target          string // as the scan was given it; empty: the event's host
	Scheme          string // where the event's URL does not say
	TemplateURL     string
	TemplateEncoded string // base64
}

// Origin is the scan that saw something.
type Origin struct {
	TeamID string
	ScanID string
	Run    int64 // of the scan; a run that sees a finding twice sees it once
}

// Added is what became of sightings.
type Added struct{ New, Again int }

// Prepared is sightings of a scan as they will be stored.
type Prepared struct {
	from Origin
	rows []row
}

// Prepare does what of storing sightings needs no transaction.
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

// Store stores sightings in the caller's transaction: what the scan has not seen yet is
// new; what it has seen in an earlier run is marked as seen again, and comes back as a
// regression when it was fixed since; what this run saw already stays as it is.
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

// known is what is on disk of a finding that is seen again.
type known struct {
	id     string
	no     int64
	run    int64
	status Status
	at     db.Time // of its last change
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
	no, rev, err := fs.number(ctx, tx, from.TeamID, int64(len(rows)), int64(len(rows)))
	if err != nil {
		return Added{}, err
	}
	now := db.At(fs.now()) // with the team's log in hand, so that times grow as numbers do
	for i := range rows {
		rows[i].createdAt = now
		if rows[i].seenAt.IsZero() {
			rows[i].seenAt = now
		}
	}
	if err := weigh(ctx, tx, from.TeamID, rows); err != nil {
		return Added{}, err
	}
	for i := range rows {
		rows[i].no, rows[i].rev = no+int64(i), rev+int64(i)
	}
	perhaps, err := insert(ctx, tx, from, rows)
	if err != nil {
		return Added{}, err
	}
	olds, err := find(ctx, tx, rows, perhaps)
	if err != nil {
		return Added{}, err
	}
	var added Added
	for _, old := range olds {
		i := byID[old.id]
		if old.no == rows[i].no { // it was not known before
			continue
		}
		added.Again++
		if err := fs.again(ctx, tx, from, old, rows[i], rows[i].rev); err != nil {
			return added, err
		}
		rows[i].id = ""
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.id == "" })
	added.New = len(rows)
	if err := document(ctx, tx, from, rows); err != nil {
		return added, err
	}
	entries := make([]list.Row, len(rows))
	for i, r := range rows {
		entries[i] = entryOf(r.no, facets{
			severity: r.severity, status: Open, scan: from.ScanID, host: r.host, port: r.port, template: r.templateID, name: r.name,
			categories: r.categories, tags: r.tags, internal: r.isInternal, ticket: r.isTicket,
		})
	}
	return added, findings.Add(ctx, tx, from.TeamID, entries)
}

// number gives out the next n numbers and m revisions of a team, and holds the team's
// log until tx ends.
func (fs *Findings) number(ctx context.Context, tx *db.Tx, teamID string, n, m int64) (no, rev int64, err error) {
	err = tx.QueryRow(ctx, `INSERT INTO finding_log (team_id, last_no, last_rev) VALUES (?, ?, ?)
		ON CONFLICT (team_id) DO UPDATE SET last_no = finding_log.last_no + excluded.last_no, last_rev = finding_log.last_rev + excluded.last_rev
		RETURNING last_no, last_rev`, teamID, n, m).Scan(&no, &rev)
	return no - n + 1, rev - m + 1, err
}

// weigh gives rows the severities that their team wants for their templates.
func weigh(ctx context.Context, tx *db.Tx, teamID string, rows []row) error {
	var templates []string
	for _, r := range rows {
		templates = append(templates, r.templateID)
	}
	slices.Sort(templates)
	holds, err := overrides(ctx, tx, teamID, slices.Compact(templates))
	for i, r := range rows {
		rows[i].severity = holds.of(r.templateID, r.id, r.severity)
	}
	return err
}

// find reads what is on disk under the ids of the rows at these places.
func find(ctx context.Context, tx *db.Tx, rows []row, at []int) ([]known, error) {
	if len(at) == 0 {
		return nil, nil
	}
	ids := make([]string, len(at))
	for i, place := range at {
		ids[i] = rows[place].id
	}
	var w db.Where
	db.In(&w, "id", ids)
	found, err := tx.Query(ctx, `SELECT id, no, run, status, updated_at FROM finding`+w.String(), w.Args...)
	return db.Collect(found, err, func(r db.Row) (k known, err error) {
		return k, r.Scan(&k.id, &k.no, &k.run, &k.status, &k.at)
	})
}

// again notes that a finding was seen once more; the evidence of the first time stays.
func (fs *Findings) again(ctx context.Context, tx *db.Tx, from Origin, old known, r row, rev int64) error {
	back := old.status == Fixed && r.seenAt.After(old.at.Time)
	if old.run == from.Run && !back {
		return nil
	}
	status := old.status
	if back {
		status = Open
		c := change{no: old.no, seq: rev, kind: Reopened, field: "vuln_status", from: string(old.status), to: string(Open), at: r.createdAt}
		if err := record(ctx, tx, from.TeamID, c); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE finding SET rev = ?, run = ?, seen_at = ?, status = ?, is_regression = (is_regression OR ?), updated_at = ?
		WHERE team_id = ? AND no = ?`, rev, from.Run, r.seenAt, status, back, r.createdAt, from.TeamID, old.no)
	if err != nil || !back {
		return err
	}
	return relist(ctx, tx, from.TeamID, old.no)
}

// row is a sighting as it is stored. Its numbers and the time come with the transaction.
type row struct {
	no, rev                int64
	id, hash, severity     string
	templateID, name       string
	host, categories, tags string
	port                   int
	isInternal, isTicket   bool
	createdAt, seenAt      db.Time
	event, exchange        []byte
}

func rowOf(from Origin, s Sighting) (r row, err error) {
	e := s.Event
	p := placeOf(e, s.Scheme)
	r = row{
		hash: p.fingerprint(e), severity: strings.ToLower(string(e.Info.Severity)), templateID: db.Clean(e.TemplateID), name: db.Clean(e.Info.Name),
		host: db.Clean(p.host), port: p.port, tags: join(e.Info.Tags), categories: join(categoriesOf(e.Type, e.TemplatePath)),
		isInternal: internal(e.IP, p.host), isTicket: len(e.IssueTrackers) > 0, seenAt: db.At(e.Timestamp),
	}
	r.id = idOf(from.ScanID, r.hash)
	if !slices.Contains(Severities, r.severity) {
		r.severity = "unknown"
	}
	if r.exchange, err = json.Marshal(exchange{e.Request, e.Response, s.TemplateEncoded}); err != nil {
		return r, err
	}
	e.Request, e.Response = "", ""
	r.event, err = json.Marshal(shown{e, cmp.Or(s.Target, e.Host, e.MatchedAt), p.scheme, s.TemplateURL})
	return r, err
}

// insert writes the rows that are not there yet, and gives the places of those that may be.
func insert(ctx context.Context, tx *db.Tx, from Origin, rows []row) (perhaps []int, err error) {
	values := make([][]any, len(rows))
	for i, r := range rows {
		values[i] = []any{
			from.TeamID, r.no, r.rev, r.id, from.ScanID, r.hash, from.Run, r.severity, Open, r.templateID, r.name, r.host, r.port,
			r.categories, r.tags, r.isInternal, r.isTicket, r.createdAt, r.createdAt, r.seenAt,
		}
	}
	return tx.InsertNew(ctx, `finding (team_id, no, rev, id, scan_id, hash, run, severity, status, template_id, name, host, port,
		categories, tags, is_internal, is_ticket, created_at, updated_at, seen_at)`, "id", values)
}

// document writes what only the findings themselves show, and counts them.
func document(ctx context.Context, tx *db.Tx, from Origin, rows []row) error {
	values := make([][]any, len(rows))
	totals := map[string]int64{}
	for i, r := range rows {
		values[i] = []any{from.TeamID, r.no, r.event, r.exchange}
		totals[r.severity]++
	}
	if err := tx.Insert(ctx, `finding_doc (team_id, no, event, exchange)`, values); err != nil {
		return err
	}
	return tally(ctx, tx, from.TeamID, from.ScanID, totals)
}

// Begin notes a new scan, which has found nothing yet, in the transaction that makes it.
func (fs *Findings) Begin(ctx context.Context, tx *db.Tx, teamID, scanID string) error {
	return addTotal(ctx, tx, teamID, scanID, 0)
}

// addTotal says by its revision, the team's last, that the scan's tallies are others.
func addTotal(ctx context.Context, tx *db.Tx, teamID, scanID string, n int64) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_total (scan_id, team_id, total) VALUES (?, ?, ?)
		ON CONFLICT (scan_id) DO UPDATE SET total = finding_total.total + excluded.total`, scanID, teamID, n)
	return err
}

// tally adds to how many findings a scan has. The caller was given a new revision (number)
// in this transaction.
func tally(ctx context.Context, tx *db.Tx, teamID, scanID string, totals map[string]int64) error {
	if len(totals) == 0 {
		return nil
	}
	sum := int64(0)
	for _, n := range totals {
		sum += n
	}
	if err := addTotal(ctx, tx, teamID, scanID, sum); err != nil {
		return err
	}
	for _, severity := range Severities {
		if totals[severity] == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, `INSERT INTO finding_tally (scan_id, severity, total) VALUES (?, ?, ?)
			ON CONFLICT (scan_id, severity) DO UPDATE SET total = finding_tally.total + excluded.total`, scanID, severity, totals[severity]); err != nil {
			return err
		}
	}
	return nil
}
