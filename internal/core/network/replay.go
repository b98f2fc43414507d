package network

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/har"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// Edits change a captured request before it is sent again. Its host stays what it was.
type Edits struct {
	Method  string             `json:"method,omitempty" pattern:"^[A-Z]{1,20}$" doc:"Another method; it must be in the scope of the task."`
	Path    string             `json:"path,omitempty" maxLength:"8192" doc:"Another path and query; it begins with /."`
	Headers map[string]*string `json:"headers,omitempty" doc:"Headers to set; null removes one. Host and what belongs to the connection cannot be set."`
	Body    *string            `json:"body,omitempty" maxLength:"65536" doc:"Another body."`
	JSON    []Mutation         `json:"json,omitempty" maxItems:"50" doc:"Changes of a body that is JSON, in turn."`
}

// Mutation changes a value in a JSON document.
type Mutation struct {
	Path   string `json:"path" maxLength:"1000" doc:"Where, as a JSON pointer such as /user/role; an index of a list is a number, and - is its end."`
	Value  any    `json:"value,omitempty" doc:"What is there then."`
	Remove bool   `json:"remove,omitempty" doc:"Remove what is there."`
}

// ReplayState is the state of a replay.
type ReplayState string

// The states of a replay. The last two are final.
const (
	ReplayQueued ReplayState = "queued"
	ReplaySent   ReplayState = "sent" // whatever was answered
	ReplayFailed ReplayState = "failed"
)

// Replay is a request that is sent again.
type Replay struct {
	ID       string      `json:"id"`
	EventID  string      `json:"event_id" doc:"The event that is sent again."`
	State    ReplayState `json:"state" enum:"queued,sent,failed"`
	Note     string      `json:"note,omitempty" doc:"Why it failed."`
	ResultID string      `json:"result_event_id,omitempty" doc:"The event with the request as it was sent, and its answer."`
	AskedBy  string      `json:"asked_by"`
	AskedAt  time.Time   `json:"asked_at"`
	EndedAt  *time.Time  `json:"ended_at,omitempty"`
}

// ReplayArgs is the job that sends a request again.
type ReplayArgs struct {
	TeamID   string `json:"team_id"`
	UserID   string `json:"user_id"` // who asked for it
	ReplayID string `json:"replay_id"`
}

// Kind implements queue.Args.
func (ReplayArgs) Kind() string { return "network.replay" }

// maxReplays bounds the replays of a team that wait.
const maxReplays = 100

// Replay has an event that the caller sees sent again, with edits. An event whose request was not captured as a whole
// is a Conflict.
func (es *Events) Replay(ctx context.Context, eventID string, edits Edits) (r Replay, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return r, err
	}
	e, err := es.find(ctx, c, eventID)
	if err != nil {
		return r, err
	}
	doc, err := es.unpack(e.ID, e.sealed)
	if err != nil {
		return r, err
	}
	at, err := es.unpackURL(e.ID, e.sealedURL)
	if err != nil {
		return r, err
	}
	if _, err := requestOf(at.URL, doc, edits); err != nil { // refuse now what the job could not do
		return r, err
	}
	r = Replay{ID: ids.New(), EventID: e.ID, State: ReplayQueued, AskedBy: c.Email, AskedAt: db.At(es.now()).Time}
	text, err := json.Marshal(edits)
	if err != nil {
		return r, err
	}
	sealed, err := es.from.Box.Seal(text, editContext+r.ID)
	if err != nil {
		return r, err
	}
	return r, es.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE team SET id = id WHERE id = ?`, c.TeamID); err != nil {
			return err
		}
		waiting, err := db.Value[int](ctx, tx, `SELECT count(*) FROM network_replay WHERE team_id = ? AND state = ?`, c.TeamID,
			ReplayQueued)
		if err != nil {
			return err
		}
		if waiting >= maxReplays {
			return errs.New(errs.Conflict, "too_many_replays", "%d replays of your team wait; try again later.", waiting)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO network_replay (id, team_id, event_id, state, note, result_id, edits, asked_by, asked_at)
			VALUES (?, ?, ?, ?, '', '', ?, ?, ?)`, r.ID, c.TeamID, e.ID, r.State, sealed, c.Email, db.At(r.AskedAt)); err != nil {
			return err
		}
		_, err = es.queue.Insert(ctx, tx, c.TeamID, ReplayArgs{c.TeamID, c.UserID, r.ID})
		return err
	})
}

// FindReplay is a replay of an event that the caller sees.
func (es *Events) FindReplay(ctx context.Context, id string) (r Replay, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return r, err
	}
	w := seen(c)
	w.And("p.id = ?", db.Clean(id))
	err = es.db.QueryRow(ctx, `SELECT p.id, p.event_id, p.state, p.note, p.result_id, p.asked_by, p.asked_at, p.ended_at
		FROM network_replay p JOIN network_event e ON e.id = p.event_id`+w.String(), w.Args...).
		Scan(&r.ID, &r.EventID, &r.State, &r.Note, &r.ResultID, &r.AskedBy, db.Into(&r.AskedAt), db.Into(&r.EndedAt))
	return r, db.OrMissing(err, "network_replay")
}

// Outgoing is a request that is to be sent again.
type Outgoing struct {
	TaskID, ScanID string // within whose scope it must be
	Method         string
	URL            *url.URL
	Host           string // as the request names it
	Header         http.Header
	Body           []byte
	IP             string // that answered before, if it is known

	event  string
	team   string
	hidden []string
}

// Outgoing is the request of a replay that waits; NotFound when it does not any more.
func (es *Events) Outgoing(ctx context.Context, a ReplayArgs) (o Outgoing, err error) {
	var eventID string
	var sealed []byte
	err = es.db.QueryRow(ctx, `SELECT event_id, edits FROM network_replay WHERE id = ? AND team_id = ? AND state = ?`, a.ReplayID,
		a.TeamID, ReplayQueued).Scan(&eventID, &sealed)
	if err != nil {
		return o, db.OrMissing(err, "network_replay")
	}
	text, err := es.from.Box.Open(sealed, editContext+a.ReplayID)
	if err != nil {
		return o, err
	}
	var edits Edits
	if err := json.Unmarshal(text, &edits); err != nil {
		return o, err
	}
	e, err := scanEvent(es.db.QueryRow(ctx, eventQuery+`e.sealed FROM network_event e WHERE e.id = ? AND e.team_id = ?`, eventID,
		a.TeamID))
	if err != nil {
		return o, db.OrMissing(err, "network_event")
	}
	doc, err := es.unpack(e.ID, e.sealed)
	if err != nil {
		return o, err
	}
	at, err := es.unpackURL(e.ID, e.sealedURL)
	if err != nil {
		return o, err
	}
	if o, err = requestOf(at.URL, doc, edits); err != nil {
		return o, err
	}
	o.IP, o.TaskID, o.ScanID, o.event, o.team, o.hidden = doc.IP, e.TaskID, e.ScanID, e.ID, a.TeamID, doc.Hidden
	return o, nil
}

// connectionHeaders are made anew with each request.
var connectionHeaders = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer",
	"Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
}

func cannot(why string) error {
	return errs.New(errs.Conflict, "not_replayable", "This request cannot be sent again: %s.", why)
}

// requestOf is a captured request with edits.
func requestOf(address string, doc document, edits Edits) (o Outgoing, err error) {
	if doc.RequestCut {
		return o, cannot("it was too long to be captured as a whole")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return o, cannot("its address is no URL")
	}
	message := har.Parse(doc.Request)
	method, rest, ok := strings.Cut(message.First, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !strings.HasPrefix(version, "HTTP/") || strings.Contains(target, " ") {
		return o, cannot("it is no request that a library sends")
	}
	if strings.EqualFold(message.Header("Transfer-Encoding"), "chunked") {
		return o, cannot("its body was sent in chunks")
	}
	o = Outgoing{Method: method, Header: http.Header{}, Body: message.Body, Host: message.Header("Host")}
	if edits.Method != "" {
		o.Method = edits.Method
	}
	if edits.Path != "" {
		target = edits.Path
	}
	if o.URL, err = pinned(u, target, edits.Path != ""); err != nil {
		return o, err
	}
	for _, f := range message.Fields {
		if !slices.Contains(connectionHeaders, http.CanonicalHeaderKey(f.Name)) {
			o.Header[http.CanonicalHeaderKey(f.Name)] = append(o.Header[http.CanonicalHeaderKey(f.Name)], f.Value)
		}
	}
	o.Header.Del("Accept-Encoding") // the sender asks for what it can read
	if err := o.setHeaders(edits.Headers); err != nil {
		return o, err
	}
	if edits.Body != nil {
		o.Body = []byte(*edits.Body)
	}
	if len(edits.JSON) > 0 {
		o.Body, err = mutated(o.Body, edits.JSON)
	}
	if err == nil && len(o.Body) > traffic.MaxRequest {
		err = errs.Field("body", "body must have at most %d bytes.", traffic.MaxRequest)
	}
	return o, err
}

// pinned is a URL on the host of another one.
func pinned(u *url.URL, target string, edited bool) (*url.URL, error) {
	bad := func() (*url.URL, error) {
		if edited {
			return nil, errs.Field("path", "path must begin with one / and be a path and a query: the host cannot be changed.")
		}
		return nil, cannot("its first line has no path")
	}
	if !strings.HasPrefix(target, "/") {
		return bad()
	}
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
		return bad()
	}
	path, query, _ := strings.Cut(target, "?")
	plain, err := url.PathUnescape(path)
	if err != nil {
		return bad()
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: plain, RawPath: path, RawQuery: query}, nil
}

const maxHeaders = 100

func (o *Outgoing) setHeaders(edits map[string]*string) error {
	if len(edits) > maxHeaders {
		return errs.Field("headers", "headers must have at most %d entries.", maxHeaders)
	}
	for name, value := range edits {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case slices.Contains(connectionHeaders, canonical):
			return errs.Field("headers", "headers: %s cannot be set: the request goes to the host that it went to.", canonical)
		case !isToken(name):
			return errs.Field("headers", "headers %.100q: it is no name of a header.", name)
		case value == nil:
			o.Header.Del(canonical)
		case len(*value) > maxURL || strings.ContainsFunc(*value, isControl):
			return errs.Field("headers", "headers %.100q: the value must be one line of at most %d bytes.", name, maxURL)
		default:
			o.Header.Set(canonical, *value)
		}
	}
	return nil
}

// isToken reports whether s can name a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// EndReplay stores what a replay was answered, or why it failed; once.
func (es *Events) EndReplay(
	ctx context.Context, tx *db.Tx, a ReplayArgs, o Outgoing, x traffic.Exchange, why string,
) error {
	end := func(tx *db.Tx) error {
		state, result := ReplayFailed, ""
		if why == "" {
			state, result = ReplaySent, ids.New()
		}
		n, err := tx.Exec(ctx, `UPDATE network_replay SET state = ?, note = ?, result_id = ?, ended_at = ? WHERE id = ? AND team_id = ?
			AND state = ?`, state, errs.Clip(db.Clean(why), maxText), result, db.At(es.now()), a.ReplayID, a.TeamID, ReplayQueued)
		if err != nil || n == 0 || result == "" {
			return err
		}
		s := Subject{TeamID: o.team, TaskID: o.TaskID, ScanID: o.ScanID}
		if _, err := es.count(ctx, tx, s, 1, 0); err != nil {
			return err
		}
		x.Tool = "replay"
		row, _, err := es.row(result, o.event, s, x, o.hidden)
		if err != nil {
			return err
		}
		return tx.Insert(ctx, eventColumns, [][]any{row})
	}
	if tx != nil {
		return end(tx)
	}
	return es.db.Tx(ctx, end)
}

// isControl reports whether a letter may not stand in the value of a header (RFC 9110, 5.5).
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
