package audit

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// TestFailedSignInsAreWrittenDown for users that there are, and so often that strangers cannot fill the log: in each
// hour the first ones of each user.
func TestFailedSignInsAreWrittenDown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l, c := open(d, 0)
		var logs strings.Builder
		l.logger = slog.New(slog.NewTextHandler(&logs, nil))
		accounts, err := account.Open(t.Context(), d, account.Config{Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		var teams []string
		for _, n := range []account.NewUser{{Email: "ada@example.com", Team: "blue"}, {Email: "bob@example.com", Team: "red"}} {
			u, err := accounts.CreateUser(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			teams = append(teams, u.TeamID)
		}
		f := NewFailures(l, accounts)
		fail := func(email string) {
			f.Add(email, Entry{ID: ids.New(), Action: "login", Method: "POST", Path: "/login", Status: 401, IP: "192.0.2.1",
				Source: Platform})
			if err := f.write(t.Context(), <-f.waiting); err != nil {
				t.Error(err)
			}
		}
		written := func(team string) []Entry {
			found, err := l.Find(as(t.Context(), team, account.Admin), Filter{}, all)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		for range failuresPerUser + 5 {
			fail("Ada@example.com")
			fail("nobody@example.com")
			fail(strings.Repeat("x", 300) + "\x00")
		}
		fail("bob@example.com")
		if n := len(written(teams[0])); n != failuresPerUser {
			t.Errorf("%d entries of one user, want %d", n, failuresPerUser)
		}
		bobs := written(teams[1])
		if len(bobs) != 1 || bobs[0].Email != "bob@example.com" || bobs[0].Status != 401 || bobs[0].UserID == "" {
			t.Errorf("%+v", bobs)
		}
		c.Time = c.Add(3600e9)
		fail("ada@example.com")
		if n := len(written(teams[0])); n != failuresPerUser+1 {
			t.Errorf("%d entries an hour later", n)
		}
		if err := accounts.SetDisabled(t.Context(), "bob@example.com", true); err != nil {
			t.Fatal(err)
		}
		fail("bob@example.com")
		if n := len(written(teams[1])); n != 1 {
			t.Errorf("%d entries of a disabled user", n)
		}
		for range maxFailures + 1 { // nothing reads them: none waits
			f.Add("ada@example.com", Entry{})
		}
		if len(f.waiting) != maxFailures || !strings.Contains(logs.String(), "one is dropped") {
			t.Errorf("%d wait; log: %s", len(f.waiting), logs.String())
		}
	})
}
