package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

func open(t *testing.T, hosts ...string) *Folders {
	t.Helper()
	s, err := New(hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.root); s.root != "" && !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", s.root, err)
		}
	})
	return s
}

func TestHosts(t *testing.T) {
	if _, err := New([]string{"no host"}, nil); err == nil {
		t.Error("no host is a host")
	}
	if open(t).NetworkNote() == "" || open(t, "registry.example.com").NetworkNote() != "" {
		t.Error("installations reach what the operator names, and nothing without")
	}
}

// A folder is filled once; one that could not be filled is filled again, and nothing is left of it.
func TestFilledOnce(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	s, filled := open(t), 0
	fill := func(ctx context.Context, w *Work) error {
		if filled++; !s.Busy("a") {
			t.Error("it is being filled")
		}
		if filled == 1 {
			return errors.New("no")
		}
		got, err := w.Install(ctx, isolate.Command{Args: []string{"sh", "-c", "echo hello; echo there >/in/file"}}, "/in")
		if err != nil || got.Code != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if text := w.Tail(strings.ToUpper); text != "HELLO" {
			t.Errorf("the output is %q", text)
		}
		if got, err = w.Look(ctx, isolate.Command{Args: []string{"sh", "-c", "cat /in/file; ! touch /in/more"}}, "/in"); err != nil ||
			got.Code != 0 || string(got.Stdout) != "there\n" {
			t.Errorf("%+v, %v", got, err)
		}
		return nil
	}
	if _, _, err := s.Hold(t.Context(), "a", fill); err == nil || s.Has("a") {
		t.Errorf("it was filled: %v", err)
	}
	for range 2 {
		folder, release, err := s.Hold(t.Context(), "a", fill)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(folder, "file")); err != nil || string(text) != "there\n" {
			t.Errorf("%q, %v", text, err)
		}
		release()
	}
	if left, _ := os.ReadDir(s.root); filled != 2 || len(left) != 1 || !s.Has("a") || s.Busy("a") {
		t.Errorf("filled %d times, %d folders", filled, len(left))
	}
}

// An installation that grows too large is ended.
func TestTooLarge(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	s := open(t)
	_, _, err := s.Hold(t.Context(), "a", func(ctx context.Context, w *Work) error {
		many := "i=0; while :; do i=$((i+1)); truncate -s 60M /in/$i; done"
		_, err := w.Install(ctx, isolate.Command{Args: []string{"sh", "-c", many}}, "/in")
		return err
	})
	if !IsLimit(err) {
		t.Errorf("it ended with %v", err)
	}
}

// Folders that nobody uses are removed when there are too many, the oldest first; those in use stay.
func TestOldFoldersGo(t *testing.T) {
	s := open(t)
	var first string
	for i := range maxKept + 3 {
		folder, release, err := s.Hold(t.Context(), string(rune('a'+i)), func(context.Context, *Work) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = folder
			continue
		}
		release()
	}
	if left, _ := os.ReadDir(s.root); len(left) != maxKept+1 {
		t.Errorf("%d folders are left", len(left))
	}
	if _, err := os.Stat(first); err != nil || s.Has("b") || !s.Has("d") {
		t.Errorf("%v, %v", err, s.kept)
	}
}
