package network

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

// Event is a request and its answer, without their texts.
type Event struct {
	ID            string    `json:"id"`
	TaskID        string    `json:"task_id,omitempty" doc:"The task that sent it; absent: a scan did."`
	ScanID        string    `json:"scan_id,omitempty" doc:"The scan that sent it; absent: a task did."`
	ReplayOf      string    `json:"replay_of,omitempty" doc:"The event that was sent again; absent: it is no replay."`
	SentAt        time.Time `json:"sent_at" doc:"When the request was sent."`
	DurationMS    float64   `json:"duration_ms" doc:"Milliseconds until the head of the answer was read."`
	Tool          string    `json:"tool" doc:"What sent it: templates, http, webtest or replay."`
	Method        string    `json:"method"`
	URL           string    `json:"url" doc:"Secrets in it are masked."`
	Host          string    `json:"host" doc:"Host and port."`
	Status        int       `json:"status" doc:"The HTTP status of the answer; 0: there was none."`
	RequestBytes  int64     `json:"request_bytes" doc:"How much of the request was captured."`
	ResponseBytes int64     `json:"response_bytes" doc:"How much of the answer was captured, decompressed."`

	sealedURL, sealed []byte
}

// Detail is an event with its texts.
type Detail struct {
	Event

	IP          string `json:"ip,omitempty" doc:"The address that answered, if it is known."`
	Error       string `json:"error,omitempty" doc:"Why there was no answer."`
	Request     string `json:"request" doc:"The request as it was sent: head, empty line, body. Secrets are masked."`
	Response    string `json:"response" doc:"The answer: head, empty line, body, decompressed. Secrets are masked."`
	RequestCut  bool   `json:"request_truncated" doc:"Whether there was more: at most 64 KiB are captured."`
	ResponseCut bool   `json:"response_truncated" doc:"Whether there was more: at most 128 KiB are captured."`
	Replayable  bool   `json:"replayable" doc:"Whether the request was captured as a whole, so that it can be sent again."`
}

// Filter picks events. Zero fields pick all.
type Filter struct {
	TaskID string
	ScanID string
	Host   string // host:port
	Method string
	Tool   string
	Status int
	Failed bool // without an answer
	Limit  int
	After  string
}

const eventQuery = `SELECT e.id, coalesce(e.task_id, ''), coalesce(e.scan_id, ''), e.replay_of, e.sent_at, e.took_us, e.tool, e.method,
	e.host, e.status, e.request_bytes, e.response_bytes, e.sealed_url, `

func scanEvent(r db.Row) (e Event, err error) {
	var us int64
	err = r.Scan(&e.ID, &e.TaskID, &e.ScanID, &e.ReplayOf, db.Into(&e.SentAt), &us, &e.Tool, &e.Method, &e.Host, &e.Status,
		&e.RequestBytes, &e.ResponseBytes, &e.sealedURL, &e.sealed)
	e.DurationMS = float64(us) / 1000
	return e, err
}

// seen are the conditions of events that a caller sees: those of the team's scans, and of tasks that they see.
func seen(c account.Caller) (w db.Where) {
	w.And("e.team_id = ?", c.TeamID)
	visible, args := task.VisibleTo(c)
	w.And(`(e.task_id IS NULL OR EXISTS (SELECT 1 FROM task t WHERE t.id = e.task_id AND `+visible+`))`, args...)
	return w
}

func (f Filter) where(c account.Caller) (w db.Where) {
	w = seen(c)
	db.Equal(&w, "e.task_id", db.Clean(f.TaskID))
	db.Equal(&w, "e.scan_id", db.Clean(f.ScanID))
	db.Equal(&w, "e.host", db.Clean(f.Host))
	db.Equal(&w, "e.method", db.Clean(f.Method))
	db.Equal(&w, "e.tool", db.Clean(f.Tool))
	db.Equal(&w, "e.status", f.Status)
	if f.Failed {
		w.And("e.status = 0")
	}
	return w
}

// check refuses a filter for a task or a scan that the caller does not see.
func (es *Events) check(ctx context.Context, f Filter) error {
	if f.TaskID != "" {
		if _, err := es.from.Tasks.Find(ctx, f.TaskID); err != nil {
			return err
		}
	}
	if f.ScanID != "" {
		if _, err := es.from.Scans.Find(ctx, f.ScanID); err != nil {
			return err
		}
	}
	return nil
}

// FindAll are the events that a filter picks, the newest first; more says that there are others.
func (es *Events) FindAll(ctx context.Context, f Filter) (found []Event, more bool, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, false, err
	}
	w := f.where(c)
	if f.After != "" {
		w.And("e.id < ?", db.Clean(f.After))
	}
	found, err = db.Select(ctx, es.db, scanEvent, eventQuery+"NULL FROM network_event e"+w.String()+` ORDER BY e.id DESC LIMIT ?`,
		append(w.Args, f.Limit+1)...)
	if err != nil {
		return nil, false, err
	}
	if more = len(found) > f.Limit; more {
		found = found[:f.Limit]
	}
	s, err := es.shower(ctx, c, false)
	if err != nil {
		return nil, false, err
	}
	for i := range found {
		if err := es.openURL(&found[i], s); err != nil {
			return nil, false, err
		}
	}
	return found, more, nil
}

func (es *Events) openURL(e *Event, s *shower) error {
	a, err := es.unpackURL(e.ID, e.sealedURL)
	e.URL = s.with(a.Hidden).text(a.URL)
	return err
}

// Find is an event. Unmasked shows what only looks like a secret, such as the sessions of targets, to members and
// admins of the team; the secrets that the team keeps are shown to nobody.
func (es *Events) Find(ctx context.Context, id string, unmasked bool) (Detail, error) {
	c, err := reader(ctx, unmasked)
	if err != nil {
		return Detail{}, err
	}
	e, err := es.find(ctx, c, id)
	if err != nil {
		return Detail{}, err
	}
	s, err := es.shower(ctx, c, unmasked)
	if err != nil {
		return Detail{}, err
	}
	d, doc, err := es.detail(e, s)
	d.Request, d.Response = printable(doc.Request), printable(doc.Response)
	return d, err
}

// reader is the caller; Forbidden for one who may not see what they ask for.
func reader(ctx context.Context, unmasked bool) (account.Caller, error) {
	if unmasked {
		return account.Writer(ctx)
	}
	return account.From(ctx)
}

func (es *Events) find(ctx context.Context, c account.Caller, id string) (Event, error) {
	w := seen(c)
	w.And("e.id = ?", db.Clean(id))
	e, err := scanEvent(es.db.QueryRow(ctx, eventQuery+"e.sealed FROM network_event e"+w.String(), w.Args...))
	return e, db.OrMissing(err, "network_event")
}

// detail is an event as it is shown; doc has its texts in bytes, as they are shown.
func (es *Events) detail(e Event, s *shower) (d Detail, doc document, err error) {
	if doc, err = es.unpack(e.ID, e.sealed); err != nil {
		return d, doc, err
	}
	replayable := !doc.RequestCut
	s = s.with(doc.Hidden)
	s.learn(string(doc.Request), string(doc.Response))
	a, err := es.unpackURL(e.ID, e.sealedURL)
	if err != nil {
		return d, doc, err
	}
	e.URL = s.text(a.URL)
	doc.Request, doc.Response = []byte(s.text(string(doc.Request))), []byte(s.text(string(doc.Response)))
	doc.Error, doc.Hidden = s.text(doc.Error), nil
	return Detail{
		Event: e, IP: doc.IP, Error: doc.Error, RequestCut: doc.RequestCut, ResponseCut: doc.ResponseCut,
		Replayable: replayable,
	}, doc, nil
}

// printable is a text for JSON: bytes that are no text become U+FFFD.
func printable(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return string([]rune(string(text)))
}

// shower takes secrets out of what is shown.
type shower struct {
	key    []byte
	values []string // secrets of the team
	masker *mask.Masker
	redact *redact.Secrets
	shows  bool // what looks like a secret
}

func (es *Events) shower(ctx context.Context, c account.Caller, unmasked bool) (*shower, error) {
	key, err := es.from.Exports.MaskKey(ctx, c.TeamID)
	if err != nil {
		return nil, err
	}
	values, err := es.from.Secrets.OfTeam(ctx, c.TeamID)
	if err != nil {
		return nil, err
	}
	return newShower(key, values, unmasked), nil
}

func newShower(key []byte, values []string, unmasked bool) *shower {
	return &shower{
		key: key, values: values, masker: mask.New(key, values...), redact: redact.New(nil, values...), shows: unmasked,
	}
}

// with knows further secrets: those that an event contained when it was captured, and that may have changed since.
func (s *shower) with(hidden []string) *shower {
	more := slices.DeleteFunc(slices.Clone(hidden), func(v string) bool { return slices.Contains(s.values, v) })
	if len(more) == 0 {
		s.masker.Forget()
		return s
	}
	return newShower(s.key, slices.Concat(s.values, more), s.shows)
}

func (s *shower) learn(texts ...string) {
	for _, text := range texts {
		s.masker.Learn(text)
	}
}

func (s *shower) text(text string) string {
	if !s.shows {
		text = s.masker.Text(text)
	}
	return s.redact.Redact(text)
}

// Statistics count events.
type Statistics struct {
	Events   int64   `json:"events" doc:"How many there are."`
	Bytes    int64   `json:"stored_bytes" doc:"What they take, compressed."`
	Kept     int64   `json:"captured" doc:"How many were captured, with those that were removed since."`
	Dropped  int64   `json:"dropped" doc:"How many were not captured, because they came faster than they were stored, or because their task or scan had too many."`
	Removed  int64   `json:"removed" doc:"How many were removed: too old, too many for the policy, or deleted."`
	Hosts    []Count `json:"hosts" doc:"By host and port, the most first, at most 100."`
	Methods  []Count `json:"methods" doc:"By method, the most first."`
	Statuses []Count `json:"statuses" doc:"By HTTP status, the most first; 0: without an answer."`
	Tools    []Count `json:"tools" doc:"By what sent them, the most first."`
}

// Count is a number of events.
type Count struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

const maxCounts = 100

// Statistics counts the events of a task or a scan, or all that the caller sees.
func (es *Events) Statistics(ctx context.Context, taskID, scanID string) (s Statistics, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return s, err
	}
	w := Filter{TaskID: taskID, ScanID: scanID}.where(c)
	err = es.db.Snapshot(ctx, func(q db.Querier) error {
		if err := q.QueryRow(ctx, `SELECT count(*), coalesce(sum(e.size), 0) FROM network_event e`+w.String(), w.Args...).
			Scan(&s.Events, &s.Bytes); err != nil {
			return err
		}
		if err := q.QueryRow(ctx, `SELECT coalesce(sum(e.kept), 0), coalesce(sum(e.dropped), 0), coalesce(sum(e.removed), 0)
			FROM network_capture e`+w.String(), w.Args...).Scan(&s.Kept, &s.Dropped, &s.Removed); err != nil {
			return err
		}
		for _, by := range []struct {
			column string
			to     *[]Count
		}{{"e.host", &s.Hosts}, {"e.method", &s.Methods}, {"CAST(e.status AS TEXT)", &s.Statuses}, {"e.tool", &s.Tools}} {
			*by.to, err = db.Select(ctx, q, func(r db.Row) (n Count, err error) { return n, r.Scan(&n.Value, &n.Count) },
				`SELECT `+by.column+`, count(*) AS n FROM network_event e`+w.String()+` GROUP BY `+by.column+
					` ORDER BY n DESC, 1 LIMIT ?`, append(slices.Clone(w.Args), maxCounts)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// DeleteAll deletes the events of a task or a scan that the caller sees, and returns how many they were.
func (es *Events) DeleteAll(ctx context.Context, taskID, scanID string) (int64, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return 0, err
	}
	if (taskID == "") == (scanID == "") {
		return 0, errs.Field("task_id", "Send exactly one of task_id and scan_id.")
	}
	f := Filter{TaskID: taskID, ScanID: scanID}
	if err := es.check(ctx, f); err != nil {
		return 0, err
	}
	var w db.Where
	w.And("team_id = ?", c.TeamID)
	w.And("capture_id = ?", db.Clean(taskID+scanID))
	return es.remove(ctx, w)
}
