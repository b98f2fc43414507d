package asset

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Rule is what a policy does to the assets that match it; a rule without changes only counts them.
type Rule struct {
	Filter       Filter
	AddLabels    []string
	RemoveLabels []string
	Delete       bool
}

// Matches are the assets that a rule applied to.
type Matches struct {
	Count  int
	Sample []Brief // at most maxSample
}

const maxSample = 15

// applyRules applies rules to observations that are new or have changed: a rule applies where its
// filter matches and did not match before. It returns the observations that are to be stored.
func (as *Assets) applyRules(
	ctx context.Context, tx *db.Tx, s Seen, teamNo int64, rules []Rule, all []*incoming, o *Observed,
) ([]*incoming, error) {
	if len(rules) == 0 || len(all) == 0 {
		return all, nil
	}
	now, before := make([]list.Row, len(all)), make([]list.Row, len(all))
	for i, in := range all {
		now[i] = in.withColumns()
		if in.old != nil {
			before[i] = in.old.withColumns()
		}
	}
	m := meaning{runs: map[string]runs{s.EnumerationID: {latest: s.Run}}, rows: true}
	deletes := map[*incoming]bool{}
	for n, r := range rules {
		filter, matches := m.of(r.Filter), &o.Matches[n]
		for i, in := range all {
			if !now[i].Meets(filter) || in.old != nil && before[i].Meets(filter) {
				continue
			}
			if matches.Count++; len(matches.Sample) < maxSample {
				matches.Sample = append(matches.Sample, in.brief(teamNo))
			}
			if r.relabels() {
				in.labels = joined(r.relabel(words(in.labels)))
			}
			deletes[in] = deletes[in] || r.Delete
		}
	}
	var stay []*incoming
	var deleted []int64
	for _, in := range all {
		switch {
		case !deletes[in]:
			stay = append(stay, in)
		case in.old != nil:
			deleted = append(deleted, in.no)
		}
	}
	return stay, as.remove(ctx, tx, s.TeamID, deleted, all[0].rev)
}

func (r Rule) relabels() bool { return len(r.AddLabels)+len(r.RemoveLabels) > 0 }

func (r Rule) relabel(labels []string) []string {
	return label.Delete.Apply(label.Append.Apply(labels, r.AddLabels), r.RemoveLabels)
}

// Apply applies a rule to stored assets, given by their numbers.
func (as *Assets) Apply(ctx context.Context, tx *db.Tx, teamID string, r Rule, numbers []int64) (m Matches, err error) {
	if len(numbers) == 0 {
		return m, nil
	}
	_, _, rev, err := as.reserve(ctx, tx, teamID, 0)
	if err != nil {
		return m, err
	}
	m.Count = len(numbers)
	sample := numbers[:min(len(numbers), maxSample)]
	m.Sample, err = db.Select(ctx, tx, func(r db.Row) (b Brief, err error) {
		var no, teamNo int64
		var technologies string
		err = r.Scan(&no, &teamNo, &b.EnumerationID, &b.Host, &b.Port, &b.Protocol, &b.Title, &technologies)
		b.ID, b.Technologies = IDOf(teamNo, no), words(technologies)
		return b, err
	}, `SELECT a.no, l.team_no, a.enumeration_id, a.host, a.port, a.protocol, a.title, a.technologies
		FROM asset a JOIN asset_log l ON l.team_id = a.team_id
		WHERE a.team_id = ? AND a.no IN (`+marks(len(sample))+`)`, append([]any{teamID}, db.Anys(sample)...)...)
	if err != nil {
		return m, err
	}
	if r.Delete {
		return m, as.remove(ctx, tx, teamID, numbers, rev)
	}
	for part := range slices.Chunk(numbers, batch) {
		if err == nil && r.relabels() {
			err = as.relabelIn(ctx, tx, teamID, "", rev, part, r.relabel)
		}
	}
	return m, err
}

// Unseen finds matching assets of an enumeration that the ending run did not see and that were last
// seen before f.Unseen.
func (as *Assets) Unseen(ctx context.Context, e End, f Filter) ([]int64, error) {
	before := db.At(f.Unseen)
	f.Unseen, f.And = time.Time{}, []Filter{{Enumerations: []string{e.EnumerationID}}}
	return as.Numbers(ctx, e.TeamID, f, list.Column("seen_at < ? AND run < ?", before, e.Run))
}

// remove deletes assets in a transaction that holds the team's lock (see number). Their past
// versions stay, for lists as of a date.
func (as *Assets) remove(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, rev int64) error {
	for part := range slices.Chunk(numbers, batch) {
		if err := archive(ctx, tx, teamID, part, db.At(as.now()), rev); err != nil {
			return err
		}
		w := db.InTeam(teamID, "no", part)
		if _, err := tx.Exec(ctx, `DELETE FROM asset`+w.String(), w.Args...); err != nil {
			return err
		}
		if err := index.Delete(ctx, tx, teamID, part); err != nil {
			return err
		}
	}
	return nil
}
