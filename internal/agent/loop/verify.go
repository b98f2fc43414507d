package loop

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/vedette-sec/vedette/internal/agent/redact"
)

// verify judges the findings that nobody has judged yet, each from its evidence alone, and
// gives those of this cycle.
func (b *branch) verify(ctx context.Context) ([]Finding, error) {
	if b.Verify == nil {
		return nil, nil
	}
	var judged []Finding
	for i := range b.sum.Findings {
		f := &b.sum.Findings[i]
		if f.Judgement.Verdict != Unverified || f.Judgement.Reason != "" {
			continue
		}
		var err error
		if f.Judgement, err = b.judge(ctx, i+1, *f); err != nil {
			return judged, err
		}
		judged = append(judged, *f)
	}
	return judged, nil
}

// judge reproduces a finding, and lets a model doubt what was reproduced.
func (b *branch) judge(ctx context.Context, n int, f Finding) (Judgement, error) {
	key := b.key(fmt.Sprintf("verify.%d", n))
	judgement, known, err := recall[Judgement](b.run, Verdict, key)
	if err != nil {
		return judgement, err
	}
	if !known {
		if judgement, err = b.reproduce(ctx, key, f); err != nil {
			return judgement, err
		}
		if judgement, _, err = record(ctx, b, Verdict, key, judgement, 0); err != nil {
			return judgement, err
		}
	}
	b.account.settle(amounts{}, amounts{requests: int64(judgement.Requests)})
	b.sum.Requests += judgement.Requests
	if !known {
		f.Judgement = judgement
		b.emit(EventVerdict, key, "", "", f)
	}
	return judgement, nil
}

// reproduce calls Verify with what is left of the budget of requests.
func (b *branch) reproduce(ctx context.Context, key string, f Finding) (Judgement, error) {
	if err := b.mayBegin(ctx); err != nil {
		return Judgement{}, err
	}
	allowed := b.account.allowance(math.MaxInt32)
	if allowed == 0 {
		return Judgement{Verdict: Unverified, Reason: "no request to a target was left of the budget"}, nil
	}
	filled, err := b.secrets.Substitute(f.Finding)
	if err != nil { // a reference that is none of ours: as it stands
		filled = f.Finding
	}
	called := Called{Tool: "verify", Args: f.Finding}
	if b.account.caps.Requests > 0 {
		called.Requests = int(allowed)
	}
	if _, _, err := record(ctx, b, ToolCall, key, called, 0); err != nil {
		return Judgement{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, toolTimeout, errDeadline)
	defer cancel()
	j, err, left := await(limited, func() (Judgement, error) {
		return b.Verify(b.allowance(limited, called.Requests), filled)
	})
	if gone := ended(ctx); errors.Is(gone, errGone) && (err != nil || left) {
		return j, gone
	}
	switch {
	case err != nil:
		b.Logger.Error("a finding could not be verified", "key", key, "error", err)
		j.Verdict, j.Reason = Inconclusive, "verifying it failed: "+shorten(err.Error(), 500)
	case j.Verdict != Confirmed && j.Verdict != FalsePositive:
		j.Verdict = Inconclusive
	}
	j.Requests = max(0, j.Requests)
	if len(j.Evidence) > 0 {
		if j.Evidence, err = redact.DisarmJSON(j.Evidence); err != nil {
			j.Evidence = nil
		}
	}
	return j, nil
}
