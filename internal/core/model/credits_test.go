package model_test

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/billing"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// TestCreditsBoundTheServersModels: calls under way count, what a call has cost is taken from the grants, keys of one's own
// need no credits, and nothing is paid for a member who is not billable.
func TestCreditsBoundTheServersModels(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d, model.Config{Server: operators()})
		ctx, c := r.person("ada", "blue", account.Admin)
		credits := billing.New(d, time.Now)
		with := func(byok bool) model.Reservations {
			return r.Reservations(model.Account{TeamID: c.TeamID, UserID: c.UserID, TaskID: ids.New(), BYOK: byok})
		}
		if err := with(false).Reserve(ctx, "free", 9_000_000); err != nil {
			t.Fatalf("without a grant: %v", err)
		}
		if _, err := credits.Grant(ctx, billing.NewGrant{Team: "blue", Micros: 12_000_000}); err != nil {
			t.Fatal(err)
		}
		one := with(false)
		if got := code(one.Reserve(ctx, "a", 3_000_001)); got != billing.CodeExhausted {
			t.Errorf("with another call under way: %q", got)
		}
		if err := one.Reserve(ctx, "a", 3_000_000); err != nil {
			t.Fatal(err)
		}
		if err := with(true).Reserve(ctx, "own", 50_000_000); err != nil {
			t.Errorf("with a key of their own: %v", err)
		}
		if err := one.Settle(ctx, "a", 1_000_000); err != nil {
			t.Fatal(err)
		}
		b, err := credits.Balance(ctx)
		if err != nil || b.Used != 1_000_000 || b.Available != 2_000_000 {
			t.Errorf("%+v, %v", b, err)
		}
		if _, err := d.Exec(ctx, `UPDATE member SET billable = FALSE WHERE user_id = ?`, c.UserID); err != nil {
			t.Fatal(err)
		}
		if got := code(with(false).Reserve(ctx, "b", 0)); got != membership.CodeNotBillable {
			t.Errorf("not billable: %q", got)
		}
		if err := with(true).Reserve(ctx, "b", 1); err != nil {
			t.Errorf("not billable, with a key of their own: %v", err)
		}
	})
}
