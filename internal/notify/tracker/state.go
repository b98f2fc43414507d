package tracker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// State is what the statuses of findings and those of all trackers have in common.
type State string

// The states.
const (
	Open     State = "open"
	Progress State = "in_progress"
	Done     State = "done"
	Declined State = "declined" // closed, and not solved: won't fix, duplicate, not planned
)

// Closed reports whether nobody is to work on it any more.
func (s State) Closed() bool { return s == Done || s == Declined }

// Remote is an issue as its tracker has it.
type Remote struct {
	Issue

	State   State
	Native  string // the tracker's own word for the state
	Hint    string // what says of an open issue that it will not be solved, such as a label
	Version string // grows with each change, compared as text
	// Final says that the record cannot be opened again: a new one takes its place.
	Final bool

	labels []string // of GitHub and GitLab
	kind   string   // of Azure: the type of the work item
}

// Note is a comment on an issue.
type Note struct {
	ID     string
	Author string // as the tracker shows it
	Text   string // at most maxNote bytes
	Own    bool   // it was written by this program
	At     time.Time
}

const (
	maxNote  = 4000 // bytes of a comment that is taken in
	maxNotes = 100  // comments that are read at once
)

// Changed is an issue that has changed.
type Changed struct {
	ID      string
	Version string
	At      time.Time // of the change, where versions are times: two changes of one second have the same; else zero
}

// Changes are issues that have changed since a time.
type Changes struct {
	Issues []Changed
	Until  time.Time // everything before was listed
	More   bool      // there are later ones: ask again, since Until
	// Lost says that there were more than can be listed: each issue must be looked at.
	Lost bool
}

const (
	perPage  = 100
	maxPages = 10 // that one call of Changed reads
)

// Errors about issues.
var (
	// ErrGone is the error about an issue that was deleted, or may not be seen any more.
	ErrGone = errors.New("the issue does not exist any more")
	// ErrMoved is the error about an issue that was changed since it was read: read it again.
	ErrMoved = errors.New("the issue was changed meanwhile")
	// ErrNoWay is the error about an issue whose workflow does not lead to the wanted state.
	ErrNoWay = errors.New("the workflow of the tracker leads from this status to none of the wanted category")
)

// Get reads an issue. ErrGone, or an *apiclient.Error.
func (f *Filer) Get(ctx context.Context, t Tracker, issue Issue) (Remote, error) {
	return f.service(t).get(ctx, issue)
}

// Set gives an issue a state, and reads it again. now is the issue as it was read last; where the tracker can, a change
// since is ErrMoved. ErrNoWay when its workflow does not allow it, ErrGone, or an *apiclient.Error.
func (f *Filer) Set(ctx context.Context, t Tracker, now Remote, to State) (Remote, error) {
	s := f.service(t)
	if err := s.set(ctx, now, to); err != nil {
		return now, err
	}
	return s.get(ctx, now.Issue)
}

// Comment writes a comment on an issue. key is the comment's, so that it can be found again; see Notes.
func (f *Filer) Comment(ctx context.Context, t Tracker, issue Issue, key, text string) error {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), markOfNotes, "vedette-note\u200b-")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return f.service(t).comment(ctx, issue, text+"\n\n"+noteMark(key))
}

// Notes are the comments on an issue since a time, the oldest first, at most maxNotes. has says which of some keys of
// Comment are among them.
func (f *Filer) Notes(
	ctx context.Context, t Tracker, issue Issue, since time.Time, keys []string,
) (notes []Note, has map[string]bool, err error) {
	notes, err = f.service(t).notes(ctx, issue, since)
	has = map[string]bool{}
	for i, n := range notes {
		notes[i].Own = strings.Contains(n.Text, markOfNotes)
		for _, key := range keys {
			has[key] = has[key] || strings.Contains(n.Text, noteMark(key))
		}
		if len(n.Text) > maxNote {
			notes[i].Text = strings.ToValidUTF8(n.Text[:maxNote], "") + "…"
		}
	}
	return notes, has, err
}

// Changed lists issues that have changed since a time, the first ones first, as far as some pages lead.
func (f *Filer) Changed(ctx context.Context, t Tracker, since time.Time) (Changes, error) {
	return f.service(t).changed(ctx, since)
}

const markOfNotes = "vedette-note-"

// noteMark is the last line of a comment of ours, by which it is found again.
func noteMark(key string) string { return markOfNotes + key }

// declines reports whether a label or a reason says that an issue will not be solved.
func declines(word string) bool {
	flat := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(word))
	return slices.Contains(declining, flat)
}

var declining = []string{"wontfix", "wontdo", "duplicate", "invalid", "notabug", "notplanned", "declined", "rejected",
	"cannotreproduce", "obsolete", "falsepositive", "acceptedrisk", "riskaccepted", "worksasdesigned", "worksforme"}

// firstDeclining is the first of some labels that declines, or empty.
func firstDeclining(labels []string) string {
	if i := slices.IndexFunc(labels, declines); i >= 0 {
		return labels[i]
	}
	return ""
}

// version is a time as a version: its text sorts as it does.
func version(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// pages calls read for the pages of a list, from 1, until one is the last or maxPages are read; more says that it was
// not the last.
func pages(read func(page int) (last bool, err error)) (more bool, err error) {
	for page := 1; page <= maxPages; page++ {
		if last, err := read(page); last || err != nil {
			return false, err
		}
	}
	return true, nil
}

// changesOf makes Changes of issues with the times of their changes, in ascending order.
func changesOf(since time.Time, issues []Changed, times []time.Time, more bool) Changes {
	c := Changes{Issues: issues, Until: since, More: more}
	for _, at := range times {
		if at.After(c.Until) {
			c.Until = at
		}
	}
	// A whole page of one moment would be read again for ever.
	c.Lost = more && !c.Until.After(since)
	return c
}

// Limits are how many issues and comments one account may write.
type Limits struct{ PerMinute, PerHour int }

// Limits are those of the tracker, with some room for people who use the same account.
func (t Tracker) Limits() Limits {
	switch t.Provider {
	case "github":
		return Limits{70, 450} // of 80 and 500 that GitHub documents for content
	case "gitlab":
		return Limits{50, 2000} // of 60 notes a minute
	case "linear":
		return Limits{60, 1000} // of 1,500 requests an hour, reads among them
	case "azure":
		return Limits{30, 1500} // of 200 units of throughput in five minutes
	}
	return Limits{60, 3000}
}
