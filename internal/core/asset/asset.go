// Package asset is the inventory: what discovery saw, when, in which run of which
// enumeration; what people say of it (labels, groups, policies); and what changed.
//
// An asset is known by its enumeration, host, port and protocol: seen again, it is the
// same row. What a row was before it changed is kept, so that every list can be had as of
// any date. Lists are answered by the database (package list): a Filter is made into one of that
// package by meaning, for lists and for policies alike.
package asset

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Asset is one row of the inventory.
type Asset struct {
	ID             int64
	EnumerationID  string
	Enumeration    string // its name
	SourceType     string // what the enumeration looks at, as discovery or cloud
	Hash           string // 32 hex digits of host, port and protocol: the same in every enumeration
	Labels         []string
	IsNew          bool // the latest run of the enumeration saw it first
	IsMissing      bool // a later run that looked at everything did not see it
	IsInternal     bool // its address is not of the public internet
	CreatedAt      time.Time
	UpdatedAt      time.Time // when it became as it is
	SeenAt         time.Time
	HasScreenshot  bool
	discover.Asset // what was observed

	no int64
}

// Brief is what names an asset, and little more.
type Brief struct {
	ID            int64    `json:"id"`
	EnumerationID string   `json:"enumeration_id"`
	Host          string   `json:"host"`
	Port          int      `json:"port,omitempty"`
	Protocol      string   `json:"protocol,omitempty"`
	URL           string   `json:"url,omitempty"`
	Title         string   `json:"title,omitempty"`
	Technologies  []string `json:"technologies,omitempty"`
}

// Assets is the service of the inventory.
type Assets struct {
	db       *db.DB
	queue    *queue.Queue // nil: nothing is done in the background
	blobs    *blob.Store  // nil: screenshots are not kept
	settings *setting.Settings
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, blobs *blob.Store, settings *setting.Settings) *Assets {
	return &Assets{db: d, queue: q, blobs: blobs, settings: settings, now: time.Now}
}

// An id is the team's own number and the asset's number within the team. It is below
// 2^53, so that programs that keep numbers as floating point read it too.
const noBits = 32

func idOf(teamNo int64, no int64) int64 { return teamNo<<noBits | no }

func noOf(id int64) (teamNo, no int64) { return id >> noBits, id & (1<<noBits - 1) }

// rowColumns are the columns of asset and of asset_past that describe a version of an
// asset, in the order of row.scan.
const rowColumns = `no, rev, enumeration_id, hash, host, port, protocol, first_run, run, created_at, since, seen_at, is_missing, is_internal,
	status_code, content_length, title, service, webserver, domain, ip, cname, technologies, favicon, labels, tls, certificate, misconfiguration, endpoints, screenshot, facts, whole, doc, ip_order`

// row is a version of an asset as it is stored, without its document.
type row struct {
	no                                              int64
	rev                                             int64
	enumeration, hash, host                         string
	port                                            int
	protocol                                        string
	firstRun, run                                   int64
	createdAt, since, seenAt                        db.Time
	missing, internal                               bool
	status                                          int
	length                                          int64
	title, service, webserver, domain, ip, cname    string
	technologies, favicon, labels, tls, certificate string
	misconfiguration, screenshot, facts, whole      string
	endpoints, doc                                  int64
	ipOrder                                         string
}

func (r *row) dest() []any {
	return []any{
		&r.no, &r.rev, &r.enumeration, &r.hash, &r.host, &r.port, &r.protocol, &r.firstRun, &r.run, &r.createdAt, &r.since, &r.seenAt, &r.missing, &r.internal,
		&r.status, &r.length, &r.title, &r.service, &r.webserver, &r.domain, &r.ip, &r.cname, &r.technologies, &r.favicon, &r.labels, &r.tls, &r.certificate,
		&r.misconfiguration, &r.endpoints, &r.screenshot, &r.facts, &r.whole, &r.doc, &r.ipOrder,
	}
}

func (r *row) values() []any {
	return []any{
		r.no, r.rev, r.enumeration, r.hash, r.host, r.port, r.protocol, r.firstRun, r.run, r.createdAt, r.since, r.seenAt, r.missing, r.internal,
		r.status, r.length, r.title, r.service, r.webserver, r.domain, r.ip, r.cname, r.technologies, r.favicon, r.labels, r.tls, r.certificate,
		r.misconfiguration, r.endpoints, r.screenshot, r.facts, r.whole, r.doc, ipOrder(r.ip),
	}
}

// marks are the placeholders of a statement for n values.
func marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// assetOf puts a row and its document together. What other tables know is for the caller to add.
func assetOf(r row, doc []byte) (Asset, error) {
	a := Asset{
		EnumerationID: r.enumeration, Hash: r.hash, Labels: words(r.labels), IsMissing: r.missing, IsInternal: r.internal,
		CreatedAt: r.createdAt.Time, UpdatedAt: r.since.Time, SeenAt: r.seenAt.Time, HasScreenshot: r.screenshot != "", no: r.no,
	}
	if err := json.Unmarshal(doc, &a.Asset); err != nil {
		return a, fmt.Errorf("asset %d: its document: %w", r.no, err)
	}
	return a, nil
}

// words are those of a column, never nil.
func words(column string) []string {
	if column == "" {
		return []string{}
	}
	return strings.Split(column, "\n")
}

// enrolled is the condition on a row, a, that its enumeration is there: it may be one that
// is being deleted.
const enrolled = ` AND EXISTS (SELECT 1 FROM asset_enumeration e WHERE e.id = a.enumeration_id)`
