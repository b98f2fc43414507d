package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestWhatHasNoEffectIsNamed: unknown parameters and fields are named in the answer, at any depth; known ones, in any case
// of letters, and empty ones are not.
func TestWhatHasNoEffectIsNamed(t *testing.T) {
	const known = `{"name": "Ann", "AGE": 3}`
	for _, c := range []struct {
		path, body string
		want       []string
	}{
		{"/things", known, nil},
		{"/things?wait=1&a=2", known, []string{
			"a has no effect: this operation has no such parameter.",
			"wait has no effect: this operation has no such parameter."}},
		{"/things", `{"name": "Ann", "nom": "x", "none": null, "nothing": "", "no": [], "nil": {}}`,
			[]string{"nom has no effect: this operation has no such field."}},
		{"/things", `{"name": "Ann", "parts": [{"size": 1}, {"siez": 2}], "free": {"any": 1}}`,
			[]string{"parts[1].siez has no effect: this operation has no such field."}},
		{"/things", `{"name": "Ann", "old": true}`, []string{"old has no effect: nobody is old."}},
	} {
		got := sendThing(t, c.path, c.body)
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s %s: %q, want %q", c.path, c.body, got, c.want)
		}
	}
}

// TestWarningsAreBounded: an answer does not grow with the number of unknown fields.
func TestWarningsAreBounded(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"name": "Ann"`)
	for i := range 1000 {
		body.WriteString(`, "` + strings.Repeat("ü", 500) + strconv.Itoa(i) + `": 1`)
	}
	got := sendThing(t, "/things", body.String()+"}")
	if len(got) != maxWarnings || len(got[0]) > 300 {
		t.Errorf("%d warnings: %.1000q", len(got), got)
	}
}

// sendThing is the warnings of the answer; the header has as many.
func sendThing(t *testing.T, path, body string) []string {
	t.Helper()
	type part struct {
		Size int `json:"size,omitempty"`
	}
	s := open(t, Config{}, func(a *API) {
		a.Vocabulary.WithoutEffect = map[string]string{"old": "nobody is old."}
		op := get("/things")
		op.Method = http.MethodPost
		Handle(a, op, func(context.Context, *struct {
			Body struct {
				Name  string         `json:"name"`
				Age   int            `json:"age,omitempty"`
				Old   bool           `json:"old,omitempty"`
				Parts []part         `json:"parts,omitempty"`
				Free  map[string]any `json:"free,omitempty"`
			}
		}) (*struct{}, error) {
			return &struct{}{}, nil
		})
	})
	resp, _, text := s.do(t, http.MethodPost, path, strings.NewReader(body), "Content-Type", "application/json")
	var answer struct {
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	if n := len(resp.Header.Values(WarningHeader)); n != len(answer.Warnings) {
		t.Errorf("%d headers for %q", n, answer.Warnings)
	}
	return answer.Warnings
}
