package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type job struct {
	ID    string
	Run   int64
	Chunk int // -1: the job plans
}

func (job) Kind() string { return "run.test" }

// open returns the runs of enumerations, of which the tests use only the columns of this
// package, and the id of a team.
func open(t *testing.T, d *db.DB) (Runs, string) {
	t.Helper()
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	team := ids.New()
	if _, err := d.Exec(t.Context(), `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at)
		VALUES (?, ?, '', '', 1, 1)`, team, team); err != nil {
		t.Fatal(err)
	}
	return Runs{
		DB: d, Queue: q, Now: time.Now, Kind: "enumeration",
		Plan:  func(r Ref) queue.Args { return job{r.ID, r.Run, -1} },
		Work:  func(r Ref, chunk int) queue.Args { return job{r.ID, r.Run, chunk} },
		Alert: func(r Ref, _ Status) queue.Args { return job{r.ID, r.Run, -2} },
		Ended: func(context.Context, *db.Tx, Ref, string, Outcome) error { return nil },
	}, team
}

// machine is one enumeration with two workers on it, and what the test knows of it.
type machine struct {
	Runs
	ctx  context.Context
	t    *rapid.T
	id   string
	held [2]map[int]*Lease // by worker and chunk: a worker does not learn that it lost one

	last   snapshot
	holder map[int]*Lease // by chunk: who took it last; without, when it has ended
}

// snapshot is what the database says after an action.
type snapshot struct {
	Status Status
	Run    int64
	Chunks map[string]chunk // by run and number
}

type chunk struct {
	State ChunkState
	Token int64
	run   int64
	job   string // River's state of its job
}

func newMachine(ctx context.Context, t *rapid.T, rs Runs, team string) *machine {
	m := &machine{Runs: rs, ctx: ctx, t: t, id: NewID(time.Now()), held: [2]map[int]*Lease{{}, {}},
		holder: map[int]*Lease{}}
	now := db.At(time.Now())
	if _, err := rs.DB.Exec(ctx, `INSERT INTO enumeration (id, team_id, user_id, name, enum_type, status, is_internal, created_at, updated_at)
		VALUES (?, ?, '', 'x', 'discovery', ?, FALSE, ?, ?)`, m.id, team, Scheduled, now, now); err != nil {
		t.Fatal(err)
	}
	m.last = m.read()
	return m
}

func (m *machine) tx(fn func(tx *db.Tx) error) error { return m.DB.Tx(m.ctx, fn) }

func (m *machine) now() Ref { return Ref{m.id, m.last.Run} }

// must fails the test unless an action succeeded exactly when it was allowed to, and was
// refused as late else.
func (m *machine) must(what string, allowed bool, err error) {
	if allowed && err != nil || !allowed && !errors.Is(err, ErrLate) {
		m.t.Fatalf("%s in %+v: allowed %v, got %v", what, m.last, allowed, err)
	}
}

func (m *machine) launch(*rapid.T) {
	err := m.tx(func(tx *db.Tx) error { return m.Launch(m.ctx, tx, m.id) })
	m.must("launch", !m.last.Status.Active(), err)
	if err == nil {
		m.holder = map[int]*Lease{}
	}
}

func (m *machine) plan(t *rapid.T) {
	rows := make([][]any, rapid.IntRange(1, 2).Draw(t, "chunks"))
	for i := range rows {
		rows[i] = []any{"names", "{}"}
	}
	err := m.tx(func(tx *db.Tx) error {
		_, err := m.Begin(m.ctx, tx, m.now())
		return err
	})
	m.must("begin", m.last.Status == Queued || m.last.Status == Starting, err)
	if err == nil && !rapid.Bool().Draw(t, "planner dies") {
		m.must("start", true, m.tx(func(tx *db.Tx) error { return m.Start(m.ctx, tx, m.now(), "stage, input", rows) }))
	}
}

// open reports whether a chunk of the current run can be taken.
func (m *machine) open(n int) bool {
	s := m.last.Chunks[fmt.Sprint(m.last.Run, "/", n)].State
	return m.last.Status == Running && (s == ChunkWaiting || s == ChunkRunning)
}

func (m *machine) take(t *rapid.T) {
	worker, n := rapid.IntRange(0, 1).Draw(t, "worker"), rapid.IntRange(0, 2).Draw(t, "chunk")
	var l *Lease
	err := m.tx(func(tx *db.Tx) (err error) {
		l, err = m.Take(m.ctx, tx, m.now(), n)
		return err
	})
	m.must("take", m.open(n), err)
	if err == nil {
		m.held[worker][n], m.holder[n] = l, l
	}
}

// use draws a lease that a worker believes it has, and whether it is right.
func (m *machine) use(t *rapid.T) (l *Lease, valid bool) {
	worker, n := rapid.IntRange(0, 1).Draw(t, "worker"), rapid.IntRange(0, 2).Draw(t, "chunk")
	l = m.held[worker][n]
	if l == nil {
		t.Skip("no lease")
	}
	return l, m.holder[n] == l && m.last.Status == Running && l.Run == m.last.Run
}

// beat is a write of a worker that changes nothing else.
func (m *machine) beat(t *rapid.T) {
	l, valid := m.use(t)
	wrote := false
	m.must("write", valid, l.Write(m.ctx, func(*db.Tx) error { wrote = true; return nil }))
	if wrote != valid {
		t.Fatalf("a worker with the token %d wrote: %v, its lease is valid: %v", l.token, wrote, valid)
	}
}

func (m *machine) finish(t *rapid.T) {
	l, valid := m.use(t)
	err := l.Write(m.ctx, func(tx *db.Tx) error { return l.Finish(m.ctx, tx) })
	m.must("finish", valid, err)
	if err == nil {
		delete(m.holder, l.Chunk)
	}
}

func (m *machine) giveUp(t *rapid.T) {
	n := rapid.IntRange(0, 2).Draw(t, "chunk")
	err := m.tx(func(tx *db.Tx) error { return m.GiveUp(m.ctx, tx, m.now(), n, nil) })
	m.must("give up", m.open(n), err)
	if err == nil {
		delete(m.holder, n)
	}
}

func (m *machine) stop(*rapid.T) {
	err := m.Stop(m.ctx, m.id)
	m.must("stop", m.last.Status.Active(), err)
}

func (m *machine) read() snapshot {
	s := snapshot{Chunks: map[string]chunk{}}
	if err := m.DB.QueryRow(m.ctx, `SELECT status, run FROM enumeration WHERE id = ?`, m.id).Scan(&s.Status,
		&s.Run); err != nil {
		m.t.Fatal(err)
	}
	rows, err := m.DB.Query(m.ctx, `SELECT c.run, c.n, c.state, c.token, j.state FROM enumeration_chunk c
		JOIN river_job j ON j.id = c.job_id WHERE c.enumeration_id = ?`, m.id)
	if _, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var c chunk
		var n int
		err := r.Scan(&c.run, &n, &c.State, &c.Token, &c.job)
		s.Chunks[fmt.Sprint(c.run, "/", n)] = c
		return struct{}{}, err
	}); err != nil {
		m.t.Fatal(err)
	}
	return s
}

// check holds the database to what must be true after every action.
func (m *machine) check(t *rapid.T) {
	was, is := m.last, m.read()
	m.last = is
	planned := was.Status == Queued && is.Status == Running && is.Run == was.Run // two moves in one action
	if was.Status != is.Status && !was.Status.To(is.Status) && !planned {
		t.Fatalf("the run moved from %s to %s", was.Status, is.Status)
	}
	if is.Run < was.Run {
		t.Fatalf("run %d became %d", was.Run, is.Run)
	}
	open, failed := 0, 0
	for key, c := range is.Chunks {
		before, known := was.Chunks[key]
		if known && c.State != before.State && !chunkMoves.Allow(before.State, c.State) {
			t.Fatalf("chunk %s moved from %s to %s", key, before.State, c.State)
		}
		if c.Token < before.Token || c.Token > before.Token+1 {
			t.Fatalf("the token of chunk %s went from %d to %d", key, before.Token, c.Token)
		}
		live := c.State == ChunkWaiting || c.State == ChunkRunning
		if live && (c.run != is.Run || is.Status != Running) {
			t.Fatalf("chunk %s is %s in a run that is %s", key, c.State, is.Status)
		}
		if live && c.job != "available" { // the queue's tests say that a job which runs has a lease
			t.Fatalf("chunk %s is %s, and its job is %s", key, c.State, c.job)
		}
		if c.State == ChunkStopped && c.job != "cancelled" {
			t.Fatalf("chunk %s was stopped, and its job is %s", key, c.job)
		}
		if live {
			open++
		}
		if c.run == is.Run && c.State == ChunkFailed {
			failed++
		}
	}
	if is.Status == Running && open == 0 {
		t.Fatal("the run is running, and no chunk is left")
	}
	if is.Run == 0 {
		return
	}
	var counted, broken int
	var status Status
	if err := m.DB.QueryRow(m.ctx, `SELECT open_chunk, failed_chunk, status FROM enumeration_run WHERE enumeration_id = ? AND run = ?`,
		m.id, is.Run).Scan(&counted, &broken, &status); err != nil {
		t.Fatal(err)
	}
	if is.Status == Running && counted != open || broken != failed {
		t.Fatalf("the run counts %d open and %d failed chunks, there are %d and %d", counted, broken, open, failed)
	}
	if is.Status != Starting && status != is.Status {
		t.Fatalf("the run is %s, its enumeration %s", status, is.Status)
	}
}

// TestTwoWorkers lets two workers launch, plan, take, write, finish, give up and stop in
// any order. A worker that went silent is one that still uses a lease which the other took.
func TestTwoWorkers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, team := open(t, d)
		rapid.Check(t, func(rt *rapid.T) {
			m := newMachine(t.Context(), rt, rs, team)
			rt.Repeat(map[string]func(*rapid.T){
				"launch": m.launch, "plan": m.plan, "take": m.take, "take again": m.take, "beat": m.beat,
				"finish": m.finish, "give up": m.giveUp, "stop": m.stop, "": m.check,
			})
		})
	})
}

func TestOutcome(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, team := open(t, d)
		rs.Hint = "; see there"
		rapid.Check(t, func(rt *rapid.T) {
			m := newMachine(t.Context(), rt, rs, team)
			failed := rapid.SliceOfN(rapid.Bool(), 1, 4).Draw(rt, "failed")
			rows, want := make([][]any, len(failed)), Outcome{Status: Finished}
			bad := 0
			for i, f := range failed {
				rows[i] = []any{"names", "{}"}
				if f {
					bad++
				}
			}
			if bad > 0 {
				want.Why = fmt.Sprintf("%d of %d parts of the enumeration could not be run; see there.", bad, len(failed))
			}
			if bad == len(failed) {
				want = Outcome{Failed, "No part of the enumeration could be run. The server's log says why."}
			}
			r := Ref{m.id, 1}
			var got *Outcome
			rs.Ended = func(_ context.Context, _ *db.Tx, ended Ref, _ string, o Outcome) error {
				if ended != r {
					rt.Errorf("%v ended, not %v", ended, r)
				}
				got = &o
				return nil
			}
			err := m.tx(func(tx *db.Tx) error {
				if err := rs.Launch(m.ctx, tx, m.id); err != nil {
					return err
				}
				if _, err := rs.Begin(m.ctx, tx, r); err != nil {
					return err
				}
				if err := rs.Start(m.ctx, tx, r, "stage, input", rows); err != nil {
					return err
				}
				for i, f := range failed {
					if got != nil {
						return fmt.Errorf("the run ended before chunk %d", i)
					}
					var err error
					if f {
						err = rs.GiveUp(m.ctx, tx, r, i, nil)
					} else {
						var l *Lease
						if l, err = rs.Take(m.ctx, tx, r, i); err == nil {
							err = l.Finish(m.ctx, tx)
						}
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil || got == nil || *got != want {
				rt.Fatalf("%v: %+v, want %+v", err, got, want)
			}
		})
	})
}

// TestMigration takes a database to the version before 00231, fills it with rows as that
// version wrote them, and brings it back.
func TestMigration(t *testing.T) {
	text, err := os.ReadFile("../../infra/db/migrations/00231_run.sql")
	if err != nil {
		t.Fatal(err)
	}
	up, down, _ := strings.Cut(string(text), "-- +goose Down")
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		_, team := open(t, d)
		exec := func(script string) {
			t.Helper()
			for statement := range strings.SplitSeq(script, ";") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				if _, err := d.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		count := func(query string) (n int) {
			t.Helper()
			if err := d.QueryRow(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		exec(down)
		exec(`INSERT INTO enumeration (id, team_id, user_id, name, enum_type, status, run, is_internal, created_at, updated_at)
				VALUES ('e', '` + team + `', 'u', 'x', 'discovery', 'running', 1, FALSE, 1, 1);
			INSERT INTO enumeration_run (enumeration_id, run, team_id, status, total_name, chunk, open_chunk, created_at)
				VALUES ('e', 1, '` + team + `', 'running', 2, 2, 1, 1);
			INSERT INTO enumeration_chunk (enumeration_id, run, n, stage, state, token, input, names)
				VALUES ('e', 1, 0, 'names', 'done', 3, '{}', 0), ('e', 1, 1, 'hosts', 'waiting', 0, '{}', 2);
			INSERT INTO enumeration_name (enumeration_id, run, host, n, name) VALUES ('e', 1, 'a', 1, '{}'), ('e', 1, 'b', 1, '{}')`)
		exec(up)
		if n := count(`SELECT sum(token) + count(*) FROM enumeration_chunk WHERE enumeration_id = 'e'`); n != 5 {
			t.Errorf("the chunks have changed: %d", n)
		}
		// What ran before goes on: the last chunk is taken, and ends the run.
		rs, _ := open(t, d)
		var last *Outcome
		rs.Ended = func(_ context.Context, _ *db.Tx, _ Ref, _ string, o Outcome) error {
			last = &o
			return nil
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			l, err := rs.Take(t.Context(), tx, Ref{"e", 1}, 1)
			if err != nil {
				return err
			}
			return l.Finish(t.Context(), tx)
		}); err != nil || last == nil || *last != (Outcome{Status: Finished}) {
			t.Errorf("%+v, %v", last, err)
		}
		exec(down)
		if n := count(`SELECT names FROM enumeration_chunk WHERE n = 1`); n != 2 {
			t.Errorf("%d names", n)
		}
		if n := count(`SELECT chunk FROM enumeration_run`); n != 2 {
			t.Errorf("%d chunks", n)
		}
		exec(up)
	})
}
