// Package mcp is the client's side of the Model Context Protocol: it connects to somebody
// else's server over streamable HTTP, lists its tools and calls them. What a server sends is
// not trusted: it is bounded in size and time, descriptions are cleaned of what a person
// would not see, and each tool has a digest by which a change is noticed.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What a server may send.
const (
	maxExchange = 8 << 20   // bytes of an answer over HTTP, all events of it together
	maxTools    = 128       // that are looked at
	maxWords    = 256 << 10 // bytes of the descriptions and schemas of all tools: a model reads them at each step
	maxPages    = 20        // of the list of tools
)

// CloseTimeout is how long saying goodbye to a server may take.
const CloseTimeout = 2 * time.Second

// The codes of what can go wrong, as *errs.Error has them.
const (
	CodeUnreachable = "mcp_unreachable"          // nobody answers, or not in time
	CodeCredentials = "mcp_credentials_rejected" // HTTP 401 or 403
	CodeProtocol    = "mcp_protocol_error"       // the answer is none of the protocol's
	CodeTooLarge    = "mcp_answer_too_large"
	CodeRefused     = "mcp_call_refused" // the server answers with an error of its own
	CodeBlocked     = "address_not_allowed"
)

// Config says how a server is reached.
type Config struct {
	URL    string            // of the streamable-HTTP endpoint
	Header map[string]string // of every request, credentials among them
	HTTP   *http.Client      // decides where may be dialled; its redirects are not followed
}

// Session is an open connection. It is safe for several goroutines.
type Session struct {
	session *sdk.ClientSession
	wire    *wire
}

// Answer is what a call of a tool brought.
type Answer struct {
	Text   string // all of it as text; what is no text is named with its type and size
	Failed bool   // the tool says that it failed
}

// Connect opens a connection. It fails with an *errs.Error that has one of the codes, in
// words for the person who configured the server; none of the server's text is in them.
func Connect(ctx context.Context, c Config) (*Session, error) {
	w := newWire(c)
	client := sdk.NewClient(&sdk.Implementation{Name: "vedette", Title: "Vedette", Version: "1.0.0"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // a server may ask for nothing: no sampling, no files, no questions
	})
	ctx, release := w.bound(ctx)
	defer release()
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: c.URL, HTTPClient: w.client(c.HTTP), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: -1, // the wire bounds it
	}, nil)
	if err != nil {
		w.end()
		return nil, w.failure(ctx, err)
	}
	return &Session{session, w}, nil
}

// Tools lists what the server offers, the first 128, each name once, and how many more
// there are at least. Errors are as Connect's.
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
				if size += len(one.Description) + len(one.Schema); size > maxWords && one.Fault == "" {
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

// Call calls a tool by the server's name for it; args is a JSON object. That the tool
// failed is no error: the server could be asked.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (Answer, error) {
	ctx, release := s.wire.bound(ctx)
	defer release()
	result, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return Answer{}, s.wire.failure(ctx, err)
	}
	return Answer{Text: textOf(result), Failed: result.IsError}, nil
}

// Close ends the session. A server that does not answer is left after CloseTimeout.
func (s *Session) Close() {
	timer := time.AfterFunc(CloseTimeout, s.wire.end)
	defer timer.Stop()
	_ = s.session.Close() // the server may have gone
	s.wire.end()
}

func refusal(code, format string, args ...any) *errs.Error {
	return errs.New(errs.Invalid, code, format, args...)
}

// errEnded is why requests end when their session was closed.
var errEnded = errors.New("the session is closed")
