// Package document has findings as they are stored: their events stay JSON, which exports copy.
package document

import (
	"cmp"
	"database/sql"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Document is a finding whose event is still JSON, as it is stored: exports copy that JSON. To decode and encode it
// with encoding/json takes 16 µs a finding; at the 50,000 findings/s of BenchmarkExport in core/export, 20 µs are
// there for everything, and reading a row takes 8.
type Document struct {
	No               uint32 // of the team, in the order of arrival
	ID, ScanID, Hash string
	Severity         string // one of Severities
	Status           listing.Status
	TemplateID       string
	Host             string
	Port             int    // 0: none
	Tags, Labels     string // joined by commas
	Assignee         string // an address; empty: nobody
	IsInternal       bool
	IsRegression     bool
	IsTask           bool // ScanID is the id of a task
	Follows          listing.Follows
	CreatedAt        time.Time
	UpdatedAt        time.Time

	Target, TemplateURL, Request, Response Value

	doc, event, info, exchange object
	created, updated           int64
	eventText, exchangeText    sql.RawBytes // valid until the next row is read
	eventJSON, exchangeJSON    string
	columns                    []any // the destinations of a row
}

// Value is a JSON value in the spelling of encoding/json; empty where there is none.
type Value struct {
	JSON string
	Text string // of a string; empty for other values
}

// object is the members of a JSON object, in order.
type object []member

type member struct {
	key string
	Value
}

// parse parses an object, into the memory of an earlier one.
func (o object) parse(json string) object {
	o = o[:0]
	gjson.Parse(json).ForEach(func(key, value gjson.Result) bool {
		o = append(o, member{key.Str, Value{value.Raw, value.Str}})
		return true
	})
	return o
}

func (o object) get(key string) Value {
	for i := range o {
		if o[i].key == key {
			return o[i].Value
		}
	}
	return Value{}
}

// Texts are the strings of an array; nil for any other value.
func (v Value) Texts() (out []string) {
	if list := gjson.Parse(v.JSON); list.IsArray() {
		for _, one := range list.Array() {
			if one.Type != gjson.String && one.Type != gjson.Null {
				return nil
			}
			out = append(out, one.Str)
		}
	}
	return out
}

// Event is a member of the event.
func (d *Document) Event(key string) Value { return d.event.get(key) }

// Info is a member of the event's info.
func (d *Document) Info(key string) Value { return d.info.get(key) }

// Classification is a member of the info's classification, such as cve-id or cvss-score.
func (d *Document) Classification(key string) Value {
	value := gjson.Get(d.Info("classification").JSON, key)
	return Value{value.Raw, value.Str}
}

// Columns are the columns that Read reads, besides the exchange.
const Columns = `f.no, f.id, f.scan_id, f.hash, f.severity, f.status, f.template_id, f.host, f.port, f.tags, f.labels, f.assignee,
	f.is_internal, f.is_regression, f.is_task, f.due_at, f.due_state, f.epss, f.is_kev, f.created_at, f.updated_at, d.event`

// read reads a row of Columns and the exchange, which may be NULL, and leaves its JSON to be parsed.
func (d *Document) read(r db.Row) error {
	if d.columns == nil {
		d.columns = []any{
			&d.No, &d.ID, &d.ScanID, &d.Hash, &d.Severity, (*string)(&d.Status), &d.TemplateID, &d.Host, &d.Port, &d.Tags,
			&d.Labels, &d.Assignee,
			&d.IsInternal, &d.IsRegression, &d.IsTask, &d.Follows.DueAt, &d.Follows.DueState, &d.Follows.EPSS,
			&d.Follows.IsKEV, &d.created, &d.updated, &d.eventText, &d.exchangeText,
		}
	}
	err := r.Scan(d.columns...)
	d.CreatedAt, d.UpdatedAt = time.UnixMicro(d.created).UTC(), time.UnixMicro(d.updated).UTC()
	d.eventJSON, d.exchangeJSON = string(d.eventText), string(d.exchangeText)
	return err
}

// HasDate reports whether the finding is to be fixed by a date. One that is no row has none.
func (d *Document) HasDate() bool { return d.Follows.DueAt > 0 && d.Follows.DueAt != listing.NoDate }

// DueAt is that date.
func (d *Document) DueAt() time.Time { return time.UnixMicro(d.Follows.DueAt).UTC() }

// EPSS is its probability by the feed of the operator; -1: there is none.
func (d *Document) EPSS() float64 {
	if d.Follows.EPSS < 0 || d.Follows.DueAt == 0 {
		return -1
	}
	return float64(d.Follows.EPSS) / listing.PerOne
}

// Parse is a document of a stored event and exchange, in JSON. The caller sets the other fields.
func Parse(event, exchange string) *Document {
	d := new(Document)
	d.parse(event, exchange)
	return d
}

func (d *Document) parse(event, exchange string) {
	d.doc = d.doc.parse(event)
	d.event = d.event.parse(d.doc.get("event").JSON)
	d.info = d.info.parse(d.Event("info").JSON)
	d.exchange = d.exchange.parse(exchange)
	d.Target, d.TemplateURL = d.doc.get("target"), d.doc.get("template_url")
	d.Request, d.Response = d.exchange.get("request"), d.exchange.get("response")
}

// Rewrite puts what change answers in the place of each value that comes from a target: the members of the event but
// its info, "target", "request", "response" and "template_encoded". Nothing of it is stored.
func (d *Document) Rewrite(change func(key string, v Value) Value) {
	for i := range d.event {
		if m := &d.event[i]; m.key != "info" {
			m.Value = change(m.key, m.Value)
		}
	}
	for i := range d.exchange {
		d.exchange[i].Value = change(d.exchange[i].key, d.exchange[i].Value)
	}
	d.Target = change("target", d.Target)
	d.Request, d.Response = d.exchange.get("request"), d.exchange.get("response")
}

// Compared are the requests that the event was compared with.
func (d *Document) Compared() Value { return d.exchange.get("compared") }

// Encoded is the text of the template in base64, where it is kept with the finding.
func (d *Document) Encoded() string { return d.exchange.get("template_encoded").Text }

// eventKeys are the members of the specification's VulnerabilityEvent that are copied; events have more.
var eventKeys = []string{
	"curl-command", "extracted-results", "extractor-name", "host", "ip", "matched-at", "matched-line", "matcher-name",
	"matcher-status", "path",
	"template-id", "template-path", "type", "error", "issue_trackers", "port",
}

// AppendJSON appends the specification's "Scan vulnerability": what the API answers for this one finding.
func (d *Document) AppendJSON(dst []byte) []byte {
	w := writer{append(dst, '{')}
	w.text("id", d.ID)
	w.text("vuln_id", d.ID)
	w.text("vuln_hash", d.Hash)
	w.text("vuln_status", string(d.Status))
	w.text("proof", d.proof())
	if d.IsTask {
		w.text("scan_id", "")
		w.text("task_id", d.ScanID)
	} else {
		w.text("scan_id", d.ScanID)
	}
	w.value("target", cmp.Or(d.Target.JSON, `""`))
	w.text("template_id", d.TemplateID)
	w.optional("template_path", d.Event("template-path").JSON)
	w.optional("template_url", d.TemplateURL.JSON)
	w.optional("template_encoded", d.exchange.get("template_encoded").JSON)
	w.value("matcher_status", d.Event("matcher-status").JSON)
	if d.Port != 0 {
		w.value("port", strconv.Itoa(d.Port))
	}
	w.key("labels")
	w.dst = append(w.dst, '[')
	for i, label := range listing.Split(d.Labels) {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = gjson.AppendJSONString(w.dst, label)
	}
	w.dst = append(w.dst, ']')
	w.text("state", string(move.StateOf(d.Status, d.IsRegression)))
	if d.Assignee != "" {
		w.text("assignee", d.Assignee)
	}
	if d.HasDate() {
		w.time("due_at", d.DueAt())
		if d.Follows.DueState != "" {
			w.text("due_state", d.Follows.DueState)
		}
	}
	if d.EPSS() >= 0 {
		w.value("epss_score", strconv.FormatFloat(d.EPSS(), 'g', -1, 64))
	}
	if d.Follows.IsKEV {
		w.value("is_kev", "true")
	}
	w.value("is_regression", strconv.FormatBool(d.IsRegression))
	w.value("is_internal", strconv.FormatBool(d.IsInternal))
	for _, key := range [...]string{"remediation", "description", "impact", "reference"} {
		w.optional(key, d.Info(key).JSON)
	}
	w.time("created_at", d.CreatedAt)
	w.time("updated_at", d.UpdatedAt)
	w.key("event")
	d.appendEvent(&w)
	return append(w.dst, '}')
}

// proof says whether the finding can be shown again: see finding.IsReplayable.
func (d *Document) proof() string {
	if p := d.doc.get("proof").JSON; gjson.Get(p, "digest").Str != "" || gjson.Get(p, "template").Str != "" {
		return "replayable"
	}
	return "unproven"
}

func (d *Document) appendEvent(w *writer) {
	w.dst = append(w.dst, '{')
	for _, m := range d.event {
		switch {
		case m.key == "info":
			w.key(m.key)
			d.appendInfo(w)
		case m.key == "timestamp":
			if at, err := time.Parse(time.RFC3339Nano, m.Text); err == nil && !at.IsZero() {
				w.time(m.key, at)
			}
		case slices.Contains(eventKeys, m.key):
			w.optional(m.key, m.JSON)
		}
	}
	w.optional("request", d.Request.JSON)
	w.optional("response", d.Response.JSON)
	w.optional("compared", d.Compared().JSON)
	w.dst = append(w.dst, '}')
}

// appendInfo appends the template's description, with the severity that the team gives it.
func (d *Document) appendInfo(w *writer) {
	w.dst = append(w.dst, '{')
	for _, m := range d.info {
		switch m.key {
		case "severity":
			w.text(m.key, d.Severity)
		case "author", "tags":
			if m.JSON == "null" {
				m.JSON = "[]"
			}
			w.value(m.key, m.JSON)
		case "name":
			w.value(m.key, m.JSON)
		default:
			w.optional(m.key, m.JSON)
		}
	}
	w.dst = append(w.dst, '}')
}

// writer appends members of a JSON object.
type writer struct{ dst []byte }

func (w *writer) key(key string) {
	if last := w.dst[len(w.dst)-1]; last != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(append(w.dst, '"'), key...), `":`...)
}

func (w *writer) value(key, json string) {
	w.key(key)
	w.dst = append(w.dst, json...)
}

// optional leaves out what is missing, null or the empty string.
func (w *writer) optional(key, json string) {
	if json != "" && json != "null" && json != `""` {
		w.value(key, json)
	}
}

func (w *writer) text(key, value string) {
	w.key(key)
	w.dst = gjson.AppendJSONString(w.dst, value)
}

func (w *writer) time(key string, at time.Time) {
	w.text(key, at.UTC().Format(time.RFC3339Nano))
}
