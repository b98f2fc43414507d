package webtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// sessionBatch is how many targets are tested between two looks at the session.
const sessionBatch = 16

// maxAgain is how often a target is tested that shows nobody that the session is over, when it was over meanwhile.
const maxAgain = 3

// guarded tests targets with sessions. Where one was over meanwhile and the answers of some target do not show that,
// what was found does not count, and the targets are tested one by one, to know which of them ends it. What somebody
// was tested for who cannot be logged in any more is tested as another user or as nobody.
func (r *run) guarded(ctx context.Context, some []*target, done, total int) error {
	r.mu.Lock()
	r.batching, r.pending = true, nil
	r.mu.Unlock()
	before := r.renewals()
	if err := r.batch(ctx, some, done, total); err != nil {
		r.flush()
		return err
	}
	r.restore(ctx)
	if r.renewals() > before && r.hidden(ctx, some...) {
		r.drop()
		for i, t := range some {
			if err := r.alone(ctx, t, done+i, total); err != nil {
				return err
			}
		}
	}
	r.flush()
	for _, t := range some {
		r.ender(t)
	}
	return r.standIns(ctx, some, done, total)
}

// alone tests one target, again where the session was over meanwhile and its answers do not show that.
func (r *run) alone(ctx context.Context, t *target, done, total int) error {
	for range maxAgain {
		before := r.renewals()
		if err := r.batch(ctx, []*target{t}, done, total); err != nil {
			r.flush()
			return err
		}
		r.restore(ctx)
		if r.renewals() == before || !r.hidden(ctx, t) {
			r.flush()
			return nil
		}
		r.drop()
	}
	r.endedBy(t)
	return nil
}

// ender notes that testing a target was given up, as it ends the session.
func (r *run) ender(t *target) {
	if t.User.EndsSession(t.key) {
		r.endedBy(t)
	}
}

func (r *run) endedBy(t *target) {
	r.note(fmt.Sprintf("Testing %s %s ends the session: it is not tested, or not wholly.", t.Request.Method,
		t.Request.URL.Redacted()))
	r.report.Coverage.Untested(t.entry, "testing it ends the session")
}

// hidden reports whether the answers of some target do not show that nobody is logged in, but are others then.
func (r *run) hidden(ctx context.Context, some ...*target) bool {
	for _, t := range some {
		if t.Request.Method != http.MethodGet || t.Request.After != nil || t.Response == nil || !kit.Known(t.User) {
			continue
		}
		answer, err := r.client.Send(ctx, t.Request, client.Options{})
		if err == nil && t.User.Shows(t.Request, answer) == client.SignedIn && !kit.Same(answer, t.Response) {
			return true
		}
	}
	return false
}

// renewals is how often users were logged in again.
func (r *run) renewals() (n int) {
	for _, s := range r.sessions {
		n += s.Renewals()
	}
	return n
}

// restore logs in again whoever is not logged in any more.
func (r *run) restore(ctx context.Context) {
	for _, s := range r.sessions {
		_, _ = s.Restore(ctx) // who is lost says so, and what else fails will fail again
	}
	r.signedIn()
}

// signedIn has checks use the users who are logged in, or can be again, and tells once of each who cannot.
func (r *run) signedIn() {
	r.world.Users = nil
	for _, s := range r.sessions {
		lost := s.Lost()
		if lost == nil {
			r.world.Users = append(r.world.Users, s.User)
		} else if !r.told[s.User] {
			r.told[s.User] = true
			r.refused(lost, "tested no further")
		}
	}
}

// standIns tests again as others what was cut short as its user is not logged in any more.
func (r *run) standIns(ctx context.Context, some []*target, done, total int) error {
	var cut []*target
	for _, t := range some {
		if !t.whole && t.User.Lost() != nil {
			cut = append(cut, t)
		}
	}
	if len(cut) == 0 {
		return nil
	}
	return r.batch(ctx, cut, done, total)
}

// standIn has a target tested as another user who is logged in, or as nobody, if they are shown it. What its own user
// was shown beside is not known of them.
func (r *run) standIn(ctx context.Context, t *target) bool {
	for _, u := range append(slices.Clip(r.world.Users), r.nobody) {
		answer, err := r.client.Send(ctx, t.Request, client.Options{As: u})
		if err != nil || answer.Status/100 != 2 || t.User.Shows(t.Request, answer) == client.SignedOut {
			continue
		}
		was := t.Target
		t.Target = &kit.Target{Request: was.Request, Response: answer, User: u, Kind: was.Kind, From: was.From,
			Places: was.Places}
		if !t.later {
			t.Places, t.others = r.plan(t)
		}
		return true
	}
	return false
}
