package extension

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/agent/httptool"
	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Offer is a tool for a task.
type Offer struct {
	Name        string // for the model
	Source      string // for people: "the MCP server x", "an HTTP tool"
	Description string // data, from its author
	Schema      json.RawMessage
	ReadOnly    bool // changes nothing, as its trusted author says
	Repeatable  bool // may be repeated, as above
	Ask         bool // each call needs approval
	Action      string
	Timeout     time.Duration // of one call
	// Call makes a call. failed: the tool says so; err: it could not be asked.
	Call func(ctx context.Context, args json.RawMessage) (text string, failed bool, err error)
}

// Set is the extensions of a task. Close closes their connections.
type Set struct {
	Offers  []Offer
	Missing []Missing
	Hidden  []string // tokens and secrets, to be removed from all texts

	mu          sync.Mutex
	connections []*connection
}

// Missing says which extensions a task does not have.
type Missing struct {
	Source string `json:"source"`          // "the MCP server x", "the HTTP tool y"
	Tools  int    `json:"tools,omitempty"` // 0: all
	Why    string `json:"why"`
}

// Bounds of a task's start and of its tools.
const (
	joinTimeout = 10 * time.Second
	maxOffers   = 100
	maxDials    = 32 // at the same time
)

// ForTask returns the extensions of a user's task: their own and the team's. An unreachable server and a changed tool
// are missing, which is not an error. Of two tools with one name, or one in taken, the first counts: HTTP tools before
// servers, own before shared.
func (s *Extensions) ForTask(ctx context.Context, teamID, userID string, taken []string) (*Set, error) {
	tools, servers, err := s.usable(ctx, teamID, userID)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	var offers []Offer
	for _, t := range tools {
		offer, err := s.offerTool(ctx, teamID, t, set)
		if err != nil {
			set.Close()
			return nil, err
		}
		offers = append(offers, offer...)
	}
	joined := make([][]Offer, len(servers))
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxDials)
	for i, x := range servers {
		group.Go(func() (err error) {
			joined[i], err = s.offerServer(ctx, teamID, x, set)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		set.Close()
		return nil, err
	}
	for _, o := range slices.Concat(append([][]Offer{offers}, joined...)...) {
		switch {
		case slices.Contains(taken, o.Name) ||
			slices.ContainsFunc(set.Offers, func(other Offer) bool { return other.Name == o.Name }):
			set.addMissing(o.Source, 1, "another tool has the name "+o.Name)
		case len(set.Offers) == maxOffers:
			set.addMissing(o.Source, 1, fmt.Sprintf("a task has at most %d extension tools", maxOffers))
		default:
			set.Offers = append(set.Offers, o)
		}
	}
	slices.SortFunc(set.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Why, b.Why))
	})
	return set, nil
}

// Close closes the connections.
func (set *Set) Close() {
	var group sync.WaitGroup
	for _, connection := range set.connections {
		group.Go(func() { connection.close(nil) })
	}
	group.Wait()
}

func (set *Set) addMissing(source string, tools int, why string) {
	set.mu.Lock()
	defer set.mu.Unlock()
	i := slices.IndexFunc(set.Missing, func(m Missing) bool { return m.Source == source && m.Why == why })
	if i < 0 {
		set.Missing = append(set.Missing, Missing{source, tools, why})
		return
	}
	set.Missing[i].Tools += tools
}

func (set *Set) addConnection(l *connection) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.connections = append(set.connections, l)
}

func (set *Set) hide(values ...string) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.Hidden = append(set.Hidden, values...)
}

// usable are the enabled tools and servers of a user's tasks, without those of former members.
func (s *Extensions) usable(ctx context.Context, teamID, userID string) (tools []Tool, servers []Server, err error) {
	const from = visible + ` AND enabled AND EXISTS (SELECT 1 FROM member m WHERE m.team_id = x.team_id AND m.user_id = x.user_id)`
	if tools, err = list(ctx, s.db, `SELECT `+toolColumns+` FROM http_tool x`+from, teamID, userID, scanTool); err == nil {
		servers, err = list(ctx, s.db, `SELECT `+serverColumns+` FROM mcp_server x`+from, teamID, userID, scanServer)
	}
	return tools, servers, err
}

func (s *Extensions) offerTool(ctx context.Context, teamID string, t Tool, set *Set) ([]Offer, error) {
	source := "the HTTP tool " + t.Name
	request, err := httptool.Compile(t.Request)
	if err != nil {
		set.addMissing(source, 0, errs.From(err).Message)
		return nil, nil
	}
	secrets, missing, err := s.secretsOf(ctx, teamID, t.OwnerID, request.Secrets())
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		set.addMissing(source, 0, "its owner has no secret named "+missing[0])
		return nil, nil
	}
	for _, value := range secrets {
		set.hide(value)
	}
	description := t.Description
	if t.WhenToUse != "" {
		description += "\nWhen to use it: " + t.WhenToUse
	}
	reads := httptool.ReadsOnly(t.Request.Method)
	return []Offer{{
		Name: t.Name, Source: source, Description: description, Schema: t.InputSchema, ReadOnly: reads, Repeatable: reads,
		Ask:    !reads && !t.Trusted,
		Action: t.Request.Method + " " + errs.Clip(request.Sample(), 150), Timeout: t.Timeout,
		Call: func(ctx context.Context, args json.RawMessage) (string, bool, error) {
			answer, err := request.Send(ctx, s.client, args, secrets)
			return answer.Text, answer.Failed, err
		},
	}}, nil
}

func (s *Extensions) offerServer(ctx context.Context, teamID string, x Server, set *Set) ([]Offer, error) {
	source := "the MCP server " + x.Name
	open := &connection{dial: func(ctx context.Context) (*mcp.Session, error) {
		session, hidden, err := s.dial(ctx, teamID, x, io.Discard)
		set.hide(hidden...)
		return session, err
	}}
	tools, err := open.first(ctx)
	set.addConnection(open)
	review := compare(x.Accepted, tools)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		if review, err = failed(err); err != nil {
			return nil, err
		}
		set.addMissing(source, 0, review.Fault)
	}
	if err := s.record(context.WithoutCancel(ctx), teamID, &x, review); err != nil {
		return nil, err
	}
	var offers []Offer
	for _, t := range review.Tools {
		if !x.Offers(t.Tool) {
			continue
		}
		accepted := indexOf(x.Accepted, t.Name) >= 0
		switch {
		case t.State == ToolAccepted:
			offers = append(offers, offerOf(x, t.Tool, source, open))
		case accepted || x.EnabledTools != nil: // the user expects it
			set.addMissing(source, 1, whyMissing(t))
		}
	}
	return offers, nil
}

func whyMissing(t ReviewedTool) string {
	switch t.State {
	case ToolChanged:
		return "changed since they were accepted: look at them and accept them again"
	case ToolNew:
		return "new, and not accepted yet"
	case ToolGone:
		return "not there any more"
	}
	return t.Fault
}

// offerOf is a server's tool. Its claims count when its owner trusts it.
func offerOf(x Server, t mcp.Tool, source string, to *connection) Offer {
	trusted := x.Trusts(t)
	return Offer{
		Name: x.OfferedAs(t), Source: source, Description: t.Description, Schema: t.Schema,
		ReadOnly: trusted && t.ReadOnly, Repeatable: trusted && (t.ReadOnly || t.Idempotent), Ask: !trusted,
		Action: t.Name + " at " + source, Timeout: MaxTimeout,
		Call: func(ctx context.Context, args json.RawMessage) (string, bool, error) {
			answer, err := to.call(ctx, t, args)
			return answer.Text, answer.Failed, err
		},
	}
}
