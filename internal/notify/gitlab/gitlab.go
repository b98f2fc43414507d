// Package gitlab speaks with the REST API (version 4) of a GitLab, the public one or one's own, with the access token
// of an account, and reads its webhooks. It implements forge.Repo; core/review decides what is reviewed and written.
//
// A merge request's files come with their diffs; GitLab leaves out those of large files. Comments on lines are
// discussions, one request each: a run after one that was cut off looks for the marks of those that are there. The
// check is a commit status, which has no third conclusion beside success and failure, and whose name makes it one.
package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// DefaultURL is GitLab's public service.
const DefaultURL = "https://gitlab.com"

const (
	timeout = 20 * time.Second // of one request
	perPage = 100
)

// Client makes the connections to GitLabs, which users name.
type Client struct{ client *http.Client }

// New makes a client; guard makes the dials.
func New(guard *netguard.Guard) *Client { return &Client{guard.Client(timeout)} }

// Account is an account at a GitLab.
type Account struct {
	client *http.Client
	url    string
	token  string
	id     int64 // of the account; 0: not known yet
}

// Account is the account that a token is of, at the URL of a GitLab. id is its number, from Who.
func (c *Client) Account(address, token string, id int64) Account {
	return Account{c.client, strings.TrimRight(address, "/"), token, id}
}

func (a Account) call(ctx context.Context, method, path string, body, out any) error {
	return apiclient.Do(ctx, a.client, apiclient.Request{
		Service: "GitLab", Method: method, URL: a.url + "/api/v4" + path, Header: http.Header{"Private-Token": {a.token}},
		Body: body, Secrets: []string{a.token},
	}, out)
}

// User is an account.
type User struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}

// Who is the account that the token is of.
func (a Account) Who(ctx context.Context) (u User, err error) {
	err = a.call(ctx, http.MethodGet, "/user", nil, &u)
	if err == nil && (u.ID < 1 || u.Username == "") {
		err = &apiclient.Error{Service: "GitLab", Status: http.StatusOK, Message: "it does not say whose token this is"}
	}
	return u, err
}

// Project is a project.
type Project struct {
	ID         int64  `json:"id"`
	Path       string `json:"path_with_namespace"`
	Visibility string `json:"visibility"` // public, internal or private
}

// Project reads a project by its path, such as group/shop.
func (a Account) Project(ctx context.Context, path string) (p Project, err error) {
	err = a.call(ctx, http.MethodGet, "/projects/"+url.PathEscape(path), nil, &p)
	if err == nil && (p.ID < 1 || p.Path == "") {
		err = &apiclient.Error{Service: "GitLab", Status: http.StatusOK, Message: "its answer is no project"}
	}
	return p, err
}

// Repo is a project by its number.
func (a Account) Repo(project int64) Repo {
	return Repo{a, "/projects/" + strconv.FormatInt(project, 10)}
}
