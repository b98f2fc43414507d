package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// CodeOAuth is the code of errors of an authorization.
const CodeOAuth = "mcp_authorization_failed"

// Bounds of an authorization.
const (
	stateLength = 32
	maxScopes   = 50
	maxAddress  = 4000             // bytes
	early       = 30 * time.Second // a token is refreshed before it expires
)

// Grant is what an authorization server gave (OAuth 2.1). It is a secret.
type Grant struct {
	Issuer    string           `json:"issuer"`
	Resource  string           `json:"resource"` // the server that the tokens are for
	TokenURL  string           `json:"token_url"`
	RevokeURL string           `json:"revoke_url,omitempty"`
	ClientID  string           `json:"client_id"`
	Secret    string           `json:"secret,omitempty"` // of the client
	Style     oauth2.AuthStyle `json:"style"`
	Scopes    []string         `json:"scopes,omitempty"`
	Access    string           `json:"access,omitempty"`
	Refresh   string           `json:"refresh,omitempty"`
	Expiry    time.Time        `json:"expiry,omitzero"` // zero: it is not known
}

// Attempt is an authorization that a person has begun. It is a secret.
type Attempt struct {
	Grant
	State    string `json:"state"`
	Verifier string `json:"verifier"`
	Redirect string `json:"redirect"`
	Named    bool   `json:"named"` // the server names itself when it sends the browser back (RFC 9207)
}

// Client is how we are known to an authorization server; without an ID we are registered (RFC 7591).
type Client struct {
	ID, Secret string
	Scopes     []string // to ask for; none: those that the server names
}

// failedOAuth has no text of the servers.
func failedOAuth(err error, format string, args ...any) error {
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		return errs.New(errs.FailedDependency, CodeBlocked, "%s", errs.From(denied).Message)
	}
	return errs.New(errs.FailedDependency, CodeOAuth, format, args...).Because(err)
}

// Begin finds the authorization server of an MCP server (RFC 9728, RFC 8414), registers us there where needed, and
// returns the address at which a person allows the access.
// id is in the state, for who finishes it.
func Begin(
	ctx context.Context, id, server, redirect string, c Client, h *http.Client,
) (a Attempt, address string, err error) {
	challenges, err := challengesOf(ctx, server, h)
	if err != nil {
		return a, "", err
	}
	resource, issuer, scopes, err := issuerOf(ctx, server, challenges, h)
	if err != nil {
		return a, "", err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, issuer, h)
	if err != nil || meta == nil || meta.AuthorizationEndpoint == "" || meta.TokenEndpoint == "" {
		return a, "", failedOAuth(err, "The authorization server %s has no metadata that can be used (RFC 8414, with PKCE).",
			clean(issuer, 200))
	}
	if !slices.Contains(meta.CodeChallengeMethodsSupported, "S256") {
		return a, "", failedOAuth(nil, "The authorization server does not support PKCE with S256.")
	}
	if len(c.Scopes) > 0 {
		scopes = c.Scopes
	} else if slices.Contains(meta.ScopesSupported, "offline_access") && !slices.Contains(scopes, "offline_access") {
		scopes = append(scopes, "offline_access") // for a token that refreshes
	}
	if len(scopes) > maxScopes {
		scopes = scopes[:maxScopes]
	}
	a = Attempt{Grant: Grant{Issuer: meta.Issuer, Resource: resource, TokenURL: meta.TokenEndpoint,
		RevokeURL: meta.RevocationEndpoint, ClientID: c.ID, Secret: c.Secret, Scopes: scopes},
		State: id + "." + ids.Random(stateLength), Verifier: oauth2.GenerateVerifier(), Redirect: redirect,
		Named: meta.AuthorizationResponseIssParameterSupported}
	a.Style = styleOf(meta.TokenEndpointAuthMethodsSupported, c.Secret)
	if c.ID == "" {
		if err := a.register(ctx, meta.RegistrationEndpoint, h); err != nil {
			return a, "", err
		}
	}
	config := a.config(redirect)
	config.Endpoint.AuthURL = meta.AuthorizationEndpoint
	address = config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier),
		oauth2.SetAuthURLParam("resource", a.Resource))
	if len(address) > maxAddress {
		return a, "", failedOAuth(nil, "The address of the authorization is longer than %d bytes.", maxAddress)
	}
	return a, address, nil
}

// challengesOf asks the server without credentials; what it answers says where to get some.
func challengesOf(ctx context.Context, server string, h *http.Client) ([]oauthex.Challenge, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := h.Do(r)
	if err != nil {
		return nil, failedOAuth(err, "The server cannot be reached.")
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, failedOAuth(err, "The server's WWW-Authenticate cannot be read.")
	}
	return challenges, nil
}

// issuerOf is the authorization server that an MCP server names; one that names none is its own.
func issuerOf(
	ctx context.Context, server string, challenges []oauthex.Challenge, h *http.Client,
) (resource, issuer string, scopes []string, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", "", nil, err
	}
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	type place struct{ address, resource string }
	var places []place
	for _, c := range challenges {
		if at := c.Params["resource_metadata"]; at != "" {
			places = append(places, place{at, server})
		}
		if c.Scheme == "bearer" && len(scopes) == 0 {
			scopes = strings.Fields(c.Params["scope"])
		}
	}
	const known = "/.well-known/oauth-protected-resource"
	places = append(places, place{root.String() + known + "/" + strings.TrimLeft(u.Path, "/"), server},
		place{root.String() + known, root.String()})
	for _, p := range places {
		found, err := oauthex.GetProtectedResourceMetadata(ctx, p.address, p.resource, h)
		if err != nil || found == nil {
			continue
		}
		if len(found.AuthorizationServers) == 0 {
			return "", "", nil, failedOAuth(nil, "The server's metadata name no authorization server.")
		}
		if len(scopes) == 0 {
			scopes = found.ScopesSupported
		}
		return found.Resource, found.AuthorizationServers[0], scopes, nil
	}
	return server, root.String(), scopes, nil
}

func styleOf(methods []string, secret string) oauth2.AuthStyle {
	if secret != "" && !slices.Contains(methods, "client_secret_post") {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// register makes us known as a client of our own (RFC 7591).
func (a *Attempt) register(ctx context.Context, at string, h *http.Client) error {
	if at == "" {
		return failedOAuth(nil, "The authorization server registers no clients: give the client_id of one.")
	}
	made, err := oauthex.RegisterClient(ctx, at, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{a.Redirect}, TokenEndpointAuthMethod: "none", ClientName: "Vedette",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		Scope: strings.Join(a.Scopes, " "),
	}, h)
	if err != nil {
		return failedOAuth(err, "The authorization server did not register us as a client: give the client_id of one.")
	}
	a.ClientID, a.Secret = made.ClientID, made.ClientSecret
	a.Style = oauth2.AuthStyleInParams
	if made.ClientSecret != "" && !slices.Contains([]string{"client_secret_post", "none"}, made.TokenEndpointAuthMethod) {
		a.Style = oauth2.AuthStyleInHeader
	}
	return nil
}

func (g Grant) config(redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: g.ClientID, ClientSecret: g.Secret, Scopes: g.Scopes, RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.Style}}
}

// Finish exchanges the code that the browser was sent back with. The state was compared.
func (a Attempt) Finish(ctx context.Context, code, issuer string, h *http.Client) (Grant, error) {
	if issuer != "" && issuer != a.Issuer || issuer == "" && a.Named {
		return Grant{}, errs.Field("iss", "iss is not the authorization server that this authorization was begun with.")
	}
	token, err := a.config(a.Redirect).Exchange(context.WithValue(ctx, oauth2.HTTPClient, h), code,
		oauth2.VerifierOption(a.Verifier), oauth2.SetAuthURLParam("resource", a.Resource))
	if err != nil {
		return Grant{}, failedOAuth(err, "The authorization server gave no token for this code%s.", reasonOf(err))
	}
	g := a.Grant
	return g, g.take(token)
}

// reasonOf is the error's code of the protocol.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.ErrorCode != "" {
		return ": " + clean(e.ErrorCode, 60)
	}
	return ""
}

func (g *Grant) take(t *oauth2.Token) error {
	if !strings.EqualFold(t.Type(), "Bearer") || strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return failedOAuth(nil, "The authorization server gave a token that is no bearer token.")
	}
	g.Access, g.Expiry = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		g.Refresh = t.RefreshToken
	}
	return nil
}

// Expired reports whether the access token has to be refreshed.
func (g Grant) Expired(now time.Time) bool {
	return !g.Expiry.IsZero() && now.Add(early).After(g.Expiry)
}

// Renew gets a new access token.
func (g Grant) Renew(ctx context.Context, h *http.Client) (Grant, error) {
	if g.Refresh == "" {
		return g, errs.New(errs.Invalid, CodeCredentials, "The authorization has expired: authorize the server again.")
	}
	old := &oauth2.Token{RefreshToken: g.Refresh}
	token, err := g.config("").TokenSource(context.WithValue(ctx, oauth2.HTTPClient, h), old).Token()
	if err != nil {
		e, ok := errors.AsType[*oauth2.RetrieveError](err)
		if ok && e.Response != nil && e.Response.StatusCode < http.StatusInternalServerError {
			return g, errs.New(errs.Invalid, CodeCredentials, "The authorization was not renewed%s: authorize the server again.",
				reasonOf(err)).Because(err)
		}
		return g, errs.New(errs.Invalid, CodeUnreachable, "The authorization server cannot be reached.").Because(err)
	}
	return g, g.take(token)
}

// Revoke asks the authorization server to forget the tokens (RFC 7009), as far as it does.
func (g Grant) Revoke(ctx context.Context, h *http.Client) {
	for kind, token := range map[string]string{"refresh_token": g.Refresh, "access_token": g.Access} {
		if token == "" || g.RevokeURL == "" {
			continue
		}
		form := url.Values{"token": {token}, "token_type_hint": {kind}, "client_id": {g.ClientID}}
		if g.Secret != "" && g.Style != oauth2.AuthStyleInHeader {
			form.Set("client_secret", g.Secret)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
		if err != nil {
			continue
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if g.Secret != "" && g.Style == oauth2.AuthStyleInHeader {
			r.SetBasicAuth(url.QueryEscape(g.ClientID), url.QueryEscape(g.Secret))
		}
		if resp, err := h.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}
}

// Secrets are the values that must not be shown.
func (g Grant) Secrets() (values []string) {
	for _, value := range []string{g.Access, g.Refresh, g.Secret} {
		if value != "" {
			values = append(values, value)
		}
	}
	return values
}
