package queue

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"pgregory.net/rapid"
)

// stay is a job that runs until it is released.
type stay struct{ Team string }

func (stay) Kind() string { return "stay" }

// flooded is a started queue on which a job says that it runs, and stays until it is sent something.
func flooded(t *testing.T, d *db.DB, c Config) (q *Queue, runs chan string, release chan struct{}) {
	t.Helper()
	c.Heartbeat, c.Poll = 100*time.Millisecond, time.Minute // nothing is found by chance
	q, err := Open(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	runs, release = make(chan string, 100), make(chan struct{})
	Handle(q, Handler[stay]{Work: func(ctx context.Context, job Job[stay]) error {
		runs <- job.Args.Team
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	}})
	start(t, q)
	t.Cleanup(func() { close(release) })
	return q, runs, release
}

// none fails when a job starts although the limits are reached: what a claim takes is known when it has ended.
func none(t *testing.T, q *Queue, runs chan string) {
	t.Helper()
	if number, err := q.plan(t.Context(), q.lanes[longLane], 10); err != nil || len(number) > 0 {
		t.Fatalf("%v would start, %v", number, err)
	}
	if len(runs) > 0 {
		t.Fatalf("a job of %s started", <-runs)
	}
}

func TestAnIdleTeamStartsOnAFullNode(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, runs, release := flooded(t, d, Config{Workers: 3, Spare: 1})
		for range 10 {
			insertOf(t, q, "loud", stay{"loud"})
		}
		for range 3 {
			next(t, runs)
		}
		none(t, q, runs)
		asked := time.Now()
		insertOf(t, q, "calm", stay{"calm"})
		if team := next(t, runs); team != "calm" {
			t.Fatalf("a job of %s started", team)
		}
		if took := time.Since(asked); took > time.Minute/2 { // it would be found by chance after a minute
			t.Errorf("the idle team waited for %s", took)
		}
		// The spare worker is taken now, until any job ends.
		insertOf(t, q, "late", stay{"late"})
		none(t, q, runs)
		release <- struct{}{}
		if team := next(t, runs); team != "late" {
			t.Fatalf("a job of %s started before that of a team without any", team)
		}
		release <- struct{}{}
		release <- struct{}{} // at most two of three workers are taken
		next(t, runs)
	})
}

func TestOneTeamsJobsGoOnWhenTheyAreHeldBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, runs, release := flooded(t, d, Config{Workers: 4, Spare: 2, Team: 2})
		for range 40 {
			insertOf(t, q, "loud", stay{"loud"})
		}
		next(t, runs)
		next(t, runs)
		none(t, q, runs)
		for range 38 {
			release <- struct{}{}
			next(t, runs)
		}
	})
}

func TestQuickJobsOfATeamLeaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 1)
		runs, release := make(chan string, 100), make(chan struct{})
		Handle(q, Handler[stay]{Quick: true, Work: func(_ context.Context, job Job[stay]) error {
			runs <- job.Args.Team
			<-release
			return nil
		}})
		start(t, q)
		for range 3 * quickWorkers {
			insertOf(t, q, "loud", stay{"loud"})
		}
		for range quickWorkers {
			next(t, runs)
		}
		insertOf(t, q, "calm", stay{"calm"})
		if team := next(t, runs); team != "calm" {
			t.Errorf("a job of %s started", team)
		}
		close(release)
	})
}

func TestTheTeamOfASilentNodeHasNothingRunning(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		dead, q := patient(t, d, 0), patient(t, d, 0)
		t.Cleanup(func() { stop(t, dead); stop(t, q) })
		for _, one := range []*Queue{dead, q} {
			one.lanes[longLane].workers, one.lanes[longLane].team = 9, 9
		}
		for _, team := range []string{"a", "a", "a", "b", "b", "b"} {
			insertOf(t, q, team, note{})
		}
		claimOf(t, dead, 2) // one of each team
		claimOf(t, dead, 1) // of team a
		if got := claimOf(t, q, 1); got[0] != "b" {
			t.Errorf("a job of team %s is next, but b has less running work", got)
		}
		if err := age(t.Context(), q, dead.node); err != nil {
			t.Fatal(err)
		}
		if err := q.reap(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := claimOf(t, q, 2); !slices.Equal(got, []string{"a", "a"}) {
			t.Errorf("jobs of %v are next, but nothing of team a runs any more, and something of b", got)
		}
	})
}

// claimOf claims jobs and returns their teams, in order.
func claimOf(t *testing.T, q *Queue, n int) (teams []string) {
	t.Helper()
	jobs, err := q.claim(t.Context(), &riverdriver.JobGetAvailableParams{MaxToLock: n, Queue: longLane})
	if err != nil || len(jobs) != n {
		t.Fatalf("%d jobs instead of %d, %v", len(jobs), n, err)
	}
	for _, job := range jobs {
		teams = append(teams, job.Queue[len(longLane)+1:])
	}
	slices.Sort(teams)
	return teams
}

// crowd is what a test knows of the jobs of some teams on one node.
type crowd struct {
	q       *Queue
	weights map[string]int
	waiting map[string][]int64
	running map[string][]*rivertype.JobRow
}

func (c *crowd) total() (n int) {
	for _, jobs := range c.running {
		n += len(jobs)
	}
	return n
}

// next is the team whose job must be next; empty: none. Where two have as little work, the one goes first whose job was
// the first when the claim began.
func (c *crowd) next(first map[string]int64) (best string) {
	l := c.q.lanes[longLane]
	if c.total() >= l.workers+l.spare {
		return ""
	}
	least := math.Inf(1)
	for _, team := range slices.Sorted(maps.Keys(c.waiting)) {
		n := len(c.running[team])
		if len(c.waiting[team]) == 0 || n > 0 && (n >= l.team || c.total() >= l.workers) {
			continue
		}
		load := float64(n) / float64(c.weights[team])
		if load < least || load == least && first[team] < first[best] {
			best, least = team, load
		}
	}
	return best
}

func (c *crowd) claim(t *rapid.T) {
	free := rapid.IntRange(1, 5).Draw(t, "free workers")
	jobs, err := c.q.claim(context.Background(), &riverdriver.JobGetAvailableParams{MaxToLock: free, Queue: longLane})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]*rivertype.JobRow{}
	for _, job := range jobs {
		got[job.ID] = job
	}
	first := map[string]int64{}
	for team, ids := range c.waiting {
		if len(ids) > 0 {
			first[team] = ids[0]
		}
	}
	for range free {
		team := c.next(first)
		if team == "" {
			break
		}
		id := c.waiting[team][0]
		if got[id] == nil {
			t.Fatalf("job %d of team %s was not taken: %d of %d were", id, team, len(jobs), free)
		}
		c.waiting[team] = c.waiting[team][1:]
		c.running[team] = append(c.running[team], got[id])
		delete(got, id)
	}
	if len(got) > 0 {
		t.Fatalf("jobs %v were taken too", slices.Sorted(maps.Keys(got)))
	}
}

func (c *crowd) insert(t *rapid.T) {
	team := rapid.SampledFrom(slices.Sorted(maps.Keys(c.weights))).Draw(t, "team")
	for range rapid.SampledFrom([]int{1, 1, 2, 10}).Draw(t, "jobs") {
		if err := c.q.db.Tx(context.Background(), func(tx *db.Tx) error {
			id, err := c.q.Insert(context.Background(), tx, team, note{})
			c.waiting[team] = append(c.waiting[team], id)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// end ends a job; its handler has returned a while before.
func (c *crowd) end(t *rapid.T) {
	team := rapid.SampledFrom(slices.Sorted(maps.Keys(c.weights))).Draw(t, "team")
	if len(c.running[team]) == 0 {
		t.Skip("no run")
	}
	job := c.running[team][0]
	c.running[team] = c.running[team][1:]
	c.q.handlerReturned(c.q.runOf(job.ID))
	done := oneState(riverdriver.JobSetStateCompleted(job.ID, time.Now(), nil))
	if _, err := c.q.settle(context.Background(), done); err != nil {
		t.Fatal(err)
	}
}

// TestTheTeamWithTheLeastWorkIsNext holds each claim to the rule, in any order of inserts, claims and ends.
func TestTheTeamWithTheLeastWorkIsNext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		weights := map[string]int{}
		for i, weight := range []int{1, 1, 2, 4} {
			id := fmt.Sprintf("00000000-0000-0000-0000-00000000000%d", i)
			weights[id] = weight
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := tx.Exec(t.Context(), `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at)
					VALUES (?, ?, 'FREE', ?, 0, 0)`, id, id, id)
				if err != nil {
					return err
				}
				return SetShare(t.Context(), tx, id, weight)
			}); err != nil {
				t.Fatal(err)
			}
		}
		q := patient(t, d, 0)
		t.Cleanup(func() { stop(t, q) })
		rapid.Check(t, func(rt *rapid.T) {
			l := q.lanes[longLane]
			l.workers = rapid.IntRange(1, 6).Draw(rt, "workers")
			l.spare = rapid.IntRange(0, 2).Draw(rt, "spare workers")
			l.team = rapid.IntRange(1, l.workers).Draw(rt, "workers of a team")
			c := &crowd{q, weights, map[string][]int64{}, map[string][]*rivertype.JobRow{}}
			defer func() {
				q.forget(slices.Collect(maps.Keys(q.activeRuns()))...)
				for _, table := range []string{"river_job", "queue_lease"} {
					if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
						rt.Fatal(err)
					}
				}
			}()
			rt.Repeat(map[string]func(*rapid.T){
				"insert": c.insert, "insert more": c.insert, "claim": c.claim, "claim again": c.claim, "end": c.end,
			})
		})
	})
}
