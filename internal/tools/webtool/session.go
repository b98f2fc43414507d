package webtool

import (
	"context"
	"fmt"
	"net/url"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

type loginArgs struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	TOTP     string `json:"totp"`
	Page     string `json:"page"`
	Name     string `json:"name"`
}

const (
	loginRequests = 60
	loginSchema   = `{"type": "object", "required": ["url", "user", "password"], "properties": {
		"url": {"type": "string", "description": "the application"}, "user": {"type": "string"},
		"password": {"type": "string"}, "totp": {"type": "string", "description": "the secret of one-time codes, in base32"},
		"page": {"type": "string", "description": "where the login is; found by itself when absent"},
		"name": {"type": "string", "maxLength": 60, "description": "for as of other tools; the user when absent"}}}`
)

// login logs a user in. Other tools send requests as them.
func (t *Tools) login(ctx context.Context, a loginArgs, _ func(string)) (r loop.Result, err error) {
	if err := t.active("web_login"); err != nil {
		return r, err
	}
	at, err := address(a.URL)
	if err != nil {
		return r, err
	}
	account := session.Account{Name: a.Name, User: a.User, Password: a.Password, TOTP: a.TOTP}
	if a.Page != "" {
		page, err := at.Parse(a.Page)
		if err != nil || page.Host != at.Host {
			return r, fmt.Errorf("page: it is no page of %s", at.Host)
		}
		account.Login = page
	}
	sender := t.client(ctx, at, loginRequests)
	defer sender.Close()
	s, err := session.Open(ctx, sender, []*url.URL{at}, account)
	r.Requests = int(sender.Sent())
	if err != nil {
		return r, fmt.Errorf("the login failed: %s", errs.Clip(err.Error(), maxWhy))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, again := t.users[s.User.Name]; !again && len(t.users) >= maxUsers {
		return r, fmt.Errorf("at most %d users are logged in at a time", maxUsers)
	}
	t.users[s.User.Name] = s
	r.Text = fmt.Sprintf("%s Name them %q in as.", s.Describe(), s.User.Name)
	r.Evidence = []string{"login " + at.Host + " " + s.User.Name}
	return r, nil
}
