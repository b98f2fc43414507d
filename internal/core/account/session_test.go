package account

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// mustSignIn is a token of a user, and a context of its session.
func mustSignIn(t *testing.T, a *Accounts, email string) (token string, ctx context.Context) {
	t.Helper()
	issued, err := a.IssueToken(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.ByBearer(t.Context(), issued.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	return issued.AccessToken, WithCaller(t.Context(), c)
}

func wantToken(t *testing.T, a *Accounts, name, token string, valid bool) {
	t.Helper()
	_, err := a.ByBearer(t.Context(), token)
	if (err == nil) != valid || err != nil && !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("%s: %v, want valid: %v", name, err, valid)
	}
}

func TestSessionsEndOnEveryNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, other := open(t, d, Config{}), open(t, d, Config{})
		mustUser(t, a, NewUser{Email: "ada@example.com"})
		mustUser(t, a, NewUser{Email: "bob@example.com"})
		phone, onPhone := mustSignIn(t, a, "ada@example.com")
		desk, _ := mustSignIn(t, a, "ada@example.com")
		bobs, asBob := mustSignIn(t, a, "bob@example.com")
		found, err := a.FindSessions(onPhone)
		if err != nil || len(found) != 2 || found[0].Current || !found[1].Current {
			t.Fatalf("ada's sessions: %+v, %v", found, err)
		}
		for name, id := range map[string]string{"ada's session": found[0].ID, "no session": "x", "the hash": sessionHash(phone)} {
			if err := a.EndSession(asBob, id); !errs.Is(err, errs.NotFound) {
				t.Errorf("bob ends %s: %v", name, err)
			}
		}
		if err := a.EndSession(onPhone, found[0].ID); err != nil {
			t.Fatal(err)
		}
		wantToken(t, other, "the ended session", desk, false)
		wantToken(t, other, "the session that ended it", phone, true)
		desk, onDesk := mustSignIn(t, a, "ada@example.com")
		if err := a.EndSessions(onDesk, true); err != nil {
			t.Fatal(err)
		}
		wantToken(t, other, "another session", phone, false)
		wantToken(t, other, "the own session", desk, true)
		if err := a.EndSession(onDesk, CurrentSession); err != nil {
			t.Fatal(err)
		}
		wantToken(t, other, "after signing out", desk, false)
		phone, onPhone = mustSignIn(t, a, "ada@example.com")
		if err := a.EndSessions(onPhone, false); err != nil {
			t.Fatal(err)
		}
		wantToken(t, other, "after signing out everywhere", phone, false)
		wantToken(t, other, "bob", bobs, true)
	})
}

// TestWhoReadsTheDatabaseHasNoToken: the signing key and every row of the sessions are not enough for a token.
func TestWhoReadsTheDatabaseHasNoToken(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		u, _ := mustUser(t, a, NewUser{Email: "ada@example.com"})
		_, ctx := mustSignIn(t, a, u.Email)
		thief := open(t, d, Config{}) // has the signing key
		var id, hash string
		if err := d.QueryRow(ctx, `SELECT id, hash FROM user_session`).Scan(&id, &hash); err != nil {
			t.Fatal(err)
		}
		for name, sid := range map[string]string{"no sid": "", "the id": id, "the hash": hash} {
			forged, err := thief.tokens.Sign(u.ID, sid)
			if err != nil {
				t.Fatal(err)
			}
			wantToken(t, a, "forged with "+name, forged.AccessToken, false)
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Now()
		a := open(t, d, Config{Now: func() time.Time { return now }, TokenTTL: time.Hour})
		mustUser(t, a, NewUser{Email: "ada@example.com"})
		mustUser(t, a, NewUser{Email: "bob@example.com"})
		bobs, _ := mustSignIn(t, a, "bob@example.com")
		var tokens []string
		for range maxSessions + 2 {
			now = now.Add(time.Second)
			token, _ := mustSignIn(t, a, "ada@example.com")
			tokens = append(tokens, token)
		}
		wantToken(t, a, "the oldest", tokens[0], false)
		wantToken(t, a, "the second", tokens[1], false)
		wantToken(t, a, "the third", tokens[2], true)
		wantToken(t, a, "bob's", bobs, true)
		now = now.Add(2 * time.Hour)
		wantToken(t, a, "expired", tokens[len(tokens)-1], false)
		if err := a.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := count(t.Context(), d, "user_session"); n != 0 || err != nil {
			t.Errorf("%d expired sessions are kept, %v", n, err)
		}
	})
}

// TestSignInTellsItsClient: what a client sends is kept in part, whatever it is.
func TestSignInTellsItsClient(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		_, ctx := mustUser(t, a, NewUser{Email: "ada@example.com", Password: "correct-horse"})
		for i, agent := range []string{"curl/8", "", fmt.Sprintf("%0999d", 1), "a\x00\xff", string(make([]byte, 300))} {
			_, err := a.Login(t.Context(), "ada@example.com", "correct-horse", Client{Address: "192.0.2.1", UserAgent: agent})
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
		found, err := a.FindSessions(ctx)
		if err != nil || len(found) != 5 {
			t.Fatalf("%+v, %v", found, err)
		}
		if s := found[4]; s.UserAgent != "curl/8" || s.Address != "192.0.2.1" || s.LastUsedAt.IsZero() {
			t.Errorf("the first session: %+v", s)
		}
		if n := len(found[2].UserAgent); n != maxUserAgent {
			t.Errorf("%d bytes of a long user agent are kept", n)
		}
	})
}

func BenchmarkByBearer(b *testing.B) {
	a, err := Open(b.Context(), dbtest.Open(b, "sqlite"), Config{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := a.CreateUser(b.Context(), NewUser{Email: "ada@example.com"}); err != nil {
		b.Fatal(err)
	}
	token, err := a.IssueToken(b.Context(), "ada@example.com")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.ByBearer(b.Context(), token.AccessToken); err != nil {
			b.Fatal(err)
		}
	}
}
