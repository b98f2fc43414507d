// Package webapp has the options of scans of web applications: how far tests may go, who logs in, and what describes
// the application.
//
// They are sealed as a whole with the scan, as passwords, cookies and recorded requests are secrets. What is shown of
// them has Hidden in place of each secret; the same in a change keeps the secret that there is.
package webapp

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Hidden stands for a secret.
const Hidden = "********"

// Options are the options of a scan. Zero fields are defaults.
type Options struct {
	Level        string        `json:"level,omitempty"` // one of Levels; empty: safe
	Users        []User        `json:"users,omitempty"` // the first one crawls
	OAuth        *OAuth        `json:"oauth,omitempty"` // how the tokens of all users are got
	Descriptions []Description `json:"descriptions,omitempty"`
	MaxRequests  int           `json:"max_requests,omitempty"`
	MaxMinutes   int           `json:"max_minutes,omitempty"`
}

// User is an account at the application.
type User struct {
	Name          string `json:"name,omitempty"` // for people; empty: Username
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	TOTP          string `json:"totp,omitempty"`          // secret of one-time codes, in base32
	LoginURL      string `json:"login_url,omitempty"`     // empty: it is looked for
	Cookie        string `json:"cookie,omitempty"`        // a line, such as sid=1; lang=en
	Authorization string `json:"authorization,omitempty"` // the value of that header
	LoggedIn      string `json:"logged_in,omitempty"`     // a text that only pages of a logged-in user have; empty: learned
}

// OAuth is where tokens of OAuth 2 are given: for client credentials, or for the users with their passwords.
type OAuth struct {
	TokenURL     string   `json:"token_url"`
	ClientID     string   `json:"client_id,omitempty"`
	ClientSecret string   `json:"client_secret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
}

// Description is a document that describes the application, or requests that were recorded.
type Description struct {
	Name     string `json:"name"`
	Contents string `json:"contents"`
}

// Levels are how far tests may go, the most careful first.
var Levels = []string{"passive", "safe", "active", "intrusive"}

// The bounds of options.
const (
	maxUsers        = 10
	maxDescriptions = 10
	maxContents     = 4 << 20 // bytes of all descriptions
	MaxRequests     = 200_000
	MaxMinutes      = 120
	maxText         = 4096 // bytes of other texts
)

const field = "web_options"

// check refuses options that could not be followed. The error is Invalid and names the field.
func (o *Options) check() error {
	switch {
	case o.Level != "" && !slices.Contains(Levels, o.Level):
		return refuse("level", "must be one of %s.", strings.Join(Levels, ", "))
	case len(o.Users) > maxUsers:
		return refuse("users", "at most %d are taken.", maxUsers)
	case len(o.Descriptions) > maxDescriptions:
		return refuse("descriptions", "at most %d are taken.", maxDescriptions)
	case o.MaxRequests < 0 || o.MaxRequests > MaxRequests:
		return refuse("max_requests", "must be between 0 (the default) and %d.", MaxRequests)
	case o.MaxMinutes < 0 || o.MaxMinutes > MaxMinutes:
		return refuse("max_minutes", "must be between 0 (the default) and %d.", MaxMinutes)
	}
	names := map[string]bool{}
	for _, u := range o.Users {
		if err := u.check(o.OAuth != nil); err != nil {
			return err
		}
		if names[u.Label()] {
			return refuse("users", "%.80q is there twice: give each a name.", u.Label())
		}
		names[u.Label()] = true
	}
	if o.OAuth != nil {
		if !netguard.IsWebURL(o.OAuth.TokenURL) {
			return refuse("oauth.token_url", "is no http or https URL.")
		}
		if len(o.Users) == 0 && o.OAuth.ClientID == "" {
			return refuse("oauth.client_id", "is required where no user has a password.")
		}
	}
	size := 0
	for _, d := range o.Descriptions {
		if d.Name == "" || d.Contents == "" {
			return refuse("descriptions", "each needs a name and contents.")
		}
		size += len(d.Contents)
	}
	if size > maxContents {
		return refuse("descriptions", "are %d bytes; at most %d are taken.", size, maxContents)
	}
	return nil
}

func refuse(name, format string, args ...any) error {
	return errs.Field(field+"."+name, field+"."+name+" "+format, args...)
}

// Label is the name of a user for people.
func (u User) Label() string {
	switch {
	case u.Name != "":
		return u.Name
	case u.Username != "":
		return u.Username
	}
	return "the given session"
}

func (u User) check(isOAuth bool) error {
	for _, text := range []string{u.Name, u.Username, u.Password, u.TOTP, u.LoginURL, u.Cookie, u.LoggedIn,
		u.Authorization} {
		if len(text) > maxText || strings.ContainsFunc(text, unicode.IsControl) {
			return refuse("users", "a text of %.80q is too long, or has control characters.", u.Label())
		}
	}
	given := u.Cookie != "" || u.Authorization != ""
	switch {
	case u.Username == "" && !given:
		return refuse("users", "%.80q needs a username with a password, a cookie or an authorization.", u.Label())
	case u.Username != "" && u.Password == "":
		return refuse("users", "%.80q needs a password.", u.Label())
	case u.Username == "" && (u.Password != "" || u.TOTP != "" || u.LoginURL != ""):
		return refuse("users", "%.80q needs a username.", u.Label())
	case u.Username != "" && u.Authorization != "":
		return refuse("users", "%.80q has a username and an authorization: one of them logs in.", u.Label())
	case u.Cookie != "" && !strings.Contains(u.Cookie, "="):
		return refuse("users", "write the cookie of %.80q as name=value; name=value.", u.Label())
	case u.LoginURL != "" && !netguard.IsWebURL(u.LoginURL):
		return refuse("users", "the login_url of %.80q is no http or https URL.", u.Label())
	case u.LoginURL != "" && isOAuth:
		return refuse("users", "%.80q gets a token by oauth, and has a login_url.", u.Label())
	}
	return nil
}

// checkTargets refuses what is said of one application in a scan of several: the secrets of one are not for another.
// isInventory: assets are targets besides.
func (o *Options) checkTargets(targets []string, isInventory bool) error {
	if len(o.Users) == 0 && o.OAuth == nil && len(o.Descriptions) == 0 {
		return nil
	}
	if len(targets) != 1 || isInventory {
		return errs.Field(field, "%s: users, oauth and descriptions are those of one application: name one target, and no assets.",
			field)
	}
	site := parse(targets[0])
	for _, u := range o.Users {
		if at := parse(u.LoginURL); u.LoginURL != "" && at.Hostname() != site.Hostname() {
			return refuse("users", "the login_url of %.80q is not on the target.", u.Label())
		}
	}
	return nil
}

// parse reads a target, which may be a host.
func parse(target string) url.URL {
	if !strings.Contains(target, "://") {
		target = "//" + target
	}
	u, err := url.Parse(target)
	if err != nil {
		return url.URL{}
	}
	u.Host = strings.ToLower(u.Host)
	return *u
}

// show is the options with Hidden in place of secrets. The contents of descriptions, which may be recorded requests,
// are secrets.
func (o Options) show() Options {
	o.Users, o.Descriptions = slices.Clone(o.Users), slices.Clone(o.Descriptions)
	for _, text := range o.secrets() {
		if *text != "" {
			*text = Hidden
		}
	}
	return o
}

// secrets are the texts of the options that are secrets; the lists, and OAuth, become the options' own.
func (o *Options) secrets() (all []*string) {
	for i := range o.Users {
		u := &o.Users[i]
		all = append(all, &u.Password, &u.TOTP, &u.Cookie, &u.Authorization)
	}
	for i := range o.Descriptions {
		all = append(all, &o.Descriptions[i].Contents)
	}
	if o.OAuth != nil {
		own := *o.OAuth
		o.OAuth = &own
		all = append(all, &own.ClientSecret)
	}
	return all
}

// keep puts the secrets that there are where a change has Hidden: those of the user, or of the description, with the
// same name. A secret goes only where it went before: the login's URL and that of tokens are the same as they were.
// Invalid where there is none.
func (o *Options) keep(before Options) error {
	for i := range o.Users {
		u := &o.Users[i]
		at := slices.IndexFunc(before.Users, func(b User) bool { return b.Label() == u.Label() && b.LoginURL == u.LoginURL })
		var was User
		if at >= 0 {
			was = before.Users[at]
		}
		for to, from := range map[*string]string{&u.Password: was.Password, &u.TOTP: was.TOTP, &u.Cookie: was.Cookie,
			&u.Authorization: was.Authorization} {
			if *to == Hidden && from != "" {
				*to = from
			}
		}
	}
	for i := range o.Descriptions {
		d := &o.Descriptions[i]
		at := slices.IndexFunc(before.Descriptions, func(b Description) bool { return b.Name == d.Name })
		if d.Contents == Hidden && at >= 0 {
			d.Contents = before.Descriptions[at].Contents
		}
	}
	to, from := o.OAuth, before.OAuth
	if to != nil && from != nil && to.ClientSecret == Hidden && to.TokenURL == from.TokenURL {
		to.ClientSecret = from.ClientSecret
	}
	for _, text := range o.secrets() {
		if *text == Hidden {
			return errs.Field(field, "%s: enter the secrets of what is new, or goes elsewhere, again.", field)
		}
	}
	return nil
}
