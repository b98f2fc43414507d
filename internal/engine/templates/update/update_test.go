package update_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net"
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

	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// written is the text of a template.
func written(id, word string) string {
	return fmt.Sprintf("id: %s\ninfo: {name: %s, author: ada, severity: low}\nhttp:\n  - path: ['{{BaseURL}}/']\n"+
		"    matchers: [{type: word, words: [%s]}]\n", id, id, word)
}

type files map[string]string

func (f files) folder(t testing.TB, dir string) string {
	t.Helper()
	for name, text := range f {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (f files) zip(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		file, err := w.Create(name)
		if err == nil {
			_, err = file.Write([]byte(f[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tar is a tar.gz; a text that begins with "→" is the target of a link.
func (f files) tar(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(f[name])), Mode: 0o644}
		if to, ok := strings.CutPrefix(f[name], "→"); ok {
			header = &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
		}
		err := w.WriteHeader(header)
		if err == nil && header.Size > 0 {
			_, err = w.Write([]byte(f[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func put(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// content is what a folder holds, without the record of updates.
func content(t testing.TB, dir string) files {
	t.Helper()
	all := files{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if text, err := os.ReadFile(path); err == nil && rel != ".vedette-update.json" {
			all[rel] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func loopback() *netguard.Guard {
	return &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// inCache keeps the index of templates out of the home of who runs the tests.
func inCache(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

func TestReplaceTellsWhatChanged(t *testing.T) {
	inCache(t)
	first := files{"http/a.yaml": written("a", "x"), "http/b.yaml": written("b", "x"), "c.yaml": written("c", "x"),
		"helpers/words.txt": "one\n", ".nuclei-ignore": "tags: []\n", "d.yaml": written("d", "x")}
	from := first.folder(t, t.TempDir())
	f := update.Folder{Path: filepath.Join(t.TempDir(), "deep", "set")}
	r, err := f.Replace(t.Context(), update.Source{From: from, Tag: "v1"})
	if err != nil || !slices.Equal(r.Added, []string{"a", "b", "c", "d"}) || r.Total != 4 || r.Unchanged {
		t.Fatalf("%+v %v", r, err)
	}
	if got := content(t, f.Path); !maps.Equal(got, first) {
		t.Errorf("the folder holds %v", got)
	}
	if again, err := f.Replace(t.Context(), update.Source{Tag: "v1"}); err != nil || !again.Unchanged ||
		len(again.Added) > 0 || again.Source != from {
		t.Errorf("from where the last came: %+v %v", again, err)
	}

	files{"http/b.yaml": written("b", "another"), "new/e.yaml": written("e", "x"), "c.yaml": "id: c\ninfo: 7\n"}.
		folder(t, from)
	if err := os.Remove(filepath.Join(from, "http/a.yaml")); err != nil {
		t.Fatal(err)
	}
	r, err = f.Replace(t.Context(), update.Source{})
	if err != nil || !slices.Equal(r.Added, []string{"e"}) || !slices.Equal(r.Changed, []string{"b"}) ||
		!slices.Equal(r.Removed, []string{"a"}) || len(r.Broken) != 1 || r.Broken[0].ID != "c" ||
		!strings.HasPrefix(r.Broken[0].Reason, filepath.Join(f.Path, "c.yaml")+":2") || r.Total != 3 {
		t.Fatalf("%+v %v", r, err)
	}
	left, err := os.ReadDir(filepath.Dir(f.Path))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the folder: %v %v", left, err)
	}
}

func TestReplaceKeepsWhatOthersPutThere(t *testing.T) {
	inCache(t)
	from := files{"a.yaml": written("a", "x")}.folder(t, t.TempDir())
	own := files{"mine.yaml": written("mine", "x")}
	f := update.Folder{Path: own.folder(t, t.TempDir())}
	if _, err := f.Replace(t.Context(), update.Source{From: from}); errs.From(err).Param != "to" {
		t.Fatalf("a folder of somebody's own: %v", err)
	}
	if got := content(t, f.Path); !maps.Equal(got, own) {
		t.Errorf("the folder holds %v", got)
	}
	f.Overwrite = true
	if _, err := f.Replace(t.Context(), update.Source{From: from}); err != nil {
		t.Fatal(err)
	}
	f.Overwrite = false
	files{"a.yaml": written("a", "edited")}.folder(t, f.Path)
	if _, err := f.Replace(t.Context(), update.Source{From: from}); errs.From(err).Param != "to" {
		t.Errorf("an edited folder: %v", err)
	}
	if _, err := (update.Folder{Path: filepath.Join(from, "inside")}).Replace(t.Context(), update.Source{From: from}); errs.
		From(err).Param != "to" {
		t.Errorf("a folder in its source: %v", err)
	}
}

// TestBadSourcesLeaveTheOldSet: whatever is wrong with a source, the folder is what it was.
func TestBadSourcesLeaveTheOldSet(t *testing.T) {
	inCache(t)
	old := files{"a.yaml": written("a", "x")}
	f := update.Folder{Path: filepath.Join(t.TempDir(), "set")}
	if _, err := f.Replace(t.Context(), update.Source{From: old.folder(t, t.TempDir())}); err != nil {
		t.Fatal(err)
	}
	good := files{"n-1.2.3/b.yaml": written("b", "x")}
	cut := good.tar(t)
	broken := good.zip(t)
	broken[60] ^= 0xff // in the text of the file
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		source update.Source
		param  string
	}{
		"another digest":    {nil, update.Source{From: put(t, good.zip(t)), Checksum: strings.Repeat("0", 64)}, "checksum"},
		"a folder's digest": {nil, update.Source{From: t.TempDir(), Checksum: strings.Repeat("0", 64)}, "checksum"},
		"nothing there":     {nil, update.Source{From: filepath.Join(t.TempDir(), "none")}, "from"},
		"no template":       {nil, update.Source{From: put(t, files{"a.yaml": "id: x"}.tar(t))}, "from"},
		"no archive":        {nil, update.Source{From: put(t, []byte("some text"))}, "from"},
		"an empty file":     {nil, update.Source{From: put(t, nil)}, "from"},
		"a zip's way out":   {nil, update.Source{From: put(t, files{"../b.yaml": written("b", "x")}.zip(t))}, "from"},
		"a tar's way out":   {nil, update.Source{From: put(t, files{"../b.yaml": written("b", "x")}.tar(t))}, "from"},
		"an absolute name":  {nil, update.Source{From: put(t, files{"/b.yaml": written("b", "x")}.tar(t))}, "from"},
		"a backslash":       {nil, update.Source{From: put(t, files{`a\..\b.yaml`: written("b", "x")}.tar(t))}, "from"},
		"a tar cut short":   {nil, update.Source{From: put(t, cut[:len(cut)-20])}, "from"},
		"a broken zip":      {nil, update.Source{From: put(t, broken)}, "from"},
		"a cancelled one":   {cancelled, update.Source{From: put(t, good.zip(t))}, ""},
		"a password":        {nil, update.Source{From: "https://ada:secret@git.example/x.git"}, "from"},
		"a ref of a folder": {nil, update.Source{From: t.TempDir(), Ref: "main"}, "ref"},
		"a ref like a flag": {nil, update.Source{From: "file:///x.git", Ref: "--upload-pack=touch"}, "ref"},
		"a private address": {nil, update.Source{From: "http://127.0.0.1:1/x.zip"}, ""},
		"a private remote":  {nil, update.Source{From: "http://127.0.0.1:1/x.git"}, ""},
		"no remote there":   {nil, update.Source{From: "file://" + t.TempDir()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			if _, err := f.Replace(c.ctx, c.source); err == nil || errs.From(err).Param != c.param {
				t.Errorf("%v, of %q", err, errs.From(err).Param)
			}
			if got := content(t, f.Path); !maps.Equal(got, old) {
				t.Fatalf("the folder holds %v", got)
			}
		})
	}
}

func TestArchives(t *testing.T) {
	inCache(t)
	set := files{"n-1.2.3/b.yaml": written("b", "x"), "n-1.2.3/deep/c.yaml": written("c", "x")}
	linked := maps.Clone(set)
	linked["n-1.2.3/passwd.yaml"] = "→/etc/passwd"
	sum := sha256.Sum256(set.zip(t))
	for name, c := range map[string]struct {
		data     []byte
		checksum string
		left     int
	}{
		"zip":            {set.zip(t), "SHA256:" + strings.ToUpper(hex.EncodeToString(sum[:])), 0},
		"tar.gz":         {set.tar(t), "", 0},
		"tar.gz, linked": {linked.tar(t), "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := update.Folder{Path: filepath.Join(t.TempDir(), "set")}
			r, err := f.Replace(t.Context(), update.Source{From: put(t, c.data), Checksum: c.checksum})
			if err != nil || r.Tag != "v1.2.3" || !slices.Equal(r.Added, []string{"b", "c"}) || len(r.Left) != c.left {
				t.Fatalf("%+v %v", r, err)
			}
			want := files{"b.yaml": written("b", "x"), "deep/c.yaml": written("c", "x")}
			if got := content(t, f.Path); !maps.Equal(got, want) {
				t.Errorf("the folder holds %v", got)
			}
		})
	}
}

// TestInterruptedUpdatesAreMended: a killed update may leave a half-written set beside the folder, and where folders
// cannot be exchanged, the old one under another name.
func TestInterruptedUpdatesAreMended(t *testing.T) {
	inCache(t)
	from := files{"a.yaml": written("a", "x")}.folder(t, t.TempDir())
	dir := t.TempDir()
	f := update.Folder{Path: filepath.Join(dir, "set")}
	if _, err := f.Replace(t.Context(), update.Source{From: from}); err != nil {
		t.Fatal(err)
	}
	files{"half.yaml": "id: ha"}.folder(t, filepath.Join(dir, ".set.vedette-new"))
	if err := os.Rename(f.Path, filepath.Join(dir, ".set.vedette-old")); err != nil {
		t.Fatal(err)
	}
	if r, err := f.Replace(t.Context(), update.Source{}); err != nil || !r.Unchanged {
		t.Fatalf("%+v %v", r, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
}

// repository makes a git repository with a branch and a tag, and returns its folder and its two commits.
func repository(t *testing.T) (dir string, commits []string) {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir = t.TempDir()
	run := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=ada", "-c", "user.email=ada@example.com"},
			args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "--quiet", "--initial-branch=main")
	run("config", "uploadpack.allowAnySHA1InWant", "true")
	for i, set := range []files{{"a.yaml": written("a", "x")}, {"a.yaml": written("a", "y"), "b.yaml": written("b", "x")}} {
		set.folder(t, dir)
		if i == 1 {
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "passwd.yaml")); err != nil {
				t.Fatal(err)
			}
		}
		run("add", ".")
		run("commit", "--quiet", "-m", "set")
		run("tag", fmt.Sprintf("v%d", i+1))
		commits = append(commits, run("rev-parse", "HEAD"))
	}
	return dir, commits
}

func TestGit(t *testing.T) {
	inCache(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, commits := repository(t)
	f := update.Folder{Path: filepath.Join(t.TempDir(), "set")}
	r, err := f.Replace(t.Context(), update.Source{From: "file://" + dir, Ref: "v1"})
	if err != nil || r.Commit != commits[0] || r.Tag != "v1" || !slices.Equal(r.Added, []string{"a"}) {
		t.Fatalf("a tag: %+v %v", r, err)
	}
	r, err = f.Replace(t.Context(), update.Source{From: "file://" + dir})
	if err != nil || r.Commit != commits[1] || !slices.Equal(r.Added, []string{"b"}) ||
		!slices.Equal(r.Changed, []string{"a"}) || len(r.Left) != 1 {
		t.Fatalf("its HEAD: %+v %v", r, err)
	}
	if r, err = f.Replace(t.Context(), update.Source{From: "file://" + dir, Ref: commits[0]}); err != nil ||
		!slices.Equal(r.Removed, []string{"b"}) {
		t.Fatalf("a commit: %+v %v", r, err)
	}
	if _, err = f.Replace(t.Context(), update.Source{From: "file://" + dir, Ref: "none"}); !errs.Is(err, errs.Unavailable) {
		t.Errorf("a branch that is not there: %v", err)
	}
}

// TestGitGoesThroughTheGuard: git over HTTP dials nothing itself.
func TestGitGoesThroughTheGuard(t *testing.T) {
	inCache(t)
	backend := "/usr/lib/git-core/git-http-backend"
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git-http-backend is not installed")
	}
	dir, commits := repository(t)
	var asked int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}}).ServeHTTP(w, r)
	}))
	defer server.Close()
	from := update.Source{From: server.URL + "/.git"}
	f := update.Folder{Path: filepath.Join(t.TempDir(), "set")}
	if _, err := f.Replace(t.Context(), from); !errs.Is(err, errs.Unavailable) || asked > 0 ||
		!strings.Contains(err.Error(), "refused") {
		t.Fatalf("a private address: %v, asked %d times", err, asked)
	}
	f.Guard = loopback()
	if r, err := f.Replace(t.Context(), from); err != nil || r.Commit != commits[1] {
		t.Fatalf("%+v %v", r, err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	from.From = "git+https://" + closed.Addr().String() + "/x"
	if _, err := f.Replace(t.Context(), from); !errs.Is(err, errs.Unavailable) {
		t.Errorf("nobody there: %v", err)
	}
}

// FuzzArchive: no bytes of an archive panic, or write outside of the folder.
func FuzzArchive(f *testing.F) {
	set := files{"n/a.yaml": written("a", "x"), "n/l": "→../.."}
	f.Add(set.tar(f))
	f.Add(files{"n/a.yaml": written("a", "x")}.zip(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := update.Open(t.Context(), update.Source{From: put(t, data)}, nil)
		if err != nil {
			return
		}
		_ = fs.WalkDir(o.FS, ".", func(_ string, _ fs.DirEntry, err error) error { return err })
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}
