package stories

import (
	"io"
	"net/http"
)

// models is a provider of language models, as OpenAI-compatible servers are: it has two,
// and takes the key "good-key-0123456789".
func models() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer good-key-0123456789":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error": {"message": "Incorrect API key provided: `+r.Header.Get("Authorization")+
				`", "type": "invalid_request_error"}}`)
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "small"}, {"id": "large"}]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
}
