package finding

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Occurrence is one sighting of a weakness: what a scan or a task saw, and why it is the same weakness.
type Occurrence struct {
	Finding
	Rule  identity.Rule
	Actor string    // an email; empty: the rule alone
	At    time.Time // when it was recognized by another rule than Seen; else zero
}

// Occurrences lists all sightings of the weakness of a finding of the caller's team, the earliest first, and their
// number on all pages.
func (fs *Findings) Occurrences(
	ctx context.Context, id string, w page.Window,
) (all []Occurrence, total int, err error) {
	f, err := fs.Find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	numbers, err := WithSiblings(ctx, fs.db, c.TeamID, []int64{f.no})
	if err != nil {
		return nil, 0, err
	}
	weaknesses, err := weaknessesOf(ctx, fs.db, c.TeamID, []string{f.Hash})
	if err != nil {
		return nil, 0, err
	}
	links, err := identity.Links(ctx, fs.db, c.TeamID, weaknesses[0])
	if err != nil {
		return nil, 0, err
	}
	found, err := fs.Load(ctx, fs.db, c.TeamID, page.Cut(numbers, w))
	for _, one := range found {
		o := Occurrence{Finding: one, Rule: identity.Seen}
		if i := slices.IndexFunc(links, func(l identity.Link) bool { return l.Hash == one.Hash }); i >= 0 &&
			(one.Hash != weaknesses[0] || links[i].Rule == identity.Split) {
			o.Rule, o.Actor, o.At = links[i].Rule, links[i].Actor, links[i].At.Time
		}
		all = append(all, o)
	}
	return all, len(numbers), err
}

// Join makes the findings of the caller's team with these ids one weakness: that of the first, whose status and labels
// the others get. It holds for all later sightings of what they saw. It returns how many weaknesses became part of it.
func (fs *Findings) Join(ctx context.Context, named []string) (joined int, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return 0, err
	}
	found := make([]Finding, len(named))
	for i, id := range named {
		if found[i], err = fs.InTeam(ctx, fs.db, c.TeamID, id); err != nil {
			return 0, err
		}
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := fs.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		var into string
		var others, hashes []string
		for _, f := range found {
			of, err := weaknessesOf(ctx, tx, c.TeamID, []string{f.Hash})
			switch {
			case err != nil:
				return err
			case into == "":
				into = of[0]
			case of[0] != into && !slices.Contains(others, of[0]):
				others = append(others, of[0])
			}
		}
		if joined = len(others); joined == 0 {
			return nil
		}
		all, err := identity.Hashes(ctx, tx, c.TeamID, others)
		if err != nil {
			return err
		}
		for _, its := range all {
			hashes = append(hashes, its...)
		}
		heads, err := findHeads(ctx, tx, c.TeamID, []string{into})
		if err != nil {
			return err
		}
		operation := ids.New()
		if err := identity.Join(ctx, tx, c.TeamID, operation, c.Email, db.At(fs.now()), into, others); err != nil {
			return err
		}
		return fs.follow(ctx, tx, c, operation, into, heads[into], hashes)
	})
	return joined, err
}

// follow gives findings with hashes that joined a weakness the status, labels and assignee of the finding that stood
// for it, and notes it in their timelines.
func (fs *Findings) follow(
	ctx context.Context, tx *db.Tx, c account.Caller, operation, into string, stood head, hashes []string,
) error {
	var numbers []int64
	for _, hash := range hashes {
		where, args := withHashes(c.TeamID, []string{hash})
		its, err := db.Values[int64](ctx, tx, `SELECT f.no FROM finding f`+where, args...)
		if err != nil {
			return err
		}
		numbers = append(numbers, its...)
	}
	if err := fs.moveRows(ctx, tx, c.TeamID, hashes, into); err != nil {
		return err
	}
	for _, hash := range hashes {
		err := identity.Carry(ctx, tx, c.TeamID, operation, hash, into)
		if err == nil && hash != into { // those that it keeps, as that has its own in the same tracker
			err = fs.TellTickets(ctx, tx, c.TeamID, []string{hash}, TicketNews{NewsRegrouped, into, c.Email})
		}
		if err != nil {
			return err
		}
	}
	slices.Sort(numbers)
	entry := timeline.Entry{Kind: timeline.JoinedChange, Field: timeline.Weakness, To: stood.id, Actor: c.Email,
		Operation: operation}
	if err := fs.note(ctx, tx, c.TeamID, numbers, entry); err != nil {
		return err
	}
	if _, err := fs.update(ctx, tx, c, numbers, Edit{
		Column: "labels", Field: timeline.Labels, Kind: timeline.LabelsChange, Operation: entry.Operation,
		Value: func(old Finding) (from, to string) { return listing.Join(old.Labels), stood.labels },
	}); err != nil {
		return err
	}
	if _, err := fs.update(ctx, tx, c, numbers, Edit{
		Column: "assignee", Field: timeline.Assignee, Kind: timeline.AssigneeChange, Operation: entry.Operation,
		Value: func(old Finding) (from, to string) { return old.Assignee, stood.assignee },
	}); err != nil {
		return err
	}
	_, err := fs.decide(ctx, tx, c.TeamID, []string{into}, Decision{Status: stood.status, Actor: c.Email,
		Operation: entry.Operation})
	return err
}

// Regrouped lets the findings of hashes, which left a weakness, follow into that which they belong to now: they get
// what holds there, if it has findings (isJoin), and else stay as they are.
func (fs *Findings) Regrouped(
	ctx context.Context, tx *db.Tx, c account.Caller, operation, left, into string, hashes []string,
) (isJoin bool, err error) {
	heads, err := findHeads(ctx, tx, c.TeamID, []string{into})
	if err != nil {
		return false, err
	}
	stood, isJoin := heads[into]
	if isJoin {
		err = fs.follow(ctx, tx, c, operation, into, stood, hashes)
	}
	if err != nil {
		return isJoin, err
	}
	return isJoin, fs.moveRows(ctx, tx, c.TeamID, hashes, left)
}

// note writes the same entry into the timelines of findings.
func (fs *Findings) note(ctx context.Context, tx *db.Tx, teamID string, numbers []int64, e timeline.Entry) error {
	_, rev, err := fs.reserve(ctx, tx, teamID, 0, int64(len(numbers)))
	if e.Operation = cmp.Or(e.Operation, ids.New()); e.At.IsZero() {
		e.At = db.At(fs.now())
	}
	for i, no := range numbers {
		if e.No, e.Seq = no, rev+int64(i); err == nil {
			err = timeline.Record(ctx, tx, teamID, e)
		}
	}
	return err
}

// Note writes the same entry into the timelines of all findings of a weakness, in the caller's transaction.
func (fs *Findings) Note(ctx context.Context, tx *db.Tx, teamID, weakness string, e timeline.Entry) error {
	numbers, err := fs.NumbersOf(ctx, tx, teamID, weakness)
	if err != nil {
		return err
	}
	return fs.note(ctx, tx, teamID, numbers, e)
}

// Split makes what the finding with this id saw a weakness of its own, with the status that it has, and returns how
// many sightings are in it. It holds for all later sightings. What is the only hash of its weakness is a Conflict.
func (fs *Findings) Split(ctx context.Context, id string) (sightings int, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return 0, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := fs.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		f, err := fs.InTeam(ctx, tx, c.TeamID, id)
		if err != nil {
			return err
		}
		before, err := siblings(ctx, tx, c.TeamID, f.Hash)
		if err != nil {
			return err
		}
		decided, err := decision.Find(ctx, tx, c.TeamID, before)
		if err != nil {
			return err
		}
		operation := ids.New()
		rest, own, err := identity.Separate(ctx, tx, c.TeamID, operation, c.Email, db.At(fs.now()), f.Hash)
		if err != nil {
			return err
		}
		if rest == own {
			return errs.New(errs.Conflict, "nothing_to_split",
				"All sightings of the finding have the same vuln_hash: the same check saw the same place.")
		}
		if err := fs.moveRows(ctx, tx, c.TeamID, before); err != nil {
			return err
		}
		where, args := withHashes(c.TeamID, []string{f.Hash})
		numbers, err := db.Values[int64](ctx, tx, `SELECT f.no FROM finding f`+where+` ORDER BY +f.no`, args...)
		if err != nil {
			return err
		}
		sightings = len(numbers)
		d := decided[rest]
		if d.Status != f.Status {
			d = Decision{Status: f.Status}
		}
		d.IsRegression, d.Actor, d.At = f.IsRegression, c.Email, db.At(fs.now())
		if err := decision.Store(ctx, tx, c.TeamID, []string{rest, own}, d); err != nil {
			return err
		}
		if err := fs.note(ctx, tx, c.TeamID, numbers, timeline.Entry{Kind: timeline.SplitChange, Field: timeline.Weakness,
			To: id, Actor: c.Email, Operation: operation}); err != nil {
			return err
		}
		return fs.TellTickets(ctx, tx, c.TeamID, []string{own}, TicketNews{NewsRegrouped, own, c.Email})
	})
	return sightings, err
}

// siblings are all hashes of the weakness of a hash.
func siblings(ctx context.Context, q db.Querier, teamID, hash string) ([]string, error) {
	of, err := weaknessesOf(ctx, q, teamID, []string{hash})
	if err != nil {
		return nil, err
	}
	all, err := identity.Hashes(ctx, q, teamID, of)
	return all[of[0]], err
}
