package blob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func open(t testing.TB) (*blob.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "blobs")
	s, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// files are the regular files below dir.
func files(t testing.TB, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWhatIsPutIsGot(t *testing.T) {
	s, dir := open(t)
	for _, size := range []int{0, 1, 32 << 10, 1<<20 + 7} {
		want := make([]byte, size)
		rand.Read(want)
		d, n, err := s.Put(t.Context(), iotest.HalfReader(bytes.NewReader(want)))
		if err != nil || n != int64(size) || d != sha256.Sum256(want) {
			t.Fatalf("Put of %d bytes: %v, %d, %v", size, d, n, err)
		}
		r, n, err := s.Get(d)
		if err != nil || n != int64(size) {
			t.Fatalf("Get: %d, %v", n, err)
		}
		got, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes came back as %d others, %v", size, len(got), err)
		}
	}
	for _, file := range files(t, dir) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v, %v", file, info.Mode(), err)
		}
	}
}

func TestDeletedAndUnknownAreMissing(t *testing.T) {
	s, _ := open(t)
	d, _, err := s.Put(t.Context(), strings.NewReader("here today"))
	if err != nil {
		t.Fatal(err)
	}
	if has, err := s.Has(d); !has || err != nil {
		t.Errorf("Has of a stored blob: %v, %v", has, err)
	}
	r, _, err := s.Get(d)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 { // the second finds nothing to do
		if err := s.Delete(d); err != nil {
			t.Error(err)
		}
	}
	if has, err := s.Has(d); has || err != nil {
		t.Errorf("Has of a deleted blob: %v, %v", has, err)
	}
	if _, _, err := s.Get(d); !errs.Is(err, errs.NotFound) {
		t.Errorf("Get of a deleted blob: %v", err)
	}
	if text, err := io.ReadAll(r); string(text) != "here today" || err != nil {
		t.Errorf("an open blob changed when it was deleted: %q, %v", text, err)
	}
}

func TestSameBytesInParallelAreStoredOnce(t *testing.T) {
	s, dir := open(t)
	text := strings.Repeat("the same ", 10_000)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			d, _, err := s.Put(t.Context(), strings.NewReader(text))
			if err != nil {
				t.Error(err)
				return
			}
			r, _, err := s.Get(d)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			if got, err := io.ReadAll(r); string(got) != text || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("one blob is in %d files: %q", len(left), left)
	}
}

func TestFailedPutLeavesNothing(t *testing.T) {
	s, dir := open(t)
	broken := errors.New("the source broke")
	half := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	if _, _, err := s.Put(t.Context(), half); !errors.Is(err, broken) {
		t.Errorf("Put from a broken source: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless := readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if _, _, err := s.Put(ctx, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("Put under a cancelled context: %v", err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestOpenSweepsOnlyWhatIsAbandoned(t *testing.T) {
	_, dir := open(t)
	old, fresh := filepath.Join(dir, "incoming", "old"), filepath.Join(dir, "incoming", "fresh")
	for _, file := range []string{old, fresh} {
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	longAgo := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Open(dir); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); len(left) != 1 || left[0] != fresh {
		t.Errorf("left: %q", left)
	}
}

func FuzzParseDigest(f *testing.F) {
	good := blob.Digest(sha256.Sum256(nil)).String()
	for _, seed := range []string{
		good, "", strings.ToUpper(good), good + "0", good[1:], "../" + good[3:], strings.Repeat("/", 64),
		strings.Repeat(".", 64), good[:63] + "\x00", good[:62] + "é", " " + good[1:], "0x" + good[2:],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := blob.ParseDigest(text)
		if err == nil && (d.String() != text || strings.Trim(text, "0123456789abcdef") != "" || len(text) != 64) {
			t.Errorf("%q was read as %s", text, d)
		}
		if err != nil && !errs.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
		if (text == good) != (d == sha256.Sum256(nil) && err == nil) {
			t.Errorf("%q was mistaken: %s, %v", text, d, err)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	s, _ := open(b)
	data := make([]byte, 64<<10)
	b.SetBytes(int64(len(data)))
	for i := 0; b.Loop(); i++ {
		data[0], data[1] = byte(i), byte(i>>8)
		if _, _, err := s.Put(b.Context(), bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
