package blob_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/blob"
)

// age makes a blob look as if it was put long ago.
func age(t *testing.T, dir string, d blob.Digest) {
	t.Helper()
	longAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, d.String()[:2], d.String()), longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s *blob.Store, text string) blob.Digest {
	t.Helper()
	d, _, err := s.Put(t.Context(), bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSweepDeletesWhatNobodyNames(t *testing.T) {
	s, dir := open(t)
	kept, young, nobodys := put(t, s, "kept"), put(t, s, "young"), put(t, s, "nobody's")
	age(t, dir, kept)
	age(t, dir, nobodys)
	named := func(_ context.Context, d blob.Digest) (bool, error) { return d == kept, nil }
	if n, err := s.Sweep(t.Context(), time.Now().Add(-time.Minute), named); err != nil || n != 1 {
		t.Errorf("%d %v", n, err)
	}
	for d, want := range map[blob.Digest]bool{kept: true, young: true, nobodys: false} {
		if has, err := s.Has(d); err != nil || has != want {
			t.Errorf("%s: %v %v", d, has, err)
		}
	}
	if left := files(t, dir); len(left) != 2 {
		t.Errorf("left: %q", left)
	}
}

// TestSweepLeavesWhatIsPutAgain: a blob is put again after the sweep asked about it.
func TestSweepLeavesWhatIsPutAgain(t *testing.T) {
	s, dir := open(t)
	d := put(t, s, "again")
	age(t, dir, d)
	n, err := s.Sweep(t.Context(), time.Now().Add(-time.Minute), func(context.Context, blob.Digest) (bool, error) {
		put(t, s, "again")
		return false, nil
	})
	if has, _ := s.Has(d); err != nil || n != 0 || !has {
		t.Errorf("%d were deleted, %v", n, err)
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}

// TestSweepsThatMeet: while one sweep judges a blob, another deletes it, and it is put again.
func TestSweepsThatMeet(t *testing.T) {
	for _, again := range []bool{false, true} {
		s, dir := open(t)
		d := put(t, s, "one")
		age(t, dir, d)
		before := time.Now().Add(-time.Minute)
		nobodys := func(context.Context, blob.Digest) (bool, error) { return false, nil }
		n, err := s.Sweep(t.Context(), before, func(context.Context, blob.Digest) (bool, error) {
			if n, err := s.Sweep(t.Context(), before, nobodys); err != nil || n != 1 {
				t.Errorf("the other: %d were deleted, %v", n, err)
			}
			if again {
				put(t, s, "one")
			}
			return false, nil
		})
		if has, _ := s.Has(d); err != nil || n != 0 || has != again {
			t.Errorf("put again: %v; %d were deleted, %v, exists: %v", again, n, err, has)
		}
	}
}

// TestSweepsBesideWriters: what writers put and name from then on is there, however many
// sweep meanwhile.
func TestSweepsBesideWriters(t *testing.T) {
	s, dir := open(t)
	var mu sync.Mutex
	names := map[blob.Digest]bool{}
	named := func(_ context.Context, d blob.Digest) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return names[d], nil
	}
	var writers, sweepers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		sweepers.Go(func() {
			for {
				if _, err := s.Sweep(t.Context(), time.Now().Add(-time.Minute), named); err != nil {
					t.Error(err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for w := range 4 {
		writers.Go(func() {
			for i := range 30 {
				d := put(t, s, fmt.Sprint(i%5))
				if i < 25 && w%2 == 0 {
					_ = os.Chtimes(filepath.Join(dir, d.String()[:2], d.String()), time.Time{}, time.Unix(1, 0)) // nobody names it yet
					continue
				}
				if i >= 25 {
					mu.Lock()
					names[d] = true
					mu.Unlock()
				}
			}
		})
	}
	writers.Wait()
	close(done)
	sweepers.Wait()
	for d := range names {
		if has, err := s.Has(d); err != nil || !has {
			t.Errorf("%s is gone: %v", d, err)
		}
	}
	if len(names) != 5 {
		t.Errorf("%d are named", len(names))
	}
}
