package scans

import (
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
)

// WebOptions are the options of a scan of applications.
type WebOptions struct {
	Level        string           `json:"level,omitempty" enum:"passive,safe,active,intrusive" doc:"How far tests may go. passive only looks; safe, the default, changes nothing; active writes test data with a marker and cleans up; intrusive may disturb."`
	Users        []WebUser        `json:"users,omitempty" maxItems:"10" doc:"Who logs in. The first one crawls; with two, what one may see of the other is tested."`
	OAuth        *WebOAuth        `json:"oauth,omitempty" doc:"Where tokens of OAuth 2 are given; with users that have passwords, theirs."`
	Descriptions []WebDescription `json:"descriptions,omitempty" maxItems:"10" doc:"What describes the application, 4 MiB in all: OpenAPI 2 and 3, GraphQL, WSDL, Postman, HAR, Burp, ZAP, raw requests, a sitemap."`
	MaxRequests  int              `json:"max_requests,omitempty" minimum:"0" maximum:"200000" doc:"Default 200000."`
	MaxMinutes   int              `json:"max_minutes,omitempty" minimum:"0" maximum:"120" doc:"Default 120."`
}

// WebUser is an account at the application.
type WebUser struct {
	Name          string `json:"name,omitempty" maxLength:"4096" doc:"Name for people, such as customer; default: username."`
	Username      string `json:"username,omitempty" maxLength:"4096" doc:"For a form, an API or HTTP authentication: which, is found out."`
	Password      string `json:"password,omitempty" maxLength:"4096" doc:"Sealed; ******** is shown, and keeps it in a change."`
	TOTP          string `json:"totp,omitempty" maxLength:"4096" doc:"Secret of one-time codes, in base32; sealed."`
	LoginURL      string `json:"login_url,omitempty" maxLength:"4096" doc:"Page of the login, on the target; default: it is looked for."`
	Cookie        string `json:"cookie,omitempty" maxLength:"4096" doc:"Cookies of a session, as name=value; name=value; sealed."`
	Authorization string `json:"authorization,omitempty" maxLength:"4096" doc:"Value of the header Authorization, such as Bearer and a token; sealed."`
	LoggedIn      string `json:"logged_in,omitempty" maxLength:"4096" doc:"Text that only pages of a logged-in user have; default: it is learned."`
}

// WebOAuth is where tokens of OAuth 2 are given.
type WebOAuth struct {
	TokenURL     string   `json:"token_url" maxLength:"4096" doc:"Address that gives tokens, for client credentials or passwords of users; it may be on another host."`
	ClientID     string   `json:"client_id,omitempty" maxLength:"4096" doc:"Id of the client that asks; required where no user has a password."`
	ClientSecret string   `json:"client_secret,omitempty" maxLength:"4096" doc:"Sealed; ******** is shown, and keeps it in a change."`
	Scopes       []string `json:"scopes,omitempty" maxItems:"100" doc:"What the tokens are to be for; default: what the server gives."`
}

// WebDescription is a document that describes an application.
type WebDescription struct {
	Name     string `json:"name" maxLength:"200" doc:"Name of its file, such as openapi.yaml."`
	Contents string `json:"contents" maxLength:"4194304" doc:"Its text; sealed: ******** is shown, and keeps it in a change."`
}

// options are the options; nil for nil.
func (w *WebOptions) options() *webapp.Options {
	if w == nil {
		return nil
	}
	return &webapp.Options{
		Level: w.Level, MaxRequests: w.MaxRequests, MaxMinutes: w.MaxMinutes, OAuth: (*webapp.OAuth)(w.OAuth),
		Users:        rest.Each(w.Users, func(u WebUser) webapp.User { return webapp.User(u) }),
		Descriptions: rest.Each(w.Descriptions, func(d WebDescription) webapp.Description { return webapp.Description(d) }),
	}
}

// webOptionsOf are the options of a scan without their secrets; nil: it has none.
func webOptionsOf(k *webapp.Kept) *WebOptions {
	if k == nil {
		return nil
	}
	o := k.Shown
	return &WebOptions{
		Level: o.Level, MaxRequests: o.MaxRequests, MaxMinutes: o.MaxMinutes, OAuth: (*WebOAuth)(o.OAuth),
		Users:        rest.Each(o.Users, func(u webapp.User) WebUser { return WebUser(u) }),
		Descriptions: rest.Each(o.Descriptions, func(d webapp.Description) WebDescription { return WebDescription(d) }),
	}
}
