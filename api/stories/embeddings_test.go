package stories

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// embeddings is a server of an embedding model: a text's vector counts words of three meanings, whichever word says
// them. It takes "good-key-0123456789", and refuses texts with a secret.
func embeddings() http.Handler {
	meanings := [][]string{{"car", "vehicle", "lorry"}, {"doctor", "physician"}, {"river", "stream"}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer good-key-0123456789":
			w.WriteHeader(http.StatusUnauthorized)
			return
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "small"}]}`)
			return
		case r.URL.Path != "/v1/embeddings", json.Unmarshal(body, &asked) != nil,
			strings.Contains(string(body), "hunter22-canary"):
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		type one struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		out := make([]one, len(asked.Input))
		for i, text := range asked.Input {
			v := make([]float32, len(meanings))
			for m, words := range meanings {
				for _, word := range words {
					v[m] += float32(strings.Count(strings.ToLower(text), word))
				}
			}
			out[len(out)-1-i] = one{i, v} // in another order
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": out, "usage": map[string]int{"prompt_tokens": 7 * len(out)}})
	})
}
