package knowledge

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// A job that was killed has stored a part of its round: nobody sees it, and the next try begins the round again. One
// that is given up says failed, and what was indexed before is still found.
func TestKilledInTheMiddle(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLab(t, d)
		all, err := l.Add(l.bob, New{Content: strings.Repeat("The mill stands by the river.\n", 200)})
		if err != nil {
			t.Fatal(err)
		}
		s, part := all[0], []chunk{{"halfway", 1, "halfway mill"}}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return l.add(t.Context(), tx, s, part, nil) }); err != nil {
			t.Fatal(err)
		}
		if got := l.places(l.bob, "halfway mill"); got != "" {
			t.Errorf("a part is found: %s", got)
		}
		args := IndexArgs{s.ID, s.round}
		for range 2 { // also when the queue runs a job twice
			if err := l.Index(t.Context(), args); err != nil {
				t.Fatal(err)
			}
		}
		if s, err = l.Find(l.bob, s.ID); err != nil || s.State != Ready {
			t.Fatalf("%+v %v", s, err)
		}
		n, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM knowledge_chunk WHERE source_id = ?`, s.ID)
		if err != nil || n != s.Chunks || n < 3 || l.places(l.bob, "halfway") != "" {
			t.Errorf("%d chunks, want %d, and nothing of the first try: %v", n, s.Chunks, err)
		}
		if s, err = l.Reindex(l.bob, s.ID); err != nil {
			t.Fatal(err)
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return l.GiveUp(t.Context(), tx, IndexArgs{s.ID, s.round}) }); err != nil {
			t.Fatal(err)
		}
		if s, err = l.Find(l.bob, s.ID); err != nil || s.State != Failed || s.Error == "" || l.places(l.bob, "mill") == "" {
			t.Errorf("%+v %v", s, err)
		}
	})
}

// The text files of a git remote are read over HTTP, through the guard alone, at the branch that was asked for.
func TestRepositories(t *testing.T) {
	where, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	git := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main", work)
	for name, text := range map[string]string{"docs/runbook.md": "Restart the ferry.", "vendor/x.md": "vendored ferry", "picture": "ferry\x00"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(work, "link.md")); err != nil {
		t.Fatal(err)
	}
	git("-C", work, "add", ".")
	git("-C", work, "commit", "-q", "-m", "one")
	git("clone", "-q", "--bare", work, filepath.Join(dir, "set.git"))
	server := httptest.NewServer(&cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}})
	defer server.Close()

	l := newLab(t, dbtest.Open(t, "sqlite"))
	n := New{GitURL: server.URL + "/set.git", Ref: "main"}
	s := l.put(l.bob, n)
	if got := l.places(l.bob, "ferry"); s.State != Ready || len(s.Revision) != 40 || got != "docs/runbook.md:1" {
		t.Errorf("%+v: %q", s, got)
	}
	if got := l.places(l.bob, "root nologin"); got != "" {
		t.Errorf("what a link points to is read: %q", got)
	}
	n.Ref = "none"
	if s := l.put(l.bob, n); s.State != Failed || s.Error == "" {
		t.Errorf("a branch that is not there: %+v", s)
	}
	l.guard, n.Ref = &netguard.Guard{}, ""
	if s := l.put(l.bob, n); s.State != Failed || !strings.Contains(s.Error, "refused") {
		t.Errorf("a private address: %+v", s)
	}
}
