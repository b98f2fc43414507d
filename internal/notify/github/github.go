// Package github speaks with GitHub's REST API as a GitHub App, and reads GitHub's webhooks. It has no state of its own
// but tokens: core/review decides what is reviewed and written.
//
// An App proves itself by a JSON Web Token that it signs with its private key (RS256), good for minutes. With it, it
// gets a token for an installation, good for an hour and kept here until shortly before, and with that it reads and
// writes in the installation's repositories. A person who installs the App proves that the installation is theirs by a
// code, which is exchanged for a token of theirs that is used once and forgotten.
//
// Lists are read up to a bound. Files come with their patches; GitHub leaves out the patches of large and binary ones.
package github

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// DefaultAPI is where GitHub's public service answers.
const DefaultAPI = "https://api.github.com"

const (
	timeout  = 20 * time.Second // of one request
	perPage  = 100
	tokenAge = 5 * time.Minute // before its end, a token of an installation is not used any more
)

// Config is an App, as the operator has registered it.
type Config struct {
	AppID         int64
	Key           []byte // its private key, in PEM
	WebhookSecret string
	ClientID      string // with ClientSecret: members can connect installations of theirs
	ClientSecret  string
	API           string // DefaultAPI when empty
}

// App is the App.
type App struct {
	config Config
	key    *rsa.PrivateKey
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	tokens map[int64]token // by installation
	known  about
}

type token struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

// New checks a configuration and makes the App. guard makes the dials.
func New(c Config, guard *netguard.Guard) (*App, error) {
	if c.API == "" {
		c.API = DefaultAPI
	}
	c.API = strings.TrimRight(c.API, "/")
	key, err := jwt.ParseRSAPrivateKeyFromPEM(c.Key)
	switch {
	case err != nil:
		return nil, errors.New("the App's private key is no RSA key in PEM")
	case c.AppID < 1:
		return nil, errors.New("the App's id must be a number above 0")
	case c.WebhookSecret == "":
		return nil, errors.New("the secret of webhooks is missing")
	case !netguard.IsWebURL(c.API):
		return nil, fmt.Errorf("%q is no URL, such as %s", c.API, DefaultAPI)
	}
	c.Key = nil
	return &App{config: c, key: key, client: guard.Client(timeout), now: time.Now, tokens: map[int64]token{}}, nil
}

// ID is the App's id.
func (a *App) ID() int64 { return a.config.AppID }

// WithPeople reports whether people can prove that an installation is theirs.
func (a *App) WithPeople() bool { return a.config.ClientID != "" && a.config.ClientSecret != "" }

// web is where people meet GitHub: of GitHub Enterprise the same host, without the path of the API.
func (a *App) web() string {
	if a.config.API == DefaultAPI {
		return "https://github.com"
	}
	return strings.TrimSuffix(a.config.API, "/api/v3")
}

// call sends a request with a token, the App's own if installation is 0.
func (a *App) call(ctx context.Context, installation int64, method, path string, body, out any) error {
	secret, err := a.secret(ctx, installation)
	if err != nil {
		return err
	}
	err = a.send(ctx, secret, method, a.config.API+path, body, out)
	if failed, ok := errors.AsType[*apiclient.Error](err); ok && failed.Status == http.StatusUnauthorized {
		a.mu.Lock()
		delete(a.tokens, installation) // it was revoked
		a.mu.Unlock()
	}
	return err
}

func (a *App) send(ctx context.Context, secret, method, address string, body, out any) error {
	header := http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
	if secret != "" {
		header.Set("Authorization", "Bearer "+secret)
	}
	return apiclient.Do(ctx, a.client, apiclient.Request{
		Service: "GitHub", Method: method, URL: address, Header: header, Body: body,
		Secrets: []string{secret, a.config.ClientSecret, a.config.WebhookSecret},
	}, out)
}

// secret is the token that proves us: the App's, or an installation's.
func (a *App) secret(ctx context.Context, installation int64) (string, error) {
	now := a.now()
	if installation == 0 {
		claims := jwt.RegisteredClaims{
			Issuer:    strconv.FormatInt(a.config.AppID, 10),
			IssuedAt:  jwt.NewNumericDate(now.Add(-time.Minute)), // clocks differ
			ExpiresAt: jwt.NewNumericDate(now.Add(8 * time.Minute)),
		}
		return jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(a.key)
	}
	a.mu.Lock()
	kept, ok := a.tokens[installation]
	a.mu.Unlock()
	if ok && now.Add(tokenAge).Before(kept.ExpiresAt) {
		return kept.Token, nil
	}
	var made token
	path := fmt.Sprintf("/app/installations/%d/access_tokens", installation)
	if err := a.call(ctx, 0, http.MethodPost, path, nil, &made); err != nil {
		return "", err
	}
	if made.Token == "" {
		return "", &apiclient.Error{Service: "GitHub", Status: http.StatusOK, Message: "it gave no token"}
	}
	a.mu.Lock()
	a.tokens[installation] = made
	a.mu.Unlock()
	return made.Token, nil
}

// Forget forgets the token of an installation.
func (a *App) Forget(installation int64) {
	a.mu.Lock()
	delete(a.tokens, installation)
	a.mu.Unlock()
}

// about is what GitHub says of the App itself.
type about struct {
	Slug string `json:"slug"`
	Page string `json:"html_url"` // where people install it
}

func (a *App) about(ctx context.Context) (about, error) {
	a.mu.Lock()
	known := a.known
	a.mu.Unlock()
	if known.Slug != "" {
		return known, nil
	}
	if err := a.call(ctx, 0, http.MethodGet, "/app", nil, &known); err != nil {
		return about{}, err
	}
	if known.Slug == "" || !netguard.IsWebURL(known.Page) {
		return about{}, &apiclient.Error{Service: "GitHub", Status: http.StatusOK,
			Message: "it does not say which App this is"}
	}
	a.mu.Lock()
	a.known = known
	a.mu.Unlock()
	return known, nil
}

// InstallURL is where a person installs the App; GitHub sends them back with the state.
func (a *App) InstallURL(ctx context.Context, state string) (string, error) {
	known, err := a.about(ctx)
	return strings.TrimRight(known.Page, "/") + "/installations/new?state=" + url.QueryEscape(state), err
}

// Installation is where the App is installed.
type Installation struct {
	ID      int64 `json:"id"`
	AppID   int64 `json:"app_id"`
	Account struct {
		Login string `json:"login"`
		Type  string `json:"type"` // User or Organization
	} `json:"account"`
	SuspendedAt *time.Time `json:"suspended_at"`
}

// Installation is one of the App's installations.
func (a *App) Installation(ctx context.Context, id int64) (i Installation, err error) {
	err = a.call(ctx, 0, http.MethodGet, fmt.Sprintf("/app/installations/%d", id), nil, &i)
	if err == nil && (i.ID != id || i.AppID != 0 && i.AppID != a.config.AppID) {
		err = &apiclient.Error{Service: "GitHub", Status: http.StatusNotFound, Message: "there is no such installation"}
	}
	return i, err
}

// Owns reports whether the person who got code from GitHub can see an installation of the App.
func (a *App) Owns(ctx context.Context, code string, id int64) (bool, error) {
	var proof struct {
		Token string `json:"access_token"`
		Error string `json:"error"`
	}
	form := url.Values{"client_id": {a.config.ClientID}, "client_secret": {a.config.ClientSecret}, "code": {code}}
	err := a.send(ctx, "", http.MethodPost, a.web()+"/login/oauth/access_token", form, &proof)
	if err != nil || proof.Token == "" {
		return false, err // GitHub answers 200 to a code that is none
	}
	for page := 1; page <= 10; page++ {
		var found struct{ Installations []Installation }
		at := fmt.Sprintf("%s/user/installations?per_page=%d&page=%d", a.config.API, perPage, page)
		if err := a.send(ctx, proof.Token, http.MethodGet, at, nil, &found); err != nil {
			return false, err
		}
		for _, i := range found.Installations {
			if i.ID == id {
				return true, nil
			}
		}
		if len(found.Installations) < perPage {
			break
		}
	}
	return false, nil
}

// Repository is a repository of an installation.
type Repository struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"` // owner/name
	Private  bool   `json:"private"`
}

// MaxRepositories is how many repositories of an installation are read.
const MaxRepositories = 2000

// Repositories are those that an installation gives the App, up to MaxRepositories; total counts all.
func (a *App) Repositories(ctx context.Context, installation int64) (out []Repository, total int, err error) {
	for page := 1; len(out) < MaxRepositories; page++ {
		var found struct {
			Total        int `json:"total_count"`
			Repositories []Repository
		}
		path := fmt.Sprintf("/installation/repositories?per_page=%d&page=%d", perPage, page)
		if err := a.call(ctx, installation, http.MethodGet, path, nil, &found); err != nil {
			return nil, 0, err
		}
		out, total = append(out, found.Repositories...), found.Total
		if len(found.Repositories) < perPage {
			break
		}
	}
	return out, total, nil
}
