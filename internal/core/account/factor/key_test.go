package factor

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/vedette-sec/vedette/internal/core/account/factor/factortest"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const origin = "https://vedette.example"

// openKeys is the service at the origin, with the user ada.
func openKeys(t *testing.T, d *db.DB) (*Factors, *clock, string) {
	t.Helper()
	f, c, ada := open(t, d)
	f.party = newParty(origin, false)
	return f, c, ada
}

func nothing(*db.Tx) error { return nil }

// begin are the options for a new key of a user.
func begin(t *testing.T, f *Factors, user string) []byte {
	t.Helper()
	o, err := f.BeginKey(t.Context(), user, user+"@example.com", "session")
	if err != nil {
		t.Fatal(err)
	}
	return wrap(o)
}

// wrap are options as a page has them.
func wrap(o KeyOptions) []byte { return []byte(`{"publicKey":` + string(o.PublicKey) + `}`) }

// add registers a new key for a user.
func add(t *testing.T, f *Factors, user, name string) (*factortest.Key, SecurityKey) {
	t.Helper()
	k := factortest.New(t, origin)
	stored, _, err := f.FinishKey(t.Context(), user, "session", name, k.Create(begin(t, f, user)), nothing)
	if err != nil {
		t.Fatal(err)
	}
	return k, stored
}

func challenge(t *testing.T, f *Factors, user string, use Use) []byte {
	t.Helper()
	o, err := f.Challenge(t.Context(), user, use)
	if err != nil {
		t.Fatal(err)
	}
	return wrap(o)
}

// TestAKeyProvesOnce: a right answer is taken once, and what a browser is asked for is what we want.
func TestAKeyProvesOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, c, ada := openKeys(t, d)
		made := factortest.Read(t, begin(t, f, ada)).PublicKey
		if made.RP.ID != "vedette.example" || made.Attestation != "none" ||
			made.AuthenticatorSelection["userVerification"] != "preferred" {
			t.Errorf("asked for %+v", made)
		}
		k, stored := add(t, f, ada, "blue")
		if stored.Name != "blue" || stored.ID == "" || stored.Synced {
			t.Errorf("%+v", stored)
		}
		if again := factortest.Read(t, begin(t, f, ada)).PublicKey; len(again.ExcludeCredentials) != 1 {
			t.Errorf("a second key: %+v", again)
		}
		use := SignIn("ticket")
		asked := challenge(t, f, ada, use)
		if o := factortest.Read(t, asked).PublicKey; o.RPID != "vedette.example" || len(o.AllowCredentials) != 1 ||
			o.UserVerification != "preferred" {
			t.Errorf("asked for %+v", o)
		}
		answer := k.Get(asked)
		var done atomic.Int32
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if f.prove(t, ada, use, Proof{Key: answer}) == nil {
					done.Add(1)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 {
			t.Errorf("an answer was taken %d times", done.Load())
		}
		c.now = c.now.Add(10 * time.Minute) // wrong answers are waited for
		keys, err := f.Keys(t.Context(), ada)
		if err != nil || len(keys) != 1 || keys[0].LastUsedAt == nil || keys[0].SuspectAt != nil {
			t.Errorf("%+v, %v", keys, err)
		}
		if err := f.prove(t, ada, use, Proof{Key: k.Get(challenge(t, f, ada, use))}); err != nil {
			t.Errorf("a second answer: %v", err)
		}
	})
}

// TestWrongAnswersOfKeys: each is refused, uses its challenge up, and changes nothing.
func TestWrongAnswersOfKeys(t *testing.T) {
	for name, answer := range map[string]func(t *testing.T, f *Factors, c *clock, k *factortest.Key, ada, bob string) []byte{
		"another origin": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			k.Origin = "https://vedette.example.evil.example"
			return k.Get(challenge(t, f, ada, SignIn("ticket")))
		},
		"another port": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			k.Origin = origin + ":8443"
			return k.Get(challenge(t, f, ada, SignIn("ticket")))
		},
		"another relying party": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			k.RPID = "example"
			return k.Get(challenge(t, f, ada, SignIn("ticket")))
		},
		"nobody there": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			k.Absent = true
			return k.Get(challenge(t, f, ada, SignIn("ticket")))
		},
		"another ticket's challenge": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			challenge(t, f, ada, SignIn("ticket"))
			return k.Get(challenge(t, f, ada, SignIn("another")))
		},
		"another use's challenge": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			challenge(t, f, ada, SignIn("ticket"))
			return k.Get(challenge(t, f, ada, Change("ticket")))
		},
		"no challenge": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			return k.Get(challenge(t, f, ada, Change("session")))
		},
		"a replaced challenge": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			first := challenge(t, f, ada, SignIn("ticket"))
			challenge(t, f, ada, SignIn("ticket"))
			return k.Get(first)
		},
		"a late answer": func(t *testing.T, f *Factors, c *clock, k *factortest.Key, ada, _ string) []byte {
			asked := challenge(t, f, ada, SignIn("ticket"))
			c.now = c.now.Add(challengeTTL)
			return k.Get(asked)
		},
		"another user's key": func(t *testing.T, f *Factors, _ *clock, _ *factortest.Key, ada, bob string) []byte {
			bobs, _ := add(t, f, bob, "bob's")
			bobs.UserHandle = []byte(ada)
			return bobs.Get(challenge(t, f, ada, SignIn("ticket")))
		},
		"another user's challenge": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, _, bob string) []byte {
			add(t, f, bob, "bob's")
			return k.Get(challenge(t, f, bob, SignIn("ticket")))
		},
		"a strange key under a known id": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			strange := factortest.New(t, origin)
			strange.ID, strange.Count = k.ID, 100
			return strange.Get(challenge(t, f, ada, SignIn("ticket")))
		},
		"the answer of a registration": func(t *testing.T, f *Factors, _ *clock, k *factortest.Key, ada, _ string) []byte {
			return k.Get(begin(t, f, ada))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				f, c, ada := openKeys(t, d)
				bob := insertUser(t, d, "bob@example.com")
				k, _ := add(t, f, ada, "blue")
				before := *k
				wrong := answer(t, f, c, k, ada, bob)
				wantCode(t, "it", f.prove(t, ada, SignIn("ticket"), Proof{Key: wrong}), "wrong_key")
				wantCode(t, "it again", f.prove(t, ada, SignIn("ticket"), Proof{Key: wrong}), "wrong_key")
				keys, err := f.Keys(t.Context(), ada)
				if err != nil || len(keys) != 1 || keys[0].LastUsedAt != nil || keys[0].SuspectAt != nil {
					t.Errorf("%+v, %v", keys, err)
				}
				*k = before
				if err := f.prove(t, ada, SignIn("ticket"), Proof{Key: k.Get(challenge(t, f, ada, SignIn("ticket")))}); err != nil {
					t.Errorf("a right one later: %v", err)
				}
			})
		})
	}
}

// TestARefusedAnswerUsesItsChallengeUp: nobody tries a second answer to it.
func TestARefusedAnswerUsesItsChallengeUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, _, ada := openKeys(t, d)
		k, _ := add(t, f, ada, "blue")
		asked := challenge(t, f, ada, SignIn("ticket"))
		k.Origin = "https://evil.example"
		wantCode(t, "a wrong one", f.prove(t, ada, SignIn("ticket"), Proof{Key: k.Get(asked)}), "wrong_key")
		k.Origin = origin
		wantCode(t, "a right one to the same", f.prove(t, ada, SignIn("ticket"), Proof{Key: k.Get(asked)}), "wrong_key")
	})
}

// TestACopiedKeyIsNoticed: an answer whose count is not above the last one is refused and remembered; keys that do not
// count are taken.
func TestACopiedKeyIsNoticed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, _, ada := openKeys(t, d)
		use := SignIn("ticket")
		k, _ := add(t, f, ada, "blue")
		clone := k.Clone()
		for range 2 {
			if err := f.prove(t, ada, use, Proof{Key: k.Get(challenge(t, f, ada, use))}); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, "the copy", f.prove(t, ada, use, Proof{Key: clone.Get(challenge(t, f, ada, use))}), "key_may_be_copied")
		wantCode(t, "the same count", f.prove(t, ada, use, Proof{Key: clone.Get(challenge(t, f, ada, use))}), "key_may_be_copied")
		keys, err := f.Keys(t.Context(), ada)
		if err != nil || len(keys) != 1 || keys[0].SuspectAt == nil {
			t.Errorf("%+v, %v", keys, err)
		}
		if err := f.prove(t, ada, use, Proof{Key: k.Get(challenge(t, f, ada, use))}); err != nil {
			t.Errorf("the key itself: %v", err)
		}
		bob := insertUser(t, d, "bob@example.com")
		passkey := factortest.New(t, origin)
		passkey.Mute, passkey.Synced = true, true
		made, _, err := f.FinishKey(t.Context(), bob, "session", "phone", passkey.Create(begin(t, f, bob)), nothing)
		if err != nil || !made.Synced {
			t.Fatalf("%+v, %v", made, err)
		}
		for range 2 {
			if err := f.prove(t, bob, use, Proof{Key: passkey.Get(challenge(t, f, bob, use))}); err != nil {
				t.Errorf("a key that does not count: %v", err)
			}
		}
	})
}

// TestKeysMayHaveToVerifyTheirUser, where the operator wants it.
func TestKeysMayHaveToVerifyTheirUser(t *testing.T) {
	f, _, ada := openKeys(t, dbtest.Open(t, "sqlite"))
	k, _ := add(t, f, ada, "blue")
	k.Unverified = true
	if err := f.prove(t, ada, SignIn("x"), Proof{Key: k.Get(challenge(t, f, ada, SignIn("x")))}); err != nil {
		t.Errorf("where it is preferred: %v", err)
	}
	f.party = newParty(origin, true)
	asked := challenge(t, f, ada, SignIn("x"))
	if o := factortest.Read(t, asked).PublicKey; o.UserVerification != "required" {
		t.Errorf("asked for %+v", o)
	}
	wantCode(t, "where it is required", f.prove(t, ada, SignIn("x"), Proof{Key: k.Get(asked)}), "wrong_key")
	other := factortest.New(t, origin)
	other.Unverified = true
	_, _, err := f.FinishKey(t.Context(), ada, "session", "red", other.Create(begin(t, f, ada)), nothing)
	wantCode(t, "a new one where it is required", err, "wrong_key")
	k.Unverified = false
	if err := f.prove(t, ada, SignIn("x"), Proof{Key: k.Get(challenge(t, f, ada, SignIn("x")))}); err != nil {
		t.Errorf("with a PIN: %v", err)
	}
}

// TestAddingKeys: what is refused, and that a user has at most ten.
func TestAddingKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, c, ada := openKeys(t, d)
		bob := insertUser(t, d, "bob@example.com")
		finish := func(user, session, name string, answer []byte) error {
			_, _, err := f.FinishKey(t.Context(), user, session, name, answer, nothing)
			return err
		}
		k := factortest.New(t, origin)
		wantCode(t, "nothing begun", finish(ada, "session", "blue", k.Create([]byte(`{}`))), "wrong_key")
		asked := begin(t, f, ada)
		for _, name := range []string{"", "  ", strings.Repeat("ä", 65), "a\x00", "\xff"} {
			wantCode(t, "the name "+name, finish(ada, "session", name, k.Create(asked)), "invalid_name")
		}
		wantCode(t, "no answer", finish(ada, "session", "blue", []byte(`{"id": "x"}`)), "invalid_credential")
		wantCode(t, "a large one", finish(ada, "session", "blue", make([]byte, maxAnswer+1)), "invalid_credential")
		wantCode(t, "another session's", finish(ada, "another", "blue", k.Create(asked)), "wrong_key")
		wantCode(t, "another user's", finish(bob, "session", "blue", k.Create(asked)), "wrong_key")
		if err := finish(ada, "session", "blue", k.Create(asked)); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "the challenge again", finish(ada, "session", "red", factortest.New(t, origin).Create(asked)), "wrong_key")
		evil := factortest.New(t, "https://evil.example")
		evil.RPID = "vedette.example"
		wantCode(t, "another origin", finish(ada, "session", "red", evil.Create(begin(t, f, ada))), "wrong_key")
		late := begin(t, f, ada)
		c.now = c.now.Add(challengeTTL)
		wantCode(t, "a late answer", finish(ada, "session", "red", factortest.New(t, origin).Create(late)), "wrong_key")
		wantCode(t, "the name again", finish(ada, "session", "blue", factortest.New(t, origin).Create(begin(t, f, ada))),
			"security_key_name_taken")
		wantCode(t, "the key again", finish(ada, "session", "red", k.Create(begin(t, f, ada))), "security_key_exists")
		wantCode(t, "the key of another user", finish(bob, "session", "red", k.Create(begin(t, f, bob))), "security_key_exists")
		if s, err := f.Find(t.Context(), bob); err != nil || s != (SecondFactor{}) {
			t.Errorf("bob has %+v, %v", s, err)
		}
		last := begin(t, f, ada)
		for i := range maxKeys - 1 {
			o, err := f.BeginKey(t.Context(), ada, "ada", "other")
			if err != nil {
				t.Fatal(err)
			}
			if err := finish(ada, "other", strings.Repeat("x", i+1), factortest.New(t, origin).Create(wrap(o))); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, "one begun before", finish(ada, "session", "red", factortest.New(t, origin).Create(last)),
			"too_many_security_keys")
		_, err := f.BeginKey(t.Context(), ada, "ada", "session")
		wantCode(t, "an eleventh", err, "too_many_security_keys")
		if s, err := f.Find(t.Context(), ada); err != nil || s.Keys != maxKeys || s.RecoveryCodes != recoveryCodes {
			t.Errorf("ada has %+v, %v", s, err)
		}
	})
}

// TestKeysAndAppBesideEachOther: recovery codes come with the first factor and go with the last one.
func TestKeysAndAppBesideEachOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, c, ada := openKeys(t, d)
		_, err := f.Challenge(t.Context(), ada, SignIn("x"))
		wantCode(t, "without a key", err, "security_key_not_found")
		first := 0
		k := factortest.New(t, origin)
		stored, codes, err := f.FinishKey(t.Context(), ada, "session", " blue ", k.Create(begin(t, f, ada)),
			func(*db.Tx) error { first++; return nil })
		if err != nil || len(codes) != recoveryCodes || first != 1 || stored.Name != "blue" {
			t.Fatalf("%+v, %q, %d, %v", stored, codes, first, err)
		}
		wantCode(t, "a code without an app", f.take(t, ada, "123456"), "wrong_code")
		made, err := f.BeginApp(t.Context(), ada, "ada")
		if err != nil {
			t.Fatal(err)
		}
		err = f.Try(t.Context(), ada, func(tx *db.Tx) error {
			more, err := f.ConfirmApp(t.Context(), tx, ada, appCode(t, made.Secret, c.now))
			if len(more) > 0 {
				t.Errorf("a second factor brings %d codes", len(more))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if s, err := f.Find(t.Context(), ada); err != nil || s != (SecondFactor{Enabled: true, App: true, Keys: 1,
			RecoveryCodes: recoveryCodes}) {
			t.Errorf("%+v, %v", s, err)
		}
		own := Own{Factors: f, UserID: ada, Session: "session"}
		bob := insertUser(t, d, "bob@example.com")
		_, bobs := add(t, f, bob, "bob's")
		wantCode(t, "another user's", own.DeleteKey(t.Context(), bobs.ID, Proof{Code: codes[0]}), "security_key_not_found")
		wantCode(t, "a wrong code", own.DeleteKey(t.Context(), stored.ID, Proof{Code: "000000"}), "wrong_code")
		both := Proof{Code: codes[0], Key: k.Get(challenge(t, f, ada, Change("session")))}
		wantCode(t, "two proofs", own.DeleteKey(t.Context(), stored.ID, both), "invalid_credential")
		asked, err := own.Challenge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := own.DeleteKey(t.Context(), stored.ID, Proof{Key: k.Get(wrap(asked))}); err != nil {
			t.Errorf("with itself: %v", err)
		}
		if s, err := f.Find(t.Context(), ada); err != nil || s != (SecondFactor{Enabled: true, App: true,
			RecoveryCodes: recoveryCodes}) {
			t.Errorf("without the key: %+v, %v", s, err)
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return RemoveApp(t.Context(), tx, ada) }); err != nil {
			t.Fatal(err)
		}
		if s, err := f.Find(t.Context(), ada); err != nil || s != (SecondFactor{}) {
			t.Errorf("without both: %+v, %v", s, err)
		}
		add(t, f, ada, "red")
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return Remove(t.Context(), tx, ada) }); err != nil {
			t.Fatal(err)
		}
		if s, err := f.Find(t.Context(), ada); err != nil || s != (SecondFactor{}) {
			t.Errorf("after the operator: %+v, %v", s, err)
		}
		if keys, err := f.Keys(t.Context(), bob); err != nil || len(keys) != 1 {
			t.Errorf("bob: %+v, %v", keys, err)
		}
	})
}

// TestWrongAnswersBackOffByUser, together with wrong codes.
func TestWrongAnswersBackOffByUser(t *testing.T) {
	f, _, ada := openKeys(t, dbtest.Open(t, "sqlite"))
	k, _ := add(t, f, ada, "blue")
	answer := k.Get(challenge(t, f, ada, Change("other")))
	var err error
	tries := 0
	for ; tries < 20 && !errs.Is(err, errs.RateLimited); tries++ {
		err = f.prove(t, ada, SignIn("ticket"), []Proof{{Key: answer}, {Code: "000000"}}[tries%2])
	}
	wantCode(t, "many wrong ones", err, "too_many_wrong_codes")
	if tries > 6 {
		t.Errorf("%d wrong ones were free", tries)
	}
	asked := challenge(t, f, ada, SignIn("ticket"))
	wantCode(t, "a right one", f.prove(t, ada, SignIn("ticket"), Proof{Key: k.Get(asked)}), "too_many_wrong_codes")
}

// TestWhereKeysAreTaken: at addresses that browsers take them for, and at no others.
func TestWhereKeysAreTaken(t *testing.T) {
	for address, want := range map[string]string{
		"https://vedette.example": "https://vedette.example", "https://Vedette.example/": "https://vedette.example",
		"https://vedette.example:443/x": "https://vedette.example", "https://vedette.example:8443": "https://vedette.example:8443",
		"http://localhost:8080": "http://localhost:8080", "http://localhost:80": "http://localhost",
		"": "", "http://vedette.example": "", "https://192.0.2.1": "", "https://[2001:db8::1]:8443": "", "https://": "",
		"https://a b.example": "", "%": "",
	} {
		p := newParty(address, false)
		if want == "" {
			wantCode(t, address, p.check(), "security_keys_not_configured")
			continue
		}
		if err := p.check(); err != nil || p.Config.RPOrigins[0] != want {
			t.Errorf("%s: %v, %v, want %s", address, p, err, want)
		}
	}
	f, _, ada := open(t, dbtest.Open(t, "sqlite"))
	_, err := f.BeginKey(t.Context(), ada, "ada", "session")
	wantCode(t, "begun without an address", err, "security_keys_not_configured")
	_, err = f.Challenge(t.Context(), ada, SignIn("x"))
	wantCode(t, "asked without an address", err, "security_keys_not_configured")
	_, _, err = f.FinishKey(t.Context(), ada, "session", "blue", json.RawMessage(`{}`), nothing)
	wantCode(t, "finished without an address", err, "security_keys_not_configured")
}

func sessionOf(user string) webauthn.SessionData {
	return webauthn.SessionData{Challenge: strings.Repeat("A", 43), UserID: []byte(user)}
}

// FuzzAnswers: whatever a client says that its key has answered is refused or parsed, and not a reason to panic.
func FuzzAnswers(f *testing.F) {
	k := factortest.New(f, origin)
	options := []byte(`{"publicKey":{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","user":{"id":"YWRh"}}}`)
	f.Add([]byte(k.Create(options)), true)
	f.Add([]byte(k.Get(options)), false)
	f.Add([]byte(`null`), false)
	f.Add([]byte(`{"id":"AA","rawId":"AA","type":"public-key","response":{"attestationObject":"oA"}}`), true)
	at := newParty(origin, false)
	f.Fuzz(func(t *testing.T, answer []byte, creates bool) {
		if creates {
			data, err := readCreation(answer)
			if err == nil {
				_, _ = at.CreateCredential(owner{id: "ada"}, sessionOf("ada"), data)
			}
			return
		}
		data, err := readAssertion(answer)
		if err == nil {
			_, _ = at.ValidateLogin(owner{id: "ada"}, sessionOf("ada"), data.answer)
		}
	})
}
