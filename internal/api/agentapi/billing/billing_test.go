package billing

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestThisMonthIsMeantByNothing(t *testing.T) {
	now := time.Date(2026, 3, 31, 23, 0, 0, 0, time.FixedZone("", -3*3600)) // in UTC it is April
	from, to := Range{}.times(now)
	if !from.Equal(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)) || !to.After(now) {
		t.Errorf("%s to %s", from, to)
	}
	from, _ = Range{To: time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)}.times(now)
	if !from.Equal(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error(from)
	}
}

func TestPaymentLink(t *testing.T) {
	ctx := account.WithCaller(t.Context(), account.Caller{TeamID: "t&1", Role: account.Admin})
	r, err := Area{Link: "https://pay.example.com/?shop=7"}.pay(ctx, false, 12.5)
	if err != nil || *r.URL != "https://pay.example.com/?credits=12.5&shop=7&team=t%261" || r.AmountCents != 1250 || r.Display != "$12.50" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := (Area{}).pay(ctx, true, 1); errs.From(err).Code != "billing_not_configured" {
		t.Error(err)
	}
	if _, err := (Area{}).pay(account.WithCaller(t.Context(), account.Caller{Role: account.Member}), true, 1); !errs.Is(err, errs.Forbidden) {
		t.Error(err)
	}
}
