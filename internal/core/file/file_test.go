package file

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type house struct {
	*Files
	dir        string
	alice, bob context.Context
}

func setUp(t *testing.T, d *db.DB) house {
	t.Helper()
	h := house{dir: t.TempDir()}
	blobs, err := blob.Open(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	h.Files = New(d, blobs)
	second := time.Unix(1_800_000_000, 0)
	h.now = func() time.Time { second = second.Add(time.Second); return second }
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	person := func(email string) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: "blue", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
	}
	h.alice, h.bob = person("alice@example.com"), person("bob@example.com")
	return h
}

func (h house) create(t *testing.T, ctx context.Context, key, content string) File {
	t.Helper()
	f, err := h.Create(ctx, NewFile{Key: key, Content: strings.NewReader(content)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (h house) text(t *testing.T, ctx context.Context, key string) string {
	t.Helper()
	_, content, err := h.Open(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kept counts the blobs on disk.
func (h house) kept(t *testing.T) (n int) {
	t.Helper()
	err := filepath.WalkDir(h.dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := setUp(t, d)
		first := h.create(t, h.alice, "a/b.txt", "same")
		theirs := h.create(t, h.bob, "a/b.txt", "same")
		if first.ETag != theirs.ETag || first.digest == theirs.digest || first.Size != 4 ||
			!strings.HasPrefix(first.MIME, "text/plain") {
			t.Errorf("%+v and %+v", first, theirs)
		}
		if err := h.Delete(h.bob, "a/b.txt"); err != nil {
			t.Fatal(err)
		}
		if got := h.text(t, h.alice, "a/b.txt"); got != "same" {
			t.Errorf("when another's is deleted, there is %q", got)
		}
		for name, err := range map[string]error{
			"open":    func() error { _, _, err := h.Open(h.bob, "a/b.txt"); return err }(),
			"replace": func() error { _, err := h.Replace(h.bob, "a/b.txt", strings.NewReader("x")); return err }(),
			"delete":  h.Delete(h.bob, "a/b.txt"),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("another's file, %s: %v", name, err)
			}
		}
		if e := errs.From(h.Check(h.bob, "file_keys", []string{"a/b.txt"})); e == nil || e.Kind != errs.Invalid ||
			e.Param != "file_keys" {
			t.Errorf("another's key: %v", e)
		}
		changed, err := h.Replace(h.alice, "a/b.txt", strings.NewReader("\x89PNG\r\n\x1a\n"))
		if err != nil || changed.MIME != "image/png" || changed.ETag == first.ETag || h.kept(t) != 1 {
			t.Errorf("%+v, %v, %d blobs", changed, err, h.kept(t))
		}
		c, err := account.From(h.alice)
		if err != nil {
			t.Fatal(err)
		}
		found, missing, err := h.ForTask(t.Context(), c.TeamID, c.UserID, []string{"a/b.txt", "a/b.txt", "none"})
		if err != nil || len(found) != 1 || !slices.Equal(missing, []string{"none"}) {
			t.Fatalf("%+v, %v, %v", found, missing, err)
		}
		if part, err := h.Read(found[0], 1, 3); err != nil || string(part) != "PNG" {
			t.Errorf("a part is %q, %v", part, err)
		}
	})
}

func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	h := setUp(t, dbtest.Open(t, "sqlite"))
	h.create(t, h.alice, "there", "x")
	for _, key := range []string{"", "/a", "a/", "a//b", ".", "a/../b", "a\\b", "a\nb", "a\"b", " a", "a\u202eb", "\xff",
		strings.Repeat("a", 256), strings.Repeat("a/", 256) + "a"} {
		_, err := h.Create(h.alice, NewFile{Key: key, Content: strings.NewReader("x")})
		if e := errs.From(err); e == nil || e.Kind != errs.Invalid || e.Param != "key" {
			t.Errorf("%.20q is taken: %v", key, err)
		}
	}
	broken := errors.New("broken off")
	for name, test := range map[string]struct {
		key     string
		content io.Reader
		is      func(error) bool
	}{
		"twice": {"there", strings.NewReader("y"), func(err error) bool { return errs.Is(err, errs.Conflict) }},
		"too large": {"large", io.LimitReader(zeroes{}, MaxSize+1),
			func(err error) bool { return errs.Is(err, errs.TooLarge) }},
		"broken off": {"half", io.MultiReader(strings.NewReader("x"), failing{broken}),
			func(err error) bool { return errors.Is(err, broken) }},
	} {
		if _, err := h.Create(h.alice, NewFile{Key: test.key, Content: test.content}); !test.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := h.kept(t); n != 1 {
		t.Errorf("%d blobs are on disk, not one", n)
	}
	if f, err := h.Create(h.alice, NewFile{Key: "most", Content: io.LimitReader(zeroes{}, MaxSize)}); err != nil ||
		f.Size != MaxSize {
		t.Errorf("the largest: %d, %v", f.Size, err)
	}
	if _, err := h.db.Exec(t.Context(), `UPDATE file SET size = ? WHERE key = 'most'`, int64(maxTotal-1)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Create(h.alice, NewFile{Key: "over", Content: strings.NewReader("x")}); !errs.Is(err, errs.TooLarge) {
		t.Errorf("more than all files may have: %v", err)
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// TestPagesHaveEachFileOnce walks through lists in each order, a page of two at a time.
func TestPagesHaveEachFileOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := setUp(t, d)
		for i, key := range []string{"b.txt", "a/b.txt", "a/c.YAML", "a/d/b.txt", "aa/x"} {
			h.create(t, h.alice, key, strings.Repeat("x", (i*3)%5))
		}
		h.create(t, h.bob, "theirs", "x")
		for sort, want := range map[string]string{
			"": "b.txt a/b.txt a/c.YAML a/d/b.txt aa/x", "key": "a/b.txt a/c.YAML a/d/b.txt aa/x b.txt",
			"size": "b.txt a/c.YAML aa/x a/b.txt a/d/b.txt", "base_name": "a/b.txt a/d/b.txt b.txt a/c.YAML aa/x",
		} {
			for _, desc := range []bool{false, true} {
				var got []string
				f := Filter{SortBy: sort, Desc: desc, Limit: 2}
				for {
					p, err := h.FindAll(h.alice, f)
					if err != nil || p.Total != 5 {
						t.Fatalf("%d, %v", p.Total, err)
					}
					for _, file := range p.Files {
						got = append(got, file.Key)
					}
					if f.Cursor = p.Next; p.Next == "" {
						break
					}
				}
				if desc {
					slices.Reverse(got)
				}
				if sort == "size" {
					slices.Sort(got) // sizes are equal in pairs; that each is there once is what counts
					want = "a/b.txt a/c.YAML a/d/b.txt aa/x b.txt"
				}
				if strings.Join(got, " ") != want {
					t.Errorf("by %q, descending %v: %v", sort, desc, got)
				}
			}
		}
		for want, f := range map[string]Filter{
			"a/b.txt a/c.YAML a/d/b.txt": {Directory: "/a/"}, "a/c.YAML": {Exts: []string{"yaml", "none"}},
			"a/d/b.txt": {Search: "D/B"}, "b.txt": {Keys: []string{"b.txt", "theirs"}}, "": {ProjectID: "x"},
		} {
			f.SortBy, f.Limit = "key", 10
			p, err := h.FindAll(h.alice, f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range p.Files {
				got = append(got, file.Key)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%+v: %v", f, got)
			}
		}
		for _, cursor := range []string{"!", "e30", "bnVsbA"} {
			if _, err := h.FindAll(h.alice, Filter{Cursor: cursor, Limit: 1}); !errs.Is(err, errs.Invalid) {
				t.Errorf("the cursor %q is taken: %v", cursor, err)
			}
		}
	})
}

func FuzzKey(f *testing.F) {
	for _, key := range []string{"a/b.txt", "..", "a/../b", "\x00", "a\u200bb"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if checkKey("key", key) != nil {
			return
		}
		if path := filepath.Clean("/" + key); path != "/"+key || strings.ContainsAny(key, "\x00\r\n\"\\") ||
			len(key) > maxKey {
			t.Errorf("%q is a key", key)
		}
	})
}
