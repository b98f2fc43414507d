package e2e

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// endLeases ends the leases of silent processes, until the end of the test.
func (x *chaos) endLeases() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for again := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				again.Stop()
				return
			case <-again.C:
				x.endLeasesSilentFor(silence)
			}
		}
	}()
	x.t.Cleanup(func() {
		stop()
		<-done
	})
}

func (x *chaos) endLeasesSilentFor(d time.Duration) {
	now := "CAST(unixepoch('subsec') * 1000000 AS BIGINT)"
	if x.worker != nil {
		now = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
	}
	var ended []int64
	err := x.db.Tx(context.Background(), func(tx *db.Tx) (err error) {
		ended, err = db.Values[int64](context.Background(), tx, `UPDATE queue_lease SET beat_at = 0
			WHERE node <> '' AND beat_at <> 0 AND beat_at <= `+now+` - ? RETURNING job_id`, d.Microseconds())
		return err
	})
	if err != nil {
		x.t.Error(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ended {
		x.lost[id]++
	}
}

// checkCharges compares the attempts of the honest team's jobs with how often the test killed their process. A child
// that is killed costs no attempt.
func (x *chaos) checkCharges() {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.charged = 0
	for _, job := range charges(x.t, x.db, x.team) {
		x.charged += job.attempts - 1
		if job.attempts-1 > x.lost[job.id] {
			x.t.Errorf("a job had more attempts than the test has cost it, %d: %+v", x.lost[job.id], job)
		}
	}
}

// checkSteps checks that each step of a task ended once, and that none began again after it had ended.
func (x *chaos) checkSteps(id string) {
	x.t.Helper()
	finished := map[int64]int{}
	for _, e := range x.as(x.honest).stream(id, longWait, isFinish) {
		switch e.Type {
		case "step-started":
			if finished[e.Data.Seq] > 0 {
				x.t.Errorf("the step %d (%s) of task %s began again", e.Data.Seq, e.Data.Tool, id)
			}
		case "step-finished":
			if e.Data.Status != "aborted" { // its lease was lost: it is not the end of the step
				finished[e.Data.Seq]++
			}
		}
	}
	for seq, n := range finished {
		if n != 1 {
			x.t.Errorf("the step %d of task %s ended %d times", seq, id, n)
		}
	}
	if len(finished) != 5 {
		x.t.Errorf("the task %s has %d steps, not 5", id, len(finished))
	}
}

// checkDelivery checks that the result of a task was sent once. One that was being sent when its process was killed
// is not sent again, and says so.
func (x *chaos) checkDelivery(task string) {
	x.t.Helper()
	d := x.as(x.honest).delivered(task, longWait)
	interrupted := d.Error == "the delivery was interrupted" && x.killedInRound > 0
	got := x.receiver.count(task)
	if got > 1 || d.State == "delivered" && got != 1 || d.State != "delivered" && !interrupted {
		x.t.Errorf("the delivery of task %s is %+v, and arrived %d times", task, d, got)
	}
	var log struct{ Deliveries []delivery }
	x.as(x.honest).call("GET", "/api/v1/teams/webhook/deliveries?limit=200", nil, &log)
	entries := 0
	for _, d := range log.Deliveries {
		if d.TaskID == task {
			entries++
		}
	}
	if entries != 1 {
		x.t.Errorf("the log has %d deliveries of task %s", entries, task)
	}
}

// receiver gets the webhooks.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bodies = append(r.bodies, string(body))
	}))
	t.Cleanup(r.Close)
	return r
}

// count is how many webhooks name a task.
func (r *receiver) count(task string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		if strings.Contains(body, task) {
			n++
		}
	}
	return n
}
