package file

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestWants(t *testing.T) {
	for _, c := range []struct {
		block     syntax.File
		path      string
		want      bool
		firstData string
	}{
		{syntax.File{}, "/x/a.txt", true, ""},
		{syntax.File{}, "/x/a.png", false, ""},
		{syntax.File{Extensions: []string{"png"}}, "/x/a.png", true, ""}, // named ones are never denied
		{syntax.File{Extensions: []string{".png"}, DenyList: []string{".png"}}, "/x/a.png", true, ""},
		{syntax.File{Extensions: []string{"conf"}}, "/x/a.txt", false, ""},
		{syntax.File{Extensions: []string{"all"}}, "/x/a.txt", true, ""},
		{syntax.File{Extensions: []string{"all"}}, "/x/a.zip", false, ""},
		{syntax.File{Extensions: []string{"all"}, Archive: true}, "/x/a.zip", true, ""},
		{syntax.File{DenyList: []string{"vendor"}}, "/x/vendor/b/a.txt", false, ""},
		{syntax.File{DenyList: []string{"b/vendor/"}}, "/x/b/vendor/c/a.txt", false, ""},
		{syntax.File{DenyList: []string{"/x/b"}}, "/x/b/a.txt", false, ""},
		{syntax.File{DenyList: []string{"a.txt"}}, "/x/b/a.txt", false, ""},
		{syntax.File{DenyList: []string{"a.tx"}}, "/x/b/a.txt", true, ""},
		{syntax.File{Extensions: []string{"text/html"}, MIMEType: true}, "/x/a", true, "<html>"},
		{syntax.File{Extensions: []string{"text/html"}, MIMEType: true, DenyList: []string{"image/gif"}}, "/x/a", false, "GIF89a"},
	} {
		chooser := newChooser(&c.block)
		if got := chooser.wants("/x", c.path, func() []byte { return []byte(c.firstData) }); got != c.want {
			t.Errorf("%+v %s: %v", c.block, c.path, got)
		}
	}
}

// found are the texts that a search reads, by path.
func found(t *testing.T, target string, block syntax.File) map[string][]string {
	t.Helper()
	block.Matchers = append(block.Matchers, syntax.Matcher{Type: "word"})
	p, err := Compile("t.yaml", &block)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{}
	env := &proto.Env{Input: target, Files: true, Vars: func(rawurl.URL) *dsl.Env { return &dsl.Env{} }}
	if err := p.Run(t.Context(), env, func(r *proto.Reply) bool {
		name := strings.TrimPrefix(strings.TrimPrefix(r.MatchedAt, target), "/")
		texts[name] = append(texts[name], r.Fields["raw"].(string))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestArchives(t *testing.T) {
	var zipped, tarred, packed bytes.Buffer
	z := zip.NewWriter(&zipped)
	for _, name := range []string{"in/a.txt", "in/b.png"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(w, "one %s\ntwo\n", name)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	gz := gzip.NewWriter(&tarred)
	archive := tar.NewWriter(gz)
	_ = archive.WriteHeader(&tar.Header{Name: "c.txt", Size: 5, Mode: 0o600})
	_, _ = archive.Write([]byte("three"))
	if err := errors.Join(archive.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	gz = gzip.NewWriter(&packed)
	_, _ = gz.Write([]byte("four"))
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, data := range map[string][]byte{"x.zip": zipped.Bytes(), "y.tar.gz": tarred.Bytes(), "z.log.gz": packed.Bytes(),
		"broken.zip": zipped.Bytes()[:40], "plain.txt": []byte("five\r\nsix")} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := found(t, folder, syntax.File{Archive: true})
	delete(got, "broken.zip")
	want := "map[plain.txt:[five six] x.zip/in/a.txt:[one in/a.txt two] y.tar.gz/c.txt:[three] z.log.gz:[four]]"
	if fmt.Sprint(got) != want {
		t.Errorf("\n got %v\nwant %s", got, want)
	}
	if got := found(t, folder, syntax.File{}); fmt.Sprint(got) != "map[plain.txt:[five six]]" {
		t.Errorf("without archives: %v", got)
	}
}

func TestSizes(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.txt")
	long := strings.Repeat("x", 200_000)
	if err := os.WriteFile(path, []byte(long+"\n\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := found(t, path, syntax.File{})[""]; !slices.Equal(got, []string{long, "", "last"}) {
		t.Errorf("%d lines", len(got))
	}
	if got := found(t, path, syntax.File{MaxSize: "10kb"})[""]; len(got) != 1 || len(got[0]) != 10_000 {
		t.Errorf("%d lines with a bound", len(got))
	}
	whole := syntax.File{}
	whole.MatchersCondition = "and"
	if got := found(t, folder, whole)["a.txt"]; len(got) != 1 || len(got[0]) != 200_006 {
		t.Errorf("%d texts as a whole", len(got))
	}
	if _, err := Compile("t.yaml", &syntax.File{MaxSize: "much"}); err == nil {
		t.Error("a size that is none was taken")
	}
}

// A search ends with its context, and when nobody wants more.
func TestEnds(t *testing.T) {
	folder := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)+".txt"), []byte("a\nb\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	block := syntax.File{}
	block.Matchers = []syntax.Matcher{{Type: "word"}}
	p, err := Compile("t.yaml", &block)
	if err != nil {
		t.Fatal(err)
	}
	replies := 0
	env := &proto.Env{Input: folder, Files: true, Vars: func(rawurl.URL) *dsl.Env { return &dsl.Env{} }}
	if err := p.Run(t.Context(), env, func(*proto.Reply) bool { replies++; return replies < 2 }); err != nil || replies != 2 {
		t.Errorf("%d replies, %v", replies, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx, env, func(*proto.Reply) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzArchive searches any bytes as a file that may be an archive of some kind: the search ends, and reports no more than
// its bounds allow.
func FuzzArchive(f *testing.F) {
	var zipped, packed bytes.Buffer
	z := zip.NewWriter(&zipped)
	w, err := z.Create("a.txt")
	if err != nil {
		f.Fatal(err)
	}
	_, _ = w.Write([]byte("text"))
	_ = z.Close()
	g := gzip.NewWriter(&packed)
	_, _ = g.Write([]byte("text"))
	_ = g.Close()
	f.Add(zipped.Bytes(), "a.zip")
	f.Add(packed.Bytes(), "a.txt.gz")
	f.Add([]byte("\xfd7zXZ\x00"), "a.xz")
	f.Add([]byte("BZh9"), "a.bz2")
	f.Add([]byte("(\xb5/\xfd"), "a.zst")
	f.Add([]byte("7z\xbc\xaf'\x1c"), "a.7z")
	f.Add([]byte("Rar!\x1a\x07\x01\x00"), "a.rar")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		name = filepath.Base(filepath.Clean("/" + name))
		if name == "/" || len(name) > 100 || strings.ContainsRune(name, 0) {
			return
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return
		}
		found(t, path, syntax.File{Extensions: []string{"all"}, Archive: true})
	})
}
