package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// lane is a pool of workers on each node. The jobs of a team in it have a queue of River's to themselves, so that the
// first job of each team is found in an index however many jobs the others have.
type lane struct {
	name    string
	workers int         // at once, of all teams
	spare   int         // beyond them, of teams of which nothing runs in this lane of this node
	team    int         // at once, of one team
	held    atomic.Bool // the last claim left a job because of these limits
}

// queueOf is the queue of a team's jobs in a lane. Jobs that belong to no team have one as well, and jobs that older
// releases stored.
func queueOf(lane, teamID string) string {
	if teamID == "" {
		return lane
	}
	return lane + ":" + teamID
}

// laneOf is the lane of a queue.
func laneOf(queue string) string {
	name, _, _ := strings.Cut(queue, ":")
	return name
}

// SetShare sets a team's weight: of teams that wait, the one with the least running work for its weight is next. A team
// without a share has the weight 1.
func SetShare(ctx context.Context, tx *db.Tx, teamID string, weight int) error {
	_, err := tx.Exec(ctx, `INSERT INTO queue_share (team_id, weight) VALUES (?, ?)
		ON CONFLICT (team_id) DO UPDATE SET weight = excluded.weight`, teamID, weight)
	return err
}

// waiting is a team with jobs that are due, as one lane sees it.
type waiting struct {
	queue   string
	first   int64 // the job that was due for the longest time when the claim began
	due     int   // its jobs that are due, counted as far as there are free workers
	running int64 // its jobs that run in this lane, on all nodes
	weight  int64
	here    int // its jobs that run in this lane of this node
}

// before reports whether a team's next job goes before that of another one.
func (w *waiting) before(other *waiting) bool {
	return cmp.Or(cmp.Compare(w.running*other.weight, other.running*w.weight), cmp.Compare(w.first, other.first)) < 0
}

// plan says how many jobs of each queue this node takes next, of at most free. The lane is marked as held when jobs
// stay behind because of its limits.
func (q *Queue) plan(ctx context.Context, l *lane, free int) (map[string]int, error) {
	l.held.Store(true) // a handler that returns from here on has the lane looked at again
	teams, err := q.waitingTeams(ctx, l, free)
	if err != nil {
		return nil, err
	}
	here, total := q.runningHere(l)
	for _, w := range teams {
		w.here = here[w.queue]
	}
	take := map[string]int{}
	for range min(free, l.workers+l.spare-total) {
		var next *waiting
		for _, w := range teams {
			allowed := w.here == 0 || w.here < l.team && total < l.workers
			if allowed && w.due > 0 && (next == nil || w.before(next)) {
				next = w
			}
		}
		if next == nil {
			break
		}
		take[next.queue]++
		next.due--
		next.here++
		next.running++
		total++
	}
	left := func(w *waiting) bool { return w.due > 0 }
	l.held.Store(slices.ContainsFunc(teams, left))
	return take, nil
}

// waitingTeams finds the teams with jobs that are due. Its cost grows with their number, not with that of their jobs:
// each step of the recursion looks up the next queue in the index of waiting jobs.
func (q *Queue) waitingTeams(ctx context.Context, l *lane, most int) ([]*waiting, error) {
	scan := func(row db.Row) (*waiting, error) {
		w := &waiting{}
		return w, row.Scan(&w.queue, &w.first, &w.due, &w.running, &w.weight)
	}
	return db.Select(ctx, q.db, scan, `WITH RECURSIVE queues (name) AS (
			SELECT min(queue) FROM river_job WHERE state = 'available'
			UNION ALL
			SELECT (SELECT min(j.queue) FROM river_job j WHERE j.state = 'available' AND j.queue > queues.name)
			FROM queues WHERE queues.name IS NOT NULL
		), heads AS (
			SELECT name, (SELECT j.id FROM river_job j WHERE `+q.sql.due("queues.name")+`
				ORDER BY j.scheduled_at, j.id LIMIT 1) AS first
			FROM queues WHERE name = ? OR substr(name, 1, length(?) + 1) = ? || ':'
		)
		SELECT name, first,
			(SELECT count(*) FROM (SELECT 1 FROM river_job j WHERE `+q.sql.due("heads.name")+` LIMIT ?) AS counted),
			(SELECT count(*) FROM river_job j WHERE j.state = 'running' AND j.queue = heads.name),
			coalesce((SELECT s.weight FROM queue_share s WHERE s.team_id = substr(heads.name, length(?) + 2)), 1)
		FROM heads WHERE first IS NOT NULL`, l.name, l.name, l.name, most, l.name)
}

// due is the condition for jobs j of a queue that wait and are due. The priority, always River's default, lets the
// index end at the jobs that are due later.
func (s sqlTexts) due(queue string) string {
	return `j.state = 'available' AND j.queue = ` + queue + ` AND j.priority = 1 AND j.scheduled_at <= ` + s.clock
}

// take sets waiting jobs running, a number of each queue, and returns their ids. A job that another node takes at the
// same time is left to it.
func (q *Queue) take(ctx context.Context, tx *db.Tx, number map[string]int) (taken []int64, err error) {
	for _, name := range slices.Sorted(maps.Keys(number)) {
		jobs, err := db.Values[int64](ctx, tx, `WITH picked AS (
				SELECT j.id FROM river_job j WHERE `+q.sql.due("?")+` ORDER BY j.scheduled_at, j.id LIMIT ?`+q.sql.skipLocked+`)
			UPDATE river_job SET state = 'running', attempt = attempt + 1, attempted_at = `+q.sql.clock+`
			WHERE id IN (SELECT id FROM picked) RETURNING id`, name, number[name])
		if err != nil {
			return nil, err
		}
		taken = append(taken, jobs...)
	}
	return taken, nil
}

// runningHere counts the jobs of a lane that run on this node, by queue. It counts no job whose handler has returned.
func (q *Queue) runningHere(l *lane) (here map[string]int, total int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	here = map[string]int{}
	for _, r := range q.runs {
		if laneOf(r.queue) == l.name && !r.returned.Load() {
			here[r.queue]++
			total++
		}
	}
	return here, total
}

// handlerReturned frees a worker: a job that was held back may start.
func (q *Queue) handlerReturned(r *run) {
	r.returned.Store(true)
	l := q.lanes[laneOf(r.queue)]
	if !l.held.Swap(false) || !q.awake.Load() {
		return
	}
	if q.sql.notify == "" {
		q.wake()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	if _, err := q.db.Exec(ctx, q.sql.notify, fmt.Sprintf(`{"queue": %q}`, l.name)); err != nil {
		q.log.Warn("the queue could not announce a free worker: the next look will find it", "error", err)
	}
}
