package undo

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// parted is a weakness that is one of its own again.
type parted struct {
	weakness, from string
	since          db.Time // it was part of the other
}

// regroup takes back what an operation has joined or split, and gives the entries that are left to be undone.
func (u *undoing) regroup(ctx context.Context, entries []timeline.Entry, operation string) ([]timeline.Entry, error) {
	isGroup := func(e timeline.Entry) bool { return e.Field == timeline.Weakness }
	first := slices.IndexFunc(entries, isGroup)
	if first < 0 {
		return entries, nil
	}
	at := db.At(u.now())
	moved, err := identity.Undo(ctx, u.tx, u.by.TeamID, operation, u.Operation, u.by.Email, at)
	if err != nil {
		return nil, err
	}
	if len(moved) == 0 {
		return nil, errs.New(errs.Conflict, "join_or_split",
			"This was joined or split by an earlier release, which did not note how it was before: split or join it by hand.")
	}
	groups := map[[2]string][]string{}
	var order [][2]string
	for _, m := range moved {
		way := [2]string{m.From, m.To}
		if groups[way] == nil {
			order = append(order, way)
		}
		groups[way] = append(groups[way], m.Hash)
	}
	for _, way := range order {
		if err := u.move(ctx, way[0], way[1], groups[way], entries[first].At); err != nil {
			return nil, err
		}
	}
	for _, m := range moved { // an issue that was closed for the other one's is opened again
		news := finding.TicketNews{Kind: finding.NewsRegrouped, Text: m.To, Author: u.by.Email}
		if err := u.findings.TellTickets(ctx, u.tx, u.by.TeamID, []string{m.To}, news); err != nil {
			return nil, err
		}
	}
	w := db.Where{}
	w.And("team_id = ? AND operation <> '' AND operation = ? AND field = ?", u.by.TeamID, operation, timeline.Weakness)
	if _, err := u.tx.Exec(ctx, `UPDATE finding_change SET undone = ?`+w.String(), append([]any{true}, w.Args...)...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(entries), isGroup), nil
}

// move lets the findings of hashes follow from one weakness into another.
func (u *undoing) move(ctx context.Context, from, to string, hashes []string, since db.Time) error {
	isJoin, err := u.findings.Regrouped(ctx, u.tx, u.by, u.Operation, from, to, hashes)
	if err != nil {
		return err
	}
	numbers, err := u.findings.NumbersOf(ctx, u.tx, u.by.TeamID, to)
	if err != nil || len(numbers) == 0 {
		u.Changed++ // all sightings were deleted; what comes is grouped as before
		return err
	}
	u.Changed += len(numbers)
	if isJoin {
		return nil
	}
	head, err := u.head(ctx, numbers)
	if err != nil {
		return err
	}
	u.parted = append(u.parted, parted{to, from, since})
	return u.findings.Note(ctx, u.tx, u.by.TeamID, to, timeline.Entry{Kind: timeline.SplitChange, Field: timeline.Weakness,
		To: head.ID, Actor: u.by.Email, Operation: u.Operation})
}

// head is the first of some findings, which stands for its weakness.
func (u *undoing) head(ctx context.Context, numbers []int64) (finding.Finding, error) {
	found, err := u.findings.Load(ctx, u.tx, u.by.TeamID, numbers[:1])
	if err == nil && len(found) == 0 {
		err = errs.Missing("vulnerability")
	}
	if err != nil {
		return finding.Finding{}, err
	}
	return found[0], nil
}

// settle lets later sightings of what is a weakness of its own again begin with the status that its findings have: what
// was decided about it before it was joined, unless the whole was decided about since.
func (u *undoing) settle(ctx context.Context) error {
	for _, p := range u.parted {
		numbers, err := u.findings.NumbersOf(ctx, u.tx, u.by.TeamID, p.weakness)
		if err != nil {
			return err
		}
		head, err := u.head(ctx, numbers)
		if err != nil {
			return err
		}
		decided, err := decision.Find(ctx, u.tx, u.by.TeamID, []string{p.weakness, p.from})
		if err != nil {
			return err
		}
		own, isOwn := decided[p.weakness]
		whole, isWhole := decided[p.from]
		isWhole = isWhole && whole.Status == head.Status
		switch {
		case isOwn && own.Status == head.Status && !(isWhole && whole.At.After(p.since.Time)): //nolint:staticcheck // as it is said
			continue
		case isWhole:
			own = whole
		case !isOwn && head.Status == finding.Open && !head.IsRegression:
			continue
		default:
			own = decision.Decision{Status: head.Status, At: db.At(u.now())}
		}
		own.Actor, own.IsRegression, own.Clears = u.by.Email, head.IsRegression, !head.IsRegression
		if err := decision.Store(ctx, u.tx, u.by.TeamID, []string{p.weakness}, own); err != nil {
			return err
		}
	}
	return nil
}
