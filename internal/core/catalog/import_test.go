package catalog_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestImportReplacesASet(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		files := map[string]string{
			"http/a.yaml": written("a", "Alpha", "high", "x"), "http/b.yaml": written("b", "Beta", "low", "x"),
			"http/c.yaml":      written("c", "Gamma", "low", "x"),
			"http/broken.yaml": "id: broken\ninfo: 7\n", "http/twin.yaml": written("a", "Twin", "low", "x"),
			".github/d.yaml": written("d", "Hidden", "low", "x"),
			"dns/later.yaml": strings.Replace(written("later", "Later", "low", "x"), "http:",
				"http:\n  - race_count: 2\n    race: true\n    path: ['/']\nheadless: []\nhttp2:", 1),
			"profiles/p.yml": "severity: high\n",
		}
		first := s.load(t, catalog.Source{Source: update.Source{From: folder(t, files), Tag: "v1"}})
		if first.Total != 3 || first.New != 3 || len(first.Refused) != 3 || first.Tag != "v1" {
			t.Fatalf("%+v", first)
		}
		for i, want := range []string{"later.yaml", "broken.yaml:2", "twin.yaml"} {
			if got := first.Refused[i].Error(); !strings.Contains(got, want) {
				t.Errorf("refused %q, want something of %s", got, want)
			}
		}
		if got := s.public(t); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Fatal(got)
		}
		arrived := s.clock.Load()
		s.later(time.Hour)

		next := map[string]string{"http/a.yaml": files["http/a.yaml"], "http/b.yaml": written("b", "Beta two", "low", "x"),
			"new/e.yaml": written("e", "Epsilon", "low", "x")}
		second := s.load(t, catalog.Source{Source: update.Source{From: folder(t, next), Tag: "v2"}})
		if second.New != 1 || second.Updated != 1 || second.Removed != 1 || second.Total != 3 {
			t.Fatalf("%+v", second)
		}
		found, _, err := s.Public(s.ada, page.Window{Limit: 10}, true)
		if err != nil {
			t.Fatal(err)
		}
		a, b, e := found[0], found[1], found[2]
		if a.CreatedAt.UnixMicro() != arrived || !a.UpdatedAt.Equal(a.CreatedAt) || a.ReleaseTag != "v1" || a.Ref != "v2" ||
			a.IsNew {
			t.Errorf("what did not change: %+v", a)
		}
		if b.CreatedAt.UnixMicro() != arrived || b.UpdatedAt.UnixMicro() != s.clock.Load() || b.ReleaseTag != "v1" ||
			b.IsNew || b.Info.Name != "Beta two" {
			t.Errorf("what was changed: %+v", b)
		}
		if e.CreatedAt.UnixMicro() != s.clock.Load() || e.ReleaseTag != "v2" || !e.IsNew ||
			string(e.Raw) != next["new/e.yaml"] || e.Dir() != "new" {
			t.Errorf("what is new: %+v", e)
		}
		s.later(time.Hour)
		if again := s.load(t, catalog.Source{Source: update.Source{From: folder(t, next)}}); !again.Unchanged || again.Total != 3 ||
			again.Digest != second.Digest || again.Tag != "v2" {
			t.Errorf("the same set again: %+v", again)
		}
	})
}

func TestFailedImportLeavesTheOldSet(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		s.load(t, catalog.Source{Source: update.Source{From: folder(t, map[string]string{"a.yaml": written("a", "Alpha", "high", "x")})}})
		good := zipped(t, map[string]string{"n-1.2.3/b.yaml": written("b", "Beta", "low", "x")})
		file := filepath.Join(t.TempDir(), "good.zip")
		if err := os.WriteFile(file, good, 0o600); err != nil {
			t.Fatal(err)
		}
		archive := func(files map[string]string) string {
			name := filepath.Join(t.TempDir(), "x.zip")
			if err := os.WriteFile(name, zipped(t, files), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, c := range map[string]struct {
			ctx    context.Context
			source catalog.Source
			param  string
		}{
			"another digest":    {t.Context(), catalog.Source{Source: update.Source{From: file, Checksum: strings.Repeat("0", 64)}}, "checksum"},
			"a folder's digest": {t.Context(), catalog.Source{Source: update.Source{From: t.TempDir(), Checksum: strings.Repeat("0", 64)}}, "checksum"},
			"nothing there":     {t.Context(), catalog.Source{Source: update.Source{From: filepath.Join(t.TempDir(), "none")}}, "from"},
			"no template":       {t.Context(), catalog.Source{Source: update.Source{From: folder(t, map[string]string{"a.yaml": "id: x"})}}, "from"},
			"no zip": {t.Context(),
				catalog.Source{Source: update.Source{From: filepath.Join(folder(t, map[string]string{"a.txt": "text"}), "a.txt")}}, "from"},
			"a way out": {t.Context(),
				catalog.Source{Source: update.Source{From: archive(map[string]string{"../b.yaml": written("b", "B", "low", "x")})}}, "from"},
			"an absolute name": {t.Context(),
				catalog.Source{Source: update.Source{From: archive(map[string]string{"/etc/b.yaml": written("b", "B", "low", "x")})}}, "from"},
			"a way out, by \\": {t.Context(),
				catalog.Source{Source: update.Source{From: archive(map[string]string{`a\..\b.yaml`: written("b", "B", "low", "x")})}}, "from"},
			"a cancelled import": {cancelled, catalog.Source{Source: update.Source{From: file}}, ""},
			"a private address":  {t.Context(), catalog.Source{Source: update.Source{From: "http://127.0.0.1:1/x.zip"}}, ""},
		} {
			_, err := s.Import(c.ctx, c.source)
			if e := errs.From(err); e == nil || e.Param != c.param {
				t.Errorf("%s: %v, of %q", name, err, e.Param)
			}
			if got := s.public(t); !slices.Equal(got, []string{"a"}) {
				t.Fatalf("%s: the set is %v", name, got)
			}
		}
		r := s.load(t, catalog.Source{Source: update.Source{From: file, Checksum: fmt.Sprintf("%X", sha256.Sum256(good))}})
		if r.Tag != "v1.2.3" || r.New != 1 || r.Removed != 1 || !slices.Equal(s.public(t), []string{"b"}) {
			t.Errorf("%+v", r)
		}
	})
}

// TestLargeFilesAreNotTakenIn: a zip bomb is as large as it unpacks, and each file of it
// is read up to the bound of a template.
func TestLargeFilesAreNotTakenIn(t *testing.T) {
	s := open(t, dbtest.Open(t, "sqlite"))
	bomb := written("b", "B", "low", "x") + strings.Repeat("#", 64<<20)
	name := filepath.Join(t.TempDir(), "bomb.zip")
	if err := os.WriteFile(name, zipped(t, map[string]string{"a.yaml": written("a", "A", "low", "x"), "b.yaml": bomb}),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := s.load(t, catalog.Source{Source: update.Source{From: name}})
	if r.Total != 1 || len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Error(), "larger than") {
		t.Errorf("%+v", r)
	}
}

func TestImportFromAURL(t *testing.T) {
	archive := zipped(t, map[string]string{"set/a.yaml": written("a", "Alpha", "high", "x")})
	mux := http.NewServeMux()
	mux.HandleFunc("/archive/refs/tags/v9.1.0.zip",
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/real", http.StatusFound) })
	mux.HandleFunc("/real", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/round",
			http.StatusFound)
	})
	mux.HandleFunc("/inside", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/x", http.StatusFound)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := open(t, dbtest.Open(t, "sqlite"))
	s.Guard = &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for _, path := range []string{"/none", "/round", "/inside"} {
		if _, err := s.Import(t.Context(), catalog.Source{Source: update.Source{From: server.URL + path}}); !errs.Is(err, errs.Unavailable) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := s.Import(t.Context(), catalog.Source{}); errs.From(err).Param != "from" {
		t.Errorf("a first import from nowhere: %v", err)
	}
	url := server.URL + "/archive/refs/tags/v9.1.0.zip"
	if r := s.load(t, catalog.Source{Source: update.Source{From: url}}); r.Tag != "v9.1.0" || r.New != 1 {
		t.Errorf("%+v", r)
	}
	if r := s.load(t, catalog.Source{}); !r.Unchanged { // from where it came the last time
		t.Errorf("again: %+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "vedette-templates-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestSetsStandInForEachOther: an early template ends as a public one, and the starter set
// stays beside what is imported.
func TestSetsStandInForEachOther(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		r, err := s.ImportStarter(t.Context())
		if err != nil || r.New < 40 {
			t.Fatalf("%+v %v", r, err)
		}
		if r, err := s.ImportStarter(t.Context()); err != nil || !r.Unchanged {
			t.Fatalf("again: %+v %v", r, err)
		}
		starters := len(s.public(t))
		s.load(t, catalog.Source{Source: update.Source{From: folder(t, map[string]string{"a.yaml": written("a", "Early", "high", "x"),
			"z.yaml": written("z", "Zed", "high", "x")})}, Early: true})
		if found, total, err := s.Early(s.ada, page.Window{Limit: 10}, false); err != nil || total != 2 ||
			found[0].Info.Name != "Early" || found[0].Raw != nil {
			t.Fatal(found, total, err)
		}
		if _, err := s.PublicByID(s.ada, "a"); !errs.Is(err, errs.NotFound) {
			t.Errorf("an early template is public: %v", err)
		}
		s.load(t, catalog.Source{Source: update.Source{From: folder(t, map[string]string{"a.yaml": written("a", "Public", "high", "x")})}})
		if _, total, err := s.Early(s.ada, page.Window{Limit: 10}, false); err != nil || total != 1 {
			t.Errorf("%d are early, %v", total, err)
		}
		if got, err := s.PublicByID(s.ada, "a"); err != nil || got.Info.Name != "Public" || len(s.public(t)) != starters+1 {
			t.Errorf("%+v %v", got, err)
		}
	})
}

func TestTemplatesBringTheFilesTheyName(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		with := func(id, file string) string {
			return strings.Replace(written(id, id, "high", "x"), "    matchers:",
				"    payloads:\n      word: "+file+"\n    matchers:", 1)
		}
		r := s.load(t, catalog.Source{Source: update.Source{From: folder(t, map[string]string{
			"http/a.yaml": with("a", "helpers/words.txt"), "http/deep/b.yaml": with("b", "words.txt"),
			"http/c.yaml":       with("c", "../../../../etc/passwd"),
			"helpers/words.txt": "from the top", "http/words.txt": "from above",
		})}})
		if r.Total != 2 || len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Error(), "payloads") {
			t.Fatalf("%+v", r)
		}
		texts, err := s.Texts(t.Context(), caller(t, s.ada).TeamID, []string{"a", "b", "none"})
		if err != nil || len(texts) != 2 {
			t.Fatal(texts, err)
		}
		a, b := texts["a"].Files()["helpers/words.txt"], texts["b"].Files()["words.txt"]
		if string(a) != "from the top" || string(b) != "from above" {
			t.Errorf("%q, %q", a, b)
		}
		if _, given := texts["a"].Files()["words.txt"]; given {
			t.Error("a file that the template does not name is given out")
		}
	})
}
