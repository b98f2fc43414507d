package skill

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func setUp(t *testing.T, d *db.DB) (ss *Skills, alice, bob, eve context.Context) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	person := func(email, team string) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin})
	}
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	return New(d, guard), person("a@example.com", "blue"), person("b@example.com", "blue"), person("e@example.com", "red")
}

func written(name string) string {
	return "---\nname: " + name + "\ndescription: What " + name + " is for.\nallowed-tools: Bash\nmetadata:\n  author: us\n---\n# How\nDo it.\n"
}

type entry struct {
	name, text string
	link       string
}

func tarOf(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o600, Size: int64(len(e.text)), Typeflag: tar.TypeReg}
		if e.link != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.link, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); e.link == "" && err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || packed.Close() != nil {
		t.Fatal("not packed")
	}
	return &out
}

func zipOf(t *testing.T, entries ...entry) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestImportOfAnArchive(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ss, alice, _, _ := setUp(t, d)
		entries := []entry{
			{name: "set-1/one/SKILL.md", text: written("one")},
			{name: "set-1/one/references/a.md", text: "more"},
			{
				name: "set-1/two/SKILL.md",
				text: written("two"),
			},
			{name: "set-1/bad/SKILL.md", text: "no fields"},
			{name: "set-1/README.md", text: "x"},
		}
		for name, archive := range map[string]*bytes.Buffer{"zip": zipOf(t, entries...), "tar": tarOf(t, append(entries,
			entry{name: "set-1/one/passwd", link: "/etc/passwd"})...)} {
			got, err := ss.ImportArchive(alice, archive, false)
			if err != nil || len(got.Skills) != 2 || got.Skills[0].Name != "one" || got.Skills[0].Metadata["author"] != "us" {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
			if text := strings.Join(
				got.Left,
				"\n",
			); !strings.Contains(text, "allowed-tools") ||
				!strings.Contains(text, "bad/SKILL.md") {
				t.Errorf("%s: left out: %s", name, text)
			}
			s, err := ss.Find(alice, got.Skills[0].ID)
			if err != nil || len(s.Files) != 1 || s.Files[0].Path != "references/a.md" || s.Version != 1 ||
				!strings.HasPrefix(s.Instructions, "# How") {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
		entries[1].text = "changed"
		got, err := ss.ImportArchive(alice, zipOf(t, entries...), false)
		if err != nil || got.Skills[0].Result != "updated" || got.Skills[0].Version != 2 ||
			got.Skills[1].Result != "unchanged" {
			t.Errorf("%+v, %v", got, err)
		}
		if content, err := ss.Content(alice, got.Skills[0].ID, "references/a.md"); string(content) != "changed" {
			t.Errorf("%q, %v", content, err)
		}
	})
}

// TestHostileArchives: nothing of them is stored, and nothing is written outside.
func TestHostileArchives(t *testing.T) {
	ss, alice, _, _ := setUp(t, dbtest.Open(t, "sqlite"))
	skill := entry{name: "s/SKILL.md", text: written("s")}
	many := []entry{skill}
	for i := range maxFiles + 1 {
		many = append(many, entry{name: "s/f" + strings.Repeat("x", i), text: "x"})
	}
	for name, archive := range map[string]*bytes.Buffer{
		"leads out":          tarOf(t, skill, entry{name: "s/../../../../tmp/evil", text: "x"}),
		"absolute":           tarOf(t, skill, entry{name: "/tmp/evil", text: "x"}),
		"leads out of a zip": zipOf(t, skill, entry{name: "../evil", text: "x"}),
		"backslash":          zipOf(t, skill, entry{name: `s\..\evil`, text: "x"}),
		"unpacks to much":    tarOf(t, skill, entry{name: "s/zeros", text: strings.Repeat("\x00", 20<<20)}),
		"a large file":       zipOf(t, skill, entry{name: "s/zeros", text: strings.Repeat("\x00", maxFile+1)}),
		"many files":         zipOf(t, many...),
		"no skill":           zipOf(t, entry{name: "a.md", text: "x"}),
		"a bad name":         zipOf(t, entry{name: "s/SKILL.md", text: written("../s")}),
		"YAML that grows": zipOf(t, entry{name: "s/SKILL.md",
			text: "---\nname: s\ndescription: &a [x,x]\nmetadata: [*a,*a]\n---\nx"}),
		"no archive": bytes.NewBufferString("hello, this is no archive at all"),
		"nothing":    {},
	} {
		if got, err := ss.ImportArchive(alice, archive, false); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	linked, err := ss.ImportArchive(
		alice,
		tarOf(t, skill, entry{name: "s/keys", link: "/etc"}, entry{name: "s/keys/passwd", text: "x"}),
		false,
	)
	if err != nil || len(linked.Left) == 0 {
		t.Errorf("a link is left out: %+v, %v", linked, err)
	}
	if found, err := ss.FindAll(alice, Filter{Origin: sharing.Own}); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestImportOfARemote: a git remote over HTTP, through the guard alone.
func TestImportOfARemote(t *testing.T) {
	ss, alice, _, _ := setUp(t, dbtest.Open(t, "sqlite"))
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	git := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = dir, append(
			os.Environ(),
			"GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.com",
			"GIT_CONFIG_GLOBAL=/dev/null",
		)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main", work)
	if err := os.MkdirAll(filepath.Join(work, "skills", "one"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "skills", "one", "SKILL.md"), []byte(written("one")), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", work, "add", ".")
	git("-C", work, "commit", "-q", "-m", "one")
	git("clone", "-q", "--bare", work, filepath.Join(dir, "set.git"))
	archive := zipOf(t, entry{name: "two/SKILL.md", text: written("two")}).Bytes()
	mux := http.NewServeMux()
	where, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/set.git/", &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}})
	mux.HandleFunc("/two.zip", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	mux.HandleFunc("/away.zip", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/a.zip", http.StatusFound)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	got, err := ss.ImportURL(alice, server.URL+"/two.zip", "", false)
	if err != nil || len(got.Skills) != 1 || got.Skills[0].Source != server.URL+"/two.zip" {
		t.Errorf("%+v, %v", got, err)
	}
	for from, kind := range map[string]errs.Kind{
		server.URL + "/away.zip": errs.Invalid, "http://169.254.169.254/x.zip": errs.Invalid, "http://[::1]/x.git": errs.Invalid,
		"file:///etc": errs.Invalid, "ssh://git@example.com/x": errs.Invalid, "/etc/passwd": errs.Invalid, "git+file:///etc": errs.Invalid,
		"https://user:secret@example.com/x.git": errs.Invalid, server.URL + "/none.zip": errs.FailedDependency,
		"ext::sh -c id": errs.Invalid,
	} {
		if _, err := ss.ImportURL(alice, from, "", false); !errs.Is(err, kind) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", from, err)
		}
	}
	if got, err = ss.ImportURL(alice, server.URL+"/set.git", "main", false); err != nil {
		t.Fatal(err)
	}
	if len(got.Skills) != 1 || len(got.Skills[0].Revision) != 40 {
		t.Errorf("%+v", got)
	}
}

// TestOneTeamsSkillsNeverReachAnother: a canary in a skill is in no list, no text and no offer of another team, and of
// the own team only when it is shared and on.
func TestOneTeamsSkillsNeverReachAnother(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ss, alice, bob, eve := setUp(t, d)
		const canary = "canary-5512"
		made, err := ss.Create(alice, NewSkill{Text: Text{Name: "ours", Description: canary, Instructions: canary,
			Files: []File{{Path: "a.md", Content: []byte(canary)}}}})
		if err != nil {
			t.Fatal(err)
		}
		sees := func(ctx context.Context) bool {
			t.Helper()
			c, err := account.From(ctx)
			if err != nil {
				t.Fatal(err)
			}
			at := Stream{c.TeamID, c.UserID, "task", "stream-" + c.UserID}
			offered, _, err := ss.ForTask(t.Context(), c.TeamID, c.UserID, nil)
			if err != nil {
				t.Fatal(err)
			}
			in := slices.ContainsFunc(offered, func(s Skill) bool { return s.Description == canary })
			l, loadErr := ss.Load(t.Context(), at, made.ID)
			text, _, textErr := ss.Text(t.Context(), at, made.ID, "a.md")
			s, findErr := ss.Find(ctx, made.ID)
			if loaded := loadErr == nil && l.Instructions == canary; loaded != in {
				t.Errorf("offered: %v, loaded: %v (%v)", in, loaded, loadErr)
			}
			if !in && s.Enabled && (findErr == nil || text != "" || textErr == nil) {
				t.Errorf("not offered, and found: %+v %q", s, text)
			}
			return in
		}
		if !sees(alice) || sees(bob) || sees(eve) {
			t.Error("a personal skill is its owner's")
		}
		if _, err := ss.Update(alice, made.ID, Change{Shared: new(true)}); err != nil {
			t.Fatal(err)
		}
		if !sees(alice) || !sees(bob) || sees(eve) {
			t.Error("a shared skill is the team's")
		}
		if _, err := ss.Update(alice, made.ID, Change{Enabled: new(false)}); err != nil {
			t.Fatal(err)
		}
		if sees(alice) || sees(bob) || sees(eve) {
			t.Error("a skill that is off is nobody's")
		}
		if uses, err := ss.Uses(eve, "task"); err != nil || len(uses) != 0 {
			t.Errorf("another team's uses: %+v, %v", uses, err)
		}
		if uses, err := ss.Uses(bob, "task"); err != nil || len(uses) != 2 {
			t.Errorf("%+v, %v", uses, err)
		}
	})
}

// TestShippedSkills: they are on until a team turns one off, for itself alone.
func TestShippedSkills(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ss, alice, _, eve := setUp(t, d)
		all, err := ss.FindAll(alice, Filter{Origin: sharing.Shipped})
		if err != nil || len(all) != 10 {
			t.Fatalf("%d, %v", len(all), err)
		}
		for _, s := range all {
			full, err := ss.Find(alice, s.ID)
			if err != nil || len(full.Instructions) < 1500 || len(full.Description) < 80 || !full.Enabled {
				t.Errorf("%s: %d bytes, %v", s.ID, len(full.Instructions), err)
			}
		}
		if _, err := ss.Update(alice, "vedette-tls-review", Change{Enabled: new(false)}); err != nil {
			t.Fatal(err)
		}
		for ctx, want := range map[context.Context]bool{alice: false, eve: true} {
			if s, err := ss.Find(ctx, "vedette-tls-review"); err != nil || s.Enabled != want {
				t.Errorf("%v, %v", s.Enabled, err)
			}
		}
		if _, err := ss.Update(alice, "vedette-tls-review", Change{Description: new("x")}); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
		if err := ss.Delete(alice, "vedette-tls-review"); !errs.Is(err, errs.Conflict) {
			t.Error(err)
		}
	})
}
