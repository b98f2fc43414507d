package factor

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// open is the service on a database with the user ada.
func open(t *testing.T, d *db.DB) (*Factors, *clock, string) {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: time.Now()}
	return New(d, Config{Pepper: []byte("pepper"), Box: box, Now: c.Now}), c, insertUser(t, d, "ada@example.com")
}

func insertUser(t *testing.T, d *db.DB, email string) string {
	t.Helper()
	id := ids.New()
	_, err := d.Exec(t.Context(), `INSERT INTO user_account (id, email, password_hash, system_admin, created_at)
		VALUES (?, ?, '', FALSE, 1)`, id, email)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func appCode(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// withApp gives the user an app: its secret, and recovery codes.
func withApp(t *testing.T, f *Factors, c *clock, user string) (secret string, codes []string) {
	t.Helper()
	made, err := f.BeginApp(t.Context(), user, "ada")
	if err != nil {
		t.Fatal(err)
	}
	err = f.Try(t.Context(), user, func(tx *db.Tx) error {
		codes, err = f.ConfirmApp(t.Context(), tx, user, appCode(t, made.Secret, c.now))
		return err
	})
	if err != nil || len(codes) != recoveryCodes {
		t.Fatalf("%q, %v", codes, err)
	}
	return made.Secret, codes
}

func (f *Factors) take(t *testing.T, user, code string) error {
	return f.prove(t, user, Change("session"), Proof{Code: code})
}

func (f *Factors) prove(t *testing.T, user string, use Use, p Proof) error {
	return f.Prove(t.Context(), user, use, p, func(_ *db.Tx, take func() error) error { return take() })
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if e := errs.From(err); e == nil || e.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestAnAppCodeWorksOnce: a code is refused again in its own 30 seconds and the next, alone and at once; so are the
// codes before it.
func TestAnAppCodeWorksOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, c, ada := open(t, d)
		secret, _ := withApp(t, f, c, ada)
		at := func(steps int) string { return appCode(t, secret, c.now.Add(time.Duration(steps)*codePeriod)) }
		wantCode(t, "the code that confirmed it", f.take(t, ada, at(0)), "wrong_code")
		c.now = c.now.Add(2 * codePeriod)
		next := at(1) // of a clock that is 30 seconds ahead
		var done atomic.Int32
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if f.take(t, ada, next) == nil {
					done.Add(1)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 {
			t.Errorf("a code was taken %d times", done.Load())
		}
		c.now = c.now.Add(codePeriod)
		wantCode(t, "the same code 30 seconds later", f.take(t, ada, next), "wrong_code")
		wantCode(t, "the code before one that was taken", f.take(t, ada, at(-1)), "wrong_code")
		c.now = c.now.Add(10 * time.Minute) // wrong codes are waited for
		if err := f.take(t, ada, at(1)[:3]+" "+at(1)[3:]); err != nil {
			t.Errorf("the next one, with a space: %v", err)
		}
	})
}

// TestOnlyThreeCodesAreRight: those of now, of 30 seconds before and of 30 seconds after.
func TestOnlyThreeCodesAreRight(t *testing.T) {
	f, c, ada := open(t, dbtest.Open(t, "sqlite"))
	secret, _ := withApp(t, f, c, ada)
	c.now = c.now.Add(time.Hour)
	for _, wrong := range []int{-2, 2, -10} {
		wantCode(t, "a code of another time", f.take(t, ada, appCode(t, secret, c.now.Add(time.Duration(wrong)*codePeriod))),
			"wrong_code")
	}
	for _, right := range []int{-1, 0, 1} {
		if err := f.take(t, ada, appCode(t, secret, c.now.Add(time.Duration(right)*codePeriod))); err != nil {
			t.Errorf("%d: %v", right, err)
		}
	}
}

// TestARecoveryCodeWorksOnce, also at once, for its owner only, and not after the factor was removed and made anew.
func TestARecoveryCodeWorksOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, c, ada := open(t, d)
		_, codes := withApp(t, f, c, ada)
		bob := insertUser(t, d, "bob@example.com")
		withApp(t, f, c, bob)
		wantCode(t, "another user's", f.take(t, bob, codes[0]), "wrong_code")
		var done atomic.Int32
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if f.take(t, ada, codes[0]) == nil {
					done.Add(1)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 {
			t.Errorf("a recovery code was taken %d times", done.Load())
		}
		c.now = c.now.Add(10 * time.Minute) // wrong codes are waited for
		rolledBack := errors.New("later")
		err := f.Prove(t.Context(), ada, Change("session"), Proof{Code: codes[1]}, func(_ *db.Tx, take func() error) error {
			if err := take(); err != nil {
				return err
			}
			return rolledBack
		})
		if !errors.Is(err, rolledBack) {
			t.Error(err)
		}
		if s, err := f.Find(t.Context(), ada); err != nil || s.RecoveryCodes != recoveryCodes-1 {
			t.Errorf("after one: %+v, %v", s, err)
		}
		stored, err := db.Values[string](t.Context(), d, `SELECT hash FROM recovery_code WHERE user_id = ?`, ada)
		if err != nil {
			t.Fatal(err)
		}
		for _, hash := range stored {
			if hash == codes[1] || len(hash) < 64 {
				t.Errorf("stored as %q", hash)
			}
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return Remove(t.Context(), tx, ada) }); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "without a factor", f.take(t, ada, codes[2]), "second_factor_not_found")
		withApp(t, f, c, ada)
		wantCode(t, "a code of the factor before", f.take(t, ada, codes[2]), "wrong_code")
	})
}

// TestWrongCodesBackOffByUser: the wait grows, a right code does not shorten it, and nobody else waits.
func TestWrongCodesBackOffByUser(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	f, c, ada := open(t, d)
	secret, codes := withApp(t, f, c, ada)
	bob := insertUser(t, d, "bob@example.com")
	bobs, _ := withApp(t, f, c, bob)
	c.now = c.now.Add(time.Hour)
	var err error
	wrong := 0
	for ; wrong < 20 && !errs.Is(err, errs.RateLimited); wrong++ {
		err = f.take(t, ada, []string{"000000", "0000000000000000", ""}[wrong%3])
	}
	wantCode(t, "many wrong codes", err, "too_many_wrong_codes")
	if wrong > 6 {
		t.Errorf("%d wrong codes were free", wrong)
	}
	wantCode(t, "the right one", f.take(t, ada, appCode(t, secret, c.now)), "too_many_wrong_codes")
	wantCode(t, "a recovery code", f.take(t, ada, codes[0]), "too_many_wrong_codes")
	if err := f.take(t, bob, appCode(t, bobs, c.now)); err != nil {
		t.Errorf("another user: %v", err)
	}
	c.now = c.now.Add(time.Second)
	wantCode(t, "a further wrong one after the wait", f.take(t, ada, "000000"), "wrong_code")
	c.now = c.now.Add(time.Second)
	wantCode(t, "the wait is twice as long", f.take(t, ada, codes[0]), "too_many_wrong_codes")
	c.now = c.now.Add(time.Second)
	if err := f.take(t, ada, codes[0]); err != nil {
		t.Errorf("after both waits: %v", err)
	}
}
