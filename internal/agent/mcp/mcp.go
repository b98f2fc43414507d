// Package mcp is a client of the Model Context Protocol over streamable HTTP. What servers send is not trusted: it is
// bounded, descriptions lose invisible characters, and a digest of each tool shows changes.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what a server may send.
const (
	maxExchange     = 8 << 20 // bytes of one HTTP answer
	maxTools        = 128
	maxDescriptions = 256 << 10 // bytes of all descriptions and schemas: a model reads them at each step
	maxPages        = 20        // of the list of tools
)

// CloseTimeout bounds the end of a session.
const CloseTimeout = 2 * time.Second

// The codes of errors.
const (
	CodeUnreachable = "mcp_unreachable"          // or too slow
	CodeCredentials = "mcp_credentials_rejected" // HTTP 401 or 403
	CodeProtocol    = "mcp_protocol_error"
	CodeTooLarge    = "mcp_answer_too_large"
	CodeRefused     = "mcp_call_refused" // the server answers with an error
	CodeBlocked     = "address_not_allowed"
)

// Config says how to reach a server.
type Config struct {
	URL    string
	Header map[string]string // credentials too
	HTTP   *http.Client      // decides what may be dialled
}

// Session is an open connection, safe for several goroutines.
type Session struct {
	session *sdk.ClientSession
	wire    *wire
}

// Answer is the result of a tool call.
type Answer struct {
	Text   string // other content is named with its type and size
	Failed bool   // as the tool reports
}

// Connect opens a connection. Its *errs.Error has one of the codes and no text of the server.
func Connect(ctx context.Context, c Config) (*Session, error) {
	w := newWire(c)
	client := sdk.NewClient(&sdk.Implementation{Name: "vedette", Title: "Vedette", Version: "1.0.0"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // the server may ask for nothing
	})
	ctx, release := w.bound(ctx)
	defer release()
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		// bounded by wire
		Endpoint: c.URL, HTTPClient: w.client(c.HTTP), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: -1,
	}, nil)
	if err != nil {
		w.end()
		return nil, w.failure(ctx, err)
	}
	return &Session{session, w}, nil
}

// Tools lists the first 128 tools, each name once, and how many more there are at least.
func (s *Session) Tools(ctx context.Context) (tools []Tool, more int, err error) {
	ctx, release := s.wire.bound(ctx)
	defer release()
	params, seen, size := &sdk.ListToolsParams{}, map[string]bool{}, 0
	for range maxPages {
		listed, err := s.session.ListTools(ctx, params)
		if err != nil {
			return nil, 0, s.wire.failure(ctx, err)
		}
		for _, t := range listed.Tools {
			switch {
			case t == nil || seen[t.Name]:
			case len(tools) == maxTools:
				more++
			default:
				seen[t.Name] = true
				one := toolOf(t)
				if size += len(one.Description) + len(one.Schema); size > maxDescriptions && one.Fault == "" {
					one.Fault = "the tools of this server have too much text together"
				}
				tools = append(tools, one)
			}
		}
		if listed.NextCursor == "" {
			return tools, more, nil
		}
		params = &sdk.ListToolsParams{Cursor: listed.NextCursor}
	}
	return tools, more + 1, nil
}

// Call calls a tool by the server's name for it; args is a JSON object. A failed tool is not an error.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (Answer, error) {
	ctx, release := s.wire.bound(ctx)
	defer release()
	result, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return Answer{}, s.wire.failure(ctx, err)
	}
	return Answer{Text: textOf(result), Failed: result.IsError}, nil
}

// Close ends the session, after CloseTimeout even if the server does not answer.
func (s *Session) Close() {
	timer := time.AfterFunc(CloseTimeout, s.wire.end)
	defer timer.Stop()
	_ = s.session.Close() // it may have gone
	s.wire.end()
}

var errEnded = errors.New("the session is closed")
