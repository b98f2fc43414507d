package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// Job is one run of a job.
type Job[T Args] struct {
	ID      int64
	Attempt int // 1 for the first run; a run that a Stop interrupted does not count
	Args    T
	token   int64
}

// CheckLease locks this run's lease until tx ends, or returns ErrLeaseLost. It keeps a run that was taken for dead
// from overwriting its successor's work.
func (j Job[T]) CheckLease(ctx context.Context, tx *db.Tx) error {
	return checkLease(ctx, tx, j.ID, j.token)
}

// Handler handles the jobs of one kind.
type Handler[T Args] struct {
	// Work does the job. Its context ends with one of this package's causes, or after Timeout. After an error
	// or a panic there is another attempt, unless the error is an Abandon.
	Work func(ctx context.Context, job Job[T]) error

	// GiveUp, if set, is called in the transaction that ends a job whose last attempt failed, or which was
	// abandoned (not: cancelled). An error undoes the transaction, and GiveUp is called again about a Lease
	// later. It must use tx: on SQLite it would wait for another connection for ever.
	GiveUp func(ctx context.Context, tx *db.Tx, job Job[T], cause error) error

	// Quick jobs take seconds at most. They have workers of their own on every node, so that they never wait
	// for a long one. A node that only inserts must register its quick handlers too: Insert picks the lane.
	Quick bool

	Timeout     time.Duration // of one attempt; 0: none
	MaxAttempts int           // 5 when 0
	// Backoff is the wait after a failed attempt; 2, 4, 8 … s up to 5 min when nil.
	Backoff func(attempt int) time.Duration
}

// Handle registers the handler of T's kind, before Start. It panics for a second one and for a malformed kind.
func Handle[T Args](q *Queue, h Handler[T]) {
	var zero T
	w := &worker{q: q, timeout: h.Timeout, maxAttempts: cmp.Or(h.MaxAttempts, 5), backoff: h.Backoff}
	if w.backoff == nil {
		w.backoff = backoff
	}
	w.work = func(ctx context.Context, row *rivertype.JobRow, token int64) error {
		job, err := decode[T](row, token)
		if err != nil {
			return Abandon(err)
		}
		return h.Work(ctx, job)
	}
	w.giveUp = func(ctx context.Context, tx *db.Tx, row *rivertype.JobRow, token int64, cause error) error {
		if h.GiveUp == nil {
			return nil
		}
		job, _ := decode[T](row, token) // arguments that cannot be read are the cause
		return h.GiveUp(ctx, tx, job, cause)
	}
	q.quick[zero.Kind()] = h.Quick
	river.AddWorkerArgs(q.workers, rawArgs{kind: zero.Kind()}, w)
}

func decode[T Args](row *rivertype.JobRow, token int64) (Job[T], error) {
	job := Job[T]{ID: row.ID, Attempt: row.Attempt, token: token}
	if err := json.Unmarshal(row.EncodedArgs, &job.Args); err != nil {
		return job, fmt.Errorf("arguments of %s: %w", row.Kind, err)
	}
	return job, nil
}

// Abandon wraps an error that no further attempt can mend: the job is given up at once.
func Abandon(err error) error { return abandoned{err} }

type abandoned struct{ error }

func (a abandoned) Unwrap() error { return a.error }

// After wraps an error with the least time to wait before the next attempt.
func After(err error, wait time.Duration) error { return delayed{err, wait} }

type delayed struct {
	error
	wait time.Duration
}

func (d delayed) Unwrap() error { return d.error }

func backoff(attempt int) time.Duration {
	wait := min(time.Second<<min(attempt, 10), 5*time.Minute)
	return wait + rand.N(wait/10) // so that jobs that failed together are not retried together
}

type rawArgs struct {
	team string // only when it is inserted
	kind string
	doc  json.RawMessage
}

func (a rawArgs) Kind() string                    { return a.kind }
func (a rawArgs) MarshalJSON() ([]byte, error)    { return a.doc, nil }
func (a *rawArgs) UnmarshalJSON(doc []byte) error { a.doc = doc; return nil }

type worker struct {
	river.WorkerDefaults[rawArgs]
	q           *Queue
	timeout     time.Duration
	maxAttempts int
	backoff     func(attempt int) time.Duration
	work        func(ctx context.Context, row *rivertype.JobRow, token int64) error
	giveUp      func(ctx context.Context, tx *db.Tx, row *rivertype.JobRow, token int64, cause error) error
}

// NextRetry is when River tries again.
func (w *worker) NextRetry(job *river.Job[rawArgs]) time.Time {
	wait := w.backoff(job.Attempt)
	if r := w.q.runOf(job.ID); r != nil {
		wait = max(wait, time.Duration(r.wait.Load()))
	}
	return time.Now().Add(wait)
}

// Work runs one attempt and returns the error that makes River do the right thing. River then writes through
// Queue.settle.
func (w *worker) Work(riverCtx context.Context, job *river.Job[rawArgs]) error {
	row, r := job.JobRow, w.q.runOf(job.ID)
	// River's context brings a stop, and on PostgreSQL a cancellation, under River's causes.
	defer context.AfterFunc(riverCtx, func() {
		if errors.Is(context.Cause(riverCtx), rivertype.ErrJobCancelledRemotely) {
			r.cancel(ErrCancelled)
		} else {
			r.cancel(ErrStopping)
		}
	})()
	row.MaxAttempts = w.maxAttempts // known where the job is handled, not where it is inserted
	err := w.attempt(r, row)
	defer w.q.handlerReturned(r)
	if d, ok := errors.AsType[delayed](err); ok {
		r.wait.Store(int64(d.wait))
	}
	log := w.q.log.With("job", row.ID, "kind", row.Kind, "attempt", row.Attempt)
	switch cause := context.Cause(r.ctx); {
	case err == nil:
		return nil
	case cause == nil && !errors.As(err, &abandoned{}) && w.q.isOutage(err):
		wait := outageWait(row)
		log.Warn("a job was interrupted by an outage and will go on: the attempt does not count", "error", err, "wait", wait)
		return river.JobSnooze(wait)
	case errors.As(err, &abandoned{}) || row.Attempt >= w.maxAttempts && cause == nil:
		return w.giveUpJob(row, r, err, log)
	case errors.Is(cause, ErrCancelled):
		return river.JobCancel(err)
	case errors.Is(cause, ErrStopping):
		return fmt.Errorf("%w: %w", context.Canceled, err) // River: interrupted, not failed
	case errors.Is(cause, ErrLeaseLost):
		return err
	default:
		log.Warn("a job failed and will be tried again", "error", err)
		return err
	}
}

// isOutage reports whether a job failed because the database or the disk did: by its error, or because the database is
// away still.
func (q *Queue) isOutage(err error) bool {
	if outage.Of(err) != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	return q.db.Ping(ctx) != nil
}

const (
	pingTimeout   = 2 * time.Second
	maxOutageWait = time.Minute
)

// outageWait is how long a job waits that outages have interrupted: longer each time, as one may be due to the job
// itself, such as a disk that has no room for its result.
func outageWait(row *rivertype.JobRow) time.Duration {
	var seen struct {
		Snoozes int `json:"snoozes"`
	}
	_ = json.Unmarshal(row.Metadata, &seen) // River's own
	return min(backoff(seen.Snoozes), maxOutageWait)
}

// attempt calls the handler, unless the job has no attempts left. A job that was cancelled when its process
// died gets an ended context, to clean up.
func (w *worker) attempt(r *run, row *rivertype.JobRow) (err error) {
	if r.cancelled {
		r.cancel(ErrCancelled)
	}
	if row.Attempt > w.maxAttempts {
		return errors.New("the process that ran its last attempt died")
	}
	ctx := r.ctx
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	defer func() {
		if v := recover(); v != nil {
			w.q.log.Error("a job panicked", "job", row.ID, "kind", row.Kind, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return w.work(ctx, row, r.token)
}

// giveUpJob gives a job up: GiveUp is called and the job is discarded, in one transaction.
func (w *worker) giveUpJob(row *rivertype.JobRow, r *run, cause error, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := w.q.discard(ctx, row, r, cause, func(tx *db.Tx) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return w.giveUp(ctx, tx, row, r.token, cause)
	})
	switch {
	case errors.Is(err, ErrLeaseLost): // the run that has the job now decides
	case err != nil:
		r.dropped.Store(true) // its lease runs out, and the next run comes back here
		log.Error("giving a job up failed", "error", err, "cause", cause)
	default:
		log.Warn("a job was given up", "error", cause)
	}
	return cause
}
