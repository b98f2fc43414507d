// Package network keeps network events: the HTTP requests that tasks and scans sent to their targets, and what was
// answered.
//
// A Recorder takes the requests of one task or one part of a scan (record.go). They are compressed and sealed before
// they are stored, so that neither the database nor a backup shows them. A team's policy says what is captured, how
// long and how much of it is kept; what is too old or too much is removed, the oldest first, and counted. Where
// events are shown (read.go, har.go), secrets of the team are masked for everybody, and what looks like a secret
// unless a member asks for it. A captured request can be sent again with edits, to its own host and within the scope
// that it had (replay.go).
package network

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Sources are the services that Events uses.
type Sources struct {
	Tasks   *task.Tasks
	Scans   *scan.Scans
	Secrets *secret.Secrets
	Exports *export.Exports
	Box     *seal.Box
	Logger  *slog.Logger
}

// Events is the service.
type Events struct {
	db    *db.DB
	queue *queue.Queue
	from  Sources
	now   func() time.Time
	// packers are *flate.Writer that wait for the next document: each has tables of a megabyte, and to make them costs
	// more than twenty times what it costs to compress an exchange.
	packers sync.Pool
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, from Sources) *Events {
	return &Events{db: d, queue: q, from: from, now: time.Now}
}

// OfScans says which scans are captured.
type OfScans string

// What is captured of scans.
const (
	ScansOff       OfScans = "off"
	ScansOnRequest OfScans = "on_request" // those that ask for it
	ScansOn        OfScans = "on"
)

// Bounds of policies.
const (
	MinDays      = 1
	MaxDays      = 365
	MinMegabytes = 1
	MaxMegabytes = 100 << 10
)

// Policy says what is captured of a team's tasks and scans, and what is kept of it.
type Policy struct {
	Tasks         bool       `json:"tasks" doc:"Whether requests of tasks are captured; true unless an admin changed it."`
	Scans         OfScans    `json:"scans" enum:"off,on_request,on" doc:"Of which scans requests are captured: of none, of those that ask for it with capture_traffic (the default), or of all."`
	RetentionDays int        `json:"retention_days" doc:"How long events are kept; 30 unless an admin changed it."`
	MaxMegabytes  int        `json:"max_megabytes" doc:"How much is kept, compressed; 256 unless an admin changed it. The oldest events make room for new ones."`
	UpdatedBy     string     `json:"updated_by,omitempty" doc:"The admin who changed it last; absent: nobody did."`
	UpdatedAt     *time.Time `json:"updated_at,omitempty"`
}

func (p Policy) check() error {
	switch {
	case p.Scans != ScansOff && p.Scans != ScansOnRequest && p.Scans != ScansOn:
		return errs.Field("scans", "scans must be off, on_request or on.")
	case p.RetentionDays < MinDays || p.RetentionDays > MaxDays:
		return errs.Field("retention_days", "retention_days must be between %d and %d.", MinDays, MaxDays)
	case p.MaxMegabytes < MinMegabytes || p.MaxMegabytes > MaxMegabytes:
		return errs.Field("max_megabytes", "max_megabytes must be between %d and %d.", MinMegabytes, MaxMegabytes)
	}
	return nil
}

// Policy is the policy of the caller's team.
func (es *Events) Policy(ctx context.Context) (Policy, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Policy{}, err
	}
	return policyOf(ctx, es.db, c.TeamID)
}

func policyOf(ctx context.Context, q db.Querier, teamID string) (Policy, error) {
	p := Policy{Tasks: true, Scans: ScansOnRequest, RetentionDays: 30, MaxMegabytes: 256}
	var bytes int64
	err := q.QueryRow(ctx, `SELECT tasks, scans, retention_days, max_bytes, updated_by, updated_at FROM network_policy
		WHERE team_id = ?`, teamID).
		Scan(&p.Tasks, &p.Scans, &p.RetentionDays, &bytes, &p.UpdatedBy, db.Into(&p.UpdatedAt))
	if db.IsNoRows(err) {
		return p, nil
	}
	p.MaxMegabytes = int(bytes >> 20)
	return p, err
}

// PolicyUpdate changes a policy; nil leaves a field as it is.
type PolicyUpdate struct {
	Tasks         *bool
	Scans         *OfScans
	RetentionDays *int
	MaxMegabytes  *int
}

// SetPolicy changes the policy of the caller's team; only its admins may. What a smaller policy does not keep is
// removed before it returns.
func (es *Events) SetPolicy(ctx context.Context, up PolicyUpdate) (p Policy, err error) {
	c, err := account.TeamAdmin(ctx)
	if err == nil {
		c, err = account.Writer(ctx)
	}
	if err != nil {
		return p, err
	}
	err = es.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE team SET id = id WHERE id = ?`, c.TeamID); err != nil { // one at a time
			return err
		}
		if p, err = policyOf(ctx, tx, c.TeamID); err != nil {
			return err
		}
		set(&p.Tasks, up.Tasks)
		set(&p.Scans, up.Scans)
		set(&p.RetentionDays, up.RetentionDays)
		set(&p.MaxMegabytes, up.MaxMegabytes)
		if err := p.check(); err != nil {
			return err
		}
		at := db.At(es.now())
		p.UpdatedBy, p.UpdatedAt = c.Email, &at.Time
		_, err = tx.Exec(ctx, `INSERT INTO network_policy (team_id, tasks, scans, retention_days, max_bytes, updated_by, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id) DO UPDATE SET tasks = excluded.tasks, scans = excluded.scans,
			retention_days = excluded.retention_days, max_bytes = excluded.max_bytes, updated_by = excluded.updated_by,
			updated_at = excluded.updated_at`, c.TeamID, p.Tasks, p.Scans, p.RetentionDays, int64(p.MaxMegabytes)<<20, c.Email, at)
		return err
	})
	if err != nil {
		return Policy{}, err
	}
	return p, es.trim(ctx, c.TeamID)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
