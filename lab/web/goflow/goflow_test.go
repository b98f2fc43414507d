package goflow

import (
	"net/http/httptest"
	"testing"

	"github.com/vedette-sec/vedette/lab/web"
)

// Each case of the applications in Go shows its weakness where it is labelled so, and not elsewhere; what takes seconds, or
// is proved by hand, is left out.
func TestProofs(t *testing.T) {
	proved := 0
	for _, f := range web.Flows("go", nil) {
		h, err := New(f.App, f.Variant, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		for i := range f.Cases {
			c := &f.Cases[i]
			if c.Expect == "" || c.Expect == "slow" || c.Class == "ssrf" {
				continue
			}
			got, came, err := f.Prove(t.Context(), c, server.URL)
			if err != nil || got != c.True {
				t.Errorf("%s %s: shows %v, want %v: %s %v", f.Name(), c.Path, got, c.True, came, err)
			}
			proved++
		}
		server.Close()
	}
	if proved < 70 {
		t.Errorf("%d proofs", proved)
	}
	if _, err := New("none", "weak", t.TempDir()); err == nil {
		t.Error("an application that there is not")
	}
}
