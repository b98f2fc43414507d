package membudget_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const mib = 1 << 20

func grown(t *testing.T, b *membudget.Budget, n int64) *membudget.Share {
	t.Helper()
	s := b.Share()
	if _, err := s.Grow(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return s
}

// full reports whether a share of n bytes would have to wait.
func full(t *testing.T, b *membudget.Budget, n int64) bool {
	t.Helper()
	s := b.Share()
	defer s.Release()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Grow(ended, n)
	return err != nil
}

func TestSharesWaitForEachOther(t *testing.T) {
	b := membudget.New(16 * mib) // 4 of short shares, 12 of long ones
	first, second := grown(t, b, 8*mib), grown(t, b, 4*mib)
	if !full(t, b, 2*mib) || full(t, b, mib) {
		t.Error("long shares and short ones are mixed up")
	}
	third := make(chan bool)
	go func() {
		s := b.Share()
		waited, err := s.Grow(t.Context(), 8*mib)
		third <- waited && err == nil
		s.Release()
	}()
	select {
	case <-third:
		t.Fatal("a third share found room")
	case <-time.After(20 * time.Millisecond):
	}
	first.Shrink(mib)
	second.Release()
	second.Release() // once is enough
	if !<-third {
		t.Error("the third share did not wait")
	}
	first.Release()
	if full(t, b, 12*mib) {
		t.Error("something is still held")
	}
	first.Release()
	(*membudget.Share)(nil).Release()
	if _, err := first.Grow(t.Context(), 100*mib); err != nil { // cut to what there is
		t.Error(err)
	}
}

func TestAShareThatWaitsEndsWithItsContext(t *testing.T) {
	b := membudget.New(4 * mib)
	held := grown(t, b, 3*mib)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	s := b.Share()
	waited, err := s.Grow(ctx, 2*mib)
	if !errors.Is(err, context.DeadlineExceeded) || !waited {
		t.Errorf("%v, waited %v", err, waited)
	}
	held.Release()
	if full(t, b, 3*mib) {
		t.Error("who waited in vain holds something")
	}
}

// Readers that each hold a short share and need a long one do not wait for each other for ever.
func TestShortSharesGrow(t *testing.T) {
	b := membudget.New(8 * mib)
	done := make(chan error)
	for range 20 {
		go func() {
			s := b.Share()
			defer s.Release()
			for _, n := range []int64{mib, 6 * mib} {
				if _, err := s.Grow(t.Context(), n); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// The share of what nobody uses any more is found by a collection of garbage, which a waiting reader starts.
func TestForgottenShares(t *testing.T) {
	b := membudget.New(4 * mib)
	func() {
		owner := new([64]byte)
		runtime.AddCleanup(owner, (*membudget.Share).Release, grown(t, b, 3*mib))
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := b.Share().Grow(ctx, 3*mib); err != nil {
		t.Error(err)
	}
}

// Owners that each keep several answers and need more do not wait for each other: those who find no room are told so,
// and what they kept is free for the others.
func TestOwnersThatKeepAnswers(t *testing.T) {
	b := membudget.New(128 * mib) // 96 of long shares
	var first sync.WaitGroup
	first.Add(8)
	type end struct{ answers, refused int }
	ends := make(chan end)
	for range 8 {
		go func() {
			var kept []*membudget.Share
			var got end
			for i := range 4 {
				if i == 1 { // all keep one
					first.Done()
					first.Wait()
				}
				s := b.Share()
				_, err := s.Grow(t.Context(), 12*mib)
				if errors.Is(err, membudget.ErrKept) {
					got.refused++
					break
				}
				if err != nil {
					t.Error(err)
				}
				s.Shrink(10 * mib)
				kept = append(kept, s)
				got.answers++
			}
			for _, s := range kept {
				s.Release()
			}
			ends <- got
		}()
	}
	answers, refused := 0, 0
	for range 8 {
		select {
		case got := <-ends:
			answers, refused = answers+got.answers, refused+got.refused
		case <-time.After(time.Minute):
			t.Fatal("owners wait for each other")
		}
	}
	if answers < 9 || refused == 0 {
		t.Errorf("%d answers, %d refused", answers, refused)
	}
	if full(t, b, 96*mib) {
		t.Error("something is still held")
	}
}

// Who gives a share back does not wait for who makes it larger.
func TestReleaseWhileGrowing(t *testing.T) {
	b := membudget.New(16 * mib)
	held, s := grown(t, b, 12*mib), b.Share()
	done := make(chan error)
	go func() {
		_, err := s.Grow(t.Context(), 8*mib)
		done <- err
	}()
	for !full(t, b, mib+1) {
	}
	s.Release()
	held.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.Release()
	if full(t, b, 12*mib) {
		t.Error("something is still held")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{'x'}, len(p))), nil }

func TestReadAll(t *testing.T) {
	b := membudget.New(16 * mib)
	s := b.Share()
	for _, n := range []int{0, 1, membudget.Free, membudget.Free + 1, 3 * mib} {
		text := strings.Repeat("x", n)
		got, err := s.ReadAll(t.Context(), strings.NewReader(text), 3*mib)
		if err != nil || string(got) != text {
			t.Errorf("%d bytes of %d: %v", len(got), n, err)
		}
		if large := n > membudget.Free; full(t, b, 12*mib) != large && n > mib {
			t.Errorf("%d bytes: the share is wrong", n)
		}
	}
	s.Release()
	if got, err := s.ReadAll(t.Context(), endless{}, mib); err != nil || len(got) != mib {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	s.Release()
	held := grown(t, b, 12*mib)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	got, err := s.ReadAll(ctx, endless{}, 4*mib)
	if !errors.Is(err, context.DeadlineExceeded) || len(got) <= membudget.Free || len(got) > mib {
		t.Errorf("without memory: %d bytes, %v", len(got), err)
	}
	held.Release()
	failing := io.MultiReader(strings.NewReader("abc"), &broken{})
	if got, err := s.ReadAll(t.Context(), failing, mib); string(got) != "abc" || !errors.Is(err, errBroken) {
		t.Errorf("%q, %v", got, err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, errBroken }

// Who reads through a share holds what a parser of all of it may need, before the reader gives more than is free.
func TestReaderTakesItsShareFirst(t *testing.T) {
	b := membudget.New(16 * mib) // 4 of short shares, 12 of long ones
	other := grown(t, b, 8*mib)
	s := b.Share()
	from := s.Reader(t.Context(), strings.NewReader(strings.Repeat("x", mib)), 10*mib)
	if n, err := io.ReadFull(from, make([]byte, membudget.Free)); err != nil || full(t, b, 4*mib) {
		t.Fatalf("%d bytes that are free: %v", n, err)
	}
	done := make(chan int64)
	go func() {
		n, err := io.Copy(io.Discard, from)
		if err != nil {
			n = -1
		}
		done <- n
	}()
	select {
	case n := <-done:
		t.Fatalf("%d bytes without a share", n)
	case <-time.After(20 * time.Millisecond):
	}
	other.Release()
	if n := <-done; n != mib-membudget.Free || !full(t, b, 4*mib) {
		t.Errorf("%d bytes", n)
	}
	s.Release()
	if full(t, b, 12*mib) {
		t.Error("the share was not given back")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	kept := grown(t, b, 12*mib)
	defer kept.Release()
	late := b.Share().Reader(ended, strings.NewReader(strings.Repeat("x", mib)), 10*mib)
	if _, err := io.Copy(io.Discard, late); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
