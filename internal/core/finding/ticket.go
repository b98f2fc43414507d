package finding

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Tracker is one tracker of a reporting configuration, in which a finding is filed as an issue.
type Tracker struct {
	ConfigID string
	Provider string // github, gitlab, jira, linear or custom
	SeenIn   string // what saw the finding, such as a run of a scan; it is reported once in an issue
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

// claimTime is how long one process may work on an issue before another takes over.
const claimTime = 2 * time.Minute

// File files a finding of a team: file opens an issue or, where known is not nil, comments in that one that the finding
// was seen again. One process at a time files a hash; another gets Conflict. The issue is then recorded for all
// findings of the hash. A process that dies after opening an issue leaves no record, so file must look for it.
func (fs *Findings) File(
	ctx context.Context, teamID, id string, to Tracker,
	file func(ctx context.Context, f Finding, known *engine.IssueTracker) (engine.IssueTracker, error),
) (engine.IssueTracker, error) {
	f, err := fs.byID(ctx, fs.db, teamID, id)
	if err != nil {
		return engine.IssueTracker{}, err
	}
	claim, known, reported, err := fs.claim(ctx, teamID, f.Hash, to)
	if err != nil || reported {
		return known, err
	}
	at := &known
	if known.ID == "" {
		at = nil
	}
	issue, err := file(ctx, f, at)
	kept := context.WithoutCancel(ctx)
	const claimed = ` WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ? AND claim = ?`
	if err != nil {
		if _, failed := fs.db.Exec(kept, `UPDATE ticket SET claim = '', claimed_until = NULL`+claimed,
			teamID, f.Hash, to.ConfigID, to.Provider, claim); failed != nil {
			err = failed
		}
		return issue, err
	}
	return issue, fs.db.Tx(kept, func(tx *db.Tx) error {
		n, err := tx.Exec(kept, `UPDATE ticket SET issue_id = ?, issue_url = ?, seen_in = ?, claim = '', claimed_until = NULL, updated_at = ?`+claimed,
			db.Clean(issue.ID), db.Clean(issue.URL), to.SeenIn, db.At(fs.now()), teamID, f.Hash, to.ConfigID, to.Provider, claim)
		if err != nil || n == 0 { // another process has taken over
			return err
		}
		return fs.setTracker(kept, tx, teamID, f.Hash, to.Provider, &issue)
	})
}

// claim reserves the right to file a hash in a tracker. reported means that the known issue mentions to.SeenIn already:
// then nothing is reserved.
func (fs *Findings) claim(
	ctx context.Context, teamID, hash string, to Tracker,
) (claim string, known engine.IssueTracker, reported bool, err error) {
	claim = ids.New()
	now := fs.now()
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO ticket (team_id, hash, config_id, provider, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, teamID, hash, to.ConfigID, to.Provider, db.At(now), db.At(now)); err != nil {
			return err
		}
		var seenIn string
		err := tx.QueryRow(ctx, `UPDATE ticket SET claim = ?, claimed_until = ?
			WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ? AND (claimed_until IS NULL OR claimed_until < ?)
			RETURNING issue_id, issue_url, seen_in`, claim, db.At(now.Add(claimTime)), teamID, hash, to.ConfigID, to.Provider,
			db.At(now)).
			Scan(&known.ID, &known.URL, &seenIn)
		if db.IsNoRows(err) {
			return errs.New(errs.Conflict, "ticket_busy", "The finding is being filed. Try again in a moment.")
		}
		if err == nil && known.ID != "" && seenIn == to.SeenIn && to.SeenIn != "" {
			reported = true
			_, err = tx.Exec(ctx, `UPDATE ticket SET claim = '', claimed_until = NULL WHERE team_id = ? AND claim = ?`, teamID,
				claim)
		}
		return err
	})
	return claim, known, reported, err
}

// setTracker records an issue for all findings of a hash, or (nil) deletes the record.
func (fs *Findings) setTracker(
	ctx context.Context, tx *db.Tx, teamID, hash, provider string, issue *engine.IssueTracker,
) error {
	if err := fs.lock(ctx, tx, teamID); err != nil {
		return err
	}
	where, args := withHashes(teamID, []string{hash})
	type doc struct {
		no    int64
		event []byte
	}
	scan := func(r db.Row) (one doc, err error) { return one, r.Scan(&one.no, &one.event) }
	docs, err := db.Select(ctx, tx, scan, `SELECT f.no, d.event`+tables+where, args...)
	if err != nil {
		return err
	}
	_, rev, err := fs.reserve(ctx, tx, teamID, 0, int64(len(docs)))
	if err != nil {
		return err
	}
	numbers := make([]int64, len(docs))
	for i, one := range docs {
		numbers[i] = one.no
		var s storedEvent
		if err := json.Unmarshal(one.event, &s); err != nil {
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
		if _, err := tx.Exec(ctx, `UPDATE finding_doc SET event = ? WHERE team_id = ? AND no = ?`, text, teamID,
			one.no); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE finding SET is_ticket = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
			len(s.Event.IssueTrackers) > 0, rev+int64(i), db.At(fs.now()), teamID, one.no); err != nil {
			return err
		}
	}
	return reindex(ctx, tx, teamID, numbers...)
}

// Link records an issue that the caller has filed by hand for a finding of their team, and for all others of its hash.
// at is an http or https URL, or empty.
func (fs *Findings) Link(ctx context.Context, id, issueID, at string) (Ticket, error) {
	if at != "" && !netguard.IsWebURL(at) {
		return Ticket{}, errs.Field("custom_reporting_url", "custom_reporting_url must be an http or https URL.")
	}
	t := Ticket{Provider: "custom", Issue: engine.IssueTracker{ID: db.Clean(issueID), URL: db.Clean(at)}}
	_, err := fs.relink(ctx, id, t.Provider, &t.Issue)
	return t, err
}

// Unlink deletes the record of a provider's issue of a finding of the caller's team, and of all others of its hash. The
// issue itself stays. NotFound when there is none.
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
		if _, err := tx.Exec(ctx, `DELETE FROM ticket WHERE team_id = ? AND hash = ? AND provider = ?`, c.TeamID, f.Hash,
			provider); err != nil {
			return err
		}
		return fs.setTracker(ctx, tx, c.TeamID, f.Hash, provider, issue)
	})
}

// QueueFiling inserts a job for each finding that a run of a scan saw and each tracker that wants its severity.
// Findings that people have set aside are left out. It may be called again: a tracker reports a run once.
func (fs *Findings) QueueFiling(
	ctx context.Context, teamID, scanID string, run int64, wants func(severity string) []Tracker,
) error {
	picked, err := fs.pick(ctx, fs.db, teamID,
		Filter{ScanIDs: []string{scanID}, Statuses: []Status{Open, FixInProgress, Triaged}})
	if err != nil {
		return err
	}
	slices.Sort(picked)
	type one struct{ id, severity string }
	for part := range slices.Chunk(picked, batch) {
		err := fs.db.Tx(ctx, func(tx *db.Tx) error {
			found, err := db.Select(ctx, tx, func(r db.Row) (o one, err error) { return o, r.Scan(&o.id, &o.severity) },
				`SELECT f.id, f.severity FROM finding f`+byNumbers(len(part))+` AND f.run = ? ORDER BY f.no`,
				slices.Concat([]any{teamID}, db.Anys(part), []any{run})...)
			for _, o := range found {
				for _, to := range wants(o.severity) {
					if _, err := fs.queue.Insert(ctx, tx, teamID,
						FileArgs{teamID, o.id, to.ConfigID, to.Provider, to.SeenIn}); err != nil {
						return err
					}
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
