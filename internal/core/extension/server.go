package extension

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Status is the result of the last review.
type Status string

// The states of a server.
const (
	Connected Status = "connected" // all tools are accepted
	Changed   Status = "changed"   // some tools are not, and not offered
	Failed    Status = "failed"    // it could not be reached
)

// Statuses are all states of a server.
var Statuses = []Status{Connected, Changed, Failed}

// ServerTool is a tool of a server.
type ServerTool = mcp.Tool

// Server is an MCP server that a user connected. Its BearerToken is empty: the token is sealed.
type Server struct {
	ID      string
	OwnerID string
	NewServer
	MaskedToken string // may be empty
	Enabled     bool
	Accepted    []mcp.Tool
	Status      Status
	FaultCode   string
	Fault       string // of Failed
	CheckedAt   time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time

	Authorization Authorization

	sealed []byte
	grant  []byte // sealed
}

// NewServer is a server to connect.
type NewServer struct {
	Name         string // prefix of its tools
	URL          string
	Headers      map[string]string // templates
	BearerToken  string            // for Authorization: {{$NAME}} or the token
	Shared       bool
	ReadOnly     bool              // only offer tools that claim to read only
	EnabledTools []string          // nil: all
	TrustedTools []string          // need no approval
	Command      []string          // of a program in the sandbox, which is spoken with instead of URL
	EnvVars      []string          // names of the owner's secrets that are in its environment
	Hosts        []string          // that it reaches, with or without a port; none: it has no network
	Files        map[string]string // in the folder isolate.Files of the sandbox
}

// ServerChange changes a server; nil fields stay.
type ServerChange struct {
	Name, URL    *string
	Headers      *map[string]string
	BearerToken  *string // empty: none
	Enabled      *bool
	Shared       *bool
	ReadOnly     *bool
	EnabledTools *[]string // empty: all
	TrustedTools *[]string
	Command      *[]string
	EnvVars      *[]string
	Hosts        *[]string
	Files        *map[string]string
}

var errNoServer = errs.New(errs.NotFound, "mcp_server_not_found", "There is no such MCP server.")

// Connect stores a server and accepts its present tools. A failed review is not an error. Invalid names the field;
// Conflict: the caller has the name already.
func (s *Extensions) Connect(ctx context.Context, n NewServer) (Server, Review, error) {
	c, err := checkCreator(ctx, n.Shared)
	if err != nil {
		return Server{}, Review{}, err
	}
	now := db.At(s.Now())
	made := Server{
		ID: ids.New(), OwnerID: c.UserID, NewServer: n, Enabled: true, CreatedAt: now.Time, UpdatedAt: now.Time,
		CheckedAt: now.Time,
	}
	made.BearerToken = ""
	if err := s.check(&made); err != nil {
		return Server{}, Review{}, err
	}
	if err := s.setToken(&made, n.BearerToken); err != nil {
		return Server{}, Review{}, err
	}
	review, err := s.review(ctx, c.TeamID, made)
	if err != nil {
		return Server{}, Review{}, err
	}
	for i, t := range review.Tools {
		if t.State == ToolNew {
			review.Tools[i].State = ToolAccepted
			made.Accepted = append(made.Accepted, t.Tool)
		}
	}
	review.setStatus()
	made.apply(review, now.Time)
	return made, review, s.insert(ctx, c, "mcp_server", serverColumns, maxServers, append(made.values(), now))
}

func nameTaken(err error) error {
	if db.IsDuplicate(err) {
		return errs.New(errs.Conflict, "name_taken", "You have one with this name already.").At("name")
	}
	return err
}

const serverColumns = `id, user_id, name, url, headers, sealed, masked, enabled, shared, read_only, enabled_tools, trusted_tools, accepted, status, fault_code, fault, checked_at, program, oauth, oauth_grant, updated_at, created_at`

func (x *Server) values() []any {
	var enabled, sealed, grant any
	if x.EnabledTools != nil {
		enabled = db.Doc(x.EnabledTools)
	}
	if x.sealed != nil {
		sealed = x.sealed
	}
	if x.grant != nil {
		grant = x.grant
	}
	return []any{
		x.ID, x.OwnerID, x.Name, x.URL, db.Doc(x.Headers), sealed, x.MaskedToken, x.Enabled, x.Shared, x.ReadOnly, enabled,
		db.Doc(x.TrustedTools),
		db.Doc(x.Accepted), x.Status, x.FaultCode, x.Fault, db.At(x.CheckedAt), db.Doc(x.program()),
		db.Doc(x.Authorization), grant, db.At(x.UpdatedAt),
	}
}

func scanServer(r db.Row) (x Server, err error) {
	var p program
	err = r.Scan(&x.ID, &x.OwnerID, &x.Name, &x.URL, db.Into(&x.Headers), &x.sealed, &x.MaskedToken, &x.Enabled, &x.Shared,
		&x.ReadOnly,
		db.Into(&x.EnabledTools), db.Into(&x.TrustedTools), db.Into(&x.Accepted), &x.Status, &x.FaultCode, &x.Fault,
		db.Into(&x.CheckedAt), db.Into(&p), db.Into(&x.Authorization), &x.grant, db.Into(&x.UpdatedAt), db.Into(&x.CreatedAt))
	x.Command, x.EnvVars, x.Hosts, x.Files = p.Command, p.EnvVars, p.Hosts, p.Files
	return x, err
}

// Servers lists what the caller may see, their own first, by name.
func (s *Extensions) Servers(ctx context.Context) ([]Server, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return list(ctx, s.db, `SELECT `+serverColumns+` FROM mcp_server`+visible, c.TeamID, c.UserID, scanServer)
}

func (x Server) order() (owner, name string) { return x.OwnerID, x.Name + x.ID }

// Server finds one that the caller may see.
func (s *Extensions) Server(ctx context.Context, id string) (Server, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Server{}, err
	}
	return s.server(ctx, c, id)
}

func (s *Extensions) server(ctx context.Context, c account.Caller, id string) (Server, error) {
	return find(ctx, s.db, `SELECT `+serverColumns+` FROM mcp_server`, c, id, scanServer, errNoServer)
}

// ownServer finds one that the caller may change.
func (s *Extensions) ownServer(ctx context.Context, id string) (account.Caller, Server, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return c, Server{}, err
	}
	x, err := s.server(ctx, c, id)
	if err != nil {
		return c, x, err
	}
	return c, x, checkOwner(ctx, x.OwnerID)
}

// UpdateServer changes a server of the caller's without a review.
func (s *Extensions) UpdateServer(ctx context.Context, id string, change ServerChange) (Server, error) {
	c, x, err := s.ownServer(ctx, id)
	if err != nil {
		return Server{}, err
	}
	set(&x.Name, change.Name)
	before := x.URL
	set(&x.URL, change.URL)
	set(&x.Headers, change.Headers)
	set(&x.Enabled, change.Enabled)
	set(&x.Shared, change.Shared)
	set(&x.ReadOnly, change.ReadOnly)
	set(&x.EnabledTools, change.EnabledTools)
	set(&x.TrustedTools, change.TrustedTools)
	set(&x.Command, change.Command)
	set(&x.EnvVars, change.EnvVars)
	set(&x.Hosts, change.Hosts)
	set(&x.Files, change.Files)
	if _, err := checkCreator(ctx, x.Shared); err != nil {
		return Server{}, err
	}
	if err := s.check(&x); err != nil {
		return Server{}, err
	}
	if change.BearerToken != nil {
		if err := s.setToken(&x, *change.BearerToken); err != nil {
			return Server{}, err
		}
	}
	x.UpdatedAt = db.At(s.Now()).Time
	if x.URL != before { // tokens are for the server that they were given for
		x.Authorization, x.grant = Authorization{}, nil
		if _, err := s.db.Exec(ctx, `UPDATE mcp_server SET oauth = '{}', oauth_grant = NULL, oauth_attempt = NULL WHERE id = ? AND team_id = ?`,
			x.ID, c.TeamID); err != nil {
			return Server{}, err
		}
	}
	_, err = s.db.Exec(ctx, `UPDATE mcp_server SET name = ?, url = ?, headers = ?, sealed = ?, masked = ?, enabled = ?, shared = ?, read_only = ?, enabled_tools = ?,
		trusted_tools = ?, program = ?, updated_at = ? WHERE id = ? AND team_id = ?`,
		append(slices.Clone(x.values()[2:12]), db.Doc(x.program()), db.At(x.UpdatedAt), x.ID, c.TeamID)...)
	return x, nameTaken(err)
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// DeleteServer deletes a server of the caller's or, for an admin, a shared one.
func (s *Extensions) DeleteServer(ctx context.Context, id string) error {
	return s.remove(ctx, "mcp_server", id, errNoServer)
}

// OfferedAs is the name of a tool for models.
func (x Server) OfferedAs(t ServerTool) string { return mcp.Offered(x.Name, t.Name) }

// Offers reports whether tasks may use a tool.
func (x Server) Offers(t mcp.Tool) bool {
	return (x.EnabledTools == nil || slices.Contains(x.EnabledTools, t.Name)) && (!x.ReadOnly || t.ReadOnly)
}

// Trusts reports whether a tool needs no approval.
func (x Server) Trusts(t mcp.Tool) bool { return slices.Contains(x.TrustedTools, t.Name) }
