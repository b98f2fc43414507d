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

// named is the user of a name; nil if there is none.
func (r *run) named(name string) *client.User {
	for _, s := range r.sessions {
		if s.User.Name == name {
			return s.User
		}
	}
	return nil
}
