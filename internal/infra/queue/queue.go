// Package queue runs jobs behind a few verbs: Insert in the caller's transaction, Handle,
// Start, Stop, Cancel. River stores, claims, retries and expires them, on SQLite and on
// PostgreSQL; no River type leaves this package.
//
// What River lacks is here: a lease on each running job. The node that runs a job beats;
// a job whose node went silent is given to another, and the old run's result is refused
// by a token that only grows. The same beat brings cancellation to a running job.
//
// A job runs at least once. Whoever needs its effects exactly once checks Job.Held in
// the transaction that writes them.
package queue

import (
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

// Args are a job's arguments: JSON-encodable, and they name the kind of job. Their types
// live with the slices. A kind is at least two letters, digits or any of _ - . : / and
// never changes once jobs of it are stored.
type Args interface{ Kind() string }

// The causes (context.Cause) with which the context of a running job ends early.
var (
	ErrCancelled = errors.New("the job was cancelled")
	ErrLeaseLost = errors.New("the job's lease was lost: another run has it")
	ErrStopping  = errors.New("this node stops: the job will run again")
)

// Config says how a Queue runs. The zero value inserts and cancels, and runs nothing.
type Config struct {
	Logger  *slog.Logger  // slog.Default() when nil
	Workers int           // jobs at once on this node; 0: insert only
	Node    string        // this process's name in the lease table; the host's when empty
	Lease   time.Duration // silence after which a job is given to another node; 10 s when 0
	Beat    time.Duration // how often running jobs beat and learn of their cancellation; 1 s when 0
	Poll    time.Duration // how soon a job is found that nothing announced (a retry, or on SQLite another process's insert); 1 s when 0
}

// A handler that ignores the end of its context holds Stop up this long.
const stopGrace = 5 * time.Second

// Queue is one node's view of the jobs in a database.
type Queue struct {
	db      *db.DB
	log     *slog.Logger
	config  Config
	node    string // unique to this Queue value: a restart must not keep its past life's leases alive
	river   backend
	workers *river.Workers
	quick   map[string]bool // the kinds of job with a lane of their own

	mu   sync.Mutex
	runs map[int64]*run // by job: claimed here and not yet settled

	awake    atomic.Bool // workers take wake-ups
	stopLoop context.CancelFunc
	loopDone chan struct{}
}

// Open prepares the queue's tables in d and returns the queue. Several processes may
// open one database at once.
func Open(ctx context.Context, d *db.DB, c Config) (*Queue, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.Beat == 0 {
		c.Beat = time.Second
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Node == "" {
		c.Node, _ = os.Hostname()
	}
	if c.Lease < 3*c.Beat {
		return nil, fmt.Errorf("queue: a lease of %s is too short for a beat each %s", c.Lease, c.Beat)
	}
	q := &Queue{
		db:      d,
		log:     c.Logger,
		config:  c,
		node:    fmt.Sprintf("%.40s-%s", c.Node, ids.Random(12)),
		workers: river.NewWorkers(),
		quick:   map[string]bool{},
		runs:    map[int64]*run{},
	}
	var err error
	if q.river, err = openBackend(ctx, q); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	return q, nil
}

// Insert adds a job in the caller's transaction: rolled back, it never existed;
// committed, a free worker starts it at once. It returns the job's id for Cancel.
func (q *Queue) Insert(ctx context.Context, tx *db.Tx, args Args) (jobID int64, err error) {
	value, err := db.Doc(args).Value() // without NUL, which PostgreSQL refuses
	doc, ok := value.(string)
	if err != nil || !ok {
		return 0, fmt.Errorf("queue: arguments of %s: %w", args.Kind(), err)
	}
	lane := longLane
	if q.quick[args.Kind()] {
		lane = quickLane
	}
	jobID, err = q.river.insert(ctx, tx, rawArgs{kind: args.Kind(), doc: []byte(doc)}, lane)
	if err != nil {
		return 0, fmt.Errorf("queue: inserting %s: %w", args.Kind(), err)
	}
	tx.AfterCommit(q.wake)
	return jobID, nil
}

// Cancel cancels a job, in the caller's transaction or (tx nil) in one of its own. A
// waiting job never runs. The context of a running one ends with cause ErrCancelled:
// at once on this node, within a beat on any other; what the handler then returns
// decides between completed (nil) and cancelled. When its process died, another run
// gets it with its context ended, to put in order what the first one left. A job that
// has ended stays as it is, and a job that does not exist is no error.
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

// Start begins to run jobs, until Stop; the end of ctx does not end what has begun.
// Without Workers it does nothing.
func (q *Queue) Start(ctx context.Context) error {
	if q.config.Workers == 0 {
		return nil
	}
	starting := ctx
	ctx = context.WithoutCancel(ctx)
	for {
		err := q.river.start(ctx)
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

// Stop takes no more jobs and waits for the running ones. When ctx ends first, their
// contexts end with cause ErrStopping and the jobs go back to the queue, the attempt not
// counted. It returns an error when a handler ignores that too; its job is taken over
// once its lease runs out. A stopped queue does not start again; after a nil error it
// leaves no goroutine behind and does not touch the database any more.
func (q *Queue) Stop(ctx context.Context) error {
	q.awake.Store(false)
	if q.stopLoop == nil {
		q.river.close()
		return nil
	}
	err := q.river.stop(ctx)
	if err != nil {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		err = q.river.stopNow(grace)
		cancel()
	}
	q.stopLoop()
	<-q.loopDone
	if err != nil { // River still waits for them and holds its connections
		return fmt.Errorf("queue: %d jobs did not return in time", q.running())
	}
	q.river.close()
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
