// Package fixed says what a scan did not show any more. When a run has ended by itself, its coverage is compared with
// the findings of the team that are open at the hosts of its targets.
//
// # How it works
//
// A weakness becomes fixed when each check that ever showed it has tested the same place in this run, to the end, and
// did not show it: the cell of the template and the target is tested, and has no match at all. The same check is the
// same template, of the team's own also the same text, under the same scan settings (headers, variables, proxy); the
// same place is the target that the finding was seen at, up to how it is written. All else changes nothing: a cell
// that is skipped, denied, failed or without budget, a check that matched something else there, a sighting since the
// run began, what only another tool or an out-of-band interaction has shown. What people decided (a false positive, an
// accepted risk, a duplicate) stays; package move has the table. Where the host could not be reached at all, the
// timeline of the finding says so, once until it is seen again.
//
// # What it costs
//
// The cells are read as they are stored, some thousand at a time. For the targets of a chunk (at most 100) one question
// is asked of the list of findings: which are open at their hosts. For each 250 of those there are two queries, and for
// each that has a cell of its template, five; a weakness that becomes fixed costs some twelve statements more, in
// transactions of 50. Nothing depends on how many findings the team has elsewhere.
package fixed

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Fixes is the service.
type Fixes struct {
	db       *db.DB
	findings *finding.Findings
	scans    *scan.Scans
	catalog  *catalog.Catalog
}

// New makes the service.
func New(d *db.DB, findings *finding.Findings, scans *scan.Scans, templates *catalog.Catalog) *Fixes {
	return &Fixes{d, findings, scans, templates}
}

// ByScans reports whether scans set the findings of the caller's team to fixed: they do, unless the team says no.
func (fx *Fixes) ByScans(ctx context.Context) (bool, error) {
	c, err := account.From(ctx)
	if err != nil {
		return false, err
	}
	return fx.byScans(ctx, c.TeamID)
}

func (fx *Fixes) byScans(ctx context.Context, teamID string) (bool, error) {
	is, err := db.Value[bool](ctx, fx.db, `SELECT fixed_by_scans FROM finding_setting WHERE team_id = ?`, teamID)
	if db.IsNoRows(err) {
		return true, nil
	}
	return is, err
}

// SetByScans says whether scans set the findings of the caller's team to fixed; only its admins may.
func (fx *Fixes) SetByScans(ctx context.Context, is bool) error {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return err
	}
	_, err = fx.db.Exec(ctx, `INSERT INTO finding_setting (team_id, fixed_by_scans) VALUES (?, ?)
		ON CONFLICT (team_id) DO UPDATE SET fixed_by_scans = excluded.fixed_by_scans`, c.TeamID, is)
	return err
}

// Result is what a comparison came to, in weaknesses.
type Result struct {
	Fixed   int
	NotSeen int // that got a note
}

// Work is Judge as a job.
func (fx *Fixes) Work(ctx context.Context, a scan.CoveredArgs) error {
	_, err := fx.Judge(ctx, a)
	return err
}

// Judge compares a run that has ended by itself with what is known. A run that was deleted, stopped or has failed, or
// after which the scan was launched again, changes nothing. Done twice, it changes nothing the second time.
func (fx *Fixes) Judge(ctx context.Context, a scan.CoveredArgs) (Result, error) {
	j, is, err := fx.open(ctx, a)
	if err != nil || !is {
		return Result{}, err
	}
	if every := fx.scans.EachChunk(ctx, run.Ref{ID: a.ScanID, Run: a.Run}, func(l *scan.Cells) bool {
		err = j.take(ctx, l)
		return err == nil
	}); every != nil {
		return j.Result, every
	}
	if err == nil {
		err = j.end(ctx)
	}
	return j.Result, err
}

// open reads what is known of a run.
func (fx *Fixes) open(ctx context.Context, a scan.CoveredArgs) (j *judging, is bool, err error) {
	j = &judging{Fixes: fx, args: a, operation: ids.New(), parts: map[string]map[string]string{}}
	var last int64
	var status scan.Status
	var config db.JSON[settings]
	err = fx.db.QueryRow(ctx, `SELECT r.team_id, r.status, r.started_at, s.run, s.name, p.config FROM scan_run r
		JOIN scan s ON s.id = r.scan_id JOIN scan_plan p ON p.scan_id = r.scan_id AND p.run = r.run
		WHERE r.scan_id = ? AND r.run = ?`, a.ScanID, a.Run).
		Scan(&j.teamID, &status, &j.began, &last, &j.name, &config)
	if db.IsNoRows(err) {
		return nil, false, nil
	}
	if err != nil || status != scan.Finished || last != a.Run || j.began.IsZero() {
		return nil, false, err
	}
	j.settings = map[string]string{a.ScanID: config.V.key(), "": settings{}.key()}
	if j.isOn, err = fx.byScans(ctx, j.teamID); err != nil {
		return nil, false, err
	}
	j.inline, err = fx.scans.InlineDigests(ctx, a.ScanID)
	return j, err == nil, err
}

// settings are the parts of a scan's configuration that say how its checks are sent.
type settings struct {
	ScanConfigIDs    []string        `json:"scan_config_ids"`
	NoGlobalSettings bool            `json:"disable_global_scan_config"`
	Proxy            json.RawMessage `json:"socks5_proxy"`
}

func (s settings) key() string {
	slices.Sort(s.ScanConfigIDs)
	text, _ := json.Marshal(s) //nolint:errchkjson // texts and what was JSON
	return string(text)
}

// settingsOf are those of a scan, as they are now; of a task and of what was deleted, those without any.
func (j *judging) settingsOf(ctx context.Context, tx *db.Tx, scanID string) (string, error) {
	if key, is := j.settings[scanID]; is {
		return key, nil
	}
	config, err := db.Value[db.JSON[settings]](ctx, tx, `SELECT config FROM scan_config WHERE scan_id = ?`, scanID)
	if err != nil && !db.IsNoRows(err) {
		return "", err
	}
	if len(j.settings) < maxKept {
		j.settings[scanID] = config.V.key()
	}
	return config.V.key(), nil
}

// maxKept bounds what a comparison keeps of other scans, and of weaknesses that it has seen a part of.
const maxKept = 10_000

// describe names the run for a timeline.
func (j *judging) describe() string {
	var b strings.Builder
	b.WriteString("Scan " + j.args.ScanID)
	if j.name != "" {
		b.WriteString(" (" + j.name + ")")
	}
	return b.String()
}

// since is when the run began.
func (j *judging) since() time.Time { return j.began.Time }
