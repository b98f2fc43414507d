package catalog_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == engineCommand {
		os.Exit(child.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	dbtest.Main(m)
}

// engineCommand makes the test binary a child of the engine.
const engineCommand = "engine-of-tests"

// shop is a catalogue with a clock and two teams.
type shop struct {
	*catalog.Catalog
	accounts *account.Accounts
	clock    atomic.Int64 // microseconds
	ada, eve context.Context
}

func open(t testing.TB, d *db.DB) *shop {
	t.Helper()
	s := &shop{}
	s.clock.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixMicro())
	now := func() time.Time { return time.UnixMicro(s.clock.Load()).UTC() }
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.accounts, s.Catalog = accounts, catalog.New(d, catalog.Config{Now: now})
	s.ada, s.eve = s.person(t, "ada@example.com"), s.person(t, "eve@elsewhere.net")
	return s
}

func (s *shop) later(d time.Duration) { s.clock.Add(d.Microseconds()) }

func (s *shop) person(t testing.TB, email string) context.Context {
	t.Helper()
	u, err := s.accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	return account.WithCaller(t.Context(),
		account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: account.Admin, Plan: account.Enterprise})
}

func caller(t testing.TB, ctx context.Context) account.Caller {
	t.Helper()
	c, err := account.From(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// written is the text of a template.
func written(id, name, severity, tags string) string {
	return fmt.Sprintf(`id: %s
info:
  name: %s
  author: pat,kim
  severity: %s
  description: Finds the login page of %s.
  tags: %s
  metadata:
    vendor: acme
    product: anvil
    max-request: 1
  classification:
    cve-id: CVE-2024-1234
    cvss-score: 9.8
http:
  - method: GET
    path: ["{{BaseURL}}/%s"]
    matchers:
      - type: word
        words: ["needle"]
`, id, name, severity, name, tags, id)
}

func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func zipped(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s *shop) load(t testing.TB, from catalog.Source) catalog.Report {
	t.Helper()
	r, err := s.Import(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ids are the written ids of all public templates.
func (s *shop) public(t testing.TB) (ids []string) {
	t.Helper()
	found, total, err := s.Public(s.ada, page.Window{Limit: 1000}, true)
	if err != nil || total != len(found) {
		t.Fatal(total, len(found), err)
	}
	for _, one := range found {
		ids = append(ids, one.WrittenID)
	}
	return ids
}
