package jobs

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// ear is a webhook that answers as it is told, then 200, and keeps what it took.
type ear struct {
	url string

	mu      sync.Mutex
	answers []int // statuses to give first; 429 asks to wait a second
	at      []time.Time
	heard   []alert.Alert
}

func listen(t *testing.T, answers ...int) *ear {
	t.Helper()
	e := &ear{answers: answers}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.at = append(e.at, time.Now())
		if len(e.answers) > 0 {
			status := e.answers[0]
			e.answers = e.answers[1:]
			if status == http.StatusTooManyRequests {
				w.Header().Set("Retry-After", "1")
			}
			w.WriteHeader(status)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var a alert.Alert
		if err := json.Unmarshal(body, &a); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		e.heard = append(e.heard, a)
	}))
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

// kinds counts what was heard, by kind.
func (e *ear) kinds() map[alert.Kind]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := map[alert.Kind]int{}
	for _, a := range e.heard {
		out[a.Kind]++
	}
	return out
}

// settled waits until so many notices of a scan have ended, and gives them.
func (o office) settled(t *testing.T, scanID string, n int) (all []notification.Notification) {
	t.Helper()
	until(t, fmt.Sprint(n, " notices"), func() bool {
		var err error
		if all, _, err = o.notices.Find(o.ctx, notification.Filter{Subject: scanID}, page.Window{Limit: 100}); err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, one := range all {
			if one.State != notification.Waiting && one.State != notification.Sending {
				done++
			}
		}
		return done >= n && done == len(all)
	})
	return all
}

func TestScanTellsItsChannels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		weak := weaksite.New(7)
		var more sync.Mutex
		open404 := false // the site shows nothing at first
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			more.Lock()
			shows := open404
			more.Unlock()
			if !shows {
				http.NotFound(w, r)
				return
			}
			weak.ServeHTTP(w, r)
		}))
		o := open(t, d)
		all, named, refusing := listen(t, 429, 500), listen(t), listen(t, 403)
		o.configure(t, setting.Alerting, true,
			"events: [running, finished, failed_stopped, new_vuln]\nwebhook:\n  - webhook_url: "+all.url+"\n")
		id := o.configure(t, setting.Alerting, false,
			"severity: [high]\nwebhook: {webhook_url: "+named.url+"}\nslack: {webhook_url: "+refusing.url+
				", events: [finished]}\n")
		made, err := o.scans.Create(o.ctx,
			scan.NewScan{Name: "nightly", Config: scan.Config{Targets: []string{base}, All: true, AlertConfigIDs: []string{id}}})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		notices := o.settled(t, made.ID, 4)
		if got := all.kinds(); got[alert.Running] != 1 || got[alert.Finished] != 1 || len(got) != 2 {
			t.Errorf("heard %v", got)
		}
		if got := named.kinds(); got[alert.Finished] != 1 || len(got) != 1 {
			t.Errorf("the named channel heard %v", got)
		}
		attempts, failed := 0, 0
		for _, n := range notices {
			attempts += n.Attempts
			if n.State == notification.Failed && n.Provider == "slack" && n.Attempts == 1 && n.Note != "" {
				failed++
			}
		}
		if len(notices) != 4 || attempts != 6 || failed != 1 {
			t.Errorf("%d notices in %d attempts, %d failed: %+v", len(notices), attempts, failed, notices)
		}
		all.mu.Lock()
		if waited := all.at[len(all.at)-1].Sub(all.at[0]); waited < 900*time.Millisecond {
			t.Errorf("the service asked for a second and got %s", waited)
		}
		all.mu.Unlock()

		more.Lock()
		open404 = true
		more.Unlock()
		if _, err := o.scans.Rescan(o.ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		done := o.scanEnds(t, made.ID)
		o.settled(t, made.ID, 10)
		if got := all.kinds(); got[alert.Running] != 2 || got[alert.Finished] != 2 || got[alert.NewVuln] != 1 {
			t.Errorf("after a rescan: %v", got)
		}
		last := func(e *ear) (f *alert.End) {
			e.mu.Lock()
			defer e.mu.Unlock()
			for _, a := range e.heard {
				if a.Kind == alert.NewVuln {
					f = a.Finished
				}
			}
			return f
		}
		if f := last(all); f == nil || f.NewVulns != done.Results() || f.TotalMatches != done.Results() ||
			len(f.NewVulnsList) == 0 || f.NewVulnsList[0].Severity != "critical" && f.NewVulnsList[0].Severity != "high" {
			t.Errorf("%+v of %d", f, done.Results())
		}
		if f := last(named); f == nil || f.TotalMatches != done.Severities["high"] || len(f.Severities) > 1 {
			t.Errorf("high only: %+v of %v", f, done.Severities)
		}
	})
}

func TestStopIsTold(t *testing.T) {
	hanging := make(chan struct{}, 100)
	base, _ := site(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		hanging <- struct{}{}
		<-r.Context().Done()
	}))
	o := open(t, dbtest.Open(t, "sqlite"))
	e := listen(t)
	id := o.configure(t, setting.Alerting, true, "webhook: {webhook_url: "+e.url+"}")
	made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := o.scans.Create(o.ctx,
		scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true, NoGlobalAlerts: true}})
	if err != nil {
		t.Fatal(err)
	}
	<-hanging
	for _, s := range []scan.Scan{quiet, made} {
		if err := o.scans.Stop(o.ctx, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	o.settled(t, made.ID, 1)
	if len(e.heard) != 1 || e.heard[0].Kind != alert.Failed || e.heard[0].ScanID != made.ID || e.heard[0].Failed == nil ||
		e.heard[0].Failed.Reason == "" {
		t.Errorf("%+v", e.heard)
	}
	// A channel that is gone when its turn comes is dropped.
	if err := o.notices.Add(t.Context(), []notification.Notification{
		{TeamID: made.TeamID, Kind: notification.OfScan, Subject: made.ID, Run: 1, Event: "finished", ConfigID: id,
			Channel: 7, Provider: "webhook", Body: []byte("{}")},
		// is there already
		{TeamID: made.TeamID, Kind: notification.OfScan, Subject: made.ID, Run: 1, Event: "failed_stopped", ConfigID: id,
			Provider: "webhook", Body: []byte("{}")},
	}); err != nil {
		t.Fatal(err)
	}
	if all := o.settled(t, made.ID, 2); len(all) != 2 || all[0].State != notification.Dropped {
		t.Errorf("%+v", all)
	}
	if len(e.heard) != 1 {
		t.Errorf("told %d times", len(e.heard))
	}
}
