package loop

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/vedette-sec/vedette/internal/agent/redact"
)

// verify verifies the findings that have not been verified, and returns them.
func (b *branch) verify(ctx context.Context) ([]Finding, error) {
	if b.Verify == nil {
		return nil, nil
	}
	var verified []Finding
	for i := range b.sum.Findings {
		f := &b.sum.Findings[i]
		if f.Verification.Result != Unverified || f.Verification.Reason != "" {
			continue
		}
		var err error
		if f.Verification, err = b.verifyFinding(ctx, i+1, *f); err != nil {
			return verified, err
		}
		verified = append(verified, *f)
	}
	return verified, nil
}

func (b *branch) verifyFinding(ctx context.Context, n int, f Finding) (Verification, error) {
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
	b.account.settle(amounts{}, amounts{requests: int64(verification.Requests)})
	b.sum.Requests += verification.Requests
	if !known {
		f.Verification = verification
		b.emit(EventVerification, key, "", "", f)
	}
	return verification, nil
}

// reproduce calls Verify with what is left of the budget.
func (b *branch) reproduce(ctx context.Context, key string, f Finding) (Verification, error) {
	if err := b.mayBegin(ctx); err != nil {
		return Verification{}, err
	}
	allowed := b.account.allowance(math.MaxInt32)
	if allowed == 0 {
		return Verification{Result: Unverified, Reason: "no request to a target was left of the budget"}, nil
	}
	filled, err := b.secrets.Substitute(f.Finding)
	if err != nil { // it has a foreign reference: verify it as it is
		filled = f.Finding
	}
	called := Called{Tool: "verify", Args: f.Finding}
	if b.account.caps.Requests > 0 {
		called.Requests = int(allowed)
	}
	if _, _, err := record(ctx, b, ToolCall, key, called, 0); err != nil {
		return Verification{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, toolTimeout, errDeadline)
	defer cancel()
	j, err, left := await(limited, func() (Verification, error) {
		return b.Verify(b.allowance(limited, called.Requests), filled)
	})
	if interrupted := stopCause(ctx); errors.Is(interrupted, errInterrupted) && (err != nil || left) {
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
		if j.Evidence, err = redact.DisarmJSON(j.Evidence); err != nil {
			j.Evidence = nil
		}
	}
	return j, nil
}
