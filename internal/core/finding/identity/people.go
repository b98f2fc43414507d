package identity

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Weaknesses are the weaknesses of hashes that were seen before, by hash.
func Weaknesses(ctx context.Context, q db.Querier, teamID string, hashes []string) (map[string]string, error) {
	out := make(map[string]string, len(hashes))
	for _, hash := range hashes {
		out[hash] = hash
	}
	for part := range slices.Chunk(hashes, batch) {
		links, err := find(ctx, q, teamID, "hash", part)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			out[l.Hash] = l.Weakness
		}
	}
	return out, nil
}

// Hashes are all hashes of weaknesses, by weakness. The hash that a weakness is named by is one of them.
func Hashes(ctx context.Context, q db.Querier, teamID string, weaknesses []string) (map[string][]string, error) {
	out := make(map[string][]string, len(weaknesses))
	for _, w := range weaknesses {
		out[w] = []string{w}
	}
	for part := range slices.Chunk(weaknesses, batch) {
		links, err := find(ctx, q, teamID, "weakness", part)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if l.Hash != l.Weakness { // else it was split off
				out[l.Weakness] = append(out[l.Weakness], l.Hash)
			}
		}
	}
	return out, nil
}

// Shared are those of some weaknesses that have several hashes.
func Shared(ctx context.Context, q db.Querier, teamID string, weaknesses []string) (shared []string, err error) {
	for part := range slices.Chunk(weaknesses, batch) {
		w := db.InTeam(teamID, "weakness", part)
		some, err := db.Values[string](ctx, q, `SELECT DISTINCT weakness FROM finding_identity`+w.String()+
			` AND hash <> weakness ORDER BY weakness`, w.Args...)
		if err != nil {
			return nil, err
		}
		shared = append(shared, some...)
	}
	return shared, nil
}

// Links say why hashes belong to a weakness, the earliest first. The hash that it began with has none, unless a person
// split it off.
func Links(ctx context.Context, q db.Querier, teamID, weakness string) ([]Link, error) {
	return find(ctx, q, teamID, "weakness", []string{weakness})
}

// Join makes weaknesses one, which has the name of the first, as an operation that can be undone. It holds for all
// later sightings of their hashes.
func Join(
	ctx context.Context, tx *db.Tx, teamID, operation, actor string, at db.Time, into string, others []string,
) error {
	all, err := Hashes(ctx, tx, teamID, others)
	if err != nil {
		return err
	}
	var links []Link
	for _, other := range others {
		for _, hash := range all[other] {
			links = append(links, Link{Hash: hash, Weakness: into, Rule: Joined, Actor: actor, At: at})
		}
	}
	return relink(ctx, tx, teamID, operation, links)
}

// Separate makes a hash a weakness of its own, as an operation that can be undone, and gives the names of both
// weaknesses. It holds for all later sightings. A hash that has its weakness for itself stays as it is: then both names
// are the same.
func Separate(
	ctx context.Context, tx *db.Tx, teamID, operation, actor string, at db.Time, hash string,
) (rest, own string, err error) {
	of, err := Weaknesses(ctx, tx, teamID, []string{hash})
	if err != nil {
		return "", "", err
	}
	weakness := of[hash]
	all, err := Hashes(ctx, tx, teamID, []string{weakness})
	if err != nil || len(all[weakness]) == 1 {
		return weakness, weakness, err
	}
	rest = weakness
	links := []Link{{Hash: hash, Weakness: hash, Rule: Split, Actor: actor, At: at}}
	if hash == weakness { // the others need another name
		others, err := Links(ctx, tx, teamID, weakness)
		if err != nil {
			return "", "", err
		}
		others = slices.DeleteFunc(others, func(l Link) bool { return l.Hash == hash })
		rest = others[0].Hash
		for _, l := range others {
			l.Weakness = rest
			links = append(links, l)
		}
	}
	return rest, hash, relink(ctx, tx, teamID, operation, links)
}
