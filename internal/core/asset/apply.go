package asset

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// PolicyArgs is the job that applies a policy to what is there.
type PolicyArgs struct {
	TeamID   string `json:"team_id"`
	PolicyID string `json:"policy_id"`
}

// Kind implements queue.Args.
func (PolicyArgs) Kind() string { return "asset.policy" }

// AlertArgs is the job that alerts of what a policy is about.
type AlertArgs struct {
	EventID string `json:"event_id"`
}

// Kind implements queue.Args.
func (AlertArgs) Kind() string { return "asset.alert" }

// policies are those that are about an enumeration, the oldest first.
func (as *Assets) policies(ctx context.Context, tx *db.Tx, teamID, enumerationID string) ([]Policy, error) {
	rows, err := tx.Query(ctx, `SELECT `+policyColumns+` FROM asset_policy WHERE team_id = ? ORDER BY created_at, id`, teamID)
	all, err := db.Collect(rows, err, scanPolicy)
	return slices.DeleteFunc(all, func(p Policy) bool {
		return len(p.EnumerationIDs) > 0 && !slices.Contains(p.EnumerationIDs, enumerationID)
	}), err
}

// applyPolicies applies policies to sights that are new or have changed: to those that are as a
// filter says, and were not before. It returns those that stay.
func (as *Assets) applyPolicies(ctx context.Context, tx *db.Tx, s Seen, teamNo int64, sights []*sight) ([]*sight, error) {
	policies, err := as.policies(ctx, tx, s.TeamID, s.EnumerationID)
	if err != nil || len(policies) == 0 || len(sights) == 0 {
		return sights, err
	}
	now, before := make([]list.Row, len(sights)), make([]list.Row, len(sights))
	for i, g := range sights {
		now[i] = g.described()
		if g.old != nil {
			before[i] = g.old.described()
		}
	}
	m := meaning{runs: map[string]runs{s.EnumerationID: {latest: s.Run}}, rows: true}
	deletes := map[*sight]bool{}
	for _, p := range policies {
		f, err := p.Filters.Parse(as.now())
		if err != nil || !f.Unseen.IsZero() { // EndRun knows what was not seen
			continue
		}
		filter := m.of(f)
		var hit []*sight
		for i, g := range sights {
			if now[i].Meets(filter) && (g.old == nil || !before[i].Meets(filter)) {
				hit = append(hit, g)
			}
		}
		if len(hit) == 0 {
			continue
		}
		sample := []Brief{}
		for _, g := range hit {
			if len(sample) < maxSample {
				sample = append(sample, g.brief(teamNo))
			}
			p.label(g)
			deletes[g] = deletes[g] || p.Type == DeletePolicy
		}
		if err := as.log(ctx, tx, p, s.EnumerationID, s.Run, len(hit), sample); err != nil {
			return nil, err
		}
	}
	var stay []*sight
	var deleted []int64
	for _, g := range sights {
		switch {
		case !deletes[g]:
			stay = append(stay, g)
		case g.old != nil:
			deleted = append(deleted, g.no)
		}
	}
	return stay, as.remove(ctx, tx, s.TeamID, deleted, sights[0].rev)
}

// label changes the labels of a sight as the policy says.
func (p Policy) label(g *sight) {
	switch p.Type {
	case SetLabelPolicy:
		g.labels = joined(AppendLabels.apply(words(g.labels), p.Labels))
	case RemoveLabelPolicy:
		g.labels = joined(DeleteLabels.apply(words(g.labels), p.Labels))
	}
}

// remove deletes assets by their numbers, in a transaction that holds the team's log.
// What they were stays for lists as of a date.
func (as *Assets) remove(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, rev int64) error {
	for part := range slices.Chunk(numbers, batch) {
		now := db.At(as.now())
		if err := keep(ctx, tx, teamID, part, now, rev); err != nil {
			return err
		}
		in := ` FROM asset WHERE team_id = ? AND no IN (` + marks(len(part)) + `)`
		args := append([]any{teamID}, anys(part)...)
		if _, err := tx.Exec(ctx, `DELETE`+in, args...); err != nil {
			return err
		}
		if err := index.Delete(ctx, tx, teamID, part); err != nil {
			return err
		}
	}
	return nil
}

// maxSample is how many assets an event of a policy names.
const maxSample = 15

// log notes that a policy did something in a run; done in parts, it is one event.
func (as *Assets) log(ctx context.Context, tx *db.Tx, p Policy, enumerationID string, run int64, affected int, sample []Brief) error {
	now := db.At(as.now())
	if _, err := tx.Exec(ctx, `INSERT INTO asset_policy_event (id, team_id, policy_id, type, status, enumeration_id, run, affected, sample, config_id, note, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', ?, ?) ON CONFLICT (policy_id, enumeration_id, run, type, config_id)
		DO UPDATE SET affected = asset_policy_event.affected + excluded.affected, updated_at = excluded.updated_at`,
		ids.New(), p.TeamID, p.ID, PolicyApplied, succeeded, enumerationID, run, affected, db.Doc(sample), now, now); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE asset_policy SET executed_at = ? WHERE id = ?`, now, p.ID)
	return err
}

// alert asks for the alerts of a run: one for each policy of that type that did something
// and each of its configurations.
func (as *Assets) alert(ctx context.Context, tx *db.Tx, policies []Policy, enumerationID string, run int64) error {
	for _, p := range policies {
		if p.Type != AlertPolicy {
			continue
		}
		applied, err := scanEvent(tx.QueryRow(ctx, `SELECT `+eventColumns+` FROM asset_policy_event e JOIN asset_policy p ON p.id = e.policy_id
			WHERE e.policy_id = ? AND e.enumeration_id = ? AND e.run = ? AND e.type = ?`, p.ID, enumerationID, run, PolicyApplied))
		if db.IsNoRows(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, config := range p.AlertConfigs {
			id, now := ids.New(), db.At(as.now())
			added, err := tx.Exec(ctx, `INSERT INTO asset_policy_event (id, team_id, policy_id, type, status, enumeration_id, run, affected, sample, config_id, note, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?) ON CONFLICT DO NOTHING`,
				id, p.TeamID, p.ID, PolicyAlerted, pending, enumerationID, run, applied.Affected, db.Doc(applied.Sample), config, now, now)
			if err != nil {
				return err
			}
			if added == 0 || as.queue == nil {
				continue
			}
			if _, err := as.queue.Insert(ctx, tx, AlertArgs{id}); err != nil {
				return err
			}
		}
	}
	return nil
}

// FindAlert is an alert of a policy that is to be sent, for a worker. ok is false when it
// is gone, or sent.
func (as *Assets) FindAlert(ctx context.Context, eventID string) (teamID string, e PolicyEvent, ok bool, err error) {
	e, err = scanEvent(as.db.QueryRow(ctx, `SELECT `+eventColumns+` FROM asset_policy_event e JOIN asset_policy p ON p.id = e.policy_id WHERE e.id = ? AND e.status = ?`, eventID, pending))
	if db.IsNoRows(err) {
		return "", e, false, nil
	}
	if err != nil {
		return "", e, false, err
	}
	err = as.db.QueryRow(ctx, `SELECT team_id FROM asset_policy_event WHERE id = ?`, eventID).Scan(&teamID)
	return teamID, e, err == nil, err
}

// EndAlert notes what became of an alert; an empty note is a success.
func (as *Assets) EndAlert(ctx context.Context, eventID, note string) error {
	status := succeeded
	if note != "" {
		status = failed
	}
	_, err := as.db.Exec(ctx, `UPDATE asset_policy_event SET status = ?, note = ?, updated_at = ? WHERE id = ? AND status = ?`, status, clip(note, maxText), db.At(as.now()), eventID, pending)
	return err
}

// endPolicies does at the end of a run what policies want of what was not seen, and asks
// for the alerts of all policies.
func (as *Assets) endPolicies(ctx context.Context, tx *db.Tx, e End) error {
	policies, err := as.policies(ctx, tx, e.TeamID, e.EnumerationID)
	if err != nil {
		return err
	}
	for _, p := range policies {
		f, err := p.Filters.Parse(e.At)
		if err != nil || f.Unseen.IsZero() || !e.Covered {
			continue
		}
		before := f.Unseen
		f.Unseen, f.And = time.Time{}, []Filter{{Enumerations: []string{e.EnumerationID}}}
		picked, err := as.numbers(ctx, e.TeamID, f, list.Column("seen_at < ? AND run < ?", db.At(before), e.Run))
		if err != nil {
			return err
		}
		_, _, rev, err := as.number(ctx, tx, e.TeamID, 0) // what a policy changes may have been changed in this transaction
		if err != nil {
			return err
		}
		if err := as.enforce(ctx, tx, p, picked, e.EnumerationID, e.Run, rev); err != nil {
			return err
		}
	}
	return as.alert(ctx, tx, policies, e.EnumerationID, e.Run)
}

// enforce does what a policy wants with assets that are there, in a transaction that holds
// the team's log.
func (as *Assets) enforce(ctx context.Context, tx *db.Tx, p Policy, numbers []int64, enumerationID string, run, rev int64) error {
	for part := range slices.Chunk(numbers, batch) {
		sample, err := as.briefs(ctx, tx, p.TeamID, part[:min(len(part), maxSample)])
		if err != nil {
			return err
		}
		switch p.Type {
		case SetLabelPolicy:
			err = as.relabelIn(ctx, tx, p.TeamID, "", rev, part, AppendLabels, p.Labels)
		case RemoveLabelPolicy:
			err = as.relabelIn(ctx, tx, p.TeamID, "", rev, part, DeleteLabels, p.Labels)
		case DeletePolicy:
			err = as.remove(ctx, tx, p.TeamID, part, rev)
		}
		if err != nil {
			return err
		}
		if err := as.log(ctx, tx, p, enumerationID, run, len(part), sample); err != nil {
			return err
		}
	}
	return nil
}

// briefs are some assets, in few words.
func (as *Assets) briefs(ctx context.Context, tx *db.Tx, teamID string, numbers []int64) ([]Brief, error) {
	rows, err := tx.Query(ctx, `SELECT a.no, l.team_no, a.enumeration_id, a.host, a.port, a.protocol, a.title, a.technologies FROM asset a JOIN asset_log l ON l.team_id = a.team_id
		WHERE a.team_id = ? AND a.no IN (`+marks(len(numbers))+`)`, append([]any{teamID}, anys(numbers)...)...)
	return db.Collect(rows, err, func(r db.Row) (b Brief, err error) {
		var no int64
		var teamNo int64
		var technologies string
		err = r.Scan(&no, &teamNo, &b.EnumerationID, &b.Host, &b.Port, &b.Protocol, &b.Title, &technologies)
		b.ID, b.Technologies = idOf(teamNo, no), words(technologies)
		return b, err
	})
}

// RunPolicy does the job of a policy that is about what is there too. What it has done
// already is not done again: labels are there, and what is deleted is gone.
func (as *Assets) RunPolicy(ctx context.Context, job queue.Job[PolicyArgs]) error {
	return as.applyToAll(ctx, job.Args)
}

func (as *Assets) applyToAll(ctx context.Context, a PolicyArgs) error {
	p, err := scanPolicy(as.db.QueryRow(ctx, `SELECT `+policyColumns+` FROM asset_policy WHERE id = ? AND team_id = ?`, a.PolicyID, a.TeamID))
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := p.Filters.Parse(as.now())
	if err != nil {
		return queue.Abandon(err)
	}
	if len(p.EnumerationIDs) > 0 {
		f.And = append(f.And, Filter{Enumerations: p.EnumerationIDs})
	}
	picked, err := as.numbers(ctx, a.TeamID, f)
	if err != nil {
		return err
	}
	once := p.UpdatedAt.UnixMicro() // all parts are one event
	for part := range slices.Chunk(picked, 2*batch) {
		err := as.db.Tx(ctx, func(tx *db.Tx) error {
			_, _, rev, err := as.number(ctx, tx, a.TeamID, 0)
			if err != nil {
				return err
			}
			return as.enforce(ctx, tx, p, part, "", once, rev)
		})
		if err != nil {
			return err
		}
	}
	return as.db.Tx(ctx, func(tx *db.Tx) error { return as.alert(ctx, tx, []Policy{p}, "", once) })
}
