package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"pgregory.net/rapid"
)

// leasing is two nodes on one database, and what the test knows of the jobs. No loop runs:
// each action is one call of what the loops would call.
type leasing struct {
	ctx   context.Context
	nodes [2]*Queue
	jobs  []int64
	runs  [2]map[int64]*rivertype.JobRow // claimed by a node and not settled, as it believes
	last  map[int64]row
}

// row is what the database says of a job.
type row struct {
	state, node string
	token       int64
}

func (l *leasing) read(t *rapid.T) map[int64]row {
	var w db.Where
	db.In(&w, "j.id", l.jobs)
	rows, err := l.nodes[0].db.Query(l.ctx, `SELECT j.id, j.state, coalesce(q.node, ''), coalesce(q.token, 0)
		FROM river_job j LEFT JOIN queue_lease q ON q.job_id = j.id`+w.String(), w.Args...)
	out := map[int64]row{}
	if _, err := db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var id int64
		var one row
		err := r.Scan(&id, &one.state, &one.node, &one.token)
		out[id] = one
		return struct{}{}, err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *leasing) insert(t *rapid.T) {
	q := l.nodes[0]
	if err := q.db.Tx(l.ctx, func(tx *db.Tx) error {
		id, err := q.Insert(l.ctx, tx, "", note{})
		l.jobs = append(l.jobs, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (l *leasing) claim(t *rapid.T) {
	n := rapid.IntRange(0, 1).Draw(t, "node")
	q := l.nodes[n]
	// What was put back for later is due.
	if _, err := q.db.Exec(l.ctx, `UPDATE river_job SET scheduled_at = created_at WHERE state = 'available'`); err != nil {
		t.Fatal(err)
	}
	jobs, err := q.claim(l.ctx, &riverdriver.JobGetAvailableParams{ClientID: q.node, MaxAttemptedBy: 100, MaxToLock: 2,
		Queue: longLane})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		if !slices.Contains(l.jobs, job.ID) {
			continue
		}
		if was := l.last[job.ID]; was.state == "running" || q.runOf(job.ID).token <= was.token {
			t.Fatalf("job %d was claimed with the token %d, it was %+v", job.ID, q.runOf(job.ID).token, was)
		}
		l.runs[n][job.ID] = job
	}
}

// expire lets a node look silent for longer than a lease.
func (l *leasing) expire(t *rapid.T) {
	q := l.nodes[rapid.IntRange(0, 1).Draw(t, "node")]
	for _, watcher := range l.nodes {
		if err := age(l.ctx, watcher, q.node); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *leasing) beat(t *rapid.T) {
	n := rapid.IntRange(0, 1).Draw(t, "node")
	if err := l.nodes[n].heartbeat(l.ctx); err != nil {
		t.Fatal(err)
	}
	for id := range l.runs[n] {
		cause := context.Cause(l.nodes[n].runOf(id).ctx) // the first one: it may have been cancelled before
		if valid := l.valid(n, id); valid && errors.Is(cause, ErrLeaseLost) || !valid && cause == nil {
			t.Fatalf("node %d holds job %d: %v; its context ended with %v", n, id, valid, cause)
		}
	}
}

func (l *leasing) reap(t *rapid.T) {
	if err := l.nodes[rapid.IntRange(0, 1).Draw(t, "node")].reap(l.ctx); err != nil {
		t.Fatal(err)
	}
}

// valid reports whether a node has the lease that it believes to have.
func (l *leasing) valid(n int, id int64) bool {
	r := l.nodes[n].runOf(id)
	return l.last[id].node == l.nodes[n].node && l.last[id].token == r.token
}

// finish ends a job, well or in giving it up, as a node believes to be allowed to.
func (l *leasing) finish(t *rapid.T) {
	n := rapid.IntRange(0, 1).Draw(t, "node")
	running := slices.Sorted(maps.Keys(l.runs[n]))
	if len(running) == 0 {
		t.Skip("no run")
	}
	id := running[0]
	job := l.runs[n][id]
	q, r, valid := l.nodes[n], l.nodes[n].runOf(id), l.valid(n, id)
	want := "completed"
	switch now := time.Now(); rapid.IntRange(0, 2).Draw(t, "end") {
	case 0:
		want = "discarded"
		told := false
		err := q.discard(l.ctx, job, r, errors.New("broken"), func(*db.Tx) error { told = true; return nil })
		if told != valid || (err == nil) != valid {
			t.Fatalf("job %d was given up: %v, %v; the lease was valid: %v", id, told, err, valid)
		}
		q.forget(id)
	case 1: // it goes back to the queue
		want = "available"
		l.settle(t, q, riverdriver.JobSetStateInterrupted(id, now, job.Attempt-1, nil))
	default:
		l.settle(t, q, riverdriver.JobSetStateCompleted(id, now, nil))
	}
	delete(l.runs[n], id)
	switch is, was := l.read(t)[id], l.last[id]; {
	case want == "available" && is.state == "cancelled": // it was cancelled while it ran
	case valid && is.state != want:
		t.Fatalf("job %d is %s, want %s", id, is.state, want)
	case !valid && is != was:
		t.Fatalf("a late end made of job %d %+v, it was %+v", id, is, was)
	}
}

func (l *leasing) settle(t *rapid.T, q *Queue, p *riverdriver.JobSetStateIfRunningParams) {
	if _, err := q.settle(l.ctx, oneState(p)); err != nil {
		t.Fatal(err)
	}
}

func (l *leasing) cancel(t *rapid.T) {
	if len(l.jobs) == 0 {
		t.Skip("no job")
	}
	id := rapid.SampledFrom(l.jobs).Draw(t, "job")
	if err := l.nodes[0].Cancel(l.ctx, nil, id); err != nil {
		t.Fatal(err)
	}
}

// check holds the database to what must be true after every action.
func (l *leasing) check(t *rapid.T) {
	was := l.last
	l.last = l.read(t)
	for id, is := range l.last {
		before := was[id]
		if is.state == "running" && is.node == "" {
			t.Fatalf("job %d runs without a lease", id)
		}
		if is.state != "running" && is.node != "" {
			t.Fatalf("job %d is %s, and node %s has a lease on it", id, is.state, is.node)
		}
		ended := is.token == 0 && is.state != "available" || before.token == 0
		if is.token < before.token && !ended {
			t.Fatalf("the token of job %d went from %d to %d", id, before.token, is.token)
		}
		if before.node != "" && is.node != "" && before.node != is.node && is.token <= before.token {
			t.Fatalf("job %d went to another node with the token %d", id, is.token)
		}
		for n := range l.nodes {
			r := l.nodes[n].runOf(id)
			if r == nil {
				continue
			}
			err := l.nodes[n].db.Tx(l.ctx, func(tx *db.Tx) error { return checkLease(l.ctx, tx, id, r.token) })
			if valid := l.valid(n, id); valid != (err == nil) || err != nil && !errors.Is(err, ErrLeaseLost) {
				t.Fatalf("node %d holds job %d: %v, Held: %v", n, id, valid, err)
			}
		}
	}
}

// TestLeasesOfTwoNodes lets two nodes claim, beat, fall silent, take over, finish, give up
// and cancel in any order.
func TestLeasesOfTwoNodes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		nodes := [2]*Queue{patient(t, d, 0), patient(t, d, 0)}
		t.Cleanup(func() { stop(t, nodes[0]); stop(t, nodes[1]) })
		rapid.Check(t, func(rt *rapid.T) {
			l := &leasing{ctx: t.Context(), runs: [2]map[int64]*rivertype.JobRow{{}, {}}, nodes: nodes}
			defer func() {
				for _, q := range nodes {
					q.forget(l.jobs...)
				}
				for _, table := range []string{"river_job", "queue_lease"} {
					if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
						rt.Fatal(err)
					}
				}
			}()
			rt.Repeat(map[string]func(*rapid.T){
				"insert": l.insert, "claim": l.claim, "claim again": l.claim, "expire": l.expire, "beat": l.beat, "reap": l.reap,
				"finish": l.finish, "cancel": l.cancel, "": l.check,
			})
		})
	})
}
