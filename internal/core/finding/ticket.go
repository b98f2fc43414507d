package finding

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Desk is where an issue goes: one tracker of a configuration. SeenIn says what the issue
// is told of, such as a run of a scan: of one it is told once.
type Desk struct {
	ConfigID string
	Provider string // github, gitlab, jira, linear or custom
	SeenIn   string
}

// Ticket is an issue of a finding in a tracker, and the configuration that led there.
type Ticket struct {
	ConfigID, ConfigName, Provider string
	Issue                          engine.IssueTracker
}

// FileArgs is the job that files a finding of a run in one tracker.
type FileArgs struct {
	TeamID    string `json:"team_id"`
	FindingID string `json:"finding_id"`
	ConfigID  string `json:"config_id"`
	Provider  string `json:"provider"`
	SeenIn    string `json:"seen_in"`
}

// Kind implements queue.Args.
func (FileArgs) Kind() string { return "finding.file" }

// claimTime is how long somebody may be at a tracker with a finding before another goes.
const claimTime = 2 * time.Minute

// errClaimed is the refusal while somebody else is at the tracker.
func errClaimed() error {
	return errs.New(errs.Conflict, "ticket_busy", "The finding is being filed. Try again in a moment.")
}

// File has a finding of a team filed: file opens an issue or, where known is not nil, says
// in that one that the finding was seen again. Of all who file what one hash names, one is
// at the tracker at a time. Its issue is then on record of all findings of the hash. A
// process that dies after the issue was opened leaves no record: file must look for it.
func (fs *Findings) File(ctx context.Context, teamID, id string, d Desk, file func(ctx context.Context, f Finding, known *engine.IssueTracker) (engine.IssueTracker, error)) (Finding, engine.IssueTracker, error) {
	f, err := fs.byID(ctx, fs.db, teamID, id)
	if err != nil {
		return f, engine.IssueTracker{}, err
	}
	claim, known, told, err := fs.claim(ctx, teamID, f.Hash, d)
	if err != nil || told {
		return f, known, err
	}
	at := &known
	if known.ID == "" {
		at = nil
	}
	issue, err := file(ctx, f, at)
	kept := context.WithoutCancel(ctx)
	if err != nil {
		_, released := fs.db.Exec(kept, `UPDATE ticket SET claim = '', claimed_until = NULL WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ? AND claim = ?`,
			teamID, f.Hash, d.ConfigID, d.Provider, claim)
		if released != nil {
			err = released
		}
		return f, issue, err
	}
	return f, issue, fs.db.Tx(kept, func(tx *db.Tx) error {
		n, err := tx.Exec(kept, `UPDATE ticket SET issue_id = ?, issue_url = ?, seen_in = ?, claim = '', claimed_until = NULL, updated_at = ?
			WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ? AND claim = ?`,
			db.Clean(issue.ID), db.Clean(issue.URL), d.SeenIn, db.At(fs.now()), teamID, f.Hash, d.ConfigID, d.Provider, claim)
		if err != nil || n == 0 { // another has it now
			return err
		}
		return fs.setTracker(kept, tx, teamID, f.Hash, d.Provider, &issue)
	})
}

// claim takes the right to go to a tracker. told says that the issue knows of d.SeenIn.
func (fs *Findings) claim(ctx context.Context, teamID, hash string, d Desk) (claim string, known engine.IssueTracker, told bool, err error) {
	claim = ids.New()
	now := fs.now()
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO ticket (team_id, hash, config_id, provider, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			teamID, hash, d.ConfigID, d.Provider, db.At(now), db.At(now)); err != nil {
			return err
		}
		var seenIn string
		err := tx.QueryRow(ctx, `UPDATE ticket SET claim = ?, claimed_until = ? WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ? AND (claimed_until IS NULL OR claimed_until < ?)
			RETURNING issue_id, issue_url, seen_in`, claim, db.At(now.Add(claimTime)), teamID, hash, d.ConfigID, d.Provider, db.At(now)).Scan(&known.ID, &known.URL, &seenIn)
		if db.IsNoRows(err) {
			return errClaimed()
		}
		if err == nil && known.ID != "" && seenIn == d.SeenIn && d.SeenIn != "" {
			told = true
			_, err = tx.Exec(ctx, `UPDATE ticket SET claim = '', claimed_until = NULL WHERE team_id = ? AND claim = ?`, teamID, claim)
		}
		return err
	})
	return claim, known, told, err
}

// setTracker puts an issue on record of all findings of a hash, or (nil) takes it off.
func (fs *Findings) setTracker(ctx context.Context, tx *db.Tx, teamID, hash, provider string, issue *engine.IssueTracker) error {
	if _, _, err := fs.number(ctx, tx, teamID, 0, 0); err != nil { // one writer at a time
		return err
	}
	first := hashPart(hash)
	rows, err := tx.Query(ctx, `SELECT f.no, d.event`+tables+` WHERE f.id >= ? AND f.id <= ? AND f.hash = ? AND f.team_id = ?`, first, first+"zzzzzzzzzz", hash, teamID)
	type one struct {
		no    int64
		event []byte
	}
	found, err := db.Collect(rows, err, func(r db.Row) (o one, err error) { return o, r.Scan(&o.no, &o.event) })
	if err != nil {
		return err
	}
	_, rev, err := fs.number(ctx, tx, teamID, 0, int64(len(found)))
	if err != nil {
		return err
	}
	numbers := make([]int64, len(found))
	for i, o := range found {
		numbers[i] = o.no
		var s shown
		if err := json.Unmarshal(o.event, &s); err != nil {
			return err
		}
		if s.Event.IssueTrackers == nil {
			s.Event.IssueTrackers = map[string]engine.IssueTracker{}
		}
		if delete(s.Event.IssueTrackers, provider); issue != nil {
			s.Event.IssueTrackers[provider] = engine.IssueTracker{ID: db.Clean(issue.ID), URL: db.Clean(issue.URL)}
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE finding_doc SET event = ? WHERE team_id = ? AND no = ?`, text, teamID, o.no); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE finding SET is_ticket = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`, len(s.Event.IssueTrackers) > 0, rev+int64(i), db.At(fs.now()), teamID, o.no); err != nil {
			return err
		}
	}
	return relist(ctx, tx, teamID, numbers...)
}

// Link puts an issue that the caller has filed by hand on record of a finding of their
// team, and of all others of its hash. at is an http or https URL, or empty.
func (fs *Findings) Link(ctx context.Context, id, issueID, at string) (Ticket, error) {
	if u, err := url.Parse(at); at != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return Ticket{}, errs.Field("custom_reporting_url", "custom_reporting_url must be an http or https URL.")
	}
	t := Ticket{Provider: "custom", Issue: engine.IssueTracker{ID: db.Clean(issueID), URL: db.Clean(at)}}
	_, err := fs.relink(ctx, id, t.Provider, &t.Issue)
	return t, err
}

// Unlink takes the issue of a provider off a finding of the caller's team, and off all
// others of its hash. The issue itself stays as it is. NotFound when there is none.
func (fs *Findings) Unlink(ctx context.Context, id, provider string) (Finding, error) {
	return fs.relink(ctx, id, provider, nil)
}

func (fs *Findings) relink(ctx context.Context, id, provider string, issue *engine.IssueTracker) (Finding, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Finding{}, err
	}
	f, err := fs.byID(ctx, fs.db, c.TeamID, id)
	if err != nil {
		return f, err
	}
	if _, has := f.Event.IssueTrackers[provider]; !has && issue == nil {
		return f, errs.New(errs.NotFound, "ticket_not_found", "The finding has no issue there.")
	}
	return f, fs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM ticket WHERE team_id = ? AND hash = ? AND provider = ?`, c.TeamID, f.Hash, provider); err != nil {
			return err
		}
		return fs.setTracker(ctx, tx, c.TeamID, f.Hash, provider, issue)
	})
}

// AskFiling has the findings that a run of a scan saw filed at desks, a job for each, for a
// worker. Those that people have set aside are left out. It may be asked again: what an
// issue was told of, it is not told twice.
func (fs *Findings) AskFiling(ctx context.Context, teamID, scanID string, run int64, wants func(severity string) []Desk) error {
	picked, err := fs.pick(ctx, fs.db, teamID, Filter{ScanIDs: []string{scanID}, Statuses: []Status{Open, FixInProgress, Triaged}})
	if err != nil {
		return err
	}
	slices.Sort(picked)
	for len(picked) > 0 {
		part := picked[:min(len(picked), batch)]
		picked = picked[len(part):]
		if err := fs.db.Tx(ctx, func(tx *db.Tx) error { return fs.askPart(ctx, tx, teamID, run, part, wants) }); err != nil {
			return err
		}
	}
	return nil
}

func (fs *Findings) askPart(ctx context.Context, tx *db.Tx, teamID string, run int64, part []int64, wants func(severity string) []Desk) error {
	type one struct{ id, severity string }
	rows, err := tx.Query(ctx, `SELECT f.id, f.severity FROM finding f`+numbered(part)+` AND f.run = ? ORDER BY f.no`, append(append([]any{teamID}, anys(part)...), run)...)
	found, err := db.Collect(rows, err, func(r db.Row) (o one, err error) { return o, r.Scan(&o.id, &o.severity) })
	if err != nil {
		return err
	}
	for _, o := range found {
		for _, d := range wants(o.severity) {
			if _, err := fs.queue.Insert(ctx, tx, FileArgs{teamID, o.id, d.ConfigID, d.Provider, d.SeenIn}); err != nil {
				return err
			}
		}
	}
	return nil
}
