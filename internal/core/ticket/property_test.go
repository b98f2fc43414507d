package ticket

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
	"pgregory.net/rapid"
)

// history is a random history of a few findings and their issues at one desk.
type history struct {
	room

	desk     *trackertest.Desk
	configID string
	all      []finding.Finding
	keys     []key
	hooks    []hook
	decided  int // decisions, retests and resolutions: each may be written once
	moved    int // what people did to issues: each may be taken in once

	// undone are writes that arrived although nobody has noted it, and that a person then took back: whether the write
	// arrived cannot be seen any more, so that the decision may be written once more.
	undone int
}

type hook struct {
	header http.Header
	body   []byte
}

var states = []string{trackertest.Open, trackertest.Progress, trackertest.Done, trackertest.Declined}

// issueOf is the last issue of a finding at the desk, and how many there are.
func (h *history) issueOf(f finding.Finding) (last trackertest.Issue, n int) {
	for _, i := range h.desk.Issues() {
		if strings.Contains(i.Text+i.Mark+i.Tags, "vedette-finding-"+f.Hash) {
			last = i
			n++
		}
	}
	return last, n
}

func (h *history) actions(t *rapid.T) map[string]func(*rapid.T) {
	pick := func(t *rapid.T) (finding.Finding, key) {
		i := rapid.IntRange(0, len(h.all)-1).Draw(t, "finding")
		return h.all[i], h.keys[i]
	}
	return map[string]func(*rapid.T){
		"decide": func(t *rapid.T) {
			f, _ := pick(t)
			h.decide(t, f, rapid.SampledFrom(finding.Statuses).Draw(t, "status"))
			h.decided++
		},
		"move": func(t *rapid.T) {
			f, k := pick(t)
			if i, n := h.issueOf(f); n > 0 {
				ours := stateOf(h.status(t, f))
				if tracker.State(i.State) == ours && h.ticket(t, k).Ours != ours {
					h.undone++
				}
				h.desk.Move(i.ID, rapid.SampledFrom(states).Draw(t, "state"))
				h.moved++
				header, _, body := h.desk.Hook(i.ID, "ann", secret)
				h.hooks = append(h.hooks, hook{header, body})
			}
		},
		"webhook": func(t *rapid.T) { // any of them, also twice, also long after
			if len(h.hooks) > 0 {
				one := rapid.SampledFrom(h.hooks).Draw(t, "webhook")
				if ok, err := h.Receive(h.alice, h.configID, h.desk.Name(), one.header, nil, one.body); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
		},
		"work": func(t *rapid.T) {
			if list := h.waiting(t); len(list) > 0 {
				if err := h.Sync(h.alice, rapid.SampledFrom(list).Draw(t, "job")); err != nil {
					t.Fatal(err)
				}
			}
		},
		"killed": func(t *rapid.T) { // a process dies before it has noted what it did
			_, k := pick(t)
			tr, _, err := h.trackerOf(h.alice, h.team, h.configID, h.desk.Name())
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "answered") {
				h.desk.Lose(1)
			}
			if one, ok, err := h.take(h.alice, k); err == nil && ok {
				_ = h.sync(h.alice, tr, &one) // and nobody releases it
			}
			h.desk.Lose(0)
		},
		"lost": func(*rapid.T) { h.desk.Lose(1) },
		"refuse": func(t *rapid.T) {
			h.desk.Refuse(rapid.SampledFrom([]trackertest.Refusal{
				{Status: 500}, {Status: 429, Header: map[string]string{"Retry-After": "40"}}, {Status: 401}, {Status: 422},
			}).Draw(t, "refusal"))
		},
		"outage": func(t *rapid.T) { h.desk.Down(rapid.Bool().Draw(t, "down")) },
		"poll": func(t *rapid.T) {
			if err := h.Poll(h.alice, pollOf(h.keys[0])); err != nil {
				t.Fatal(err)
			}
		},
		"wait": func(t *rapid.T) {
			h.wait(t, rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "time"))
		},
		"retest": func(t *rapid.T) {
			state := rapid.SampledFrom([]finding.RetestState{finding.Matched, finding.NotMatched, finding.RetestFailed}).Draw(t, "result")
			h.decided += h.retests(t, state)
		},
		"seen": func(t *rapid.T) {
			f, k := pick(t)
			seen := fmt.Sprint("s/", rapid.IntRange(1, 3).Draw(t, "run"))
			if err := h.FileOne(h.alice, finding.FileArgs{TeamID: h.team, FindingID: f.ID, ConfigID: h.configID, Provider: k.Provider, SeenIn: seen}); err != nil {
				t.Fatal(err)
			}
		},
		"resolve": func(t *rapid.T) {
			f, k := pick(t)
			h.resolve(t, f, k, rapid.Bool().Draw(t, "ours"))
		},
		"": func(*rapid.T) {},
	}
}

func (h *history) resolve(t rapid.TB, f finding.Finding, k key, ours bool) {
	t.Helper()
	if is := h.ticket(t, k); !is.ConflictAt.IsZero() {
		by := Resolution{ConfigID: h.configID, Provider: h.desk.Name(), Ours: ours}
		if !ours && is.Theirs == tracker.Declined {
			by.Status = finding.AcceptedRisk
		}
		if err := h.Resolve(h.alice, f.ID, by); err == nil {
			h.decided++
		}
	}
}

// calm ends all outages and does what is left, until nothing is.
func (h *history) calm(t *rapid.T) {
	h.desk.Down(false)
	h.desk.Lose(0)
	h.desk.Refuse()
	for range 6 {
		h.wait(t, 2*time.Hour)
		h.poll(t, h.keys[0])
		for i, f := range h.all {
			h.resolve(t, f, h.keys[i], i%2 == 0)
		}
		h.decided += h.retests(t, finding.NotMatched)
		h.run(t)
	}
}

// Whatever happens in whatever order, both sides end in step, with one issue for a finding, and each decision is written
// at most once. What differs in the end is a suggestion, or a claim
// that no retest could show.
func TestHistories(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		var no atomic.Int64
		rapid.Check(t, func(rt *rapid.T) {
			provider := rapid.SampledFrom(trackertest.Providers()).Draw(rt, "provider")
			desk := trackertest.New(t, provider)
			desk.Clock(r.now)
			h := &history{room: r, desk: desk, configID: r.configure(rt, desk.Config("webhook-secret: "+secret))}
			for range 2 {
				f := r.found(rt, int(no.Add(1)))
				h.all = append(h.all, f)
				h.keys = append(h.keys, h.want(rt, desk, h.configID, f))
			}
			rt.Repeat(h.actions(rt))
			h.calm(rt)
			h.check(rt)
			_, before, _, _ := desk.Counts()
			for range 2 {
				h.wait(rt, time.Hour)
				h.poll(rt, h.keys[0])
			}
			if _, after, _, _ := desk.Counts(); after != before || len(h.waiting(rt)) != 0 {
				rt.Errorf("%d writes in the calm", after-before)
			}
			if wrong := desk.Wrong(); len(wrong) > 0 {
				rt.Errorf("not understood: %q", wrong)
			}
			for _, table := range []string{"ticket", "ticket_tracker"} { // the next history is another one
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
		})
	})
}

func (h *history) check(t *rapid.T) {
	taken := 0
	for i, f := range h.all {
		line := h.timeline(t, f)
		for _, kind := range []timeline.Kind{timeline.TicketClosed, timeline.TicketReopened, timeline.TicketSuggested} {
			taken += strings.Count(line, string(kind)+":")
		}
		issue, n := h.issueOf(f)
		is, ours := h.ticket(t, h.keys[i]), stateOf(h.status(t, f))
		if n == 0 { // it was set aside before there was an issue
			if is.Pending != 0 || is.IssueID != "" {
				t.Errorf("no issue: %+v", is)
			}
			continue
		}
		theirs := tracker.State(issue.State)
		if is.IssueID == "" && ours.Closed() && theirs.Closed() { // it was closed for good before it was on record
			continue
		}
		isSuggestion := theirs == tracker.Declined && ours != tracker.Declined
		isDecision := theirs == tracker.Done && ours == tracker.Declined              // done says less than a decision
		isClaim := theirs == tracker.Done && ours == tracker.Progress && is.IsClaimed // its retest could not be run
		if is.Ours != ours || is.Theirs != theirs || is.Pending != 0 || is.Error != "" || !is.ConflictAt.IsZero() ||
			ours != theirs && !isSuggestion && !isDecision && !isClaim {
			t.Errorf("not in step: ours %s, theirs %s, %+v", ours, theirs, is)
		}
		if n > 1 && h.desk.Provider != "servicenow" {
			t.Errorf("%d issues of one finding", n)
		}
		open := slices.DeleteFunc(h.desk.Issues(), func(i trackertest.Issue) bool {
			return i.Mark != "vedette-finding-"+f.Hash || i.State == trackertest.Declined || i.Final
		})
		if len(open) > 1 {
			t.Errorf("%d records that can be worked on", len(open))
		}
	}
	if taken > h.moved { // our own writes are no news
		t.Errorf("%d changes were taken in, of %d", taken, h.moved)
	}
	if _, changes, _, _ := h.desk.Counts(); changes > h.decided+h.undone {
		t.Errorf("%d writes for %d decisions, of which people took back %d", changes, h.decided, h.undone)
	}
}
