package webtest

import (
	"context"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// reprove runs the proof of a finding once more, with new random values, before it is told of. One that does not hold
// is only probable. What cannot be run here, such as a proof that needs a browser, stays as its check has proved it.
func (r *run) reprove(ctx context.Context, f *Finding) {
	if f.Proof == nil || f.Confidence == kit.Probable {
		return
	}
	runner := &proof.Runner{Send: r.client.Send, Users: r.named}
	outcome, err := runner.Run(ctx, f.Proof)
	if err != nil || outcome.Holds {
		return
	}
	f.Confidence = kit.Probable
	f.Detail += " (when its proof was run again, " + outcome.Failed + " did not hold)"
}

// Reprove runs a proof again, with new random values, as the accounts that it needs. The error is that of a login, or
// says why the proof could not be run.
func Reprove(ctx context.Context, cfg Config, p *proof.Program) (proof.Outcome, error) {
	if len(p.Users) == 0 {
		cfg.Accounts = nil
	}
	r, err := newRun(cfg)
	if err != nil {
		return proof.Outcome{}, err
	}
	defer r.client.Close()
	defer r.journal.close()
	if err := r.logIn(ctx); err != nil {
		return proof.Outcome{}, err
	}
	runner := &proof.Runner{Send: r.client.Send, Users: r.named}
	return runner.Run(ctx, p)
}

// named is the user of a name; nil if there is none.
func (r *run) named(name string) *client.User {
	for _, s := range r.sessions {
		if s.User.Name == name {
			return s.User
		}
	}
	return nil
}
