package account

import (
	"context"
	"log/slog"
	"net/netip"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/mailer"
	"github.com/vedette-sec/vedette/internal/notify/mailer/mailtest"
)

// openWithMail is open with a mail server.
func openWithMail(t *testing.T, d *db.DB, c Config) (*Accounts, <-chan mailtest.Mail) {
	t.Helper()
	address, mails := mailtest.Start(t)
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	c.Mail = mailer.NewOutbox(mailer.Server{Guard: guard, Address: address, Insecure: true}, "vedette@example.com",
		slog.New(slog.DiscardHandler))
	c.PublicURL = "https://vedette.example.com/"
	a := open(t, d, c)
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go c.Mail.Run(ctx)
	return a, mails
}

var linkInMail = regexp.MustCompile(`https://vedette\.example\.com/reset\?token=([0-9A-Za-z]+)`)

// resetToken asks for a link and takes the token from the mail.
func resetToken(t *testing.T, a *Accounts, mails <-chan mailtest.Mail, email string) string {
	t.Helper()
	if err := a.sendReset(t.Context(), email); err != nil {
		t.Fatal(err)
	}
	m := <-mails
	found := linkInMail.FindStringSubmatch(m.Text)
	if len(m.To) != 1 || m.To[0] != email || found == nil {
		t.Fatalf("%+v", m)
	}
	return found[1]
}

func TestAResetLinkWorksOnceAndForAWhile(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := &clock{now: time.Now()}
		a, mails := openWithMail(t, d, Config{Now: c.Now})
		mustUser(t, a, NewUser{Email: "ada@example.com", Password: "correct-horse"})
		session, _ := mustSignIn(t, a, "ada@example.com")
		token, second := resetToken(t, a, mails, "ada@example.com"), resetToken(t, a, mails, "ada@example.com")
		stored, err := db.Values[string](t.Context(), d, `SELECT hash FROM password_reset`)
		if err != nil || len(stored) != 2 || stored[0] == token || stored[1] == token {
			t.Fatalf("%q, %v", stored, err)
		}
		finish := func(token, password string) error {
			_, err := a.FinishReset(t.Context(), token, password, "192.0.2.1")
			return err
		}
		wantCode(t, "a short password", finish(token, "short"), "invalid_new_password")
		wantCode(t, "another token", finish(token[:39]+"_", "new-password-1"), "reset_link_invalid")
		var done atomic.Int32
		var group sync.WaitGroup
		for range 4 { // at once: one of them does it
			group.Go(func() {
				if err := finish(token, "new-password-1"); err == nil {
					done.Add(1)
				} else if !errs.Is(err, errs.Forbidden) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 {
			t.Errorf("the link worked %d times", done.Load())
		}
		wantCode(t, "another link of theirs", finish(second, "new-password-2"), "reset_link_invalid")
		wantToken(t, a, "the session from before", session, false)
		if _, err := a.Login(t.Context(), "ada@example.com", "new-password-1", Client{Address: "192.0.2.2"}); err != nil {
			t.Error(err)
		}
		late := resetToken(t, a, mails, "ada@example.com")
		c.now = c.now.Add(resetTTL)
		wantCode(t, "too late", finish(late, "new-password-3"), "reset_link_invalid")
	})
}

// TestLinksEndWithTheAccount: whatever ends the sessions of a user voids their links too.
func TestLinksEndWithTheAccount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, mails := openWithMail(t, d, Config{})
		for name, end := range map[string]func(email string) error{
			"set-password": func(email string) error { return a.SetPassword(t.Context(), email, "operators-word") },
			"disable":      func(email string) error { return a.SetDisabled(t.Context(), email, true) },
			"delete":       func(email string) error { return a.DeleteUser(t.Context(), email, true) },
			"sign-out": func(email string) error {
				_, ctx := mustSignIn(t, a, email)
				return a.EndSessions(ctx, false)
			},
		} {
			email := name + "@example.com"
			mustUser(t, a, NewUser{Email: email, Password: "correct-horse"})
			token := resetToken(t, a, mails, email)
			if err := end(email); err != nil {
				t.Fatal(err)
			}
			_, err := a.FinishReset(t.Context(), token, "new-password-1", "192.0.2.1")
			wantCode(t, name, err, "reset_link_invalid")
		}
	})
}

// TestWhoGetsALink: nobody without a password, and nobody more than a few an hour.
func TestWhoGetsALink(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, mails := openWithMail(t, d, Config{})
		mustUser(t, a, NewUser{Email: "ada@example.com", Password: "correct-horse", Team: "blue"})
		mustUser(t, a, NewUser{Email: "bob@example.com"})
		mustUser(t, a, NewUser{Email: "ci@example.com", Service: true})
		mustUser(t, a, NewUser{Email: "eve@example.com", Password: "correct-horse"})
		if err := a.SetDisabled(t.Context(), "eve@example.com", true); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"bob", "ci", "eve", "nobody", "ada", "Ada", "ada", "ada", "ada", "ada", "ada"} {
			if err := a.RequestReset(name+"@example.com", "192.0.2.1"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range len(a.resets) {
			if err := a.sendReset(t.Context(), <-a.resets); err != nil {
				t.Error(err)
			}
		}
		for range mailsPerAddress {
			if m := <-mails; m.To[0] != "ada@example.com" {
				t.Errorf("%+v", m)
			}
		}
		if n, err := count(t.Context(), d, `password_reset`); err != nil || n != mailsPerAddress || len(mails) != 0 {
			t.Errorf("%d links, %d mails, %v", n, len(mails), err)
		}
	})
}

func TestRequestsForLinksBackOff(t *testing.T) {
	a, _ := openWithMail(t, dbtest.Open(t, "sqlite"), Config{})
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = a.RequestReset("ada@example.com", "2001:db8::1")
	}
	wantCode(t, "many", err, "too_many_resets")
	wantCode(t, "from the same network", a.RequestReset("bob@example.com", "2001:db8::2"), "too_many_resets")
	if err := a.RequestReset("ada@example.com", "192.0.2.1"); err != nil {
		t.Errorf("from another: %v", err)
	}
	for i := range 2 * maxResets { // nobody takes them
		if err := a.RequestReset("ada@example.com", netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String()); err != nil {
			t.Fatal(err)
		}
	}
	plain := open(t, dbtest.Open(t, "sqlite"), Config{})
	wantCode(t, "without a mail server", plain.RequestReset("ada@example.com", "192.0.2.1"), "mail_not_configured")
}

func TestInvitationsAreMailed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, mails := openWithMail(t, d, Config{})
		mustUser(t, a, NewUser{Email: "ada@example.com", Team: "visit http://evil.example", Admin: true})
		_, ctx := mustSignIn(t, a, "ada@example.com")
		for range mailsPerAddress + 2 {
			if err := a.Invite(ctx, "bob@example.com", Member); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Invite(ctx, "carl@example.com", "no role"); err == nil {
			t.Error("a wrong role")
		}
		if err := a.SetDefaultMembers(ctx, []DefaultMember{{"dora@example.com", Member}}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.CreateTeam(ctx, "second"); err != nil {
			t.Fatal(err)
		}
		for range mailsPerAddress {
			m := <-mails
			if m.To[0] != "bob@example.com" || !regexp.MustCompile(`ada@example\.com`).MatchString(m.Text) ||
				regexp.MustCompile(`evil`).MatchString(m.Head+m.Text) {
				t.Errorf("%+v", m)
			}
		}
		if m := <-mails; m.To[0] != "dora@example.com" {
			t.Errorf("%+v", m)
		}
	})
}
