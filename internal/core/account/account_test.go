package account

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/core/account/openid/openidtest"
	"github.com/vedette-sec/vedette/internal/core/account/phc"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func open(t *testing.T, d *db.DB, c Config) *Accounts {
	t.Helper()
	a, err := Open(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustUser(t *testing.T, a *Accounts, n NewUser) (User, context.Context) {
	t.Helper()
	u, err := a.CreateUser(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return u, WithCaller(t.Context(), Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: u.Role})
}

func TestOwnTokensAreCheckedInEveryClaim(t *testing.T) {
	a := open(t, dbtest.Open(t, "sqlite"), Config{})
	u, _ := mustUser(t, a, NewUser{Email: "ada@example.com"})
	now := time.Now()
	issued, err := a.IssueToken(t.Context(), u.Email)
	if err != nil {
		t.Fatal(err)
	}
	own, err := a.tokens.Verify(issued.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	good := jwt.MapClaims{"iss": "vedette", "sid": own.SID, "aud": "vedette-api", "sub": u.ID, "iat": now.Unix(), "nbf": now.Unix(),
		"exp": now.Add(time.Hour).Unix()}
	other := func(key string, value any) jwt.MapClaims {
		c := jwt.MapClaims{}
		maps.Copy(c, good)
		if c[key] = value; value == nil {
			delete(c, key)
		}
		return c
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method jwt.SigningMethod
		typ    string
		claims jwt.MapClaims
		key    any
		ok     bool
	}{
		"good": {jwt.SigningMethodHS256, "at+jwt", good, a.tokens.Key, true},
		"skewed nbf": {jwt.SigningMethodHS256, "at+jwt", other("nbf", now.Add(50*time.Second).Unix()), a.tokens.Key,
			true},
		"just expired": {jwt.SigningMethodHS256, "at+jwt", other("exp", now.Add(-50*time.Second).Unix()), a.tokens.Key,
			true},
		"expired": {jwt.SigningMethodHS256, "at+jwt", other("exp", now.Add(-70*time.Second).Unix()), a.tokens.Key,
			false},
		"no exp": {jwt.SigningMethodHS256, "at+jwt", other("exp", nil), a.tokens.Key, false},
		"not yet": {jwt.SigningMethodHS256, "at+jwt", other("nbf", now.Add(70*time.Second).Unix()), a.tokens.Key,
			false},
		"no nbf":             {jwt.SigningMethodHS256, "at+jwt", other("nbf", nil), a.tokens.Key, false},
		"from the future":    {jwt.SigningMethodHS256, "at+jwt", other("iat", now.Add(time.Hour).Unix()), a.tokens.Key, false},
		"other audience":     {jwt.SigningMethodHS256, "at+jwt", other("aud", "other"), a.tokens.Key, false},
		"no audience":        {jwt.SigningMethodHS256, "at+jwt", other("aud", nil), a.tokens.Key, false},
		"other issuer":       {jwt.SigningMethodHS256, "at+jwt", other("iss", "other"), a.tokens.Key, false},
		"other type":         {jwt.SigningMethodHS256, "JWT", good, a.tokens.Key, false},
		"no such user":       {jwt.SigningMethodHS256, "at+jwt", other("sub", ids.New()), a.tokens.Key, false},
		"no sid":             {jwt.SigningMethodHS256, "at+jwt", other("sid", nil), a.tokens.Key, false},
		"other sid":          {jwt.SigningMethodHS256, "at+jwt", other("sid", "AAAAAAAAAAAAAAAAAAAAAA"), a.tokens.Key, false},
		"the stored sid":     {jwt.SigningMethodHS256, "at+jwt", other("sid", sessionHash(own.SID)), a.tokens.Key, false},
		"other key":          {jwt.SigningMethodHS256, "at+jwt", good, []byte("wrong"), false},
		"other algorithm":    {jwt.SigningMethodHS512, "at+jwt", good, a.tokens.Key, false},
		"no algorithm":       {jwt.SigningMethodNone, "at+jwt", good, jwt.UnsafeAllowNoneSignatureType, false},
		"a public algorithm": {jwt.SigningMethodRS256, "at+jwt", good, rsaKey, false},
	} {
		token := jwt.NewWithClaims(c.method, c.claims)
		token.Header["typ"] = c.typ
		signed, err := token.SignedString(c.key)
		if err != nil {
			t.Fatal(err)
		}
		caller, err := a.ByBearer(t.Context(), signed)
		if (err == nil) != c.ok || c.ok && caller.UserID != u.ID {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
		if err != nil && !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("%s: the error is not Unauthenticated: %v", name, err)
		}
	}
	for _, garbage := range []string{"", ".", "..", "a.b.c", strings.Repeat("x", 1<<17), "\x00"} {
		if _, err := a.ByBearer(t.Context(), garbage); !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("token %.20q: %v", garbage, err)
		}
	}
}

func TestTokensOfTheConfiguredIssuer(t *testing.T) {
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := openidtest.New(t)
	a := open(t, dbtest.Open(t, "sqlite"), Config{OIDCIssuer: i.URL, OIDCAudience: "vedette"})
	u, _ := mustUser(t, a, NewUser{Email: "ada@example.com"})
	now := time.Now()
	sign := func(claims jwt.MapClaims) string {
		signed, err := i.Token("vedette", claims)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	caller, err := a.ByBearer(t.Context(), sign(nil))
	if err != nil || caller.UserID != u.ID {
		t.Fatalf("a good token: %+v, %v", caller, err)
	}
	bad := map[string]string{
		"other audience": sign(jwt.MapClaims{"aud": "other"}),
		"expired":        sign(jwt.MapClaims{"exp": now.Add(-time.Hour).Unix()}),
		"not yet":        sign(jwt.MapClaims{"nbf": now.Add(2 * time.Minute).Unix()}),
		"unverified":     sign(jwt.MapClaims{"email_verified": false}),
		"unknown user":   sign(jwt.MapClaims{"email": "eve@example.com"}),
		"no subject":     sign(jwt.MapClaims{"sub": nil}),
		"long subject":   sign(jwt.MapClaims{"sub": strings.Repeat("x", 256)}),
		"NUL in it":      sign(jwt.MapClaims{"sub": "x\x00"}),
	}
	i.Signer = foreign
	bad["foreign key"] = sign(nil)
	hs := jwt.NewWithClaims(jwt.SigningMethodHS256,
		jwt.MapClaims{"iss": i.URL, "aud": "vedette", "sub": "ada-1", "exp": now.Add(time.Hour).Unix(), "email": u.Email,
			"email_verified": true})
	if bad["signed with our own key"], err = hs.SignedString(a.tokens.Key); err != nil {
		t.Fatal(err)
	}
	for name, token := range bad {
		if _, err := a.ByBearer(t.Context(), token); !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	i.Signer = nil
	without := open(t, dbtest.Open(t, "sqlite"), Config{OIDCIssuer: i.URL})
	mustUser(t, without, NewUser{Email: "ada@example.com"})
	if _, err := without.ByBearer(t.Context(), sign(nil)); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("without an audience: %v", err)
	}
}

func TestKeysAreKeptAsHashes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		_, ctx := mustUser(t, a, NewUser{Email: "ada@example.com"})
		key, err := a.CreateKey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var hash string
		if err := d.QueryRow(ctx, `SELECT hash FROM api_key`).Scan(&hash); err != nil ||
			strings.Contains(hash, key.Key[8:]) || hash == "" {
			t.Errorf("at rest: %q, %v", hash, err)
		}
		again := open(t, d, Config{}) // another node has the same secrets
		if _, err := again.ByKey(t.Context(), key.Key); err != nil {
			t.Errorf("the key on another node: %v", err)
		}
		found, err := a.FindKey(ctx)
		if err != nil || found.LastUsedAt == nil {
			t.Errorf("after use: %+v, %v", found, err)
		}
	})
}

func TestOfParallelCreationsOneKeyIsMade(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		_, ctx := mustUser(t, a, NewUser{Email: "ada@example.com"})
		var made, refused int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				_, err := a.CreateKey(ctx)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					made++
				case errs.Is(err, errs.Conflict):
					refused++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made != 1 || refused != 19 {
			t.Errorf("%d made and %d refused, want 1 and 19", made, refused)
		}
	})
}

func TestRotatedKeyIsVoidOnEveryNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, b := open(t, d, Config{}), open(t, d, Config{})
		_, ctx := mustUser(t, a, NewUser{Email: "ada@example.com"})
		key, err := a.CreateKey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			next, err := a.RotateKey(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.ByKey(t.Context(), key.Key); !errs.Is(err, errs.Unauthenticated) {
				t.Fatalf("the old key after rotation: %v", err)
			}
			if _, err := b.ByKey(t.Context(), next.Key); err != nil {
				t.Fatalf("the new key: %v", err)
			}
			key = next
		}
	})
}

func TestSetupLinkWorksOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		old, err := a.SetupToken(t.Context())
		if err != nil || old == "" {
			t.Fatal(old, err)
		}
		token, err := a.SetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"", old, token + "x"} {
			if _, err := a.Setup(t.Context(), bad, "ada@example.com", "long-enough-1", "192.0.2.1"); !errs.Is(err,
				errs.Forbidden) {
				t.Errorf("setup with %q: %v", bad, err)
			}
		}
		if _, err := a.Setup(t.Context(), token, "ada@example.com", "short", "192.0.2.1"); !errs.Is(err, errs.Invalid) {
			t.Errorf("a short password: %v", err)
		}
		u, err := a.Setup(t.Context(), token, "ada@example.com", "long-enough-1", "192.0.2.1")
		if err != nil || u.Role != Admin {
			t.Fatalf("setup: %+v, %v", u, err)
		}
		if _, err := a.Setup(t.Context(), token, "eve@example.com", "long-enough-1", "192.0.2.1"); !errs.Is(err,
			errs.Forbidden) {
			t.Errorf("the link a second time: %v", err)
		}
		if _, err := a.Login(t.Context(), "ada@example.com", "long-enough-1", Client{Address: "192.0.2.1"}); err != nil {
			t.Errorf("login after setup: %v", err)
		}
		if token, err := a.SetupToken(t.Context()); token != "" || err != nil {
			t.Errorf("a setup token although there are users: %q, %v", token, err)
		}
	})
}

func TestOfParallelSetupsOneWins(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		token, err := a.SetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var made sync.Map
		for _, name := range []string{"ada", "bob", "eve", "dan"} {
			wg.Go(func() {
				if _, err := a.Setup(t.Context(), token, name+"@example.com", "long-enough-1", "192.0.2.1"); err == nil {
					made.Store(name, true)
				} else if !errs.Is(err, errs.Forbidden) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n := 0
		made.Range(func(_, _ any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d users were set up with one link", n)
		}
	})
}

func TestTeamsOfUsers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		ada, _ := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		bob, _ := mustUser(t, a, NewUser{Email: "bob@example.com", Team: "blue"})
		eve, _ := mustUser(t, a, NewUser{Email: "eve@example.com"})
		if ada.TeamID != bob.TeamID || eve.TeamID == ada.TeamID || bob.Role != Member || ada.Role != Admin {
			t.Errorf("ada %+v\nbob %+v\neve %+v", ada, bob, eve)
		}
		if _, err := a.CreateUser(t.Context(), NewUser{Email: "ADA@example.com"}); !errs.Is(err, errs.Conflict) {
			t.Errorf("the same address in other letters: %v", err)
		}
		if _, err := a.InTeam(t.Context(), Caller{UserID: eve.ID, TeamID: eve.TeamID}, ada.TeamID); !errs.Is(err,
			errs.Forbidden) {
			t.Errorf("eve in the blue team: %v", err)
		}
	})
}

func TestNoCallerNoAccess(t *testing.T) {
	a := open(t, dbtest.Open(t, "sqlite"), Config{})
	for name, err := range map[string]error{
		"CreateKey": second(a.CreateKey(t.Context())), "FindKey": second(a.FindKey(t.Context())),
		"RotateKey": second(a.RotateKey(t.Context())),
		"DeleteKey": a.DeleteKey(t.Context()), "FindTeam": second(a.FindTeam(t.Context())),
		"UpdateTeam": second(a.UpdateTeam(t.Context(), TeamUpdate{})),
		"SetCap":     second(a.SetCap(t.Context(), "a@example.com", nil)),
	} {
		if !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("%s without a caller: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzParseEmail(f *testing.F) {
	for _, s := range []string{"a@b", "A.b+c@Example.com", "Name <a@b.c>", "a@b, c@d", "", "@", "a@[127.0.0.1]",
		"\"a b\"@c", "a\x00@b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		email, err := ParseEmail(s)
		if err != nil {
			if !errs.Is(err, errs.Invalid) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if again, err := ParseEmail(email); err != nil || again != email || strings.ContainsAny(email, "\x00\r\n <>") {
			t.Fatalf("%q became %q, then %q, %v", s, email, again, err)
		}
	})
}

func FuzzPasswordHashOnFile(f *testing.F) {
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$a2V5")
	f.Add("")
	f.Add("$argon2id$v=19$m=0,t=0,p=0$$")
	f.Fuzz(func(t *testing.T, stored string) {
		if phc.Matches("password", stored) && !strings.HasPrefix(stored, "$argon2id$") {
			t.Fatalf("%q matches", stored)
		}
	})
}
