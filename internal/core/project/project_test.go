package project

import (
	"context"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func people(t *testing.T, d *db.DB) (*Projects, map[string]context.Context) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{Region: "us"})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]context.Context{}
	for name, role := range map[string]account.Role{"admin": account.Admin, "ann": account.Member, "ben": account.Member, "cat": account.Member,
		"eve": account.Admin} {
		team := "blue"
		if name == "eve" {
			team = "red"
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: name + "@example.com", Team: team})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE member SET role = ? WHERE user_id = ?`, role, u.ID); err != nil {
			t.Fatal(err)
		}
		out[name] = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: role})
	}
	return New(d), out
}

func TestWhoSeesAProject(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ps, who := people(t, d)
		name := "shop"
		p, err := ps.Create(who["ann"], NewProject{Update: Update{Name: &name}})
		if err != nil {
			t.Fatal(err)
		}
		seen := func(want string) {
			t.Helper()
			var got []string
			for _, name := range []string{"admin", "ann", "ben", "cat", "eve"} {
				c, err := account.From(who[name])
				if err != nil {
					t.Fatal(err)
				}
				_, err = ps.Find(who[name], p.ID)
				if err != nil && !errs.Is(err, errs.NotFound) {
					t.Fatal(err)
				}
				if checked := Check(t.Context(), d, c.TeamID, c.UserID, p.ID); (checked == nil) != (err == nil) {
					t.Errorf("%s: %v, %v", name, err, checked)
				}
				if err == nil {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("seen by %v, want %s", got, want)
			}
		}
		seen("admin ann")
		if err := ps.SetMember(who["cat"], p.ID, "cat@example.com", Member); !errs.Is(err, errs.NotFound) {
			t.Errorf("one who does not see it joins: %v", err)
		}
		if err := ps.SetMember(who["ann"], p.ID, "ben@example.com", Member); err != nil {
			t.Fatal(err)
		}
		seen("admin ann ben")
		for what, err := range map[string]error{
			"a member makes himself an admin": ps.SetMember(who["ben"], p.ID, "ben@example.com", Admin),
			"a member adds another":           ps.SetMember(who["ben"], p.ID, "cat@example.com", Member),
			"a member sets the cap":           func() error { _, err := ps.SetCap(who["ben"], p.ID, new(int64)); return err }(),
			"a member deletes it":             ps.Delete(who["ben"], p.ID),
		} {
			if !errs.Is(err, errs.Forbidden) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := ps.SetMember(who["ann"], p.ID, "eve@example.com", Member); !errs.Is(err, errs.NotFound) {
			t.Errorf("somebody of another team: %v", err)
		}
		shared := true
		if _, err := ps.Update(who["ann"], p.ID, Update{Shared: &shared}); err != nil {
			t.Fatal(err)
		}
		seen("admin ann ben cat")
		if _, err := d.Exec(t.Context(), `UPDATE member SET restricted = TRUE WHERE role = 'member'`); err != nil {
			t.Fatal(err)
		}
		seen("admin ann ben")
		if err := ps.RemoveMember(who["ben"], p.ID, "ben@example.com"); err != nil {
			t.Error(err)
		}
		seen("admin ann")
		if err := ps.RemoveMember(who["ann"], p.ID, "ann@example.com"); !errs.Is(err, errs.Conflict) {
			t.Errorf("the owner leaves: %v", err)
		}
		if err := ps.Delete(who["admin"], p.ID); err != nil {
			t.Error(err)
		}
		seen("")
	})
}

func TestSettingsReachThePrompt(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	ps, who := people(t, d)
	settings := "Never touch /pay. " + strings.Repeat("x", maxSettings)
	p, err := ps.Create(who["ann"], NewProject{Update: Update{Settings: &settings}})
	if err != nil || !strings.HasSuffix(p.Settings, cutSuffix) {
		t.Fatal(err)
	}
	if _, err := ps.SetMemory(who["ann"], p.ID, Memory{Facts: []string{"two\nlines"}}); err != nil {
		t.Fatal(err)
	}
	text, err := ps.Prompt(t.Context(), p.ID)
	if err != nil || !strings.Contains(text, "Never touch /pay.") || !strings.Contains(text, `- "two\nlines"`) {
		t.Errorf("%.200s, %v", text, err)
	}
	if text, err := ps.Prompt(t.Context(), ""); text != "" || err != nil {
		t.Error(text, err)
	}
}

func TestRefusedProjects(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	ps, who := people(t, d)
	long, yes := strings.Repeat("x", maxName+1), true
	for param, n := range map[string]NewProject{
		"id": {ID: "7"}, "type": {Type: "x"}, "name": {Update: Update{Name: &long}}, "tags": {Update: Update{Tags: &[]string{""}}},
		"shared_with_team": {Type: Personal, Update: Update{Shared: &yes}},
	} {
		if _, err := ps.Create(who["ann"], n); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	p, err := ps.Create(who["ann"], NewProject{Type: Personal})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ps.Create(who["eve"], NewProject{ID: p.ID}); !errs.Is(err, errs.Conflict) {
		t.Error(err)
	}
	if err := ps.SetMember(who["ann"], p.ID, "ben@example.com", Member); !errs.Is(err, errs.Conflict) {
		t.Error(err)
	}
}
