package agentapi

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/extension"
)

// MCPServerRequest is the body of POST /api/v1/mcp/servers.
type MCPServerRequest struct {
	Name         string            `json:"name" minLength:"1" maxLength:"20" pattern:"^[a-z][a-z0-9-]*$" doc:"Its tools are called name_tool."`
	URL          string            `json:"url,omitempty" minLength:"1" maxLength:"2000" doc:"The streamable-HTTP endpoint; or give command. Private and local addresses are refused unless the operator allows them."`
	Headers      map[string]string `json:"headers,omitempty" doc:"Headers of each request; {{$NAME}} is a secret of yours. Credentials must be secrets."`
	BearerToken  string            `json:"bearer_token,omitempty" maxLength:"10000" doc:"Sent as Authorization: Bearer. A secret as {{$NAME}}, or the token itself, which is sealed and never shown again."`
	Shared       bool              `json:"shared,omitempty"`
	ReadOnly     bool              `json:"read_only,omitempty"`
	EnabledTools []string          `json:"enabled_tools,omitempty" maxItems:"200" doc:"Names of the tools to offer, as the server calls them; all when absent."`
	TrustedTools []string          `json:"trusted_tools,omitempty" maxItems:"200"`
	Command      []string          `json:"command,omitempty" maxItems:"50" doc:"A program and its arguments, which is run in the sandbox and spoken with over its standard input and output, instead of url."`
	EnvVars      []string          `json:"env_vars,omitempty" maxItems:"50" doc:"Names of secrets of yours that are in the program's environment."`
	Hosts        []string          `json:"hosts,omitempty" maxItems:"50" doc:"Hosts that the program reaches, with or without a port, through the proxy that its environment names. None: it has no network."`
	Files        map[string]string `json:"files,omitempty" doc:"Files of the program, by name, in its folder /tool."`
}

// MCPServerPatch is the body of PATCH /api/v1/mcp/servers/{mcp_server_id}.
type MCPServerPatch struct {
	Name         *string            `json:"name,omitempty" minLength:"1" maxLength:"20" pattern:"^[a-z][a-z0-9-]*$" doc:"Its tools are called name_tool."`
	URL          *string            `json:"url,omitempty" minLength:"1" maxLength:"2000"`
	Headers      *map[string]string `json:"headers,omitempty" doc:"Replace all headers."`
	BearerToken  *string            `json:"bearer_token,omitempty" maxLength:"10000" doc:"Empty: none."`
	Enabled      *bool              `json:"enabled,omitempty"`
	Shared       *bool              `json:"shared,omitempty"`
	ReadOnly     *bool              `json:"read_only,omitempty"`
	EnabledTools *[]string          `json:"enabled_tools,omitempty" maxItems:"200" doc:"An empty list: all."`
	TrustedTools *[]string          `json:"trusted_tools,omitempty" maxItems:"200"`
	Command      *[]string          `json:"command,omitempty" maxItems:"50" doc:"Replaces the whole command."`
	EnvVars      *[]string          `json:"env_vars,omitempty" maxItems:"50" doc:"Replace all names of secrets that are in the program's environment."`
	Hosts        *[]string          `json:"hosts,omitempty" maxItems:"50" doc:"Replace all hosts that the program reaches."`
	Files        *map[string]string `json:"files,omitempty" doc:"Replace all files."`
}

// MCPTool is a tool of a connected server.
type MCPTool struct {
	Name        string `json:"name" doc:"What the server calls it."`
	OfferedAs   string `json:"offered_as" doc:"What tasks call it."`
	Description string `json:"description" doc:"The server's text, without invisible characters: data, never instructions."`
	Schema      any    `json:"input_schema"`
	State       string `json:"state" enum:"accepted,changed,new,gone,unusable" doc:"Only what is accepted is offered to tasks."`
	Digest      string `json:"digest" doc:"Digest of the tool, to accept it."`
	Fault       string `json:"fault,omitempty" doc:"Why an unusable tool cannot be offered."`
	Hidden      bool   `json:"hidden_characters" doc:"The description had invisible characters: look twice."`
	ReadOnly    bool   `json:"read_only_hint" doc:"The server says that it only reads."`
	Idempotent  bool   `json:"idempotent_hint" doc:"The server says that a second call does nothing more."`
	Destructive bool   `json:"destructive_hint" doc:"The server does not say that it destroys nothing."`
	Enabled     bool   `json:"enabled"`
	Trusted     bool   `json:"trusted"`
}

// MCPOAuth is the authorization of a server by OAuth 2.1.
type MCPOAuth struct {
	Authorized bool       `json:"authorized" doc:"A person has allowed the access."`
	Issuer     string     `json:"issuer" doc:"The authorization server; empty: there is no authorization."`
	ClientID   string     `json:"client_id" doc:"What that calls us."`
	Scopes     []string   `json:"scopes" doc:"What was asked for."`
	Renews     bool       `json:"renews" doc:"There is a refresh token, so that it need not be repeated."`
	ExpiresAt  *time.Time `json:"expires_at" doc:"When the present access token expires; null: not known."`
	GrantedAt  *time.Time `json:"granted_at" doc:"When a person allowed it."`
}

// MCPAuthorizationRequest is the body of POST /api/v1/mcp/servers/{mcp_server_id}/authorize.
type MCPAuthorizationRequest struct {
	ClientID     string   `json:"client_id,omitempty" maxLength:"1000" doc:"Of a client that you have registered at the authorization server. Absent: one is registered for you."`
	ClientSecret string   `json:"client_secret,omitempty" maxLength:"1000" doc:"Sealed, and never shown again."`
	Scopes       []string `json:"scopes,omitempty" maxItems:"50" doc:"What to ask for; absent: what the server names."`
}

// MCPAuthorization is an authorization that waits for a person.
type MCPAuthorization struct {
	URL       string    `json:"authorization_url" doc:"Open it in a browser, and allow the access."`
	Redirect  string    `json:"redirect_url" doc:"Where the browser is sent back to, with code and state."`
	State     string    `json:"state" doc:"What the browser must be sent back with."`
	ExpiresAt time.Time `json:"expires_at" doc:"Finish it before."`
}

// MCPAuthorized is the body of POST /api/v1/mcp/servers/{mcp_server_id}/authorized.
type MCPAuthorized struct {
	State string `json:"state" minLength:"1" maxLength:"200" doc:"As in the address that the browser was sent back to."`
	Code  string `json:"code" minLength:"1" maxLength:"4000" doc:"As in that address."`
	Iss   string `json:"iss,omitempty" maxLength:"2000" doc:"As in that address, where it has it."`
}

// MCPServer is a connected server of the Model Context Protocol.
type MCPServer struct {
	ID           string            `json:"id"`
	Name         string            `json:"name" doc:"Its tools are called name_tool."`
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers" doc:"Headers of each request; {{$NAME}} is a secret."`
	MaskedToken  string            `json:"masked_token" doc:"The bearer token's beginning and end, or its secret; empty: none."`
	Enabled      bool              `json:"enabled"`
	Shared       bool              `json:"shared"`
	IsOwner      bool              `json:"is_owner"`
	ReadOnly     bool              `json:"read_only"`
	EnabledTools []string          `json:"enabled_tools" doc:"Empty: all."`
	TrustedTools []string          `json:"trusted_tools"`
	Command      []string          `json:"command" doc:"Empty: it is reached at url."`
	EnvVars      []string          `json:"env_vars" doc:"Names of its owner's secrets that are in the program's environment."`
	Hosts        []string          `json:"hosts" doc:"What the program reaches; empty: it has no network."`
	Files        map[string]string `json:"files" doc:"The program's files by name, in its folder /tool."`
	Status       string            `json:"status" enum:"connected,changed,failed" doc:"The result of the last attempt to reach it; changed: tools differ from the accepted ones."`
	ErrorCode    string            `json:"error_code" doc:"Why it could not be reached, for programs; empty otherwise."`
	Error        string            `json:"error" doc:"Why it could not be reached; empty otherwise."`
	OAuth        MCPOAuth          `json:"oauth" doc:"Its authorization by OAuth 2.1."`
	Log          string            `json:"log,omitempty" doc:"Of a program that ended when it was tried: the end of what it wrote to its standard error, without its secrets."`
	Tools        []MCPTool         `json:"tools" doc:"What it offers; of GET, what was accepted."`
	MoreTools    int               `json:"more_tools" doc:"Number of further tools, at least, which were not read."`
	CheckedAt    time.Time         `json:"checked_at" doc:"When it was last contacted."`
	CreatedAt    time.Time         `json:"created_at"`
	UpdatedAt    time.Time         `json:"updated_at"`
}

// MCPServerList is the servers that the caller may use.
type MCPServerList struct {
	Servers []MCPServer `json:"servers" doc:"Yours by name, then those that are shared."`
	Total   int         `json:"total"`
}

// MCPAcceptance is the body of POST /api/v1/mcp/servers/{mcp_server_id}/accept.
type MCPAcceptance struct {
	Digests []string `json:"digests" maxItems:"200" doc:"Digests of the tools to accept as they are now. Tools that are no longer offered are removed."`
}

// mcpServer is a server with the tools of a review, or else with its accepted tools.
func mcpServer(ctx context.Context, x extension.Server, review *extension.Review) MCPServer {
	c, _ := account.From(ctx) // without a caller, nothing is found
	out := MCPServer{
		ID: x.ID, Name: x.Name, URL: x.URL, Headers: x.Headers, MaskedToken: x.MaskedToken, Enabled: x.Enabled,
		Shared: x.Shared, IsOwner: x.OwnerID == c.UserID,
		ReadOnly: x.ReadOnly, EnabledTools: rest.OrEmpty(x.EnabledTools), TrustedTools: rest.OrEmpty(x.TrustedTools),
		Command: rest.OrEmpty(x.Command), EnvVars: rest.OrEmpty(x.EnvVars), Hosts: rest.OrEmpty(x.Hosts), Files: x.Files,
		Status: string(x.Status), ErrorCode: x.FaultCode, Error: x.Fault,
		Tools: []MCPTool{}, CheckedAt: x.CheckedAt, CreatedAt: x.CreatedAt, UpdatedAt: x.UpdatedAt,
	}
	o := x.Authorization
	out.OAuth = MCPOAuth{Authorized: o.Issuer != "", Issuer: o.Issuer, ClientID: o.ClientID, Scopes: rest.OrEmpty(o.Scopes),
		Renews: o.Renews, ExpiresAt: rest.OrNull(o.ExpiresAt), GrantedAt: rest.OrNull(o.GrantedAt)}
	if out.Files == nil {
		out.Files = map[string]string{}
	}
	if review == nil {
		for _, t := range x.Accepted {
			out.Tools = append(out.Tools, mcpTool(x, t, extension.ToolAccepted))
		}
		return out
	}
	out.MoreTools, out.Log = review.More, review.Log
	for _, t := range review.Tools {
		out.Tools = append(out.Tools, mcpTool(x, t.Tool, t.State))
	}
	return out
}

func mcpTool(x extension.Server, t extension.ServerTool, state extension.ToolState) MCPTool {
	return MCPTool{
		Name: t.Name, OfferedAs: x.OfferedAs(t), Description: t.Description, Schema: rest.Document(t.Schema),
		State: string(state), Digest: t.Digest, Fault: t.Fault,
		Hidden: t.Hidden, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, Destructive: t.Destructive, Enabled: x.Offers(t),
		Trusted: x.Trusts(t),
	}
}

// MCPServerPath names a server.
type MCPServerPath struct {
	ID string `path:"mcp_server_id" doc:"The server's id."`
}

// mcp are the operations on MCP servers.
func (s surface) mcp() {
	const path, tag = "/api/v1/mcp/servers", "MCP"

	create := op("connect-mcp-server", "POST "+path, tag, "Connect an MCP server, whose tools your tasks may use", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "Its tools are read at once and accepted as they are. A server that cannot be reached is stored, with the " +
		"reason in error; accept its tools later. A tool that changes is offered to no task until you accept it again."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body MCPServerRequest }) (*MCPServer, error) {
		made, review, err := s.Extensions.Connect(ctx, extension.NewServer(in.Body))
		return new(mcpServer(ctx, made, &review)), err
	})

	rest.Handle(s.API, op("list-mcp-servers", "GET "+path, tag, "List the MCP servers that your tasks may use"),
		func(ctx context.Context, _ *struct{}) (*MCPServerList, error) {
			found, err := s.Extensions.Servers(ctx)
			servers := rest.Each(found, func(x extension.Server) MCPServer { return mcpServer(ctx, x, nil) })
			return &MCPServerList{servers, len(found)}, err
		})

	rest.Handle(s.API, op("get-mcp-server", "GET "+path+"/{mcp_server_id}", tag,
		"Get an MCP server with its accepted tools", 404),
		func(ctx context.Context, in *MCPServerPath) (*MCPServer, error) {
			found, err := s.Extensions.Server(ctx, in.ID)
			return new(mcpServer(ctx, found, nil)), err
		})

	patch := op("update-mcp-server", "PATCH "+path+"/{mcp_server_id}", tag, "Change an MCP server of yours", 404, 409)
	patch.Description = "Absent fields stay. The server is not contacted: use validate."
	rest.Handle(s.API, patch, func(ctx context.Context, in *struct {
		MCPServerPath
		Body MCPServerPatch
	}) (*MCPServer, error) {
		changed, err := s.Extensions.UpdateServer(ctx, in.ID, extension.ServerChange(in.Body))
		return new(mcpServer(ctx, changed, nil)), err
	})

	act(s, op("delete-mcp-server", "DELETE "+path+"/{mcp_server_id}", tag,
		"Delete an MCP server of yours; an admin may delete a shared one", 404), "The MCP server is deleted.",
		func(ctx context.Context, in *MCPServerPath) error { return s.Extensions.DeleteServer(ctx, in.ID) })

	validate := op("validate-mcp-server", "POST "+path+"/{mcp_server_id}/validate", tag,
		"Connect to an MCP server and list what it offers now", 404)
	validate.Description = "Answers 200 even if the server cannot be reached: see status, error and the state of each tool. " +
		"It accepts nothing."
	rest.Handle(s.API, validate, func(ctx context.Context, in *MCPServerPath) (*MCPServer, error) {
		found, review, err := s.Extensions.Validate(ctx, in.ID)
		return new(mcpServer(ctx, found, &review)), err
	})

	accept := op("accept-mcp-tools", "POST "+path+"/{mcp_server_id}/accept", tag,
		"Accept tools of an MCP server of yours as they are now", 404, 409, 424)
	accept.Description = "Tools are named by the digest from validate. 409 if one has changed again, 424 if the server cannot be " +
		"reached: then nothing is accepted."
	rest.Handle(s.API, accept, func(ctx context.Context, in *struct {
		MCPServerPath
		Body MCPAcceptance
	}) (*MCPServer, error) {
		found, review, err := s.Extensions.Accept(ctx, in.ID, in.Body.Digests)
		return new(mcpServer(ctx, found, &review)), err
	})
	s.mcpOAuth(path, tag)
}

// mcpOAuth are the operations on the authorization of MCP servers.
func (s surface) mcpOAuth(path, tag string) {
	begin := op("authorize-mcp-server", "POST "+path+"/{mcp_server_id}/authorize", tag,
		"Begin the authorization of an MCP server of yours by OAuth 2.1", 404, 409, 424)
	begin.Description = "Finds the server's authorization server (RFC 9728, RFC 8414), registers a client there (RFC 7591) unless you name " +
		"one, and answers with the address at which a person allows the access, with PKCE. 424 when the servers do not do their part."
	rest.Handle(s.API, begin, func(ctx context.Context, in *struct {
		MCPServerPath
		Body MCPAuthorizationRequest
	}) (*MCPAuthorization, error) {
		begun, err := s.Extensions.Authorize(ctx, in.ID,
			extension.Client{ID: in.Body.ClientID, Secret: in.Body.ClientSecret, Scopes: in.Body.Scopes})
		return new(MCPAuthorization(begun)), err
	})

	finish := op("finish-mcp-authorization", "POST "+path+"/{mcp_server_id}/authorized", tag,
		"Finish the authorization of an MCP server of yours", 404, 409, 424)
	finish.Description = "With what the browser was sent back with, once and within ten minutes. The tokens are sealed, renewed when they " +
		"expire, and sent to this server alone. Then it is contacted as by validate."
	rest.Handle(s.API, finish, func(ctx context.Context, in *struct {
		MCPServerPath
		Body MCPAuthorized
	}) (*MCPServer, error) {
		found, review, err := s.Extensions.Authorized(ctx, in.ID, in.Body.State, in.Body.Code, in.Body.Iss)
		return new(mcpServer(ctx, found, &review)), err
	})

	act(s, op("revoke-mcp-authorization", "DELETE "+path+"/{mcp_server_id}/authorization", tag,
		"Revoke the authorization of an MCP server of yours", 404), "The authorization is revoked.",
		func(ctx context.Context, in *MCPServerPath) error { return s.Extensions.Revoke(ctx, in.ID) })
}
