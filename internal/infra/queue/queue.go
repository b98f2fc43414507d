// Package queue runs background jobs: Insert in the caller's transaction, Handle, Start, Stop, Cancel. River
// stores, claims, retries and expires them, on SQLite and on PostgreSQL; its types stay in this package.
//
// This package adds leases. The node that runs a job sends heartbeats; a silent node's job is given to another
// one, and the old run's result is refused by a token that only grows. With each heartbeat a node learns which
// of its jobs were cancelled.
//
// A job runs at least once. For effects exactly once, check Job.Held in the transaction that writes them.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Args are a job's arguments, encoded as JSON; their type stands for the kind of job. A kind has at least two
// letters, digits or any of _ - . : / and never changes once jobs of it are stored.
type Args interface{ Kind() string }

// The causes (context.Cause) with which the context of a running job ends early.
var (
	ErrCancelled = errors.New("the job was cancelled")
	ErrLeaseLost = errors.New("the job's lease was lost: another run has it")
	ErrStopping  = errors.New("this node stops: the job will run again")
)

// Config configures a Queue. With the zero value it inserts and cancels jobs, but runs none.
type Config struct {
	Logger    *slog.Logger  // slog.Default() when nil
	Workers   int           // jobs at once on this node; 0: insert only
	Spare     int           // jobs at once beyond Workers, of teams of which nothing runs on this node
	Team      int           // jobs at once of one team on this node; as many as Workers when 0
	Node      string        // this process's name in the lease table; the host's when empty
	Lease     time.Duration // silence after which a job is given to another node; 10 s when 0
	Heartbeat time.Duration // how often leases are prolonged and cancellations seen; 1 s when 0
	// Poll is how soon a job is found that was not announced: a retry, or on SQLite an insert of another
	// process; 1 s when 0.
	Poll time.Duration
}

// stopGrace is how long Stop waits for a handler that ignores the end of its context.
const stopGrace = 5 * time.Second

// Queue is one node's view of the jobs in a database.
type Queue struct {
	db      *db.DB
	log     *slog.Logger
	config  Config
	node    string // unique to this value: a restart must not keep the leases of the process before
	river   backend
	sql     sqlTexts
	workers *river.Workers
	quick   map[string]bool // the kinds of job with a lane of their own
	lanes   map[string]*lane
	close   func() // closes River's own connections

	mu   sync.Mutex
	runs map[int64]*run // by job: claimed here and not yet settled

	seen map[int64]sight // leases by job, as reap saw them; for its goroutine alone

	full     atomic.Bool // jobs wait for room on the disk
	awake    atomic.Bool // workers accept wake-ups
	stopLoop context.CancelFunc
	loopDone chan struct{}
}

// Open prepares the queue's tables in d. Several processes may open one database at once.
func Open(ctx context.Context, d *db.DB, c Config) (*Queue, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.Poll = cmp.Or(c.Poll, time.Second)
	if c.Node == "" {
		c.Node, _ = os.Hostname()
	}
	if c.Lease < 3*c.Heartbeat {
		return nil, fmt.Errorf("queue: a lease of %s is too short for a heartbeat each %s", c.Lease, c.Heartbeat)
	}
	q := &Queue{
		db: d, log: c.Logger, config: c, node: fmt.Sprintf("%.40s-%s", c.Node, ids.Random(12)),
		workers: river.NewWorkers(), quick: map[string]bool{}, runs: map[int64]*run{}, close: func() {},
	}
	team := min(cmp.Or(c.Team, c.Workers), c.Workers)
	q.lanes = map[string]*lane{
		longLane:  {name: longLane, workers: c.Workers, spare: c.Spare, team: team},
		quickLane: {name: quickLane, workers: quickWorkers, spare: quickSpare, team: quickWorkers},
	}
	open := openPostgres
	if d.URL == "" {
		open = openSQLite
	}
	if err := open(ctx, q); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	return q, nil
}

// Insert adds a job of a team (empty: of none) in the caller's transaction and returns its id for Cancel. After the
// commit a free worker starts it at once.
func (q *Queue) Insert(ctx context.Context, tx *db.Tx, teamID string, args Args) (jobID int64, err error) {
	value, err := db.Doc(args).Value() // without NUL, which PostgreSQL refuses
	doc, ok := value.(string)
	if err != nil || !ok {
		return 0, fmt.Errorf("queue: arguments of %s: %w", args.Kind(), err)
	}
	lane := longLane
	if q.quick[args.Kind()] {
		lane = quickLane
	}
	jobID, err = q.river.insert(ctx, tx, rawArgs{team: teamID, kind: args.Kind(), doc: []byte(doc)}, lane)
	if err != nil {
		return 0, fmt.Errorf("queue: inserting %s: %w", args.Kind(), err)
	}
	tx.AfterCommit(q.wake)
	return jobID, nil
}

// Cancel cancels a job, in the caller's transaction or (tx nil) in one of its own. A waiting job never runs.
// The context of a running one ends with ErrCancelled, on another node within a heartbeat; the job is then
// completed if its handler returns nil. If its process died, it runs again with its context ended, to clean
// up. A job that has ended or does not exist stays as it is.
func (q *Queue) Cancel(ctx context.Context, tx *db.Tx, jobID int64) error {
	if tx == nil {
		return q.db.Tx(ctx, func(tx *db.Tx) error { return q.Cancel(ctx, tx, jobID) })
	}
	ended, err := q.river.cancel(ctx, tx, jobID)
	if err != nil {
		return fmt.Errorf("queue: cancelling job %d: %w", jobID, err)
	}
	if ended { // it may have waited for another attempt, with the lease of its last one
		_, err := tx.Exec(ctx, `DELETE FROM queue_lease WHERE job_id = ? AND node = ''`, jobID)
		return err
	}
	tx.AfterCommit(func() {
		if r := q.runOf(jobID); r != nil {
			r.cancel(ErrCancelled)
		}
	})
	return nil
}

// Start runs jobs until Stop, even if ctx ends. Without Workers it does nothing.
func (q *Queue) Start(ctx context.Context) error {
	if q.config.Workers == 0 {
		return nil
	}
	starting := ctx
	ctx = context.WithoutCancel(ctx)
	for {
		err := q.river.Start(ctx)
		if err == nil {
			break
		}
		// River gives a database 10 s to write that a lane exists; a busy one needs more.
		if !errors.Is(err, context.DeadlineExceeded) || starting.Err() != nil {
			return fmt.Errorf("queue: %w", err)
		}
		q.log.Warn("the database is slow: the queue tries again to start", "error", err)
	}
	loopCtx, stop := context.WithCancel(ctx)
	q.stopLoop, q.loopDone = stop, make(chan struct{})
	q.awake.Store(true)
	go q.loop(loopCtx)
	q.wake()
	return nil
}

// Stop accepts no more jobs and waits for the running ones. When ctx ends first, their contexts end with
// ErrStopping and the jobs go back to the queue, the attempt not counted. It returns an error when a handler
// ignores that too. A stopped queue cannot be started again.
func (q *Queue) Stop(ctx context.Context) error {
	q.awake.Store(false)
	if q.stopLoop == nil {
		q.close()
		return nil
	}
	err := q.river.Stop(ctx)
	if err != nil {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		err = q.river.StopAndCancel(grace)
		cancel()
	}
	q.stopLoop()
	<-q.loopDone
	if err != nil { // River still waits for them and holds its connections
		return fmt.Errorf("queue: %d jobs did not return in time", q.running())
	}
	q.close()
	return nil
}

func (q *Queue) wake() {
	if q.awake.Load() {
		q.river.wake()
	}
}

func (q *Queue) runOf(jobID int64) *run {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.runs[jobID]
}

func (q *Queue) running() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.runs)
}

// Every calls fn at once and then at each interval, until ctx ends. It logs errors, with what was being done.
func Every(
	ctx context.Context, interval time.Duration, log *slog.Logger, doing string, fn func(context.Context) error,
) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, doing, "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// KindStats counts the jobs of one kind that have not ended.
type KindStats struct {
	Kind    string
	Waiting int           // due or not, retries included
	Running int           // on any node
	Late    time.Duration // how long the oldest due job has waited for a worker; 0 when none waits
}

// Stats counts the jobs of all nodes that have not ended, by kind. Kinds without any are absent.
func (q *Queue) Stats(ctx context.Context) ([]KindStats, error) {
	scan := func(row db.Row) (s KindStats, err error) {
		var late float64
		err = row.Scan(&s.Kind, &s.Waiting, &s.Running, &late)
		s.Late = time.Duration(late * float64(time.Second))
		return s, err
	}
	return db.Select(ctx, q.db, scan, `SELECT kind,
		sum(CASE WHEN state = 'running' THEN 0 ELSE n END), sum(CASE WHEN state = 'running' THEN n ELSE 0 END),
		max(CASE WHEN state = 'available' AND late > 0 THEN late ELSE 0 END)
		FROM (SELECT kind, state, count(*) AS n, CAST(`+q.sql.late+` AS DOUBLE PRECISION) AS late
			FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
			GROUP BY kind, state) AS counted
		GROUP BY kind ORDER BY kind`)
}
