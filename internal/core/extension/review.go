package extension

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/httptool"
	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ToolState is what became of a server's tool since it was accepted.
type ToolState string

// The states of a server's tool. Only what is accepted is offered to tasks.
const (
	ToolAccepted ToolState = "accepted" // it is as it was
	ToolChanged  ToolState = "changed"  // its description, its arguments or what it claims is another
	ToolNew      ToolState = "new"      // nobody has accepted it
	ToolGone     ToolState = "gone"     // it was accepted, and is not there any more
	ToolUnusable ToolState = "unusable" // it cannot be offered; Fault says why
)

// ToolStates are all of them.
var ToolStates = []ToolState{ToolAccepted, ToolChanged, ToolNew, ToolGone, ToolUnusable}

// ReviewedTool is a tool as the server offers it now; one that is gone is as it was.
type ReviewedTool struct {
	mcp.Tool
	State ToolState
}

// Review is what a server offers now, beside what was accepted.
type Review struct {
	Status Status
	Code   string // of Failed, for programs: one of mcp's, or secret_not_found
	Fault  string // of Failed, for people
	Tools  []ReviewedTool
	More   int // tools that were not looked at, because there are too many
}

// reviewTimeout bounds connecting to a server and listing its tools.
const reviewTimeout = 20 * time.Second

// CodeNoSecret says that a secret that a server or a tool needs is not there.
const CodeNoSecret = "secret_not_found"

// dial connects to a server with its owner's secrets; hidden are the values that must not
// be seen in what it sends. An error is for the person who configured it.
func (s *Extensions) dial(ctx context.Context, teamID string, x Server) (session *mcp.Session, hidden []string, err error) {
	token, err := s.token(x)
	if err != nil {
		return nil, nil, err
	}
	fields := maps.Clone(x.Headers)
	if token != "" {
		maps.DeleteFunc(fields, func(name, _ string) bool { return strings.EqualFold(name, "Authorization") })
	}
	named := strings.Contains(token, "{{")
	if named {
		fields["Authorization"] = "Bearer " + token
	}
	filled, hidden, err := s.fill(ctx, teamID, x.OwnerID, fields)
	if err != nil {
		return nil, nil, err
	}
	if token != "" && !named {
		filled["Authorization"], hidden = "Bearer "+token, append(hidden, token)
	}
	session, err = mcp.Connect(ctx, mcp.Config{URL: x.URL, Header: filled, HTTP: s.client})
	return session, hidden, err
}

// fill puts a person's secrets into headers.
func (s *Extensions) fill(ctx context.Context, teamID, ownerID string, fields map[string]string) (filled map[string]string, values []string, err error) {
	compiled, err := httptool.CompileHeaders(fields)
	if err != nil {
		return nil, nil, err
	}
	known, missing, err := s.secretsOf(ctx, teamID, ownerID, compiled.Secrets())
	if err != nil {
		return nil, nil, err
	}
	if len(missing) > 0 {
		return nil, nil, errs.New(errs.Invalid, CodeNoSecret, "There is no secret named %s.", strings.Join(missing, ", "))
	}
	if filled, err = compiled.Fill(known); err != nil {
		return nil, nil, errs.New(errs.Invalid, "invalid_header", "A header cannot be sent: %s.", err.Error())
	}
	return filled, slices.Collect(maps.Values(known)), nil
}

// review connects to a server and compares what it offers with what was accepted. That it
// cannot be asked is no error, but part of the answer.
func (s *Extensions) review(ctx context.Context, teamID string, x Server) (Review, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	session, _, err := s.dial(ctx, teamID, x)
	if err != nil {
		return failed(err)
	}
	defer session.Close()
	tools, more, err := session.Tools(ctx)
	if err != nil {
		return failed(err)
	}
	r := compare(x.Accepted, tools)
	r.More = more
	return r, nil
}

// failed is the review of a server that could not be asked; what is our own fault is an
// error.
func failed(err error) (Review, error) {
	var why *errs.Error
	if !errors.As(err, &why) || why.Kind == errs.Internal {
		return Review{}, err
	}
	return Review{Status: Failed, Code: why.Code, Fault: why.Message, Tools: []ReviewedTool{}}, nil
}

// compare holds what a server offers against what was accepted.
func compare(accepted, offered []mcp.Tool) Review {
	r := Review{Tools: []ReviewedTool{}}
	for _, t := range offered {
		state := ToolNew
		switch i := indexOf(accepted, t.Name); {
		case t.Fault != "":
			state = ToolUnusable
		case i >= 0 && accepted[i].Digest == t.Digest:
			state = ToolAccepted
		case i >= 0:
			state = ToolChanged
		}
		r.Tools = append(r.Tools, ReviewedTool{t, state})
	}
	for _, a := range accepted {
		if indexOf(offered, a.Name) < 0 {
			r.Tools = append(r.Tools, ReviewedTool{a, ToolGone})
		}
	}
	r.settle()
	return r
}

func indexOf(tools []mcp.Tool, name string) int {
	return slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == name })
}

// settle says whether there is anything for the owner to look at.
func (r *Review) settle() {
	if r.Status == Failed {
		return
	}
	r.Status = Connected
	if slices.ContainsFunc(r.Tools, func(t ReviewedTool) bool {
		return t.State == ToolChanged || t.State == ToolNew || t.State == ToolGone
	}) {
		r.Status = Changed
	}
}

// judge notes what came of a review.
func (x *Server) judge(r Review, at time.Time) {
	x.Status, x.FaultCode, x.Fault, x.CheckedAt = r.Status, r.Code, clip(r.Fault, 500), at
}

// record writes what came of a review.
func (s *Extensions) record(ctx context.Context, teamID string, x *Server, r Review) error {
	x.judge(r, db.At(s.Now()).Time)
	_, err := s.db.Exec(ctx, `UPDATE mcp_server SET status = ?, fault_code = ?, fault = ?, checked_at = ? WHERE id = ? AND team_id = ?`,
		x.Status, x.FaultCode, x.Fault, db.At(x.CheckedAt), x.ID, teamID)
	return err
}

// Validate connects to a server that the caller may see, and says what it offers now. It
// accepts nothing.
func (s *Extensions) Validate(ctx context.Context, id string) (Server, Review, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Server{}, Review{}, err
	}
	x, err := s.server(ctx, c, id)
	if err != nil {
		return Server{}, Review{}, err
	}
	r, err := s.review(ctx, c.TeamID, x)
	if err != nil {
		return Server{}, Review{}, err
	}
	return x, r, s.record(ctx, c.TeamID, &x, r)
}

// Accept takes tools of a server of the caller's as they are now, by the digests that a
// review showed; what is gone is forgotten. A digest that no usable tool has now is a
// Conflict: it has changed once more. FailedDependency: the server could not be asked.
func (s *Extensions) Accept(ctx context.Context, id string, digests []string) (Server, Review, error) {
	c, x, err := s.ownServer(ctx, id)
	if err != nil {
		return Server{}, Review{}, err
	}
	r, err := s.review(ctx, c.TeamID, x)
	if err != nil {
		return Server{}, Review{}, err
	}
	if r.Status == Failed {
		return Server{}, Review{}, errs.New(errs.FailedDependency, r.Code, "%s", r.Fault)
	}
	for _, digest := range digests {
		if !slices.ContainsFunc(r.Tools, func(t ReviewedTool) bool {
			return t.Digest == digest && t.State != ToolGone && t.State != ToolUnusable
		}) {
			return Server{}, Review{}, errs.New(errs.Conflict, "tool_changed", "No tool of the server has the digest %.64q now; look at it again.", digest).At("digests")
		}
	}
	var accepted []mcp.Tool
	for _, t := range r.Tools {
		switch {
		case t.State == ToolGone:
		case slices.Contains(digests, t.Digest) && t.State != ToolUnusable, t.State == ToolAccepted:
			accepted = append(accepted, t.Tool)
		case t.State == ToolChanged: // what was accepted stays so, should the server go back to it
			accepted = append(accepted, x.Accepted[indexOf(x.Accepted, t.Name)])
		}
	}
	offered := make([]mcp.Tool, 0, len(r.Tools))
	for _, t := range r.Tools {
		if t.State != ToolGone {
			offered = append(offered, t.Tool)
		}
	}
	x.Accepted, r.Tools = accepted, compare(accepted, offered).Tools
	r.settle()
	x.judge(r, db.At(s.Now()).Time)
	x.UpdatedAt = x.CheckedAt
	_, err = s.db.Exec(ctx, `UPDATE mcp_server SET accepted = ?, status = ?, fault_code = '', fault = '', checked_at = ?, updated_at = ? WHERE id = ? AND team_id = ?`,
		db.Doc(x.Accepted), x.Status, db.At(x.CheckedAt), db.At(x.UpdatedAt), x.ID, c.TeamID)
	return x, r, err
}
