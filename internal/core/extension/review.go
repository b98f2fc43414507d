package extension

import (
	"context"
	"errors"
	"io"
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

// ToolState compares a server's tool with the accepted one.
type ToolState string

// The states of a tool. Only accepted ones are offered.
const (
	ToolAccepted ToolState = "accepted" // unchanged
	ToolChanged  ToolState = "changed"  // description, arguments or claims differ
	ToolNew      ToolState = "new"      // not accepted yet
	ToolGone     ToolState = "gone"     // accepted, but no longer there
	ToolUnusable ToolState = "unusable" // see Fault
)

// ToolStates are all states of a tool.
var ToolStates = []ToolState{ToolAccepted, ToolChanged, ToolNew, ToolGone, ToolUnusable}

// ReviewedTool is a tool as it is now or, if gone, as it was accepted.
type ReviewedTool struct {
	mcp.Tool
	State ToolState
}

// Review compares a server's tools with the accepted ones.
type Review struct {
	Status Status
	Code   string // of Failed: one of mcp's, or secret_not_found
	Fault  string // of Failed
	Tools  []ReviewedTool
	More   int    // tools beyond the bound
	Log    string // what a program that ended wrote to its standard error
}

const reviewTimeout = 20 * time.Second

// CodeNoSecret says that a needed secret does not exist.
const CodeNoSecret = "secret_not_found"

// dial connects to a server with its owner's secrets; hidden are values to remove from what it sends.
func (s *Extensions) dial(
	ctx context.Context, teamID string, x Server, log io.Writer,
) (session *mcp.Session, hidden []string, err error) {
	if len(x.Command) > 0 {
		return s.dialProgram(ctx, teamID, x, log)
	}
	grant, err := s.granted(ctx, teamID, &x, false)
	if err != nil {
		return nil, nil, err
	}
	session, hidden, err = s.dialURL(ctx, teamID, x, grant)
	if why := errs.From(err); err == nil || grant == nil || grant.Refresh == "" || why.Code != mcp.CodeCredentials {
		return session, hidden, err
	}
	if grant, err = s.granted(ctx, teamID, &x, true); err != nil || grant == nil { // it was revoked before its end
		return nil, hidden, err
	}
	session, more, err := s.dialURL(ctx, teamID, x, grant)
	return session, append(hidden, more...), err
}

// dialURL connects to a server over HTTP: with its authorization, or with its bearer token.
func (s *Extensions) dialURL(
	ctx context.Context, teamID string, x Server, grant *mcp.Grant,
) (session *mcp.Session, hidden []string, err error) {
	token, err := s.token(x)
	if err != nil {
		return nil, nil, err
	}
	if grant != nil {
		token = grant.Access
	}
	fields := maps.Clone(x.Headers)
	if token != "" {
		maps.DeleteFunc(fields, func(name, _ string) bool { return strings.EqualFold(name, "Authorization") })
	}
	named := grant == nil && strings.Contains(token, "{{")
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
	if grant != nil {
		hidden = append(hidden, grant.Secrets()...)
	}
	session, err = mcp.Connect(ctx, mcp.Config{URL: x.URL, Header: filled, HTTP: s.client})
	return session, hidden, err
}

func (s *Extensions) fill(
	ctx context.Context, teamID, ownerID string, fields map[string]string,
) (filled map[string]string, values []string, err error) {
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

// review connects to a server and compares its tools. A server that cannot be reached is a failed review, not an
// error.
func (s *Extensions) review(ctx context.Context, teamID string, x Server) (Review, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	var log strings.Builder
	session, _, err := s.dial(ctx, teamID, x, &log)
	if err != nil {
		r, err := failed(err)
		r.Log = log.String()
		return r, err
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

// failed is the review for an error, unless that is internal.
func failed(err error) (Review, error) {
	var why *errs.Error
	if !errors.As(err, &why) || why.Kind == errs.Internal {
		return Review{}, err
	}
	return Review{Status: Failed, Code: why.Code, Fault: why.Message, Tools: []ReviewedTool{}}, nil
}

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
	r.setStatus()
	return r
}

func indexOf(tools []mcp.Tool, name string) int {
	return slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == name })
}

func (r *Review) setStatus() {
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

// apply sets the server's status by a review.
func (x *Server) apply(r Review, at time.Time) {
	x.Status, x.FaultCode, x.Fault, x.CheckedAt = r.Status, r.Code, errs.Clip(r.Fault, 500), at
}

func (s *Extensions) record(ctx context.Context, teamID string, x *Server, r Review) error {
	x.apply(r, db.At(s.Now()).Time)
	_, err := s.db.Exec(ctx, `UPDATE mcp_server SET status = ?, fault_code = ?, fault = ?, checked_at = ? WHERE id = ? AND team_id = ?`,
		x.Status, x.FaultCode, x.Fault, db.At(x.CheckedAt), x.ID, teamID)
	return err
}

// Validate reviews a server that the caller may see, and accepts nothing.
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

// Accept accepts tools of a server of the caller's by the digests of a review, and forgets those that are gone.
// Conflict: a digest is no longer current. FailedDependency: the server cannot be reached.
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
			return Server{}, Review{}, errs.New(errs.Conflict, "tool_changed",
				"No tool of the server has the digest %.64q now; look at it again.", digest).At("digests")
		}
	}
	var accepted, offered []mcp.Tool
	for _, t := range r.Tools {
		if t.State == ToolGone {
			continue
		}
		offered = append(offered, t.Tool)
		switch {
		case slices.Contains(digests, t.Digest) && t.State != ToolUnusable, t.State == ToolAccepted:
			accepted = append(accepted, t.Tool)
		case t.State == ToolChanged: // stays accepted in case the server returns to it
			accepted = append(accepted, x.Accepted[indexOf(x.Accepted, t.Name)])
		}
	}
	x.Accepted, r.Tools = accepted, compare(accepted, offered).Tools
	r.setStatus()
	x.apply(r, db.At(s.Now()).Time)
	x.UpdatedAt = x.CheckedAt
	_, err = s.db.Exec(ctx, `UPDATE mcp_server SET accepted = ?, status = ?, fault_code = '', fault = '', checked_at = ?, updated_at = ? WHERE id = ? AND team_id = ?`,
		db.Doc(x.Accepted), x.Status, db.At(x.CheckedAt), db.At(x.UpdatedAt), x.ID, c.TeamID)
	return x, r, err
}
