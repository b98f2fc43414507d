package identity

import (
	"context"
	"maps"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/finding/arrival"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What finding_regroup logs.
const (
	logHash    = "hash"
	logComment = "comment"
	logTicket  = "ticket"
)

// regrouped is a row of the log.
type regrouped struct {
	kind, id, was, became string
	rule                  Rule
	actor                 string
	at                    db.Time
}

func readLog(ctx context.Context, q db.Querier, teamID, operation string) ([]regrouped, error) {
	return db.Select(ctx, q, func(r db.Row) (g regrouped, err error) {
		return g, r.Scan(&g.kind, &g.id, &g.was, &g.became, &g.rule, &g.actor, &g.at)
	}, `SELECT kind, id, was, became, rule, actor, at FROM finding_regroup WHERE team_id = ? AND operation = ?
		ORDER BY kind, id, was`, teamID, operation)
}

func writeLog(ctx context.Context, tx *db.Tx, teamID, operation string, all []regrouped) error {
	rows := make([][]any, len(all))
	for i, g := range all {
		rows[i] = []any{teamID, operation, g.kind, g.id, g.was, g.became, g.rule, g.actor, g.at}
	}
	return tx.Insert(ctx, `finding_regroup (team_id, operation, kind, id, was, became, rule, actor, at)`, rows)
}

// relink links hashes as an operation wants, and logs how they were linked before. A link without a rule is taken away.
func relink(ctx context.Context, tx *db.Tx, teamID, operation string, to []Link) error {
	hashes := make([]string, len(to))
	for i, l := range to {
		hashes[i] = l.Hash
	}
	before := map[string]Link{}
	for part := range slices.Chunk(hashes, batch) {
		links, err := find(ctx, tx, teamID, "hash", part)
		if err != nil {
			return err
		}
		for _, l := range links {
			before[l.Hash] = l
		}
	}
	log, put := make([]regrouped, len(to)), make([][]any, 0, len(to))
	for i, l := range to {
		was, had := before[l.Hash]
		if !had {
			was.Weakness = l.Hash
		}
		log[i] = regrouped{logHash, l.Hash, was.Weakness, l.Weakness, was.Rule, was.Actor, was.At}
		if l.Rule != "" {
			put = append(put, []any{teamID, l.Hash, l.Weakness, l.Rule, l.Actor, l.At})
		}
	}
	for part := range slices.Chunk(hashes, batch) {
		w := db.InTeam(teamID, "hash", part)
		if _, err := tx.Exec(ctx, `DELETE FROM finding_identity`+w.String(), w.Args...); err != nil {
			return err
		}
	}
	if err := tx.Insert(ctx, `finding_identity (team_id, hash, weakness, rule, actor, at)`, put); err != nil {
		return err
	}
	return writeLog(ctx, tx, teamID, operation, log)
}

// LogRule logs that a rule has linked a hash, which was a weakness of its own.
func LogRule(ctx context.Context, tx *db.Tx, teamID, operation, hash, into string) error {
	return writeLog(ctx, tx, teamID, operation, []regrouped{{kind: logHash, id: hash, was: hash, became: into}})
}

// Carry gives the comments and tickets of a weakness that became part of another to that.
func Carry(ctx context.Context, tx *db.Tx, teamID, operation, from, into string) error {
	if from == into {
		return nil
	}
	comments, err := arrival.MoveComments(ctx, tx, teamID, from, into)
	if err != nil {
		return err
	}
	tickets, err := arrival.MoveTickets(ctx, tx, teamID, from, into)
	if err != nil {
		return err
	}
	var log []regrouped
	for _, id := range comments {
		log = append(log, regrouped{kind: logComment, id: id, was: from, became: into})
	}
	for _, t := range tickets {
		log = append(log, regrouped{kind: logTicket, id: t.ConfigID + "/" + t.Provider, was: from, became: into})
	}
	return writeLog(ctx, tx, teamID, operation, log)
}

// Moved is a hash that belongs to another weakness now.
type Moved struct{ Hash, From, To string }

// Undo links the hashes that an operation has linked as they were before, as an operation of its own, and brings back
// the comments that it carried. What a rule had joined is split by the actor, as it would be joined again. Of an
// operation that linked nothing there is nothing to undo; a Conflict when one of its hashes was linked again since.
func Undo(
	ctx context.Context, tx *db.Tx, teamID, operation, undo, actor string, at db.Time,
) (moved []Moved, err error) {
	log, err := readLog(ctx, tx, teamID, operation)
	if err != nil {
		return nil, err
	}
	carried := log
	log = slices.DeleteFunc(slices.Clone(log), func(g regrouped) bool { return g.kind != logHash })
	if len(log) == 0 {
		return nil, nil
	}
	links, moved, err := linksBefore(ctx, tx, teamID, log, Link{Rule: Split, Actor: actor, At: at})
	if err != nil {
		return nil, err
	}
	if err := relink(ctx, tx, teamID, undo, links); err != nil {
		return nil, err
	}
	var back []regrouped
	for _, g := range carried {
		if g.kind != logComment {
			continue
		}
		n, err := tx.Exec(ctx, `UPDATE finding_comment SET hash = ? WHERE team_id = ? AND id = ? AND hash = ?`, g.was, teamID, g.id,
			g.became)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			back = append(back, regrouped{kind: logComment, id: g.id, was: g.became, became: g.was})
		}
	}
	for _, g := range carried {
		if g.kind == logTicket {
			if _, err := arrival.MoveTickets(ctx, tx, teamID, g.became, g.was); err != nil {
				return nil, err
			}
		}
	}
	return moved, writeLog(ctx, tx, teamID, undo, back)
}

// linksBefore are the links that undo those of a log, with those of hashes that joined one of its hashes since.
func linksBefore(
	ctx context.Context, q db.Querier, teamID string, log []regrouped, split Link,
) (links []Link, moved []Moved, err error) {
	before := map[string]regrouped{}
	for _, g := range log {
		before[g.id] = g
	}
	hashes := slices.Sorted(maps.Keys(before))
	now, err := Weaknesses(ctx, q, teamID, hashes)
	if err != nil {
		return nil, nil, err
	}
	joined, err := Hashes(ctx, q, teamID, hashes)
	if err != nil {
		return nil, nil, err
	}
	for _, hash := range hashes {
		g := before[hash]
		if now[hash] != g.became {
			return nil, nil, errs.New(errs.Conflict, "changed_since",
				"What this change joined or split was joined or split again since: undo that first.")
		}
		l := Link{Hash: hash, Weakness: g.was, Rule: g.rule, Actor: g.actor, At: g.at}
		if _, is := before[g.was]; !is { // it may be part of another by now
			of, err := Weaknesses(ctx, q, teamID, []string{g.was})
			if err != nil {
				return nil, nil, err
			}
			l.Weakness = of[g.was]
		}
		if l.Rule == "" && g.became != hash { // it was joined, and had no link
			l.Weakness = hash
			if own, err := isOfRule(ctx, q, teamID, hash); err != nil {
				return nil, nil, err
			} else if own {
				l.Rule, l.Actor, l.At = split.Rule, split.Actor, split.At
			}
		}
		links = append(links, l)
		if l.Weakness == now[hash] {
			continue
		}
		moved = append(moved, Moved{hash, now[hash], l.Weakness})
		for _, other := range joined[hash] { // which is the name of a weakness
			if _, is := before[other]; is || other == hash {
				continue
			}
			its, err := find(ctx, q, teamID, "hash", []string{other})
			if err != nil {
				return nil, nil, err
			}
			its[0].Weakness = l.Weakness
			links, moved = append(links, its[0]), append(moved, Moved{other, now[hash], l.Weakness})
		}
	}
	return links, moved, nil
}

// isOfRule reports whether no person linked a hash.
func isOfRule(ctx context.Context, q db.Querier, teamID, hash string) (bool, error) {
	links, err := find(ctx, q, teamID, "hash", []string{hash})
	return len(links) == 1 && links[0].Actor == "", err
}
