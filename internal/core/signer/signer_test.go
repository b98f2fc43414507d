package signer_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/signer"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	program = "id: a\ninfo: {name: n, author: a, severity: low}\ncode:\n  - engine: [sh]\n    source: script.sh\n"
	plain   = "id: b\ninfo: {name: code, author: a, severity: low}\nhttp: [{path: ['{{BaseURL}}/code']}]\n"
	script  = "echo found\n"
)

// sign is a template as the owner of a new key signs it, and the key's certificate.
func sign(t *testing.T, owner string) (text, certificate []byte) {
	t.Helper()
	certificate, private, err := templates.NewKeys(owner, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := templates.NewSigner(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "a.yaml")
	for name, text := range map[string]string{"a.yaml": program, "script.sh": script} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if how, err := key.Sign(file); err != nil || how != templates.SignedNow {
		t.Fatal(how, err)
	}
	text, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text, certificate
}

// The programs of a template run for the team whose admin added its key, or for all where the operator trusts it; what a
// signature is about includes the files of its programs.
func TestAdmit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		text, certificate := sign(t, "Ada")
		_, other := sign(t, "Eve")
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var teams []context.Context
		for _, email := range []string{"ada@example.com", "eve@example.com"} {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email})
			if err != nil {
				t.Fatal(err)
			}
			teams = append(teams, account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin}))
		}
		ada, eve := teams[0], teams[1]
		open := func(allowed bool, trusted ...[]byte) *signer.Signers {
			s, err := signer.New(d, signer.Config{Allowed: allowed, Certificates: trusted})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		admit := func(s *signer.Signers, ctx context.Context, script string) string {
			c, err := account.From(ctx)
			if err != nil {
				t.Fatal(err)
			}
			all := []child.Template{{Path: "b.yaml", Data: []byte(plain)},
				{Path: "a.yaml", Data: text, Files: map[string][]byte{"script.sh": []byte(script)}}}
			refused, err := s.Admit(ctx, c.TeamID, all)
			if err != nil || all[0].Signed || all[1].Signed == (refused[1] != "") || refused[0] != "" {
				t.Fatal(refused, all[0].Signed, all[1].Signed, err)
			}
			return refused[1]
		}
		on, off := open(true), open(false, certificate)
		key, err := on.Add(ada, "", string(certificate))
		if err != nil || key.Owner != "Ada" || key.Name != "Ada" {
			t.Fatal(key, err)
		}
		if _, err := on.Add(eve, "", string(other)); err != nil {
			t.Fatal(err)
		}
		for want, got := range map[string]string{
			"":                "" + admit(on, ada, script),
			signer.NotTrusted: admit(on, eve, script),
			signer.NotAllowed: admit(off, ada, script),
		} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if why := admit(on, ada, script+"id\n"); why != signer.NotTrusted {
			t.Errorf("a changed script: %q", why)
		}
		if why := admit(open(true, certificate), eve, script); why != "" {
			t.Errorf("the operator's key: %q", why)
		}
		if err := on.Delete(eve, key.ID); !errs.Is(err, errs.NotFound) {
			t.Error("a stranger deletes a key:", err)
		}
		if err := on.Delete(ada, key.ID); err != nil {
			t.Fatal(err)
		}
		if why := admit(on, ada, script); why != signer.NotTrusted {
			t.Errorf("a deleted key: %q", why)
		}
	})
}

// Only admins change keys, and only certificates are kept.
func TestRefusals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, err := signer.New(d, signer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, certificate := sign(t, strings.Repeat("é", 300))
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		as := func(role account.Role) context.Context {
			return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: role})
		}
		if _, err := s.Add(as(account.Member), "", string(certificate)); !errs.Is(err, errs.Forbidden) {
			t.Error(err)
		}
		k, err := s.Add(as(account.Admin), " a name ", string(certificate))
		if err != nil || k.Name != "a name" || len([]rune(k.Owner)) != 128 {
			t.Errorf("%q %q %v", k.Name, k.Owner, err)
		}
		for text, name := range map[string]string{
			string(certificate):                      "twice",
			"words":                                  "",
			"-----BEGIN EC PRIVATE KEY-----\nAA==\n": "",
			strings.Repeat("x", 17<<10):              "",
		} {
			if _, err := s.Add(as(account.Admin), name, text); !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Conflict) {
				t.Errorf("%.40q: %v", text, err)
			}
		}
		if _, err := s.Add(as(account.Admin), "a\x00b", string(certificate)); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
		if found, err := s.FindAll(as(account.Viewer)); err != nil || len(found) != 1 {
			t.Error(found, err)
		}
	})
}
