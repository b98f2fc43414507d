package githubtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Nobody gets in without a token, and a line that the patch does not show is refused.
func TestRefusals(t *testing.T) {
	hub := New()
	p := Pull{Repo: "octo/shop", Number: 1, Files: []File{{Name: "a", Patch: "@@ -1,1 +4,2 @@\n old\n-gone\n+new"}}}
	hub.Put(p)
	for _, path := range []string{"/app", "/repos/octo/shop/pulls/1", "/user/installations"} {
		w := httptest.NewRecorder()
		hub.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
	for line, want := range map[int]bool{3: false, 4: true, 5: true, 6: false} {
		if p.shows("a", line) != want {
			t.Errorf("line %d", line)
		}
	}
}
