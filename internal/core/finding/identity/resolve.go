package identity

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Sighting is what is to be recognized.
type Sighting struct {
	Hash  string // of the Parts
	Parts Parts
	// OlderIsKnown says that the team has findings with the hash Parts.Older.
	OlderIsKnown bool
}

// Link is a hash that belongs to another weakness, or that was split off.
type Link struct {
	Hash, Weakness string
	Rule           Rule
	Actor          string // an email; empty: the rule alone
	At             db.Time
}

// batch is how many values one statement has.
const batch = 250

// Resolve gives each sighting its weakness, in order, and the hashes that joined a weakness just now. Hashes that are
// new to the team are recognized by their keys. The caller holds the lock of the team's findings.
//
// It costs two queries for 250 sightings, two more when links lead on, and one row for each key of a new hash.
func Resolve(
	ctx context.Context, tx *db.Tx, teamID string, at db.Time, seen []Sighting,
) (weaknesses, joined []string, err error) {
	r := resolver{teamID: teamID, at: at, linked: map[string]string{}, byKey: map[string][]string{}}
	weaknesses = make([]string, len(seen))
	for part := range slices.Chunk(seen, batch) {
		if err := r.read(ctx, tx, part); err != nil {
			return nil, nil, err
		}
		for _, s := range part {
			r.resolve(s)
		}
		if err := r.store(ctx, tx); err != nil {
			return nil, nil, err
		}
	}
	for i, s := range seen {
		weaknesses[i] = r.weakness(s.Hash)
	}
	return weaknesses, r.joined, nil
}

// resolver is what is known of the sightings of one call.
type resolver struct {
	teamID string
	at     db.Time
	linked map[string]string   // hash: weakness, of those that have a row
	byKey  map[string][]string // key: hashes that have it
	joined []string

	newLinks, newKeys [][]any
}

// weakness is the weakness of a hash.
func (r *resolver) weakness(hash string) string {
	if w, is := r.linked[hash]; is {
		return w
	}
	return hash
}

// read reads the links of the sightings and of all hashes that their keys lead to.
func (r *resolver) read(ctx context.Context, tx *db.Tx, seen []Sighting) error {
	var hashes, keys []string
	for _, s := range seen {
		hashes = append(hashes, s.Hash)
		if s.OlderIsKnown {
			hashes = append(hashes, s.Parts.Older())
		}
		for _, k := range s.Parts.keys() {
			keys = append(keys, k.text)
		}
	}
	for part := range slices.Chunk(keys, batch) {
		w := db.InTeam(r.teamID, "key", part)
		err := db.Each(ctx, tx, func(row db.Row) error {
			var text, hash string
			err := row.Scan(&text, &hash)
			r.addKey(text, hash)
			hashes = append(hashes, hash)
			return err
		}, `SELECT key, hash FROM finding_key`+w.String()+` ORDER BY key, hash`, w.Args...)
		if err != nil {
			return err
		}
	}
	return r.readLinks(ctx, tx, hashes)
}

func (r *resolver) readLinks(ctx context.Context, tx *db.Tx, hashes []string) error {
	for part := range slices.Chunk(hashes, batch) {
		links, err := find(ctx, tx, r.teamID, "hash", part)
		if err != nil {
			return err
		}
		for _, l := range links {
			r.linked[l.Hash] = l.Weakness
		}
	}
	return nil
}

func (r *resolver) addKey(text, hash string) {
	if !slices.Contains(r.byKey[text], hash) {
		r.byKey[text] = append(r.byKey[text], hash)
	}
}

// resolve recognizes one sighting. A hash that has a link or a key of its own was recognized before.
func (r *resolver) resolve(s Sighting) {
	if _, is := r.linked[s.Hash]; is {
		return
	}
	keys := s.Parts.keys()
	if slices.ContainsFunc(keys, func(k key) bool { return slices.Contains(r.byKey[k.text], s.Hash) }) {
		return
	}
	if s.OlderIsKnown {
		r.link(s.Hash, r.weakness(s.Parts.Older()), Older)
	}
	for _, k := range keys {
		if to := r.leadsTo(k, s.Hash); to != "" && r.weakness(s.Hash) == s.Hash {
			r.link(s.Hash, to, k.rule)
		}
		r.addKey(k.text, s.Hash)
		r.newKeys = append(r.newKeys, []any{r.teamID, k.text, s.Hash})
	}
}

// leadsTo is the one weakness of all other hashes with a key; empty: none, or several.
func (r *resolver) leadsTo(k key, hash string) (to string) {
	others := r.byKey[k.text]
	if k.rule == Address && hash != k.text {
		// A name joins the address, unless another name is known there.
		if !slices.Equal(others, []string{k.text}) {
			return ""
		}
	}
	for _, other := range others {
		switch w := r.weakness(other); {
		case other == hash || w == to:
		case to == "":
			to = w
		default:
			return ""
		}
	}
	return to
}

func (r *resolver) link(hash, weakness string, rule Rule) {
	if hash == weakness {
		return
	}
	r.linked[hash] = weakness
	r.joined = append(r.joined, hash)
	r.newLinks = append(r.newLinks, []any{r.teamID, hash, weakness, rule, "", r.at})
}

// store writes the new links and keys.
func (r *resolver) store(ctx context.Context, tx *db.Tx) error {
	links, keys := r.newLinks, r.newKeys
	r.newLinks, r.newKeys = nil, nil
	if err := tx.Insert(ctx, `finding_identity (team_id, hash, weakness, rule, actor, at)`, links); err != nil {
		return err
	}
	return tx.Insert(ctx, `finding_key (team_id, key, hash)`, keys)
}

// find reads links by their hashes or weaknesses.
func find(ctx context.Context, q db.Querier, teamID, column string, values []string) ([]Link, error) {
	w := db.InTeam(teamID, column, values)
	return db.Select(ctx, q, func(r db.Row) (l Link, err error) {
		return l, r.Scan(&l.Hash, &l.Weakness, &l.Rule, &l.Actor, &l.At)
	}, `SELECT hash, weakness, rule, actor, at FROM finding_identity`+w.String()+` ORDER BY at, hash`, w.Args...)
}
