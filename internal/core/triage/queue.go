package triage

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Queue is a saved selection of findings, in the order in which they are to be looked at.
type Queue struct {
	ID        string
	Name      string
	Selection Selection
	Sort      Sort
	CreatedBy string // an email
	CreatedAt time.Time
	UpdatedAt time.Time

	// Of the moment in which it was read.
	Total           int
	TotalIsEstimate bool           // there are more than Total
	BySeverity      map[string]int // at most
	Oldest          *finding.Finding
	Claims          []Claim
}

// Sort is an order of a queue.
type Sort string

// The orders.
const (
	Worst  Sort = "severity" // the worst first, of these the oldest
	Oldest Sort = "oldest"
	Newest Sort = "newest"
)

// Sorts are all orders.
var Sorts = []Sort{Worst, Oldest, Newest}

func (s Sort) sorts() []page.Sort {
	switch s {
	case Oldest:
		return []page.Sort{{Column: "created_at"}}
	case Newest:
		return []page.Sort{{Column: "created_at", Desc: true}}
	default:
		return []page.Sort{{Column: "severity", Desc: true}, {Column: "created_at"}}
	}
}

// Claim says that somebody looks at a finding, until a time.
type Claim struct {
	FindingID string
	QueueID   string // empty: it was claimed outside of queues
	Email     string
	At        time.Time
	Until     time.Time

	weakness string
}

const (
	maxQueues = 100 // of a team
	maxClaims = 100 // of one person
	claimFor  = 30 * time.Minute
)

const queueColumns = `id, name, selection, sort, created_by, created_at, updated_at`

func scanQueue(r db.Row) (o Queue, err error) {
	return o, r.Scan(&o.ID, &o.Name, db.Into(&o.Selection), &o.Sort, &o.CreatedBy, db.Into(&o.CreatedAt),
		db.Into(&o.UpdatedAt))
}

// Queues are those of the caller's team, in their order, with counts.
func (ts *Triage) Queues(ctx context.Context) ([]Queue, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	found, err := db.Select(ctx, ts.db, scanQueue, `SELECT `+queueColumns+` FROM triage_queue WHERE team_id = ?
		ORDER BY position, id`, c.TeamID)
	for i := range found {
		if err == nil {
			err = ts.complete(ctx, c.TeamID, &found[i])
		}
	}
	return found, err
}

// Queue is a queue of the caller's team, with counts.
func (ts *Triage) Queue(ctx context.Context, id string) (Queue, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return Queue{}, err
	}
	q, err := ts.findQueue(ctx, ts.db, c.TeamID, id)
	if err == nil {
		err = ts.complete(ctx, c.TeamID, &q)
	}
	return q, err
}

func (ts *Triage) findQueue(ctx context.Context, q db.Querier, teamID, id string) (Queue, error) {
	one, err := scanQueue(q.QueryRow(ctx, `SELECT `+queueColumns+` FROM triage_queue WHERE id = ? AND team_id = ?`, db.Clean(id),
		teamID))
	return one, db.OrMissing(err, "queue")
}

// complete counts what is in a queue.
func (ts *Triage) complete(ctx context.Context, teamID string, q *Queue) error {
	f := q.Selection.filter()
	p, err := ts.findings.FindPage(ctx, f, Oldest.sorts(), page.Window{Limit: 1})
	if err != nil {
		return err
	}
	q.Total, q.TotalIsEstimate, q.BySeverity = p.Total, p.TotalIsEstimate, map[string]int{}
	if len(p.Results) > 0 {
		q.Oldest = &p.Results[0]
	}
	wanted := f.Severities
	if len(wanted) == 0 {
		wanted = finding.Severities
	}
	for _, severity := range wanted {
		one := f
		one.Severities = []string{severity}
		of, err := ts.findings.FindPage(ctx, one, nil, page.Window{Limit: 1})
		if err != nil {
			return err
		}
		q.BySeverity[severity] = of.Total
	}
	q.Claims, err = ts.claims(ctx, ts.db, teamID, "queue_id = ?", q.ID)
	return err
}

// CreateQueue makes a queue, the last in the order. It needs Name, Selection and Sort.
func (ts *Triage) CreateQueue(ctx context.Context, q Queue) (Queue, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return q, err
	}
	if q.Name, err = checkName(q.Name); err != nil {
		return q, err
	}
	if err := q.Selection.check("selection"); err != nil {
		return q, err
	}
	q.ID = ids.New()
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		if n, err := count(ctx, tx, "triage_queue", c.TeamID); err != nil || n >= maxQueues {
			return cmpErr(err, tooMany(maxQueues, "queues"))
		}
		now := db.At(ts.now())
		_, err := tx.Exec(ctx, `INSERT INTO triage_queue (id, team_id, name, selection, sort, position, created_by, created_at,
			updated_at) VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM triage_queue WHERE team_id = ?), ?, ?, ?)`,
			q.ID, c.TeamID, q.Name, db.Doc(q.Selection), q.Sort, c.TeamID, c.Email, now, now)
		return err
	})
	if err != nil {
		return q, err
	}
	return ts.Queue(ctx, q.ID)
}

// QueueUpdate changes a queue; nil fields stay as they are.
type QueueUpdate struct {
	Name      *string
	Selection *Selection
	Sort      *Sort
	Position  *int // among the queues, from 1
}

// UpdateQueue changes a queue of the caller's team.
func (ts *Triage) UpdateQueue(ctx context.Context, id string, up QueueUpdate) (Queue, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Queue{}, err
	}
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		q, err := ts.findQueue(ctx, tx, c.TeamID, id)
		if err != nil {
			return err
		}
		if up.Name != nil {
			if q.Name, err = checkName(*up.Name); err != nil {
				return err
			}
		}
		if up.Selection != nil {
			q.Selection = *up.Selection
			if err := q.Selection.check("selection"); err != nil {
				return err
			}
		}
		if up.Sort != nil {
			q.Sort = *up.Sort
		}
		if _, err := tx.Exec(ctx, `UPDATE triage_queue SET name = ?, selection = ?, sort = ?, updated_at = ?
			WHERE id = ? AND team_id = ?`, q.Name, db.Doc(q.Selection), q.Sort, db.At(ts.now()), q.ID, c.TeamID); err != nil {
			return err
		}
		if up.Position == nil {
			return nil
		}
		return ts.moveQueue(ctx, tx, c.TeamID, q.ID, *up.Position)
	})
	if err != nil {
		return Queue{}, err
	}
	return ts.Queue(ctx, id)
}

// moveQueue puts a queue at a place among those of its team.
func (ts *Triage) moveQueue(ctx context.Context, tx *db.Tx, teamID, id string, position int) error {
	others, err := db.Values[string](ctx, tx, `SELECT id FROM triage_queue WHERE team_id = ? AND id <> ? ORDER BY position, id`,
		teamID, id)
	if err != nil {
		return err
	}
	at := min(max(position-1, 0), len(others))
	order := append(append(append([]string{}, others[:at]...), id), others[at:]...)
	for i, one := range order {
		if _, err := tx.Exec(ctx, `UPDATE triage_queue SET position = ? WHERE id = ? AND team_id = ?`, i+1, one, teamID); err != nil {
			return err
		}
	}
	return nil
}

// DeleteQueue deletes a queue of the caller's team; the findings stay.
func (ts *Triage) DeleteQueue(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		err := db.ExecOr(ctx, tx, errs.Missing("queue"), `DELETE FROM triage_queue WHERE id = ? AND team_id = ?`, db.Clean(id),
			c.TeamID)
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM triage_claim WHERE queue_id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
		}
		return err
	})
}

// Item is a finding in a queue; Claim is nil while nobody looks at it.
type Item struct {
	Finding finding.Finding
	Claim   *Claim
}

// Items are the findings in a queue of the caller's team, in its order, with their number.
func (ts *Triage) Items(ctx context.Context, id string, w page.Window) (items []Item, total int, err error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, 0, err
	}
	q, err := ts.findQueue(ctx, ts.db, c.TeamID, id)
	if err != nil {
		return nil, 0, err
	}
	found, total, err := ts.findings.FindAll(ctx, q.Selection.filter(), q.Sort.sorts(), w)
	if err != nil {
		return nil, 0, err
	}
	claimed, err := ts.claims(ctx, ts.db, c.TeamID, "1 = 1")
	for _, f := range found {
		item := Item{Finding: f}
		for i := range claimed {
			if claimed[i].weakness == f.Weakness {
				item.Claim = &claimed[i]
			}
		}
		items = append(items, item)
	}
	return items, total, err
}

// claims are those of a team that have not run out and for which a condition holds.
func (ts *Triage) claims(ctx context.Context, q db.Querier, teamID, cond string, args ...any) ([]Claim, error) {
	return db.Select(ctx, q, func(r db.Row) (c Claim, err error) {
		return c, r.Scan(&c.weakness, &c.FindingID, &c.QueueID, &c.Email, db.Into(&c.At), db.Into(&c.Until))
	}, `SELECT hash, finding_id, queue_id, email, at, until FROM triage_claim WHERE team_id = ? AND until > ? AND `+cond+
		` ORDER BY at, hash`, append([]any{teamID, db.At(ts.now())}, args...)...)
}

// lookAhead is how many findings of a queue are looked at for one that nobody has claimed.
const lookAhead = 100

// ClaimNext claims the first finding of a queue that nobody has claimed, for half an hour. Two people never get
// the same.
// NotFound (nothing_to_claim) when there is none.
func (ts *Triage) ClaimNext(ctx context.Context, id string) (Item, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Item{}, err
	}
	q, err := ts.findQueue(ctx, ts.db, c.TeamID, id)
	if err != nil {
		return Item{}, err
	}
	for offset := 0; ; offset += lookAhead {
		found, _, err := ts.findings.FindAll(ctx, q.Selection.filter(), q.Sort.sorts(),
			page.Window{Offset: offset, Limit: lookAhead})
		if err != nil {
			return Item{}, err
		}
		for _, f := range found {
			if claim, ok, err := ts.claim(ctx, c, f, q.ID); err != nil || ok {
				return Item{f, &claim}, err
			}
		}
		if len(found) < lookAhead {
			return Item{}, errs.New(errs.NotFound, "nothing_to_claim", "Nothing in the queue is unclaimed.")
		}
	}
}

// ClaimOne claims a finding of the caller's team, or prolongs the caller's claim. Conflict (claimed) while
// somebody else
// has it.
func (ts *Triage) ClaimOne(ctx context.Context, findingID string) (Item, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Item{}, err
	}
	f, err := ts.findings.Find(ctx, findingID)
	if err != nil {
		return Item{}, err
	}
	if _, err := ts.db.Exec(ctx, `DELETE FROM triage_claim WHERE team_id = ? AND hash = ? AND email = ?`, c.TeamID, f.Weakness,
		c.Email); err != nil {
		return Item{}, err
	}
	claim, ok, err := ts.claim(ctx, c, f, "")
	if err == nil && !ok {
		err = errs.New(errs.Conflict, "claimed", "Somebody else has claimed the finding.")
	}
	return Item{f, &claim}, err
}

// claim claims a finding; ok is false when it is claimed already.
func (ts *Triage) claim(ctx context.Context, c account.Caller, f finding.Finding, queueID string) (Claim, bool, error) {
	now := db.At(ts.now())
	out := Claim{f.ID, queueID, c.Email, now.Time, now.Add(claimFor), f.Weakness}
	ok := false
	err := ts.db.Tx(ctx, func(tx *db.Tx) error {
		mine, err := db.Value[int](ctx, tx, `SELECT count(*) FROM triage_claim WHERE team_id = ? AND email = ? AND until > ?`,
			c.TeamID, c.Email, now)
		if err != nil || mine >= maxClaims {
			return cmpErr(err, errs.New(errs.Conflict, "too_many_claims", "You have claimed %d findings. Release some.", mine))
		}
		n, err := tx.Exec(ctx, `INSERT INTO triage_claim (team_id, hash, finding_id, queue_id, email, at, until)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, hash) DO UPDATE SET finding_id = excluded.finding_id,
			queue_id = excluded.queue_id, email = excluded.email, at = excluded.at, until = excluded.until
			WHERE triage_claim.until <= excluded.at`, c.TeamID, f.Weakness, f.ID, queueID, c.Email, now, db.At(out.Until))
		ok = n > 0
		return err
	})
	return out, ok, err
}

// Release ends the claim of a finding, whoever has it. One that nobody has claimed stays so.
func (ts *Triage) Release(ctx context.Context, findingID string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	f, err := ts.findings.Find(ctx, findingID)
	if err != nil {
		return err
	}
	_, err = ts.db.Exec(ctx, `DELETE FROM triage_claim WHERE team_id = ? AND hash = ?`, c.TeamID, f.Weakness)
	return err
}
