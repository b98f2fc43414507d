// Package mcp is a client of the Model Context Protocol, over streamable HTTP and with programs in the sandbox (stdio).
// What servers send is not trusted: it is
// bounded, descriptions lose invisible characters, and a digest of each tool shows changes.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vedette-sec/vedette/internal/infra/isolate"
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
	CodeProgram     = "mcp_program_failed"  // it ended, or was ended
	CodeNoSandbox   = "tools_not_available" // no programs are run here
)

// Config says how to reach a server.
type Config struct {
	URL    string
	Header map[string]string // credentials too
	HTTP   *http.Client      // decides what may be dialled
	// Program is what to talk with instead; its Input and Output are ours.
	Program *isolate.Command
	Slots   []chan struct{} // of programs that run at the same time; one of each is taken, in this order
	// Log gets what a program wrote to its standard error, when it has ended; may be nil.
	Log io.Writer
}

// Session is an open connection, safe for several goroutines.
type Session struct {
	session *sdk.ClientSession
	wire    *wire
	own     map[string]bool // the tools of ours for its resources and prompts
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
	var transport sdk.Transport
	if c.Program != nil {
		started, err := w.start(ctx, c)
		if err != nil {
			return nil, err
		}
		transport = started
	} else {
		transport = &sdk.StreamableClientTransport{ // bounded by wire
			Endpoint: c.URL, HTTPClient: w.client(c.HTTP), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: -1,
		}
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		err = w.failure(ctx, err)
		w.end()
		w.wait()
		return nil, err
	}
	return &Session{session: session, wire: w}, nil
}

// Tools lists the first 128 tools, each name once, and how many more there are at least.
func (s *Session) Tools(ctx context.Context) (tools []Tool, more int, err error) {
	ctx, release := s.wire.bound(ctx)
	defer release()
	if c := s.session.InitializeResult().Capabilities; c != nil && c.Tools == nil && len(readers(c)) > 0 {
		return s.withReaders(nil), 0, nil // it has none, and may not know the question
	}
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
			return s.withReaders(tools), more, nil
		}
		params = &sdk.ListToolsParams{Cursor: listed.NextCursor}
	}
	return s.withReaders(tools), more + 1, nil
}

// Call calls a tool by the server's name for it; args is a JSON object. A failed tool is not an error.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) (Answer, error) {
	ctx, release := s.wire.bound(ctx)
	defer release()
	s.wire.mu.Lock()
	own := s.own[name]
	s.wire.mu.Unlock()
	if own {
		return s.read(ctx, name, args)
	}
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
	s.wire.wait()
}

var errEnded = errors.New("the session is closed")
