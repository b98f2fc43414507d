package scan

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// asideFor is how long a template that ended the engine is not run again for its team. A changed text is another
// template.
const asideFor = 24 * time.Hour

// SetAside records that a template ended two children of the engine, the second time alone.
func (ss *Scans) SetAside(ctx context.Context, teamID string, t child.Template, why string) error {
	ss.logger.WarnContext(ctx, "a template ended the engine and is set aside", "team", teamID, "template", t.Path,
		"why", why)
	now := ss.now().UTC()
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM template_aside WHERE team_id = ? AND until < ?`, teamID,
			db.At(now)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO template_aside (team_id, digest, path, reason, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (team_id, digest) DO UPDATE SET path = excluded.path, reason = excluded.reason,
				until = excluded.until`, teamID, t.Digest, t.Path, why, db.At(now.Add(asideFor)))
		return err
	})
}

// Aside are the templates that are set aside for a team: what to say about each, by digest.
func (ss *Scans) Aside(ctx context.Context, teamID string) (map[string]string, error) {
	rows, err := ss.db.Query(ctx, `SELECT digest, reason, until FROM template_aside WHERE team_id = ? AND until > ?`,
		teamID, db.At(ss.now()))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var digest, why string
		var until time.Time
		if err := rows.Scan(&digest, &why, db.Into(&until)); err != nil {
			return nil, err
		}
		all[digest] = fmt.Sprintf("the template is set aside until %s, because it ended the engine twice (%s)",
			until.UTC().Format(time.RFC3339), why)
	}
	return all, rows.Err()
}

// TextOf is a template of the catalogue as the engine takes it.
func TextOf(t catalog.Text) child.Template {
	return child.Template{Path: t.Path, Digest: t.Digest, Data: t.Data, Files: t.Files()}
}

// jobOf is the job of testing targets with templates, with the options of a scan.
func (ss *Scans) jobOf(
	o options.Options, targets []string, texts []child.Template, deny []netip.Prefix,
) child.Job {
	job := child.Job{
		Targets: targets, Templates: texts, Deny: deny, Excluded: o.Excluded, Config: o.Config(), Vars: o.Scan.Vars,
		Parallel: o.Scan.Parallel, StopAtFirstMatch: o.Scan.StopAtFirstMatch,
	}
	if o.Proxy != nil {
		job.Proxy, job.Allow = o.Proxy.URL(), ss.settings.Guard().Allow
	}
	return job
}

// ofEngine is an error of the engine for the queue: a job that the engine refuses is refused every time.
func ofEngine(err error) error {
	if _, refused := errors.AsType[*errs.Error](err); refused {
		return queue.Abandon(err)
	}
	return err
}
