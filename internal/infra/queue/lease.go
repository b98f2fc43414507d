package queue

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

const writeTimeout = 10 * time.Second // of a transaction of this package

// run is a job that this node has claimed and not settled.
type run struct {
	ctx       context.Context // the handler's
	cancel    context.CancelCauseFunc
	token     int64
	cancelled bool         // it was cancelled before this run began
	dropped   atomic.Bool  // its lease is no longer prolonged, and its result not written
	wait      atomic.Int64 // nanoseconds before the next attempt, at least
	queue     string
	returned  atomic.Bool // its handler has returned
}

// claim takes waiting jobs, fairly by team, and their leases in one transaction, so that no job runs without a lease.
func (q *Queue) claim(ctx context.Context, params *riverdriver.JobGetAvailableParams) ([]*rivertype.JobRow, error) {
	if params.MaxToLock <= 0 {
		return nil, nil
	}
	if params.Queue == longLane && !q.hasRoom() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	number, err := q.plan(ctx, q.lanes[params.Queue], params.MaxToLock)
	if err != nil || len(number) == 0 {
		return nil, err
	}
	var jobs []*rivertype.JobRow
	var tokens map[int64]int64
	err = q.db.Tx(ctx, func(tx *db.Tx) error {
		taken, err := q.take(ctx, tx, number)
		if err != nil || len(taken) == 0 {
			return err
		}
		err = q.river.within(tx, func(exec riverdriver.Executor) (err error) {
			jobs, err = exec.JobGetByIDMany(ctx, &riverdriver.JobGetByIDManyParams{ID: taken})
			return err
		})
		if err != nil {
			return err
		}
		if jobs, err = q.returnOccupied(ctx, tx, jobs); err != nil || len(jobs) == 0 {
			return err
		}
		tokens, err = q.takeLeases(ctx, tx, jobs)
		return err
	})
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, job := range jobs {
		r := &run{token: tokens[job.ID], cancelled: cancelAsked(job), queue: job.Queue}
		r.ctx, r.cancel = context.WithCancelCause(context.Background())
		q.runs[job.ID] = r
	}
	return jobs, nil
}

// hasRoom reports whether the disk has room for long work and can be written. While it has not, jobs stay in the queue;
// the next look after there is room takes them.
func (q *Queue) hasRoom() bool {
	err := q.db.CheckRoom()
	if was := q.full.Swap(err != nil); was != (err != nil) {
		if err != nil {
			q.log.Warn("jobs wait for the disk", "error", err)
		} else {
			q.log.Info("the disk takes what is written again: jobs go on")
		}
	}
	return err == nil
}

// returnOccupied puts back the jobs that an older run still occupies on this node: River knows a job on a node
// only by its id.
func (q *Queue) returnOccupied(ctx context.Context, tx *db.Tx, jobs []*rivertype.JobRow) ([]*rivertype.JobRow, error) {
	free := jobs[:0]
	for _, job := range jobs {
		if q.runOf(job.ID) == nil {
			free = append(free, job)
			continue
		}
		later := time.Now().Add(q.config.Heartbeat)
		state := oneState(riverdriver.JobSetStateInterrupted(job.ID, later, job.Attempt-1, nil))
		if _, err := q.write(ctx, tx, state); err != nil {
			return nil, err
		}
	}
	return free, nil
}

func (q *Queue) takeLeases(ctx context.Context, tx *db.Tx, jobs []*rivertype.JobRow) (map[int64]int64, error) {
	row := "(?, ?, 1, " + q.sql.now + ")"
	var args []any
	for _, job := range jobs {
		args = append(args, job.ID, q.node)
	}
	return tokens(ctx, tx, `INSERT INTO queue_lease (job_id, node, token, beat_at) VALUES `+
		row+strings.Repeat(", "+row, len(jobs)-1)+
		` ON CONFLICT (job_id) DO UPDATE SET node = excluded.node, token = queue_lease.token + 1, beat_at = excluded.beat_at
		RETURNING job_id, token`, args)
}

type lease struct {
	jobID, token int64
	cancelled    bool
}

func tokens(ctx context.Context, tx *db.Tx, query string, args []any) (map[int64]int64, error) {
	scan := func(row db.Row) (l lease, err error) { return l, row.Scan(&l.jobID, &l.token) }
	leases, err := db.Select(ctx, tx, scan, query, args...)
	byJob := make(map[int64]int64, len(leases))
	for _, l := range leases {
		byJob[l.jobID] = l.token
	}
	return byJob, err
}

// cancelAsked reports whether a job was cancelled while it ran, which River stores in the metadata.
func cancelAsked(job *rivertype.JobRow) bool {
	var metadata struct {
		At *json.RawMessage `json:"cancel_attempted_at"`
	}
	return json.Unmarshal(job.Metadata, &metadata) == nil && metadata.At != nil
}

func checkLease(ctx context.Context, tx *db.Tx, jobID, token int64) error {
	now, err := db.Value[int64](ctx, tx, `SELECT token FROM queue_lease WHERE job_id = ?`+tx.Dialect().ForUpdate(), jobID)
	if db.IsNoRows(err) || err == nil && now != token {
		return ErrLeaseLost
	}
	return err
}

// settle writes how runs ended, except for those that lost their lease: another run has the job.
func (q *Queue) settle(ctx context.Context, params *manyStates) ([]*rivertype.JobRow, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var jobs []*rivertype.JobRow
	err := q.db.Tx(ctx, func(tx *db.Tx) error {
		var w db.Where
		db.In(&w, "job_id", params.ID)
		// Every transaction locks leases in the order of their jobs, so none deadlock.
		current, err := tokens(ctx, tx, `SELECT job_id, token FROM queue_lease`+w.String()+
			` ORDER BY job_id`+tx.Dialect().ForUpdate(), w.Args)
		if err != nil {
			return err
		}
		jobs, err = q.write(ctx, tx, filter(params, func(jobID int64) bool {
			r := q.runOf(jobID)
			return r != nil && !r.dropped.Load() && current[jobID] == r.token
		}))
		return err
	})
	if err != nil {
		return nil, err
	}
	q.forget(params.ID...)
	return jobs, nil
}

func (q *Queue) forget(jobIDs ...int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range jobIDs {
		if r := q.runs[id]; r != nil {
			r.cancel(nil)
			delete(q.runs, id)
		}
	}
}

// write stores the states of jobs whose leases tx holds, and releases the leases.
func (q *Queue) write(ctx context.Context, tx *db.Tx, states *manyStates) (jobs []*rivertype.JobRow, err error) {
	if len(states.ID) == 0 {
		return nil, nil
	}
	err = q.river.within(tx, func(exec riverdriver.Executor) (err error) {
		jobs, err = exec.JobSetStateIfRunningMany(ctx, states)
		return err
	})
	if err != nil {
		return nil, err
	}
	var ended, waiting []int64
	for _, job := range jobs {
		switch job.State {
		case rivertype.JobStateCompleted, rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
			ended = append(ended, job.ID)
		default:
			waiting = append(waiting, job.ID)
		}
	}
	for statement, jobIDs := range map[string][]int64{
		`DELETE FROM queue_lease`:          ended,
		`UPDATE queue_lease SET node = ''`: waiting,
	} {
		var w db.Where
		db.In(&w, "job_id", jobIDs)
		if len(jobIDs) > 0 {
			if _, err := tx.Exec(ctx, statement+w.String(), w.Args...); err != nil {
				return nil, err
			}
		}
	}
	return jobs, nil
}

// discard ends a job for good, and calls giveUp in the same transaction.
func (q *Queue) discard(
	ctx context.Context, row *rivertype.JobRow, r *run, cause error, giveUp func(tx *db.Tx) error,
) error {
	now := time.Now()
	report, err := json.Marshal(rivertype.AttemptError{At: now, Attempt: row.Attempt, Error: db.Clean(cause.Error())})
	if err != nil {
		return err
	}
	return q.db.Tx(ctx, func(tx *db.Tx) error {
		if err := checkLease(ctx, tx, row.ID, r.token); err != nil {
			return err
		}
		if err := giveUp(tx); err != nil {
			return err
		}
		_, err := q.write(ctx, tx, oneState(riverdriver.JobSetStateDiscarded(row.ID, now, report, nil)))
		return err
	})
}

type manyStates = riverdriver.JobSetStateIfRunningManyParams

func oneState(p *riverdriver.JobSetStateIfRunningParams) *manyStates {
	return &manyStates{
		ID:              []int64{p.ID},
		Attempt:         []*int{p.Attempt},
		ErrData:         [][]byte{p.ErrData},
		FinalizedAt:     []*time.Time{p.FinalizedAt},
		MetadataDoMerge: []bool{p.MetadataDoMerge},
		MetadataUpdates: [][]byte{p.MetadataUpdates},
		ScheduledAt:     []*time.Time{p.ScheduledAt},
		State:           []rivertype.JobState{p.State},
	}
}

func filter(p *manyStates, keep func(jobID int64) bool) *manyStates {
	var at []int
	for i, id := range p.ID {
		if keep(id) {
			at = append(at, i)
		}
	}
	return &manyStates{
		Now: p.Now, Schema: p.Schema,
		ID:              pick(p.ID, at),
		Attempt:         pick(p.Attempt, at),
		ErrData:         pick(p.ErrData, at),
		FinalizedAt:     pick(p.FinalizedAt, at),
		MetadataDoMerge: pick(p.MetadataDoMerge, at),
		MetadataUpdates: pick(p.MetadataUpdates, at),
		ScheduledAt:     pick(p.ScheduledAt, at),
		State:           pick(p.State, at),
	}
}

func pick[T any](all []T, at []int) (out []T) {
	for _, i := range at {
		out = append(out, all[i])
	}
	return out
}

// loop sends heartbeats and takes over the jobs of silent nodes until ctx ends. Heartbeats come first: a node
// that was suspended keeps its jobs unless another one has taken them.
func (q *Queue) loop(ctx context.Context) {
	defer close(q.loopDone)
	tick := time.NewTicker(q.config.Heartbeat)
	defer tick.Stop()
	reapEvery := max(1, int(q.config.Lease/3/q.config.Heartbeat))
	for n := 0; ; n++ {
		if err := q.heartbeat(ctx); err != nil && ctx.Err() == nil {
			// Nothing is lost yet: no other node reaches the database either.
			q.log.Warn("could not prolong the leases of this node's jobs", "error", err)
		} else if n%reapEvery == 0 {
			if err := q.reap(ctx); err != nil && ctx.Err() == nil {
				q.log.Warn("could not look for jobs of silent nodes", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// heartbeat prolongs the leases of this node's runs, and ends the runs that were cancelled or lost their
// lease.
func (q *Queue) heartbeat(ctx context.Context) error {
	runs := q.activeRuns()
	if len(runs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var w db.Where
	w.And("node = ?", q.node)
	db.In(&w, "job_id", slices.Collect(maps.Keys(runs)))
	var leases []lease
	err := q.db.Tx(ctx, func(tx *db.Tx) (err error) {
		scan := func(row db.Row) (l lease, err error) { return l, row.Scan(&l.jobID, &l.token, &l.cancelled) }
		leases, err = db.Select(ctx, tx, scan, `SELECT job_id, token, EXISTS (SELECT 1 FROM river_job
			WHERE id = job_id AND metadata->>'cancel_attempted_at' IS NOT NULL)
			FROM queue_lease`+w.String()+` ORDER BY job_id`+tx.Dialect().ForUpdate(), w.Args...)
		if err != nil {
			return err
		}
		// It always changes: the database's clock may stand still, or go back.
		_, err = tx.Exec(ctx, `UPDATE queue_lease SET beat_at = CASE WHEN `+q.sql.now+` > beat_at THEN `+q.sql.now+
			` ELSE beat_at + 1 END`+w.String(), w.Args...)
		return err
	})
	if err != nil {
		return err
	}
	for _, l := range leases {
		if r := runs[l.jobID]; r.token == l.token {
			delete(runs, l.jobID)
			if l.cancelled {
				r.cancel(ErrCancelled)
			}
		}
	}
	for id, r := range runs {
		if q.runOf(id) == r { // else it was settled during the query
			r.cancel(ErrLeaseLost)
		}
	}
	return nil
}

func (q *Queue) activeRuns() map[int64]*run {
	q.mu.Lock()
	defer q.mu.Unlock()
	runs := maps.Clone(q.runs)
	maps.DeleteFunc(runs, func(_ int64, r *run) bool { return r.dropped.Load() })
	return runs
}

// reap gives the jobs of silent nodes back to the queue. The attempt counts, because a job that kills its
// process must not run for ever; worker.attempt gives it up after the last one.
func (q *Queue) reap(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	// Outside a transaction, so that an idle node does not take the write lock.
	silent, err := q.silent(ctx)
	if err != nil || len(silent) == 0 {
		return err
	}
	var jobIDs []int64
	err = q.db.Tx(ctx, func(tx *db.Tx) (err error) {
		if jobIDs, err = stillSilent(ctx, tx, silent); err != nil || len(jobIDs) == 0 {
			return err
		}
		var leases, jobs db.Where
		db.In(&leases, "job_id", jobIDs)
		db.In(&jobs, "id", jobIDs)
		_, err = tx.Exec(ctx, `UPDATE queue_lease SET node = '', token = token + 1`+leases.String(), leases.Args...)
		if err != nil {
			return err
		}
		jobs.And("state = 'running'")
		_, err = tx.Exec(ctx, `UPDATE river_job SET state = 'available'`+jobs.String(), jobs.Args...)
		return err
	})
	if err != nil || len(jobIDs) == 0 {
		return err
	}
	q.log.Warn("took over jobs whose node went silent", "jobs", len(jobIDs))
	q.wake()
	return nil
}
