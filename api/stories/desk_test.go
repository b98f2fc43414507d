package stories

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is an MCP server with two tools that takes the token "desk-token-0123456789". The
// header X-Edition changes what it says of one of them.
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer desk-token-0123456789" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
