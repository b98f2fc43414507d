package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Page opens a page of a browser that obeys the scope, the budget and the harm level as Send does, with the cookies
// of a user for an address. The caller closes it. Its requests count. None opens when the budget is used up: a page
// takes seconds to open, and all its requests would be refused.
func (c *Client) Page(ctx context.Context, pool *browser.Pool, as *User, at *url.URL, timeout time.Duration,
) (*browser.Page, error) {
	return c.open(ctx, pool, as, at, timeout, c.Level == Passive, func(ctx context.Context, u *url.URL) error {
		return c.before(ctx, u, Options{})
	})
}

// LoginPage is Page for a login, which sends its forms at each level, as Options.Forced does. May, if it is not nil,
// decides about each request as well.
func (c *Client) LoginPage(ctx context.Context, pool *browser.Pool, as *User, at *url.URL, timeout time.Duration,
	may func(u *url.URL) error,
) (*browser.Page, error) {
	return c.open(ctx, pool, as, at, timeout, false, func(ctx context.Context, u *url.URL) error {
		if may != nil {
			if err := may(u); err != nil {
				return err
			}
		}
		return c.before(ctx, u, Options{Forced: true})
	})
}

func (c *Client) open(ctx context.Context, pool *browser.Pool, as *User, at *url.URL, timeout time.Duration,
	readOnly bool, before func(ctx context.Context, u *url.URL) error,
) (*browser.Page, error) {
	if bound := c.Over(); bound != "" {
		return nil, overBudget(bound)
	}
	if !c.Until.IsZero() {
		timeout = min(timeout, c.Until.Sub(c.Now()))
	}
	var headers []browser.Header
	for _, from := range []http.Header{c.Header, as.header(at)} {
		for name, values := range from {
			for _, value := range values {
				if name != "Cookie" {
					headers = append(headers, browser.Header{Name: name, Value: value})
				}
			}
		}
	}
	page, err := pool.Open(ctx, browser.Options{
		Dial: c.Dial, Timeout: timeout, Headers: headers, ReadOnly: readOnly, Before: before,
	})
	if err != nil {
		return nil, err
	}
	cookies := as.Cookies(at)
	if line := c.Header.Get("Cookie"); line != "" {
		cookies = append(cookies, (&http.Request{Header: http.Header{"Cookie": {line}}}).Cookies()...)
	}
	if len(cookies) > 0 {
		if err := page.SetCookies(at.String(), cookies); err != nil {
			page.Close()
			return nil, err
		}
	}
	return page, nil
}

// before decides about a request of a page, of which only the URL is known, and counts it.
func (c *Client) before(ctx context.Context, u *url.URL, o Options) error {
	if err := c.Permit(message.From(http.MethodGet, u), o); err != nil {
		return err
	}
	if err := c.pace(ctx); err != nil {
		return err
	}
	if !c.count() {
		return overBudget(c.Over())
	}
	c.changes.Add(1)
	return nil
}
