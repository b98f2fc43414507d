package stories

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is an MCP server with two tools that takes the token "desk-token-0123456789". The
// header X-Edition changes what it says of one of them. Below /guarded it is authorized by OAuth 2.1: by the code "allowed".
func desk() http.Handler {
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		for name, words := range map[string]string{"find": "Finds tickets.",
			"close": "Closes a ticket." + r.Header.Get("X-Edition")} {
			server.AddTool(&mcp.Tool{
				Name: name, Description: words, InputSchema: json.RawMessage(`{"type":"object"}`),
				Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "find"},
			}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		}
		return server
	}, &mcp.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer desk-token-0123456789" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	guard(mux, handler)
	return mux
}

// guard is the MCP server below /guarded, and its authorization server.
func guard(mux *http.ServeMux, handler http.Handler) {
	const access = "Bearer guarded-token-0123"
	answer := func(path string, doc func(base string, r *http.Request) any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			found := doc("http://"+r.Host, r)
			if found == nil {
				w.WriteHeader(http.StatusBadRequest)
				found = map[string]string{"error": "invalid_grant"}
			}
			_ = json.NewEncoder(w).Encode(found)
		})
	}
	mux.HandleFunc("/guarded/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != access {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	answer("/.well-known/oauth-protected-resource/guarded/mcp", func(base string, _ *http.Request) any {
		return map[string]any{"resource": base + "/guarded/mcp", "authorization_servers": []string{base}, "scopes_supported": []string{"tickets"}}
	})
	answer("/.well-known/oauth-authorization-server", func(base string, _ *http.Request) any {
		return map[string]any{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token",
			"registration_endpoint": base + "/register", "code_challenge_methods_supported": []string{"S256"}}
	})
	answer("/register", func(_ string, r *http.Request) any {
		doc := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&doc)
		doc["client_id"] = "vedette-at-desk"
		return doc
	})
	answer("/token", func(_ string, r *http.Request) any {
		if r.FormValue("code") != "allowed" || r.FormValue("code_verifier") == "" {
			return nil
		}
		return map[string]any{"access_token": strings.TrimPrefix(access, "Bearer "), "token_type": "Bearer", "expires_in": 3600,
			"refresh_token": "refresh-token-0123"}
	})
}
