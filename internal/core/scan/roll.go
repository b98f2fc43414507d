package scan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// roll is what lists ask of all scans of a team, as the database had it when the team's
// logs were at rev and found, or later. It never changes: what has changed since makes
// another roll.
type roll struct {
	rev, found int64   // of the team's scans; of its findings
	lines      []*line // the newest first
	stats      func() Stats

	mu    sync.Mutex
	lists map[string]func() []*line // by filter and order; guarded by mu
}

// version tells what a scan was written as from what it is since.
type version struct {
	rev, found int64 // of the last change to the scan; to its findings by severity
}

// line is one scan. Times are as the columns have them, in microseconds; 0: not yet.
type line struct {
	version

	id, name, folded                string // folded: the name in small letters
	status                          Status
	internal, scheduled             bool
	createdAt, updatedAt            int64
	startedAt, endedAt              int64 // of the last run
	run                             int64
	targets, templates, cells, done int64 // of the last run
	results                         int64
}

// newest orders lines as lists without an order have them.
func newest(a, b *line) int {
	return cmp.Or(cmp.Compare(b.createdAt, a.createdAt), strings.Compare(b.id, a.id))
}

func newRoll(rev, found int64, lines []*line) *roll {
	r := &roll{rev: rev, found: found, lines: lines, lists: map[string]func() []*line{}}
	r.stats = sync.OnceValue(r.count)
	return r
}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "name": "name", "status": "status", "scan_id": "scan_id", "completed_at": "completed_at", "progress": "progress",
	"total_target": "total_target", "total_template": "total_template", "total_scan": "total_scan", "total_result": "total_result", "rescan_count": "rescan_count",
	"scan_time_elapsed": "scan_time_elapsed",
}

// by compares scans by a field of an order.
func by(field string) func(a, b *line) int {
	number := func(of func(*line) int64) func(a, b *line) int {
		return func(a, b *line) int { return cmp.Compare(of(a), of(b)) }
	}
	switch field {
	case "created_at":
		return number(func(l *line) int64 { return l.createdAt })
	case "updated_at":
		return number(func(l *line) int64 { return l.updatedAt })
	case "completed_at":
		return number(func(l *line) int64 { return l.endedAt })
	case "progress":
		return number(func(l *line) int64 { return l.done })
	case "total_target":
		return number(func(l *line) int64 { return l.targets })
	case "total_template":
		return number(func(l *line) int64 { return l.templates })
	case "total_scan":
		return number(func(l *line) int64 { return l.cells })
	case "total_result":
		return number(func(l *line) int64 { return l.results })
	case "rescan_count":
		return number(func(l *line) int64 { return l.run })
	case "scan_time_elapsed":
		return number((*line).elapsed)
	case "name":
		return func(a, b *line) int { return strings.Compare(a.name, b.name) }
	case "status":
		return func(a, b *line) int { return strings.Compare(string(a.status), string(b.status)) }
	default:
		return func(a, b *line) int { return strings.Compare(a.id, b.id) }
	}
}

// elapsed is how long the last run took, in microseconds; 0 as long as that is not known.
func (l *line) elapsed() int64 {
	if l.startedAt == 0 || l.endedAt == 0 {
		return 0
	}
	return l.endedAt - l.startedAt
}

// inOrder compares scans by sorts, and equal ones by their ids, the last first.
func inOrder(sorts []page.Sort) func(a, b *line) int {
	fields := make([]func(a, b *line) int, len(sorts))
	for i, s := range sorts {
		compare := by(s.Column)
		if fields[i] = compare; s.Desc {
			fields[i] = func(a, b *line) int { return compare(b, a) }
		}
	}
	return func(a, b *line) int {
		for _, compare := range fields {
			if c := compare(a, b); c != 0 {
				return c
			}
		}
		return strings.Compare(b.id, a.id)
	}
}

// list is the scans that a filter picks, in an order, see inOrder. It is remembered, and
// found once for all who ask meanwhile. Nobody may change it.
func (r *roll) list(f Filter, sorts []page.Sort) []*line {
	if f == (Filter{}) && len(sorts) == 0 {
		return r.lines
	}
	internal := ""
	if f.Internal != nil {
		internal = strconv.FormatBool(*f.Internal)
	}
	key := fmt.Sprintf("%s %s %v %s", f.Status, internal, sorts, f.Search)
	r.mu.Lock()
	find := r.lists[key]
	if find == nil {
		find = sync.OnceValue(func() []*line { return r.find(f, sorts) })
		if len(r.lists) >= max(4, maxListed/(len(r.lines)+1)) {
			clear(r.lists)
		}
		r.lists[key] = find
	}
	r.mu.Unlock()
	return find()
}

// maxListed is how many scans the lists have together that a roll remembers, in pointers.
const maxListed = 1 << 20

func (r *roll) find(f Filter, sorts []page.Sort) []*line {
	search, id := strings.ToLower(db.Clean(f.Search)), db.Clean(f.Search)
	out := make([]*line, 0, len(r.lines))
	for _, l := range r.lines {
		if (f.Status == "" || l.status == f.Status) && (f.Internal == nil || l.internal == *f.Internal) &&
			(search == "" || strings.Contains(l.folded, search) || l.id == id) {
			out = append(out, l)
		}
	}
	if len(sorts) > 0 {
		slices.SortFunc(out, inOrder(sorts))
	}
	return out
}

// Stats is how many scans the caller's team has.
type Stats struct {
	Total, Unique, Uploaded, Scheduled int // launches and uploads; scans
	Statuses                           map[Status]int
}

// count counts scans. Nobody may change the Statuses.
func (r *roll) count() Stats {
	s := Stats{Unique: len(r.lines), Statuses: map[Status]int{}}
	for _, l := range r.lines {
		s.Statuses[l.status]++
		s.Total += int(l.run)
		if l.scheduled {
			s.Scheduled++
		}
	}
	s.Uploaded = s.Statuses[Uploaded]
	s.Total += s.Uploaded
	return s
}

// keeper has a team's roll.
type keeper struct {
	teamID string

	mu   sync.Mutex // held while a newer roll is made
	roll *roll      // nil: there is none yet; guarded by mu

	reading sync.Mutex // held while scans are read for the shelf
}

// keeperOf finds or makes what keeps a team's roll.
func (ss *Scans) keeperOf(teamID string) *keeper {
	return ss.rolls.Of(teamID, ss.now(), func() *keeper { return &keeper{teamID: teamID} })
}

// current is the roll with all that was committed before the call. Whoever changes
// something takes a number of a log and holds the log until it commits: who has seen a
// number there sees every change up to it.
func (ss *Scans) current(ctx context.Context, k *keeper) (*roll, error) {
	var rev, gone, found int64
	err := ss.db.QueryOften(ctx, `SELECT coalesce(max(s.last_rev), 0), coalesce(max(s.last_gone), 0), coalesce((SELECT last_rev FROM finding_log WHERE team_id = ?), 0)
		FROM scan_log s WHERE s.team_id = ?`, k.teamID, k.teamID).Scan(&rev, &gone, &found)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.roll != nil && k.roll.rev >= rev && k.roll.found >= found {
		return k.roll, nil
	}
	next, err := ss.follow(context.WithoutCancel(ctx), k.roll, k.teamID, rev, gone, found) // a client that leaves must not have the next one begin anew
	if err == nil {
		k.roll = next
	}
	return next, err
}

// follow makes the roll of a team whose logs are at rev and found, and where scans were
// deleted last at gone, from one that is older; nil: from nothing. What is read beyond
// these is read again the next time.
func (ss *Scans) follow(ctx context.Context, old *roll, teamID string, rev, gone, found int64) (*roll, error) {
	if old == nil {
		old = newRoll(-1, -1, nil)
	}
	var there map[string]bool // nil: nothing was deleted
	if old.rev >= 0 && old.rev < gone {
		rows, err := ss.db.Query(ctx, `SELECT id FROM scan WHERE team_id = ?`, teamID)
		ids, err := db.Collect(rows, err, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
		if err != nil {
			return nil, err
		}
		there = make(map[string]bool, len(ids))
		for _, id := range ids {
			there[id] = true
		}
	}
	recounted := map[string]tally{}
	if old.rev >= 0 && old.found < found {
		if err := ss.recount(ctx, recounted, teamID, old.found); err != nil {
			return nil, err
		}
	}
	changed, err := ss.changed(ctx, teamID, old.rev)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(changed, newest)
	replaced := make(map[string]bool, len(changed))
	for _, l := range changed {
		replaced[l.id] = true
	}
	lines := make([]*line, 0, len(old.lines)+len(changed))
	for _, l := range old.lines {
		if replaced[l.id] || there != nil && !there[l.id] {
			continue
		}
		for len(changed) > 0 && newest(changed[0], l) < 0 {
			lines, changed = append(lines, changed[0]), changed[1:]
		}
		if t, ok := recounted[l.id]; ok {
			again := *l
			again.results, again.found = t.total, t.rev
			l = &again
		}
		lines = append(lines, l)
	}
	return newRoll(rev, found, append(lines, changed...)), nil
}

// changed reads the scans of a team that have changed since a revision.
func (ss *Scans) changed(ctx context.Context, teamID string, since int64) ([]*line, error) {
	rows, err := ss.db.Query(ctx, `SELECT s.id, s.rev, s.name, s.status, s.is_internal, s.created_at, s.updated_at, s.run, coalesce(r.started_at, 0), coalesce(r.ended_at, 0),
		coalesce(r.total_target, 0), coalesce(r.total_template, 0), coalesce(r.total_cell, 0), coalesce(r.done_cell, 0), coalesce(t.total, 0), coalesce(t.rev, 0), c.scan_id IS NOT NULL
		FROM scan s`+lastRun+` LEFT JOIN finding_total t ON t.scan_id = s.id LEFT JOIN scan_schedule c ON c.scan_id = s.id WHERE s.team_id = ? AND s.rev > ?`, teamID, since)
	return db.Collect(rows, err, func(r db.Row) (*line, error) {
		l := new(line)
		err := r.Scan(&l.id, &l.rev, &l.name, &l.status, &l.internal, &l.createdAt, &l.updatedAt, &l.run, &l.startedAt, &l.endedAt,
			&l.targets, &l.templates, &l.cells, &l.done, &l.results, &l.found, &l.scheduled)
		l.folded = strings.ToLower(l.name)
		return l, err
	})
}

// tally is how many findings a scan has, as of a revision.
type tally struct{ total, rev int64 }

// recount reads the tallies of a team that have changed since a revision, by scan.
func (ss *Scans) recount(ctx context.Context, into map[string]tally, teamID string, since int64) error {
	rows, err := ss.db.Query(ctx, `SELECT scan_id, total, rev FROM finding_total WHERE team_id = ? AND rev > ?`, teamID, since)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var id string
		var t tally
		err := r.Scan(&id, &t.total, &t.rev)
		into[id] = t
		return struct{}{}, err
	})
	return err
}
