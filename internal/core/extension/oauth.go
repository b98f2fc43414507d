package extension

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Authorization is what may be shown of a server's OAuth 2.1.
type Authorization struct {
	Issuer    string    `json:"issuer,omitempty"` // "": there is none
	ClientID  string    `json:"client_id,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`
	Renews    bool      `json:"renews,omitempty"`    // by a refresh token
	ExpiresAt time.Time `json:"expires_at,omitzero"` // of the access token; zero: it is not known
	GrantedAt time.Time `json:"granted_at,omitzero"`
}

// Client is how we are known to an authorization server.
type Client = mcp.Client

// Begun is an authorization that waits for a person.
type Begun struct {
	URL       string // where they allow the access
	Redirect  string // where the browser is sent back to
	State     string // with it
	ExpiresAt time.Time
}

const (
	attemptTTL = 10 * time.Minute
	oauthTime  = 20 * time.Second // of one step
	// RedirectPath is the page of the console to which browsers are sent back.
	RedirectPath = "/mcp-authorized"
	maxClient    = 1000 // bytes
)

type storedAttempt struct {
	mcp.Attempt
	Until time.Time `json:"until"`
}

func (s *Extensions) sealed(kind, id string, v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.box.Seal(doc, "mcp_server/"+kind+"/"+id)
}

func (s *Extensions) unsealed(kind, id string, sealed []byte, to any) error {
	doc, err := s.box.Open(sealed, "mcp_server/"+kind+"/"+id)
	if err != nil {
		return err
	}
	return json.Unmarshal(doc, to)
}

// Authorize begins the authorization of a server of the caller's. FailedDependency says what the servers did not do.
func (s *Extensions) Authorize(ctx context.Context, id string, client Client) (Begun, error) {
	c, x, err := s.ownServer(ctx, id)
	if err != nil {
		return Begun{}, err
	}
	switch {
	case s.PublicURL == "":
		return Begun{}, errs.New(errs.Conflict, "public_url_missing",
			"The operator has not set public_url, to which browsers are sent back after an authorization.")
	case len(x.Command) > 0:
		return Begun{}, errs.New(errs.Conflict, "no_authorization", "A program has no authorization: it gets its secrets by env_vars.")
	case client.ID == "" && client.Secret != "":
		return Begun{}, errs.Field("client_id", "client_id is missing.")
	}
	for field, text := range map[string]string{"client_id": client.ID, "client_secret": client.Secret} {
		if len(text) > maxClient || db.Clean(text) != text {
			return Begun{}, errs.Field(field, "%s must be text of at most %d bytes.", field, maxClient)
		}
	}
	for _, scope := range client.Scopes {
		if err := checkText("scopes", scope, 1, 200); err != nil {
			return Begun{}, err
		}
	}
	step, cancel := context.WithTimeout(ctx, oauthTime)
	defer cancel()
	redirect := s.PublicURL + RedirectPath
	a, address, err := mcp.Begin(step, x.ID, x.URL, redirect, client, s.client)
	if err != nil {
		return Begun{}, err
	}
	until := db.At(s.Now().Add(attemptTTL)).Time
	sealed, err := s.sealed("attempt", x.ID, storedAttempt{a, until})
	if err != nil {
		return Begun{}, err
	}
	_, err = s.db.Exec(ctx, `UPDATE mcp_server SET oauth_attempt = ? WHERE id = ? AND team_id = ?`, sealed, x.ID, c.TeamID)
	return Begun{address, redirect, a.State, until}, err
}

// Authorized finishes what Authorize began, with what the browser was sent back with, and reviews the server. An
// attempt can be finished once, by the owner of the server.
func (s *Extensions) Authorized(ctx context.Context, id, state, code, issuer string) (Server, Review, error) {
	c, x, err := s.ownServer(ctx, id)
	if err != nil {
		return Server{}, Review{}, err
	}
	sealed, err := db.Value[[]byte](ctx, s.db, `SELECT oauth_attempt FROM mcp_server WHERE id = ? AND team_id = ?`, x.ID, c.TeamID)
	if err != nil {
		return Server{}, Review{}, err
	}
	var a storedAttempt
	if len(sealed) > 0 {
		if err := s.unsealed("attempt", x.ID, sealed, &a); err != nil {
			return Server{}, Review{}, err
		}
	}
	if a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) != 1 || s.Now().After(a.Until) {
		return Server{}, Review{}, errs.New(errs.Conflict, "authorization_not_begun",
			"No such authorization was begun for this server, or it has expired: begin again.").At("state")
	}
	taken := errs.New(errs.Conflict, "authorization_not_begun", "This authorization is being finished already.")
	err = db.ExecOr(ctx, s.db, taken,
		`UPDATE mcp_server SET oauth_attempt = NULL WHERE id = ? AND team_id = ? AND oauth_attempt = ?`, x.ID, c.TeamID, sealed)
	if err != nil {
		return Server{}, Review{}, err
	}
	step, cancel := context.WithTimeout(ctx, oauthTime)
	defer cancel()
	grant, err := a.Finish(step, code, issuer, s.client)
	if err != nil {
		return Server{}, Review{}, err
	}
	x.Authorization = Authorization{GrantedAt: db.At(s.Now()).Time}
	if err := s.keepGrant(ctx, c.TeamID, &x, grant); err != nil {
		return Server{}, Review{}, err
	}
	return s.Validate(ctx, id)
}

// keepGrant stores a grant.
func (s *Extensions) keepGrant(ctx context.Context, teamID string, x *Server, grant mcp.Grant) error {
	x.Authorization = Authorization{Issuer: grant.Issuer, ClientID: grant.ClientID, Scopes: grant.Scopes,
		Renews: grant.Refresh != "", ExpiresAt: grant.Expiry, GrantedAt: x.Authorization.GrantedAt}
	sealed, err := s.sealed("grant", x.ID, grant)
	if err != nil {
		return err
	}
	x.grant = sealed
	_, err = s.db.Exec(ctx, `UPDATE mcp_server SET oauth = ?, oauth_grant = ? WHERE id = ? AND team_id = ?`,
		db.Doc(x.Authorization), sealed, x.ID, teamID)
	return err
}

// Revoke forgets the authorization of a server of the caller's, and has the authorization server forget it.
func (s *Extensions) Revoke(ctx context.Context, id string) error {
	c, x, err := s.ownServer(ctx, id)
	if err != nil {
		return err
	}
	if _, err := s.db.Exec(ctx, `UPDATE mcp_server SET oauth = '{}', oauth_grant = NULL, oauth_attempt = NULL WHERE id = ? AND team_id = ?`,
		x.ID, c.TeamID); err != nil {
		return err
	}
	if len(x.grant) == 0 {
		return nil
	}
	var grant mcp.Grant
	if err := s.unsealed("grant", x.ID, x.grant, &grant); err != nil {
		return err
	}
	step, cancel := context.WithTimeout(ctx, oauthTime)
	defer cancel()
	grant.Revoke(step, s.client)
	return nil
}

// granted is the grant of a server, renewed when it has expired or when force is set; nil: it has none.
func (s *Extensions) granted(ctx context.Context, teamID string, x *Server, force bool) (*mcp.Grant, error) {
	lock, _ := s.renewing.LoadOrStore(x.ID, new(sync.Mutex)) // a refresh token may be good for one use
	renewing := lock.(*sync.Mutex)                           //nolint:forcetypeassert // nothing else is stored
	renewing.Lock()
	defer renewing.Unlock()
	var grant mcp.Grant
	read := func() (bool, error) {
		now, err := scanServer(s.db.QueryRow(ctx, `SELECT `+serverColumns+` FROM mcp_server WHERE id = ? AND team_id = ?`, x.ID, teamID))
		switch {
		case db.IsNoRows(err): // it is not stored yet
			return false, nil
		case err != nil:
			return false, err
		}
		same := string(now.grant) == string(x.grant)
		x.grant, x.Authorization = now.grant, now.Authorization
		if len(x.grant) == 0 {
			return same, nil
		}
		grant = mcp.Grant{}
		return same, s.unsealed("grant", x.ID, x.grant, &grant)
	}
	same, err := read()
	if err != nil || len(x.grant) == 0 {
		return nil, err
	}
	if !grant.Expired(s.Now()) && (!force || !same) {
		return &grant, nil
	}
	renewed, err := grant.Renew(ctx, s.client)
	if err != nil {
		if same, again := read(); again == nil && !same && len(x.grant) > 0 {
			return &grant, nil // another process has renewed it meanwhile
		}
		return nil, err
	}
	return &renewed, s.keepGrant(ctx, teamID, x, renewed)
}
