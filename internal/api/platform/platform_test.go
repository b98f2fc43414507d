package platform

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/rest"
)

func TestBothPrefixesAnswerInShape(t *testing.T) {
	api := New(rest.Config{}, nil, Deps{})
	for _, prefix := range Prefixes {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, prefix+"nowhere", nil))
		var got Error
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 404 || got.Status != 404 ||
			got.Code != "endpoint_not_found" || got.ErrorID != w.Header().Get("X-Request-Id") {
			t.Errorf("%s: %d %s", prefix, w.Code, w.Body)
		}
	}
}

func TestPathsAreThePlatforms(t *testing.T) {
	text, err := New(rest.Config{}, nil, Deps{}).ContractJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Paths map[string]any }
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatal(err, len(doc.Paths))
	}
	ours := regexp.MustCompile(`^/v[12]/`)
	for path := range doc.Paths {
		if !ours.MatchString(path) {
			t.Errorf("%s is not under a prefix of this surface", path)
		}
	}
}
