package gitlabtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Nobody gets in without the token, and a comment is on an added line alone.
func TestRefusals(t *testing.T) {
	lab := New()
	m := Merge{Number: 1, Files: []File{{Old: "a", New: "a", Diff: "@@ -1,2 +4,2 @@\n old\n-gone\n+new"}}}
	lab.Put(m)
	w := httptest.NewRecorder()
	lab.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v4/projects/70/merge_requests/1", http.NoBody))
	if w.Code != http.StatusUnauthorized {
		t.Error(w.Code)
	}
	for line, want := range map[int]bool{3: false, 4: false, 5: true, 6: false} {
		if m.shows("a", "a", line) != want {
			t.Errorf("line %d", line)
		}
	}
}
