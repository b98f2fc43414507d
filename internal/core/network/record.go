package network

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// Subject is what sends the requests that are captured: a task, or a scan.
type Subject struct {
	TeamID string
	TaskID string   // or
	ScanID string   // one of both
	Asked  bool     // the scan asks to be captured
	Hidden []string // values that are secrets besides those of the team, such as the passwords of logins
}

func (s Subject) id() string { return cmp.Or(s.TaskID, s.ScanID) }

// maxOfSubject bounds the events of one task or scan; more are counted as dropped.
const maxOfSubject = 200_000

// Recorder captures the requests of one subject. A nil one captures nothing.
type Recorder struct {
	events  *Events
	subject Subject
	known   []string // secrets
	redact  *redact.Secrets
	queue   *traffic.Queue
	most    int64 // bytes that the team may have
	lost    int64 // exchanges that could not be stored, and were not counted yet
	written atomic.Int64
	once    sync.Once
}

// Begin begins to capture the requests of a subject; nil where the team's policy does not ask for it. Close it.
func (es *Events) Begin(ctx context.Context, s Subject) (*Recorder, error) {
	p, err := policyOf(ctx, es.db, s.TeamID)
	if err != nil {
		return nil, err
	}
	if s.TaskID != "" && !p.Tasks || s.ScanID != "" && (p.Scans == ScansOff || p.Scans == ScansOnRequest && !s.Asked) {
		return nil, nil //nolint:nilnil // a nil recorder records nothing
	}
	values, err := es.from.Secrets.OfTeam(ctx, s.TeamID)
	if err != nil {
		return nil, err
	}
	r := &Recorder{events: es, subject: s, most: int64(p.MaxMegabytes) << 20, known: slices.Concat(values, s.Hidden)}
	r.known = slices.DeleteFunc(r.known, func(v string) bool { return v == "" })
	r.redact = redact.New(nil, r.known...)
	stored := context.WithoutCancel(ctx)
	r.queue = traffic.NewQueue(func(batch []traffic.Exchange, dropped int64) { r.store(stored, batch, dropped) })
	return r, nil
}

// Add captures a request. It does not wait: where the database is slower than who sends, requests are dropped and
// counted.
func (r *Recorder) Add(x traffic.Exchange) {
	if r != nil {
		r.queue.Add(x)
	}
}

// By is Add for a tool; nil where nothing is captured, so that nobody prepares what is not wanted.
func (r *Recorder) By(tool string) func(traffic.Exchange) {
	if r == nil {
		return nil
	}
	return func(x traffic.Exchange) {
		x.Tool = tool
		r.queue.Add(x)
	}
}

// Drop counts requests that were lost on their way here.
func (r *Recorder) Drop(n int64) {
	if r != nil {
		r.queue.Drop(n)
	}
}

// Close stores what waits.
func (r *Recorder) Close() {
	if r != nil {
		r.once.Do(func() {
			r.queue.Close()
			if r.lost > 0 {
				r.store(context.Background(), nil, 0) // the last try to say what is missing
			}
		})
	}
}

// document is what is sealed of an event, besides its URL.
type document struct {
	IP          string   `json:"ip,omitempty"`
	Error       string   `json:"error,omitempty"`
	Request     []byte   `json:"request"`
	Response    []byte   `json:"response,omitempty"`
	RequestCut  bool     `json:"request_cut,omitempty"`
	ResponseCut bool     `json:"response_cut,omitempty"`
	Hidden      []string `json:"hidden,omitempty"` // secrets that it contains, as they were when it was captured
}

// address is what is sealed of an event's URL, for lists.
type address struct {
	URL    string   `json:"url"`
	Hidden []string `json:"hidden,omitempty"` // as in document
}

func (es *Events) packURL(id string, a address) ([]byte, error) {
	plain, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return es.from.Box.Seal(plain, urlContext+id)
}

func (es *Events) unpackURL(id string, sealed []byte) (a address, err error) {
	plain, err := es.from.Box.Open(sealed, urlContext+id)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(plain, &a)
}

const (
	urlContext, bodyContext, editContext = "network_event_url/", "network_event/", "network_replay/"

	maxURL   = 8 << 10
	maxText  = 1000 // bytes of an error
	maxWord  = 40   // bytes of a method or the name of a tool
	maxHost  = 300
	maxPlain = 2*(traffic.MaxRequest+traffic.MaxResponse) + 1<<20 // bytes of a document that is not compressed
)

// pack compresses and seals a document.
func (es *Events) pack(id string, d document) ([]byte, error) {
	plain, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, _ := es.packers.Get().(*flate.Writer)
	if w == nil {
		if w, err = flate.NewWriter(&packed, flate.BestSpeed); err != nil {
			return nil, err
		}
	} else {
		w.Reset(&packed)
	}
	defer es.packers.Put(w)
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return es.from.Box.Seal(packed.Bytes(), bodyContext+id)
}

func (es *Events) unpack(id string, sealed []byte) (d document, err error) {
	packed, err := es.from.Box.Open(sealed, bodyContext+id)
	if err != nil {
		return d, err
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxPlain))
	if err != nil {
		return d, err
	}
	return d, json.Unmarshal(plain, &d)
}

// hidden are the secrets that an exchange contains, in any spelling.
func (r *Recorder) hidden(x *traffic.Exchange) (found []string) {
	text := strings.Join([]string{x.URL, string(x.Request), string(x.Response), x.Error}, "\n")
	if len(r.known) == 0 || r.redact.Redact(text) == text {
		return nil
	}
	for _, value := range r.known {
		if redact.New(nil, value).Redact(text) != text {
			found = append(found, value)
		}
	}
	return found
}

// hostOf is host:port of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return errs.Clip(db.Clean(strings.ToLower(host)+":"+port), maxHost)
}

const eventColumns = `network_event (id, team_id, capture_id, task_id, scan_id, replay_of, sent_at, took_us, tool, method,
	host, status, request_bytes, response_bytes, size, sealed_url, sealed)`

// row is an exchange as a row.
func (es *Events) row(
	id, replayOf string, s Subject, x traffic.Exchange, hidden []string,
) (row []any, size int64, err error) {
	sealedURL, err := es.packURL(id, address{errs.Clip(x.URL, maxURL), hidden})
	if err != nil {
		return nil, 0, err
	}
	sealed, err := es.pack(id, document{
		IP: x.IP, Error: errs.Clip(x.Error, maxText), Request: x.Request, Response: x.Response,
		RequestCut: x.RequestCut, ResponseCut: x.ResponseCut, Hidden: hidden,
	})
	if err != nil {
		return nil, 0, err
	}
	size = int64(len(sealedURL) + len(sealed))
	word := func(text string) string { return db.Clean(errs.Clip(text, maxWord)) }
	return []any{
		id, s.TeamID, s.id(), orNull(s.TaskID), orNull(s.ScanID), replayOf, db.At(x.At), x.Took.Microseconds(), word(x.Tool),
		word(x.Method), hostOf(x.URL), int64(x.Status), int64(len(x.Request)), int64(len(x.Response)), size,
		sealedURL, sealed,
	}, size, nil
}

func orNull(id string) any {
	if id == "" {
		return nil
	}
	return id
}

// store stores a batch. What cannot be stored is counted, and logged.
func (r *Recorder) store(ctx context.Context, batch []traffic.Exchange, dropped int64) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	dropped += r.lost
	err := r.write(ctx, batch, dropped)
	if err == nil {
		r.lost = 0
		if r.written.Load() > r.most/trimEvery {
			r.written.Store(0)
			err = r.events.trim(ctx, r.subject.TeamID)
		}
	} else {
		r.lost = dropped + int64(len(batch))
	}
	if err != nil {
		r.events.from.Logger.ErrorContext(ctx, "storing network events", "team_id", r.subject.TeamID,
			"of", r.subject.id(), "events", len(batch), "error", err)
	}
}

const (
	storeTimeout = 30 * time.Second
	trimEvery    = 20 // so many times while as much is written as a team may have
)

func (r *Recorder) write(ctx context.Context, batch []traffic.Exchange, dropped int64) error {
	s := r.subject
	var rows [][]any
	var written int64
	for i := range batch {
		row, size, err := r.events.row(ids.New(), "", s, batch[i], r.hidden(&batch[i]))
		if err != nil {
			return err
		}
		rows, written = append(rows, row), written+size
	}
	return r.events.db.Tx(ctx, func(tx *db.Tx) error {
		kept, err := r.events.count(ctx, tx, s, int64(len(rows)), dropped)
		if db.IsNoRows(err) {
			return nil // the task or the scan was deleted meanwhile
		}
		if err != nil {
			return err
		}
		if over := min(kept-maxOfSubject, int64(len(rows))); over > 0 {
			rows = rows[:int64(len(rows))-over]
			if _, err := r.events.count(ctx, tx, s, -over, over); err != nil {
				return err
			}
		}
		tx.AfterCommit(func() { r.written.Add(written) })
		return tx.Insert(ctx, eventColumns, rows)
	})
}

// count adds to the numbers of a subject, and returns how many events of it were kept in all. It fails with "no rows"
// when the subject is not there.
func (es *Events) count(ctx context.Context, tx *db.Tx, s Subject, kept, dropped int64) (all int64, err error) {
	table := "task"
	if s.ScanID != "" {
		table = "scan"
	}
	if _, err := db.Value[string](ctx, tx, `SELECT id FROM `+table+` WHERE id = ? AND team_id = ?`, s.id(), s.TeamID); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO network_capture (id, team_id, task_id, scan_id, kept, dropped, removed)
		VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET kept = network_capture.kept + excluded.kept,
		dropped = network_capture.dropped + excluded.dropped`, s.id(), s.TeamID, orNull(s.TaskID), orNull(s.ScanID), kept, dropped)
	if err != nil {
		return 0, err
	}
	return db.Value[int64](ctx, tx, `SELECT kept FROM network_capture WHERE id = ?`, s.id())
}
