package finding

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/arrival"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/tally"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Added counts findings that were new to the scan, and those that it had already. Of the new ones, Merged are sightings
// of weaknesses that were known.
type Added struct{ New, Again, Merged int }

// Prepared is sightings of a scan, ready to be stored.
type Prepared struct {
	from   Origin
	rows   []row
	secret []byte // of their evidence
}

// Prepare does the part of storing sightings that needs no transaction.
func Prepare(from Origin, seen []Sighting) (Prepared, error) {
	p := Prepared{from, make([]row, len(seen)), chain.NewSecret()}
	for i, s := range seen {
		var err error
		if p.rows[i], err = rowOf(from, s, p.secret); err != nil {
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
// this run saw already stays as it is. A new finding has the status that was decided for its weakness. When it was
// fixed since it was seen last, in whichever scan, all findings of the weakness are reopened as regressions.
func (fs *Findings) Store(ctx context.Context, tx *db.Tx, p Prepared) (Added, error) {
	var all Added
	for part := range slices.Chunk(p.rows, together) {
		added, err := fs.store(ctx, tx, Prepared{p.from, part, p.secret})
		if err != nil {
			return all, err
		}
		all.New += added.New
		all.Again += added.Again
		all.Merged += added.Merged
	}
	return all, arrival.TellRules(ctx, tx, fs.queue, p.from.TeamID, db.At(fs.now()))
}

const (
	batch    = 250  // rows that one statement reads
	together = 1000 // and that are stored at once: SQLite writes its text index out after each part
)

// known is a finding in the database that is seen again.
type known struct {
	id      string
	no, run int64
	status  Status
	changed db.Time
}

func (fs *Findings) store(ctx context.Context, tx *db.Tx, p Prepared) (Added, error) {
	from, rows, byID := p.from, make([]row, 0, len(p.rows)), make(map[string]int, len(p.rows))
	for _, r := range p.rows {
		if _, twice := byID[r.id]; !twice {
			byID[r.id] = len(rows)
			rows = append(rows, r)
		}
	}
	// All change at one moment: their revisions grow as their numbers do, first those of findings that are known.
	n := int64(len(rows))
	no, rev, err := fs.reserve(ctx, tx, from.TeamID, n, 3*n)
	if err != nil {
		return Added{}, err
	}
	now := db.At(fs.now()) // reserve locks the team, so that times grow as numbers do
	for i := range rows {
		r := &rows[i]
		r.no, r.rev, r.createdAt = no+int64(i), rev+2*n+int64(i), now
		if r.seenAt.IsZero() {
			r.seenAt = now
		}
	}
	known, err := recognize(ctx, tx, from.TeamID, now, rows)
	if err != nil {
		return Added{}, err
	}
	if err := inherit(ctx, tx, from.TeamID, rows); err != nil {
		return Added{}, err
	}
	if err := overrideSeverities(ctx, tx, from.TeamID, rows); err != nil {
		return Added{}, err
	}
	mayExist, err := insert(ctx, tx, from, rows)
	if err != nil {
		return Added{}, err
	}
	olds, err := findKnown(ctx, tx, rows, mayExist)
	if err != nil {
		return Added{}, err
	}
	added, again, back := compare(rows, olds, byID, from)
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.id == "" })
	for _, r := range rows {
		if added.New++; r.isRepeat {
			added.Merged++
		}
		if r.isBack {
			back = append(back, r.hash)
		}
		if h := known.heads[r.weakness]; r.isRepeat && h.no < no && again[h.no].no == 0 {
			if r.seenAt.After(h.seenAt.Time) {
				h.seenAt = r.seenAt
			}
			again[h.no] = h
		}
	}
	if err := seenAgain(ctx, tx, from, rev, now, again); err != nil {
		return added, err
	}
	if _, err := fs.decide(ctx, tx, from.TeamID, back, Decision{Status: Open, IsRegression: true,
		By: move.Seen}); err != nil {
		return added, err
	}
	if err := storeDetails(ctx, tx, from, rows); err != nil {
		return added, err
	}
	if err := chain.AppendSightings(ctx, tx, now, chain.Origin{
		TeamID: from.TeamID, ID: from.ScanID, Run: from.Run, Source: cmp.Or(from.Source, chain.Scan), Version: fs.Version,
	}, p.secret, leavesOf(rows)); err != nil {
		return added, err
	}
	return added, fs.storeJoined(ctx, tx, from.TeamID, known)
}

// compare compares sightings with the findings that the scan had: again are those to be marked as seen, back the hashes
// of what was fixed and is seen. Rows that were known lose their id.
func compare(
	rows []row, olds []known, byID map[string]int, from Origin,
) (added Added, again map[int64]head, back []string) {
	again = map[int64]head{}
	for _, old := range olds {
		r := &rows[byID[old.id]]
		if old.no == r.no { // it was inserted just now
			continue
		}
		added.Again++
		if old.run != from.Run {
			again[old.no] = head{no: old.no, seenAt: r.seenAt, isOfScan: true}
		}
		if old.status == Fixed && r.claimed != Fixed && r.seenAt.After(old.changed.Time) {
			back = append(back, r.hash)
		}
		r.id = ""
	}
	return added, again, back
}

// storeJoined gives findings of earlier releases that turned out to be part of another weakness what holds for that,
// and lists weaknesses by the hashes that they got.
func (fs *Findings) storeJoined(ctx context.Context, tx *db.Tx, teamID string, known recognized) error {
	for i, hash := range known.moved {
		into := known.into[i]
		heads, err := findHeads(ctx, tx, teamID, []string{into})
		if err != nil {
			return err
		}
		operation := ids.New()
		if err := identity.LogRule(ctx, tx, teamID, operation, hash, into); err != nil {
			return err
		}
		caller := account.Caller{TeamID: teamID}
		if err := fs.follow(ctx, tx, caller, operation, into, heads[into], []string{hash}); err != nil {
			return err
		}
	}
	return reindex(ctx, tx, teamID, known.grown...)
}

// storeDetails writes what belongs to new findings: their documents, the decisions that they began with, the counts of
// the scan, and the entries of the list.
func storeDetails(ctx context.Context, tx *db.Tx, from Origin, rows []row) error {
	docs, entries, counts := make([][]any, len(rows)), make([]list.Row, len(rows)), tally.Counts{}
	for i, r := range rows {
		docs[i] = []any{from.TeamID, r.no, r.event, r.exchange}
		if r.status != Open {
			d := r.decided
			d.At = r.createdAt
			if err := timeline.Record(ctx, tx, from.TeamID, d.Entry(r.no, r.rev, Open)); err != nil {
				return err
			}
		}
		if r.isClaimed {
			d := Decision{Status: r.status, At: r.createdAt}
			if err := decision.Store(ctx, tx, from.TeamID, []string{r.weakness}, d); err != nil {
				return err
			}
		}
		counts.Add(from.ScanID, r.severity, 1)
		entries[i] = listing.Entry(r.no, listing.Facets{
			Severity: r.severity, Status: r.status, Scan: from.ScanID, Host: r.host, Port: r.port, Template: r.templateID,
			Name: r.name, Categories: r.categories, Tags: r.tags, Internal: r.isInternal, Ticket: r.isTicket,
			Regression: r.isRegression, Repeat: r.isRepeat, Labels: r.labels, Assignee: r.assignee,
			Follows: listing.Nothing,
		})
	}
	if err := tx.Insert(ctx, `finding_doc (team_id, no, event, exchange)`, docs); err != nil {
		return err
	}
	if err := counts.Store(ctx, tx, from.TeamID); err != nil {
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

// Lock lets one transaction at a time write a team's findings, until tx ends.
func (fs *Findings) Lock(ctx context.Context, tx *db.Tx, teamID string) error {
	_, _, err := fs.reserve(ctx, tx, teamID, 0, 0)
	return err
}

// findKnown reads the findings that have the ids of the rows with these indices.
func findKnown(ctx context.Context, tx *db.Tx, rows []row, indices []int) (out []known, err error) {
	for part := range slices.Chunk(indices, batch) {
		var w db.Where
		ids := make([]string, len(part))
		for i, index := range part {
			ids[i] = rows[index].id
		}
		db.In(&w, "id", ids)
		found, err := db.Select(ctx, tx, func(r db.Row) (k known, err error) {
			return k, r.Scan(&k.id, &k.no, &k.run, &k.status, &k.changed)
		}, `SELECT id, no, run, status, updated_at FROM finding`+w.String(), w.Args...)
		if out = append(out, found...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inherit gives new sightings what was decided about their weaknesses. What was fixed before it was seen is back. A new
// weakness has the status that another tool claims for it, when all its sightings claim the same.
func inherit(ctx context.Context, tx *db.Tx, teamID string, rows []row) error {
	weaknesses := make([]string, len(rows))
	for i, r := range rows {
		weaknesses[i] = r.weakness
	}
	decided, err := decision.Find(ctx, tx, teamID, weaknesses)
	if err != nil {
		return err
	}
	claims := claimed(rows)
	for i := range rows {
		r := &rows[i]
		d, is := decided[r.weakness]
		switch {
		case !is:
			r.status = cmp.Or(claims[r.weakness], Open)
			r.isClaimed = !r.isRepeat && r.status != Open
			r.decided = Decision{Status: r.status}
		case d.Status == Fixed && r.claimed != Fixed && r.seenAt.After(d.At.Time):
			r.status, r.isRegression, r.isBack = Open, true, true
		default:
			r.status, r.isRegression, r.decided = d.Status, d.IsRegression, d
		}
	}
	return nil
}

// claimed are the statuses that other tools claim for weaknesses that no earlier sighting stands for.
func claimed(rows []row) map[string]Status {
	claims := map[string]Status{}
	for _, r := range rows {
		if !r.isRepeat {
			claims[r.weakness] = r.claimed
		}
	}
	for _, r := range rows {
		if claims[r.weakness] != r.claimed {
			delete(claims, r.weakness)
		}
	}
	return claims
}

// seenAgain notes that findings were seen again, with revisions from rev on: those that an earlier run of the scan saw,
// and those that stand for their weakness. The evidence of the first time stays.
func seenAgain(ctx context.Context, tx *db.Tx, from Origin, rev int64, now db.Time, again map[int64]head) error {
	for _, no := range slices.Sorted(maps.Keys(again)) {
		h := again[no]
		set, args := `rev = ?, seen_at = ?, updated_at = ?`, []any{rev, h.seenAt, now}
		if h.isOfScan {
			set, args = set+`, run = ?`, append(args, from.Run)
		}
		if _, err := tx.Exec(ctx, `UPDATE finding SET `+set+` WHERE team_id = ? AND no = ?`,
			append(args, from.TeamID, no)...); err != nil {
			return err
		}
		rev++
	}
	return nil
}

// row is a sighting as it is stored. The transaction sets its numbers and the time.
type row struct {
	no, rev                int64
	id, hash, severity     string
	parts                  identity.Parts
	weakness               string
	isRepeat               bool // an earlier row stands for the weakness
	labels, assignee       string
	templateID, name       string
	host, categories, tags string
	port                   int
	isInternal, isTicket   bool
	status, claimed        Status
	isClaimed              bool // the status is what another tool claims
	isRegression           bool
	isBack                 bool     // it was fixed, and this sighting is the first since
	decided                Decision // about the weakness, before
	createdAt, seenAt      db.Time
	event, exchange        []byte
	leaf                   string // of its evidence
}

func rowOf(from Origin, s Sighting, secret []byte) (r row, err error) {
	e := s.Event
	p := identity.Of(e, s.Scheme)
	if s.Parts != nil {
		p = *s.Parts
	}
	r = row{
		hash: p.Hash(), parts: p, severity: TemplateSeverity(e), templateID: db.Clean(e.TemplateID),
		name: db.Clean(e.Info.Name),
		host: db.Clean(p.Host), port: p.Port, tags: listing.Join(e.Info.Tags),
		categories: listing.Join(listing.Categories(e.Type, e.TemplatePath)),
		isInternal: listing.IsInternal(e.IP, p.Host), isTicket: len(e.IssueTrackers) > 0,
		seenAt: db.At(e.Timestamp), claimed: s.Status,
	}
	r.id = identity.ID(from.ScanID, r.hash)
	if r.exchange, err = json.Marshal(exchange{e.Request, e.Response, s.TemplateEncoded, e.Compared}); err != nil {
		return r, err
	}
	target := cmp.Or(s.Target, e.Host, e.MatchedAt)
	seen := chain.Seen{FindingID: r.id, Hash: r.hash, Event: e, Target: target, Proof: s.Proof}
	if r.leaf, err = seen.Leaf(secret); err != nil {
		return r, err
	}
	e.Request, e.Response, e.Compared = "", "", nil
	r.event, err = json.Marshal(storedEvent{e, target, p.Scheme, s.TemplateURL, s.Proof})
	return r, err
}

// joinedTo is the column weakness.
func (r row) joinedTo() string {
	if r.weakness == r.hash {
		return ""
	}
	return r.weakness
}

// insert writes the rows that are new, and gives the indices of those that may not be.
func insert(ctx context.Context, tx *db.Tx, from Origin, rows []row) (mayExist []int, err error) {
	values := make([][]any, len(rows))
	for i, r := range rows {
		values[i] = []any{
			from.TeamID, r.no, r.rev, r.id, from.ScanID, r.hash, from.Run, r.severity, r.status, r.templateID, r.name,
			r.host, r.port, r.categories, r.tags, r.labels, r.isInternal, r.isTicket, r.isRegression, r.isRepeat, r.createdAt,
			r.createdAt, r.seenAt, r.joinedTo(), from.IsTask, r.assignee,
		}
	}
	return tx.InsertNew(ctx, `finding (team_id, no, rev, id, scan_id, hash, run, severity, status, template_id, name, host, port,
		categories, tags, labels, is_internal, is_ticket, is_regression, is_repeat, created_at, updated_at, seen_at, weakness, is_task, assignee)`, "id", values)
}
