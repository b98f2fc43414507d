package finding

import (
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Document is a finding as it is stored, its event not decoded: what an export writes a
// million of. Its raw values are good until the next document is read.
type Document struct {
	no               uint32
	ID, ScanID, Hash string
	Severity         string // one of Severities
	Status           Status
	TemplateID       string
	Host             string
	Port             int    // 0: none
	Tags, Labels     string // joined by commas
	IsInternal       bool
	IsRegression     bool
	CreatedAt        time.Time
	UpdatedAt        time.Time

	Target          Raw
	TemplateURL     Raw
	TemplateEncoded Raw
	Request         Raw
	Response        Raw
	Event           Object // without Request and Response
	Info            Object // of the event

	shown, exchange Object
	classification  Object
	classified      bool // classification is read

	created, updated     int64
	stored, conversation sql.RawBytes
	columns              []any // where a row of documentColumns and the exchange goes
	inEvent, inInfo      inner
}

// Classification is the event's classification: cve-id, cvss-score and such.
func (d *Document) Classification() Object {
	if !d.classified {
		d.classification, d.classified = d.Info.Get("classification").Members(d.classification), true
	}
	return d.classification
}

const documentColumns = `f.no, f.id, f.scan_id, f.hash, f.severity, f.status, f.template_id, f.host, f.port, f.tags, f.labels,
	f.is_internal, f.is_regression, f.created_at, f.updated_at, d.event`

// read takes a row of documentColumns in, and the exchange or a NULL behind them, in the
// memory of the document before.
func (d *Document) read(r db.Row) error {
	if d.columns == nil {
		d.columns = []any{
			&d.no, &d.ID, &d.ScanID, &d.Hash, &d.Severity, (*string)(&d.Status), &d.TemplateID, &d.Host, &d.Port, &d.Tags, &d.Labels,
			&d.IsInternal, &d.IsRegression, &d.created, &d.updated, &d.stored, &d.conversation,
		}
		d.inInfo = inner{key: "info", into: &d.Info}
		d.inEvent = inner{key: "event", into: &d.Event, next: &d.inInfo}
	}
	if err := r.Scan(d.columns...); err != nil {
		return err
	}
	d.CreatedAt, d.UpdatedAt = time.UnixMicro(d.created).UTC(), time.UnixMicro(d.updated).UTC()
	d.Event, d.Info = d.Event[:0], d.Info[:0]
	d.shown, _ = Raw(d.stored).members(d.shown, &d.inEvent)
	d.exchange = Raw(d.conversation).Members(d.exchange)
	d.classified = false
	d.Target, d.TemplateURL = d.shown.Get("target"), d.shown.Get("template_url")
	d.Request, d.Response, d.TemplateEncoded = d.exchange.Get("request"), d.exchange.Get("response"), d.exchange.Get("template_encoded")
	return nil
}

// eventKeys are the members of the specification's VulnerabilityEvent that are copied;
// events have more.
var eventKeys = []string{
	"curl-command", "extracted-results", "extractor-name", "host", "ip", "matched-at", "matched-line", "matcher-name", "matcher-status", "path",
	"template-id", "template-path", "type", "error", "issue_trackers", "port",
}

// AppendJSON appends the finding as the specification's "Scan vulnerability", the same
// that a request for this one finding answers. What is stored as JSON is copied.
func (d *Document) AppendJSON(dst []byte) []byte {
	w := d.appendFields(dst)
	w.key("event")
	d.appendEvent(&w)
	return append(w.dst, '}')
}

// AppendResult appends the finding as lists of the platform show it: its event in an
// array.
func (d *Document) AppendResult(dst []byte) []byte {
	w := d.appendFields(dst)
	w.key("event")
	w.dst = append(w.dst, '[')
	d.appendEvent(&w)
	w.dst = append(w.dst, ']')
	w.text("result_type", "matched")
	return append(w.dst, '}')
}

// appendFields begins an object with all but the event.
func (d *Document) appendFields(dst []byte) writer {
	w := writer{dst: append(dst, '{')}
	w.text("id", d.ID)
	w.text("vuln_id", d.ID)
	w.text("vuln_hash", d.Hash)
	w.text("vuln_status", string(d.Status))
	w.text("scan_id", d.ScanID)
	w.value("target", orEmptyText(d.Target))
	w.text("template_id", d.TemplateID)
	w.optional("template_path", d.Event.Get("template-path"))
	w.optional("template_url", d.TemplateURL)
	w.optional("template_encoded", d.TemplateEncoded)
	w.value("matcher_status", d.Event.Get("matcher-status"))
	if d.Port != 0 {
		w.key("port")
		w.dst = strconv.AppendInt(w.dst, int64(d.Port), 10)
	}
	w.words("labels", d.Labels)
	w.key("is_regression")
	w.dst = strconv.AppendBool(w.dst, d.IsRegression)
	w.key("is_internal")
	w.dst = strconv.AppendBool(w.dst, d.IsInternal)
	for _, key := range [...]string{"remediation", "description", "impact", "reference"} {
		w.optional(key, d.Info.Get(key))
	}
	w.time("created_at", d.CreatedAt)
	w.time("updated_at", d.UpdatedAt)
	return w
}

func (d *Document) appendEvent(w *writer) {
	w.dst = append(w.dst, '{')
	for _, m := range d.Event {
		switch key := string(m.Key); {
		case key == "info":
			w.key("info")
			d.appendInfo(w)
		case key == "timestamp":
			if at, err := time.Parse(time.RFC3339Nano, m.Value.Text()); err == nil && !at.IsZero() {
				w.time("timestamp", at)
			}
		case slices.Contains(eventKeys, key):
			w.optional(key, m.Value)
		}
	}
	w.optional("request", d.Request)
	w.optional("response", d.Response)
	w.dst = append(w.dst, '}')
}

// appendInfo writes what the template says of itself, with the severity that holds for
// this team.
func (d *Document) appendInfo(w *writer) {
	w.dst = append(w.dst, '{')
	for _, m := range d.Info {
		switch key := string(m.Key); key {
		case "severity":
			w.text("severity", d.Severity)
		case "author", "tags":
			if m.Value[0] != '[' { // null
				m.Value = Raw("[]")
			}
			w.value(key, m.Value)
		case "name":
			w.value(key, m.Value)
		default:
			w.optional(key, m.Value)
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

func (w *writer) value(key string, value Raw) {
	w.key(key)
	w.dst = append(w.dst, value...)
}

// optional leaves out what says nothing.
func (w *writer) optional(key string, value Raw) {
	if len(value) > 0 && string(value) != `""` && string(value) != "null" {
		w.value(key, value)
	}
}

func (w *writer) text(key, value string) {
	w.key(key)
	w.dst = appendText(w.dst, value)
}

func (w *writer) time(key string, at time.Time) {
	w.key(key)
	w.dst = append(at.UTC().AppendFormat(append(w.dst, '"'), time.RFC3339Nano), '"')
}

func (w *writer) words(key, column string) {
	w.key(key)
	w.dst = append(w.dst, '[')
	for i, word := range split(column) {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = appendText(w.dst, word)
	}
	w.dst = append(w.dst, ']')
}

func orEmptyText(value Raw) Raw {
	if value == nil {
		return Raw(`""`)
	}
	return value
}

// appendText appends a text as a JSON string.
func appendText(dst []byte, text string) []byte {
	if plain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always can be
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}

// plain reports whether a text stands in JSON as it is.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
