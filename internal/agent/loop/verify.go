package loop

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/vedette-sec/vedette/internal/agent/redact"
)

// verify verifies the findings that have not been verified, and returns them.
func (b *branch) verify(ctx context.Context) ([]Candidate, error) {
	if b.Verify == nil {
		return nil, nil
	}
	var verified []Candidate
	for i := range b.sum.Candidates {
		f := &b.sum.Candidates[i]
		if f.Verification.Result != Unverified || f.Verification.Reason != "" {
			continue
		}
		var err error
		if f.Verification, err = b.verifyCandidate(ctx, i+1, *f); err != nil {
			return verified, err
		}
		verified = append(verified, *f)
	}
	return verified, nil
}

func (b *branch) verifyCandidate(ctx context.Context, n int, f Candidate) (Verification, error) {
	key := b.key(fmt.Sprintf("verify.%d", n))
	verification, known, err := find[Verification](b.run, Verified, key)
	if err != nil {
		return verification, err
	}
	if !known {
		if verification, err = b.reproduce(ctx, key, f); err != nil {
			return verification, err
		}
		if verification, _, err = record(ctx, b, Verified, key, verification, 0); err != nil {
			return verification, err
		}
	}
	b.budget.settle(amounts{}, amounts{requests: int64(verification.Requests)})
	b.sum.Requests += verification.Requests
	if !known {
		f.Verification = verification
		b.emit(EventVerification, key, "", "", f)
	}
	return verification, nil
}

// reproduce calls Verify with what is left of the budget.
func (b *branch) reproduce(ctx context.Context, key string, f Candidate) (Verification, error) {
	if err := b.mayBegin(ctx); err != nil {
		return Verification{}, err
	}
	allowed := b.budget.allowance(math.MaxInt32)
	if allowed == 0 {
		return Verification{Result: Unverified, Reason: "no request to a target was left of the budget"}, nil
	}
	filled, err := b.secrets.Substitute(f.Candidate)
	if err != nil { // it has a foreign reference: verify it as it is
		filled = f.Candidate
	}
	called := Called{Tool: "verify", Args: f.Candidate}
	if b.budget.caps.Requests > 0 {
		called.Requests = int(allowed)
	}
	if _, _, err := record(ctx, b, ToolCall, key, called, 0); err != nil {
		return Verification{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, toolTimeout, errDeadline)
	defer cancel()
	j, err, running := await(limited, func() (Verification, error) {
		return b.Verify(b.allowance(limited, called.Requests), filled)
	})
	if interrupted := stopCause(ctx); errors.Is(interrupted, errInterrupted) && (err != nil || running) {
		return j, interrupted
	}
	switch {
	case err != nil:
		b.Logger.Error("a finding could not be verified", "key", key, "error", err)
		j.Result, j.Reason = Inconclusive, "verifying it failed: "+shorten(err.Error(), 500)
	case j.Result != Confirmed && j.Result != FalsePositive:
		j.Result = Inconclusive
	}
	j.Requests = max(0, j.Requests)
	if len(j.Evidence) > 0 {
		if j.Evidence, err = redact.EscapeJSON(j.Evidence); err != nil {
			j.Evidence = nil
		}
	}
	return j, nil
}
