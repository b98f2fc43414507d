package account

import (
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// wantCode fails unless err is a refusal with this code.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if e := errs.From(err); err == nil || e.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestKeysExpireAndKeepTheirScope(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Now()
		a := open(t, d, Config{KeysPerUser: 2, Now: func() time.Time { return now }})
		mustUser(t, a, NewUser{Email: "ada@example.com"})
		_, ctx := mustSignIn(t, a, "ada@example.com")
		end := now.Add(time.Hour)
		k, info, err := a.CreateNamedKey(ctx, KeyOptions{Name: "ci", Scope: ScopeRead, ExpiresAt: &end})
		if err != nil || info.Prefix != k.Key[:12] || info.Scope != ScopeRead || !info.ExpiresAt.Equal(db.At(end).Time) {
			t.Fatalf("%+v, %v", info, err)
		}
		for name, o := range map[string]KeyOptions{
			"past": {Name: "x", ExpiresAt: new(now.Add(-time.Second))}, "now": {Name: "x", ExpiresAt: &now},
			"scope": {Name: "x", Scope: "write"}, "name": {Name: "a\x00b"},
			"far": {Name: "x", ExpiresAt: new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))},
		} {
			if _, _, err := a.CreateNamedKey(ctx, o); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, _, err = a.CreateNamedKey(ctx, KeyOptions{Name: "ci"})
		wantCode(t, "the same name", err, "api_key_name_taken")
		if _, err := a.CreateKey(ctx); err != nil {
			t.Fatal(err)
		}
		_, _, err = a.CreateNamedKey(ctx, KeyOptions{Name: "third"})
		wantCode(t, "a third", err, "too_many_api_keys")

		c, err := a.ByKey(t.Context(), k.Key)
		if err != nil || !c.ReadOnly || c.KeyID != k.ID {
			t.Fatalf("%+v, %v", c, err)
		}
		byKey := WithCaller(t.Context(), c)
		_, _, err = a.CreateNamedKey(byKey, KeyOptions{Name: "more"})
		wantCode(t, "a key by a key", err, "too_many_api_keys")
		rotated, err := a.RotateKey(byKey) // rotates itself, not the default one
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.ByKey(t.Context(), k.Key)
		wantCode(t, "the old value", err, "invalid_api_key")
		c, err = a.ByKey(t.Context(), rotated.Key)
		if err != nil || !c.ReadOnly {
			t.Errorf("rotated: %+v, %v", c, err)
		}
		if err := a.DeleteKey(ctx); err != nil { // the default one
			t.Fatal(err)
		}
		_, _, err = a.CreateNamedKey(byKey, KeyOptions{Name: "more"})
		wantCode(t, "a key by a key", err, "sign_in_required")
		now = end
		_, err = a.ByKey(t.Context(), rotated.Key)
		wantCode(t, "at its end", err, "api_key_expired")
		_, ctx = mustSignIn(t, a, "ada@example.com")
		_, err = a.RotateKey(ctx)
		wantCode(t, "rotating an expired key", err, "api_key_expired")
		found, err := a.FindKeys(ctx)
		if err != nil || len(found) != 1 || found[0].Name != "ci" || found[0].LastUsedAt == nil {
			t.Errorf("%+v, %v", found, err)
		}
	})
}

func TestKeysAreTheirUsersOwn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		mustUser(t, a, NewUser{Email: "ada@example.com"})
		mustUser(t, a, NewUser{Email: "bob@example.com"})
		k, _, err := a.CreateKeyOf(t.Context(), "ada@example.com", KeyOptions{Name: "ci"})
		if err != nil {
			t.Fatal(err)
		}
		_, asBob := mustSignIn(t, a, "bob@example.com")
		wantCode(t, "bob revokes ada's key", a.RevokeKey(asBob, k.ID), "api_key_not_found")
		wantCode(t, "of another user", a.RevokeKeyOf(t.Context(), "bob@example.com", "ci"), "api_key_not_found")
		if found, err := a.FindKeys(asBob); err != nil || len(found) != 0 {
			t.Errorf("bob sees %+v, %v", found, err)
		}
		_, asAda := mustSignIn(t, a, "ada@example.com")
		if shown, err := a.FindKey(asAda); err != nil || shown.ID != k.ID { // her only one, whatever its name
			t.Errorf("%+v, %v", shown, err)
		}
		if err := a.RevokeKeyOf(t.Context(), "ada@example.com", k.ID); err != nil {
			t.Fatal(err)
		}
		_, err = a.ByKey(t.Context(), k.Key)
		wantCode(t, "a revoked key", err, "invalid_api_key")
	})
}

func TestOfParallelCreationsNoMoreKeysThanAllowed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{KeysPerUser: 3})
		mustUser(t, a, NewUser{Email: "ada@example.com"})
		var group sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			group.Go(func() {
				_, _, err := a.CreateKeyOf(t.Context(), "ada@example.com", KeyOptions{Name: name})
				if err != nil && !errs.Is(err, errs.Conflict) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if found, err := a.FindKeysOf(t.Context(), "ada@example.com"); err != nil || len(found) != 3 {
			t.Errorf("%d keys, %v", len(found), err)
		}
	})
}

func TestServiceUsersHaveKeysOnly(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		_, err := a.CreateUser(t.Context(), NewUser{Email: "ci@example.com", Team: "blue", Service: true, Password: "correct-horse"})
		wantCode(t, "a password", err, "invalid_password")
		mustUser(t, a, NewUser{Email: "ci@example.com", Team: "blue", Service: true})
		wantCode(t, "set-password", a.SetPassword(t.Context(), "ci@example.com", "correct-horse"), "service_user")
		_, err = a.IssueToken(t.Context(), "ci@example.com")
		wantCode(t, "a token", err, "service_user")
		_, err = a.Login(t.Context(), "ci@example.com", "", Client{Address: "192.0.2.1"})
		wantCode(t, "a login", err, "invalid_credentials")
		k, _, err := a.CreateKeyOf(t.Context(), "ci@example.com", KeyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := a.ByKey(t.Context(), k.Key); err != nil || c.Email != "ci@example.com" {
			t.Errorf("%+v, %v", c, err)
		}
		_, asAda := mustSignIn(t, a, "ada@example.com")
		members, err := a.FindMembers(asAda)
		if err != nil || len(members) != 2 || members[0].Service || !members[1].Service {
			t.Errorf("%+v, %v", members, err)
		}
	})
}
