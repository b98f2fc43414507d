package model_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const cent = 10_000

func TestCaps(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d, model.Config{TeamCap: 100 * cent})
		ctx, admin := r.person("ada", "blue", account.Admin)
		_, bob := r.person("bob", "blue", account.Member)
		of := func(c account.Caller, task string, limit int64, byok bool) model.Reservations {
			return r.Reservations(model.Account{TeamID: c.TeamID, UserID: c.UserID, TaskID: task, TaskCap: limit, BYOK: byok})
		}
		expect := func(what string, err error, want string) {
			t.Helper()
			if code(err) != want || want != "" && !errs.Is(err, errs.Forbidden) && want[0] != 'n' && want[0] != 's' {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
		}
		first := of(bob, ids.New(), 10*cent, false)
		expect("within", first.Reserve(ctx, "1", 6*cent), "")
		expect("the same key again", first.Reserve(ctx, "1", 6*cent), "")
		expect("beyond the task's", first.Reserve(ctx, "2", 5*cent), model.CodeBudget)
		expect("a part of it comes back", first.Settle(ctx, "1", 2*cent), "")
		expect("settled again", first.Settle(ctx, "1", 6*cent), "")
		expect("a settled key is left", first.Reserve(ctx, "1", 100*cent), "")
		expect("now there is room", first.Reserve(ctx, "2", 8*cent), "")
		expect("more for the same key", first.Reserve(ctx, "2", 9*cent), model.CodeBudget)
		expect("what was not reserved", first.Settle(ctx, "3", 1), "not_reserved")
		expect("and cost nothing", first.Settle(ctx, "3", 0), "")
		expect("more than was reserved", first.Settle(ctx, "2", 9*cent), "spent_beyond_reservation")

		if err := r.accounts.SetDefaultCap(ctx, new(int64(12)), false); err != nil {
			t.Fatal(err)
		}
		second := of(bob, ids.New(), 0, false)
		expect("beyond the team's default", second.Reserve(ctx, "1", 2*cent+1), model.CodeMemberCap)
		expect("up to it", second.Reserve(ctx, "1", 2*cent), "")
		if _, err := r.accounts.SetCap(ctx, bob.Email, new(int64(0))); err != nil {
			t.Fatal(err)
		}
		expect("a cap of 0 blocks what is free", second.Reserve(ctx, "2", 0), model.CodeMemberCap)
		if _, err := r.accounts.SetCap(ctx, bob.Email, new(int64(1000))); err != nil {
			t.Fatal(err)
		}
		expect("beyond the operator's", second.Reserve(ctx, "2", 89*cent), model.CodeBudget)
		expect("which counts the server's models alone", of(bob, ids.New(), 0, true).Reserve(ctx, "1", 89*cent), "")
		expect("another member has what is left of it", of(admin, ids.New(), 0, false).Reserve(ctx, "1", 88*cent),
			model.CodeMemberCap)
		if err := r.accounts.SetDefaultCap(ctx, nil, true); err != nil {
			t.Fatal(err)
		}
		expect("without a cap of theirs", of(admin, ids.New(), 0, false).Reserve(ctx, "1", 88*cent), "")

		expect("the end of a task", second.Close(ctx), "")
		expect("again", second.Close(ctx), "")
		var spent int64
		if err := d.QueryRow(ctx, `SELECT spent_cents FROM user_account WHERE id = ?`, bob.UserID).Scan(&spent); err != nil ||
			spent != 2+8+2 {
			t.Errorf("the account says %d cents, %v", spent, err)
		}
	})
}

// TestSpentReservedCap: whatever several workers do at once, in whatever order and
// however often, spent never exceeds reserved, and reserved never the cap.
func TestSpentReservedCap(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d, model.Config{})
		ctx := t.Context()
		n := 0
		rapid.Check(t, func(t *rapid.T) {
			n++
			teamCap, memberCap, taskCap := rapid.Int64Range(1, 200).Draw(t, "team"), rapid.Int64Range(1, 100).Draw(t, "member"),
				rapid.Int64Range(1, 60).Draw(t, "task")
			r.TeamCap = teamCap * cent
			team := fmt.Sprintf("team %d", n)
			var members []account.Caller
			for i := range 2 {
				_, c := r.person(fmt.Sprintf("p%d-%d", n, i), team, account.Admin)
				members = append(members, c)
			}
			if err := r.accounts.SetDefaultCap(account.WithCaller(ctx, members[0]), &memberCap, false); err != nil {
				t.Fatal(err)
			}
			type step struct {
				ledger model.Reservations
				key    string
				micros int64
				settle bool
			}
			var tasks []string
			workers := make([][]step, 3)
			for range 3 {
				tasks = append(tasks, ids.New())
			}
			for w := range workers {
				for range rapid.IntRange(1, 8).Draw(t, "steps") {
					task := rapid.IntRange(0, len(tasks)-1).Draw(t, "task")
					workers[w] = append(workers[w], step{
						r.Reservations(model.Account{TeamID: members[0].TeamID, UserID: members[task%2].UserID, TaskID: tasks[task],
							TaskCap: taskCap * cent, BYOK: task == 2}),
						fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "key")), rapid.Int64Range(0, 40).Draw(t, "cents") * cent,
						rapid.Bool().Draw(t, "settle"),
					})
				}
			}
			var failed sync.Map
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for _, s := range workers[w] {
						var err error
						if s.settle {
							err = s.ledger.Settle(ctx, s.key, s.micros)
						} else {
							err = s.ledger.Reserve(ctx, s.key, s.micros)
						}
						switch code(err) {
						case "", model.CodeBudget, model.CodeMemberCap, "not_reserved", "spent_beyond_reservation":
						default:
							failed.Store(err.Error(), err)
						}
						if err := holds(ctx, d, members, tasks, teamCap*cent, memberCap*cent, taskCap*cent); err != nil {
							failed.Store(err.Error(), err)
						}
					}
				})
			}
			wg.Wait()
			failed.Range(func(_, err any) bool { t.Errorf("%v", err); return true })
			if err := sums(ctx, d, tasks); err != nil {
				t.Error(err)
			}
		})
	})
}

// holds checks every total against its cap.
func holds(
	ctx context.Context, d *db.DB, members []account.Caller, tasks []string, teamCap, memberCap, taskCap int64,
) error {
	caps := map[string]int64{members[0].TeamID: teamCap}
	for _, m := range members {
		caps[m.UserID] = memberCap
	}
	for _, task := range tasks {
		caps[task] = taskCap
	}
	rows, err := d.Query(ctx, `SELECT id, reserved, spent FROM spending`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var reserved, spent int64
		if err := rows.Scan(&id, &reserved, &spent); err != nil {
			return err
		}
		if limit, ours := caps[id]; ours && !(0 <= spent && spent <= reserved && reserved <= limit) {
			return errors.Join(rows.Err(), fmt.Errorf("%s: spent %d, reserved %d, cap %d", id, spent, reserved, limit))
		}
	}
	return rows.Err()
}

// sums checks the tasks' totals against their reservations.
func sums(ctx context.Context, d *db.DB, tasks []string) error {
	for _, task := range tasks {
		var reserved, spent, wantReserved, wantSpent int64
		if err := d.QueryRow(ctx, `SELECT coalesce(sum(reserved), 0), coalesce(sum(spent), 0) FROM spending WHERE kind = 'task' AND id = ?`, task).Scan(&reserved, &spent); err != nil {
			return err
		}
		if err := d.QueryRow(ctx, `SELECT coalesce(sum(coalesce(spent, reserved)), 0), coalesce(sum(spent), 0) FROM reservation WHERE task_id = ?`, task).Scan(&wantReserved, &wantSpent); err != nil {
			return err
		}
		if reserved != wantReserved || spent != wantSpent {
			return fmt.Errorf("%s: totals %d and %d, rows %d and %d", task, reserved, spent, wantReserved, wantSpent)
		}
	}
	return nil
}

// TestCapsStayInTheirTeam: a team's cap bounds what is spent in it, whatever is capped or spent elsewhere; the
// operator's bounds all teams together.
func TestCapsStayInTheirTeam(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d, model.Config{})
		blue, _ := r.person("ada", "blue", account.Admin)
		bobCtx, bob := r.person("bob", "blue", account.Member)
		id, err := r.accounts.CreateTeam(bobCtx, "mine")
		if err != nil {
			t.Fatal(err)
		}
		mine := account.WithCaller(t.Context(),
			account.Caller{UserID: bob.UserID, Email: bob.Email, TeamID: id, Role: account.Admin})
		set := func(ctx context.Context, cents int64) {
			t.Helper()
			if _, err := r.accounts.SetCap(ctx, bob.Email, &cents); err != nil {
				t.Fatal(err)
			}
		}
		reserve := func(teamID, task string, cents int64) string {
			return code(r.Reservations(model.Account{TeamID: teamID, UserID: bob.UserID, TaskID: task}).
				Reserve(t.Context(), "1", cents*cent))
		}
		set(blue, 10)
		set(mine, 1000)
		const inBlue, inMine = "task in blue", "task in mine"
		if got := reserve(bob.TeamID, inBlue, 11); got != model.CodeMemberCap {
			t.Errorf("a cap in a team of one's own lifts the one in blue: %q", got)
		}
		set(mine, 0)
		if got := reserve(bob.TeamID, inBlue, 8); got != "" {
			t.Errorf("a cap of another team blocks: %q", got)
		}
		set(mine, 50)
		if got := reserve(id, inMine, 50); got != "" {
			t.Errorf("what was spent in blue counts in another team: %q", got)
		}
		if err := r.accounts.SetOperatorCap(t.Context(), bob.Email, new(int64(59))); err != nil {
			t.Fatal(err)
		}
		if got := reserve(bob.TeamID, inBlue, 10); got != model.CodeMemberCap {
			t.Errorf("beyond the operator's cap: %q", got)
		}
		if got := reserve(bob.TeamID, inBlue, 9); got != "" {
			t.Errorf("up to the operator's cap: %q", got)
		}
		ledger := r.Reservations(model.Account{TeamID: bob.TeamID, UserID: bob.UserID, TaskID: inBlue})
		if err := ledger.Settle(t.Context(), "1", 4*cent); err != nil {
			t.Fatal(err)
		}
		if m, err := r.accounts.SetCap(blue, bob.Email, nil); err != nil || m.Spent != 4 || m.Cap != nil {
			t.Errorf("blue sees %+v, %v", m, err)
		}
		if m, err := r.accounts.SetCap(mine, bob.Email, nil); err != nil || m.Spent != 0 {
			t.Errorf("the other team sees %+v, %v", m, err)
		}
		if err := r.accounts.SetOperatorCap(t.Context(), "nobody@example.com", nil); !errs.Is(err, errs.NotFound) {
			t.Errorf("the cap of nobody: %v", err)
		}
	})
}

// TestCapsOfBeforeAreTheirTeams: a cap of before belongs to each team of the user, with what was spent there.
func TestCapsOfBeforeAreTheirTeams(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d, model.Config{})
		blue, ada := r.person("ada", "blue", account.Admin)
		ledger := r.Reservations(model.Account{TeamID: ada.TeamID, UserID: ada.UserID, TaskID: ids.New()})
		if err := errors.Join(ledger.Reserve(blue, "1", 3*cent+1), ledger.Settle(blue, "1", 3*cent+1),
			ledger.Reserve(blue, "2", 5*cent), d.Migrate(blue, 280, false)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(blue, `UPDATE user_account SET spending_cap_cents = 9`); err != nil {
			t.Fatal(err)
		}
		if err := d.Migrate(blue, 280, true); err != nil {
			t.Fatal(err)
		}
		caps, err := r.accounts.SpendingCaps(blue, d, ada.TeamID, ada.UserID)
		if err != nil || caps.Operator != nil || caps.Team == nil || *caps.Team != 9 {
			t.Errorf("%+v, %v", caps, err)
		}
		if got := code(ledger.Reserve(blue, "3", cent)); got != model.CodeMemberCap {
			t.Errorf("what was reserved before does not count: %q", got)
		}
		if m, err := r.accounts.SetCap(blue, ada.Email, new(int64(100))); err != nil || m.Spent != 4 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}
