package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/schema"
	"github.com/vedette-sec/vedette/internal/engine/trial"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Bounds of a trial on a response.
const (
	tryWithin   = 30 * time.Second
	tryRequests = 100
	tryMatches  = 50 // that are kept
)

// Schema is a JSON Schema of the template language, for editors.
func Schema() ([]byte, error) { return schema.JSON() }

// Fault is what keeps a template from being run.
type Fault struct {
	Line    int    // from 1; 0: of the whole
	Key     string // such as http[0].matchers[1].type; may be empty
	Code    string
	Message string
}

// Verdict is what the engine says of a template that is not stored. The template has its metadata where it can be read.
type Verdict struct {
	Template Template
	Requests int // that it sends to a target at most
	Fault    *Fault
}

// Validate has the engine compile a template, and stores nothing. A fault of the template is in the verdict.
func (c *Catalog) Validate(ctx context.Context, text string) (Verdict, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Verdict{}, err
	}
	t, requests, err := c.checkOwn(ctx, NewTemplate{Text: text})
	if e := errs.From(err); e != nil {
		if e.Kind != errs.Invalid {
			return Verdict{}, err
		}
		return Verdict{Fault: faultOf(e)}, nil
	}
	return Verdict{Template: t, Requests: requests}, nil
}

// faultOf finds in an error what the reader of templates has said of the place.
func faultOf(e *errs.Error) *Fault {
	f := Fault{Code: e.Code, Message: strings.TrimPrefix(e.Message, "template: ")}
	for inner := error(e); inner != nil; inner = errors.Unwrap(inner) {
		at, is := errors.AsType[*errs.Error](inner)
		if !is {
			break
		}
		if line, err := strconv.Atoi(at.Extra["line"]); err == nil {
			f.Line, f.Key = line, at.Param
			break
		}
		inner = at
	}
	return &f
}

// Match is what a template found in a response.
type Match struct {
	Matcher   string // its name; may be empty
	Extractor string // its name; may be empty
	Extracted []string
}

// Trial is how a template did on a response.
type Trial struct {
	Matches  []Match
	Requests int    // that it sent
	State    string // how the test ended, as coverage has it: tested, skipped, failed
	Reason   string // why it was not tested; else empty
}

// Try runs a template, which is not stored, in a child against a server on loopback that answers every request with one
// response. Nothing else is dialled. Invalid names template or response.
func (c *Catalog) Try(ctx context.Context, text, response string) (Trial, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Trial{}, err
	}
	const name = "template.yaml"
	if _, _, err := c.checkOwn(ctx, NewTemplate{Text: text}); err != nil {
		return Trial{}, err
	}
	parsed, _, err := c.compile(ctx, name, text)
	if err != nil {
		return Trial{}, err
	}
	kinds := parsed.Protocols
	if len(parsed.Workflows) > 0 {
		kinds = []string{"workflows"}
	}
	if err := trial.Check(name, kinds); err != nil {
		return Trial{}, err
	}
	answer, err := trial.Answer("It", true, []byte(response))
	if err != nil {
		return Trial{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	server, err := answer.Serve(ctx)
	if err != nil {
		return Trial{}, err
	}
	defer server.Close()
	return c.tryOn(ctx, child.Template{Path: name, Data: []byte(text)}, server.URL)
}

// tryOn has a child test one URL, and dial nothing but its host and port.
func (c *Catalog) tryOn(ctx context.Context, t child.Template, target string) (out Trial, err error) {
	u, err := url.Parse(target)
	if err != nil {
		return out, err
	}
	covers, err := netguard.ParseTarget(target)
	if err != nil {
		return out, err
	}
	digest := sha256.Sum256(t.Data)
	t.Digest = hex.EncodeToString(digest[:])
	var mu sync.Mutex
	result, err := c.Engines.Trial(ctx, child.Job{
		Targets: []string{target}, Templates: []child.Template{t}, MaxRequests: tryRequests,
		Config: engine.Config{Timeout: tryWithin / 3}, Covers: []netguard.Target{covers},
		Ask: func(q child.Question) string {
			if q.Kind == child.AskDial && q.Text != u.Host {
				return "a trial reaches the response alone"
			}
			return ""
		},
		OnEvent: func(_ int, e engine.Event) {
			mu.Lock()
			defer mu.Unlock()
			if len(out.Matches) < tryMatches {
				out.Matches = append(out.Matches, Match{e.MatcherName, e.ExtractorName, e.ExtractedResults})
			}
		},
	})
	if err != nil {
		if ctx.Err() != nil {
			err = errs.Field("template", "template: it did not end within %s.", tryWithin)
		}
		return out, err
	}
	state, reason := result.Cell(0, 0)
	out.Requests, out.State, out.Reason = result.Requests, string(state), reason
	return out, nil
}
