// Package finding stores findings: the fields of the specification's "Scan vulnerability", their status, labels and
// severity as people changed them, the history of changes, retests and tickets.
//
// A finding is identified by its scan and its hash (see Fingerprint), so seen twice it is one row. Its status is that
// of its hash in all scans of the team (decision.go). Findings of a team are numbered in order of arrival. Package list
// picks them for lists, bulk changes and exports; each change of a finding updates its list entry in the same
// transaction (entryOf, reindex).
package finding

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Status is a decision about a finding (vuln_status).
type Status string

// The statuses; any may follow any.
const (
	Open          Status = "open"
	FalsePositive Status = "false_positive"
	Fixed         Status = "fixed"
	Duplicate     Status = "duplicate"
	FixInProgress Status = "fix_in_progress"
	AcceptedRisk  Status = "accepted_risk"
	Triaged       Status = "triaged"
)

// Statuses are all of them.
var Statuses = []Status{Open, FalsePositive, Fixed, Duplicate, FixInProgress, AcceptedRisk, Triaged}

// Severities from the worst to the least.
var Severities = []string{"critical", "high", "medium", "low", "info", "unknown"}

// Finding is a weakness at a place, with its evidence.
type Finding struct {
	ID           string // 26 of [0-9a-v]
	ScanID       string
	Hash         string // 32 hex digits: see Fingerprint
	Severity     string // one of Severities
	Status       Status
	TemplateID   string
	TemplateURL  string
	Name         string
	Target       string // as the scan was given it; else host and port
	Scheme       string
	Host         string // lower case, without port
	Port         int    // 0: none
	Categories   []string
	Tags         []string
	Labels       []string
	IsInternal   bool // its address is not of the public internet
	IsRegression bool // it was fixed, and came back
	IsTicket     bool // it has an issue in a tracker
	CreatedAt    time.Time
	UpdatedAt    time.Time
	SeenAt       time.Time

	Event           engine.Event // in lists without Request and Response
	TemplateEncoded string       // base64, if the sender sent it; not in lists

	no int64
}

// storedEvent is the part of an event that lists show.
type storedEvent struct {
	Event       engine.Event `json:"event"`
	Target      string       `json:"target,omitempty"`
	Scheme      string       `json:"scheme,omitempty"`
	TemplateURL string       `json:"template_url,omitempty"`
}

// exchange is the large part of an event, which lists leave out.
type exchange struct {
	Request         string `json:"request,omitempty"`
	Response        string `json:"response,omitempty"`
	TemplateEncoded string `json:"template_encoded,omitempty"`
}

// Findings stores and lists findings.
type Findings struct {
	db    *db.DB
	queue *queue.Queue // nil: nothing is retested
	now   func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue) *Findings {
	return &Findings{db: d, queue: q, now: time.Now}
}

const columns = `f.no, f.id, f.scan_id, f.hash, f.severity, f.status, f.template_id, f.name, f.host, f.port, f.categories, f.tags, f.labels,
	f.is_internal, f.is_regression, f.is_ticket, f.created_at, f.updated_at, f.seen_at, d.event`

const tables = ` FROM finding f JOIN finding_doc d ON d.team_id = f.team_id AND d.no = f.no`

// scan reads the columns, and those that follow into more.
func scan(r db.Row, more ...any) (f Finding, err error) {
	var categories, tags, labels string
	var doc []byte
	dest := []any{
		&f.no, &f.ID, &f.ScanID, &f.Hash, &f.Severity, &f.Status, &f.TemplateID, &f.Name, &f.Host, &f.Port, &categories,
		&tags, &labels,
		&f.IsInternal, &f.IsRegression, &f.IsTicket, db.Into(&f.CreatedAt), db.Into(&f.UpdatedAt), db.Into(&f.SeenAt), &doc,
	}
	if err := r.Scan(append(dest, more...)...); err != nil {
		return f, err
	}
	f.Categories, f.Tags, f.Labels = split(categories), split(tags), split(labels)
	var s storedEvent
	if err := json.Unmarshal(doc, &s); err != nil {
		return f, fmt.Errorf("event of finding %s: %w", f.ID, err)
	}
	f.Event, f.Target, f.Scheme, f.TemplateURL = s.Event, s.Target, s.Scheme, s.TemplateURL
	return f, nil
}

// scanWhole reads the columns with the exchange.
func scanWhole(r db.Row) (Finding, error) {
	var doc []byte
	f, err := scan(r, &doc)
	if err != nil {
		return f, err
	}
	var x exchange
	if err := json.Unmarshal(doc, &x); err != nil {
		return f, fmt.Errorf("exchange of finding %s: %w", f.ID, err)
	}
	f.Event.Request, f.Event.Response, f.TemplateEncoded = x.Request, x.Response, x.TemplateEncoded
	return f, nil
}

// join makes a column of words: sorted, each once, without commas inside.
func join(words []string) string {
	clean := make([]string, 0, len(words))
	for _, w := range words {
		if w = strings.TrimSpace(strings.ReplaceAll(db.Clean(w), ",", " ")); w != "" {
			clean = append(clean, w)
		}
	}
	slices.Sort(clean)
	return strings.Join(slices.Compact(clean), ",")
}

// split gives the words of a column, never nil.
func split(column string) []string {
	if column == "" {
		return []string{}
	}
	return strings.Split(column, ",")
}
