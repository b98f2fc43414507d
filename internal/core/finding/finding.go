// Package finding stores findings: the fields of the specification's "Scan vulnerability", their status, labels and
// severity as people changed them, the history of changes, retests and tickets.
//
// A finding is identified by its scan and its hash (see Fingerprint), so seen twice it is one row. Its status is that
// of its hash in all scans of the team (decision.go). Findings of a team are numbered in order of arrival. Package list
// picks them for lists, bulk changes and exports; each change of a finding updates its list entry in the same
// transaction (package listing, reindex).
package finding

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/finding/job"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Filter picks findings.
type Filter = listing.Filter

// Nobody in Filter.Assignees is for findings without an assignee.
const Nobody = listing.Nobody

// Status is a decision about a finding (vuln_status).
type Status = listing.Status

// The statuses; package move says which may follow which.
const (
	Open          = move.Open
	FalsePositive = move.FalsePositive
	Fixed         = move.Fixed
	Duplicate     = move.Duplicate
	FixInProgress = move.FixInProgress
	AcceptedRisk  = move.AcceptedRisk
	Triaged       = move.Triaged
)

// The jobs that findings queue.
type (
	// NewsArgs is a job of package job.
	NewsArgs = job.News
	// RetestArgs is a job of package job.
	RetestArgs = job.Retest
	// FileArgs is a job of package job.
	FileArgs = job.File
	// TicketArgs is a job of package job.
	TicketArgs = job.Ticket
)

// Statuses are all of them.
var Statuses = move.Statuses

// Severities from the worst to the least.
var Severities = listing.Severities

// Finding is a weakness at a place, with its evidence.
type Finding struct {
	ID           string // 26 of [0-9a-v]
	ScanID       string // or the id of the task
	IsTask       bool   // a task saw it
	IsRepeat     bool   // another finding stands for the weakness
	Hash         string // 32 hex digits: see Fingerprint
	Weakness     string // the hash that its weakness is named by
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
	IsInternal   bool   // its address is not of the public internet
	IsRegression bool   // it was fixed, and came back
	IsTicket     bool   // it has an issue in a tracker
	Assignee     string // an email of a member of the team; empty: nobody
	CreatedAt    time.Time
	UpdatedAt    time.Time
	SeenAt       time.Time
	Follows      Follows

	Event           engine.Event // in lists without Request and Response
	TemplateEncoded string       // base64, if the sender sent it; not in lists
	Proof           *chain.Proof // nil: it cannot be shown again

	no int64
}

// No is the finding's number in its team, in the order of arrival.
func (f Finding) No() int64 { return f.no }

// storedEvent is the part of an event that lists show.
type storedEvent struct {
	Event       engine.Event `json:"event"`
	Target      string       `json:"target,omitempty"`
	Scheme      string       `json:"scheme,omitempty"`
	TemplateURL string       `json:"template_url,omitempty"`
	Proof       *chain.Proof `json:"proof,omitempty"`
}

// exchange is the large part of an event, which lists leave out.
type exchange struct {
	Request         string            `json:"request,omitempty"`
	Response        string            `json:"response,omitempty"`
	TemplateEncoded string            `json:"template_encoded,omitempty"`
	Compared        []engine.Compared `json:"compared,omitempty"`
}

// Follows is what of a finding follows from elsewhere: from the policy of its team, and from feeds.
type Follows = listing.Follows

// Findings stores and lists findings.
type Findings struct {
	db    *db.DB
	queue *queue.Queue // nil: nothing is retested
	now   func() time.Time

	Version string // of the engine, for evidence
}

// New makes the service.
func New(d *db.DB, q *queue.Queue) *Findings { return &Findings{db: d, queue: q, now: time.Now} }

const columns = `f.no, f.id, f.scan_id, f.hash, f.severity, f.status, f.template_id, f.name, f.host, f.port, f.categories, f.tags, f.labels,
	f.is_internal, f.is_regression, f.is_ticket, f.is_task, f.is_repeat, f.assignee, f.created_at, f.updated_at, f.seen_at,
	f.due_at, f.due_state, f.epss, f.is_kev, CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END, d.event`

const tables = ` FROM finding f JOIN finding_doc d ON d.team_id = f.team_id AND d.no = f.no`

// scan reads the columns, and those that follow into more.
func scan(r db.Row, more ...any) (f Finding, err error) {
	var categories, tags, labels string
	var doc []byte
	dest := []any{
		&f.no, &f.ID, &f.ScanID, &f.Hash, &f.Severity, &f.Status, &f.TemplateID, &f.Name, &f.Host, &f.Port, &categories,
		&tags, &labels, &f.IsInternal, &f.IsRegression, &f.IsTicket, &f.IsTask, &f.IsRepeat, &f.Assignee,
		db.Into(&f.CreatedAt), db.Into(&f.UpdatedAt), db.Into(&f.SeenAt), &f.Follows.DueAt,
		&f.Follows.DueState, &f.Follows.EPSS, &f.Follows.IsKEV, &f.Weakness, &doc,
	}
	if err := r.Scan(append(dest, more...)...); err != nil {
		return f, err
	}
	f.Categories, f.Tags, f.Labels = listing.Split(categories), listing.Split(tags), listing.Split(labels)
	var s storedEvent
	if err := json.Unmarshal(doc, &s); err != nil {
		return f, fmt.Errorf("event of finding %s: %w", f.ID, err)
	}
	f.Event, f.Target, f.Scheme, f.TemplateURL, f.Proof = s.Event, s.Target, s.Scheme, s.TemplateURL, s.Proof
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
	f.Event.Request, f.Event.Response, f.Event.Compared = x.Request, x.Response, x.Compared
	f.TemplateEncoded = x.TemplateEncoded
	return f, nil
}
