package e2e

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// delivery is an entry of the delivery log.
type delivery struct {
	TaskID     string `json:"task_id"`
	State      string
	Status     int `json:"status_code"`
	Error      string
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	Duration   int64      `json:"duration_ms"`
}

// delivered waits until the delivery of a task has ended.
func (c caller) delivered(task string, within time.Duration) (d delivery) {
	c.t.Helper()
	until(c.t, within, "the delivery of task "+task+" ends", func() bool {
		var log struct{ Deliveries []delivery }
		c.call("GET", "/api/v1/teams/webhook/deliveries?limit=200", nil, &log)
		i := slices.IndexFunc(log.Deliveries, func(d delivery) bool { return d.TaskID == task && d.FinishedAt != nil })
		if i >= 0 {
			d = log.Deliveries[i]
		}
		return i >= 0
	})
	return d
}

// taskWithoutTarget is an instruction without a target: the task ends at once.
const taskWithoutTarget = "please make us secure"

// runWebhookTask runs a task with webhook delivery.
func (c caller) runWebhookTask() (id string) {
	c.t.Helper()
	id = c.createTask(taskWithoutTarget, "completion_delivery", "webhook")
	c.waitForTask(id, longWait)
	return id
}

// TestHangingReceiver: the receiver accepts the request and never answers.
func TestHangingReceiver(t *testing.T) {
	t.Parallel()
	c := newDeployment(t, "sqlite").serveWithUser("--webhook-allow", "127.0.0.0/8")
	arrived := make(chan time.Time, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		arrived <- time.Now()
		<-r.Context().Done()
	}))
	defer receiver.Close()
	c.call("PATCH", "/api/v1/teams", map[string]string{"webhook_url": receiver.URL + "/hook"}, nil)

	id := c.createTask(taskWithoutTarget, "completion_delivery", "webhook")
	events := c.stream(id, longWait, isFinish)
	// a task that waited for its receiver would take fifteen seconds
	if took := events[len(events)-1].At.Sub(events[0].At); took > shortWait {
		t.Errorf("the task took %s to its last event", took)
	}
	select {
	case <-arrived:
	case <-time.After(longWait):
		t.Fatal("nothing arrives at the receiver")
	}
	if status := c.task(id).Task.Status; status != "completed" {
		t.Errorf("while its receiver hangs, the task is %s", status)
	}
	d := c.delivered(id, longWait)
	if d.State != "failed" || d.Error != "the receiver did not answer in time" {
		t.Errorf("the delivery is %s: %s", d.State, d.Error)
	}
	for what, took := range map[string]time.Duration{
		"by its start and end": d.FinishedAt.Sub(*d.StartedAt), "as it says": time.Duration(d.Duration) * time.Millisecond,
	} {
		if took < 14*time.Second || took > time.Minute { // a machine may be overloaded; internal/core/hook tests it exactly
			t.Errorf("%s, the delivery took %s, not 15 s", what, took)
		}
	}
	if len(arrived) > 0 {
		t.Errorf("the receiver got %d extra requests", len(arrived))
	}
	if status := c.task(id).Task.Status; status != "completed" {
		t.Errorf("after the delivery failed, the task is %s", status)
	}
}

// connListener records the connections to an address.
type connListener struct {
	net.Listener
	mu   sync.Mutex
	from []string
}

func listen(t *testing.T, address string) *connListener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	e := &connListener{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			e.mu.Lock()
			e.from = append(e.from, conn.RemoteAddr().String())
			e.mu.Unlock()
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return e
}

func (e *connListener) port() string { return strconv.Itoa(e.Addr().(*net.TCPAddr).Port) }

// remoteAddrs are the clients that have connected. It opens a connection of its marker and waits
// until that was accepted, so that none before it can still be pending.
func (e *connListener) remoteAddrs(t *testing.T) (from []string) {
	t.Helper()
	marker, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer marker.Close()
	until(t, longWait, "the listener accepts the marker connection", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		from = slices.Clone(e.from)
		return slices.Contains(from, marker.LocalAddr().String())
	})
	return slices.DeleteFunc(from, func(a string) bool { return a == marker.LocalAddr().String() })
}

// TestReceiversThatAreNotAllowed names local receivers in every spelling. Names that resolve
// to private addresses, and answers that change, need a name server of the test's marker:
// they are in internal/infra/netguard.
func TestReceiversThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	four := listen(t, "127.0.0.1:0")
	listeners := map[string]*connListener{"IPv4": four}
	hosts := []string{"127.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "localhost", "LOCALHOST.",
		"0.0.0.0", "0",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"}
	urls := []string{"http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.1.1/",
		"http://[fd00::1]/"}
	for _, host := range hosts {
		urls = append(urls, "http://"+host+":"+four.port()+"/hook")
	}
	if six, err := net.Listen("tcp", "[::1]:0"); err == nil {
		six.Close()
		listeners["IPv6"] = listen(t, "[::1]:0")
		urls = append(urls, "http://[::1]:"+listeners["IPv6"].port()+"/hook")
	} else {
		t.Log("there is no IPv6 loopback here: [::1] is not tried")
	}
	c := newDeployment(t, "sqlite").serveWithUser()
	for _, target := range urls {
		resp, err := c.do(t.Context(), "PATCH", "/api/v1/teams", "application/json", map[string]string{"webhook_url": target})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity:
			t.Logf("%s is refused: %s", target, text)
			continue
		case resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"warning"`):
			t.Errorf("%s is accepted without a warning: %s %s", target, resp.Status, text)
		}
		if d := c.delivered(c.runWebhookTask(), longWait); d.State != "blocked" {
			t.Errorf("the delivery to %s is %s: %s", target, d.State, d.Error)
		}
	}
	for name, l := range listeners {
		if from := l.remoteAddrs(t); len(from) > 0 {
			t.Errorf("%d connections arrived by %s", len(from), name)
		}
	}
}

// TestRedirectingReceiver: an allowed receiver redirects.
func TestRedirectingReceiver(t *testing.T) {
	t.Parallel()
	elsewhere := listen(t, "127.0.0.1:0") // also allowed: only following the redirect would connect here
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.FormValue("to"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer receiver.Close()
	c := newDeployment(t, "sqlite").serveWithUser("--webhook-allow", "127.0.0.0/8")
	for _, location := range []string{"http://169.254.169.254/latest/meta-data/",
		"http://" + elsewhere.Addr().String() + "/"} {
		c.call("PATCH", "/api/v1/teams", map[string]string{"webhook_url": receiver.URL + "/?to=" + url.QueryEscape(location)},
			nil)
		if d := c.delivered(c.runWebhookTask(), longWait); d.State != "failed" || d.Status != http.StatusTemporaryRedirect {
			t.Errorf("with a redirect to %s, the delivery is %s (%d): %s", location, d.State, d.Status, d.Error)
		}
	}
	if from := elsewhere.remoteAddrs(t); len(from) > 0 {
		t.Error("the redirect was followed")
	}
}
