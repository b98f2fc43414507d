package client

import (
	"bytes"
	"context"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"golang.org/x/net/html"
)

// token is what is known of a token against forged requests, of one user, on one page.
type token struct {
	mu      sync.Mutex
	value   string
	changes bool  // each view of the page gives another
	version int64 // of the session in which it was given out
	stays   bool  // the page with it gives nobody a cookie
}

// visit gives a request of nobody, who keeps no cookies, what its token needs where the page with the token gives it
// with a cookie, as pages with logins do: a visitor of that page alone, with its cookies and its token. Elsewhere the
// request stays, and nobody sends it.
func (c *Client) visit(ctx context.Context, r *message.Request) (*message.Request, *User) {
	if r.Token == nil || r.Token.Page == nil || r.Header.Get("Cookie") != "" ||
		valueAt(r, r.Token.Place) != r.Token.Value {
		return r, nil
	}
	t := c.tokenOf(r, "")
	t.mu.Lock()
	stays := t.stays
	t.mu.Unlock()
	if stays {
		return r, nil
	}
	page := r.Token.Page.Clone()
	page.Token = nil
	visitor := NewUser("")
	answer, err := c.send(ctx, page, Options{As: visitor})
	if err != nil {
		return r, nil
	}
	fresh := fieldValue(answer.Body, r.Token.Field)
	if fresh == "" || len(visitor.Cookies(r.URL)) == 0 {
		t.mu.Lock()
		t.stays = true
		t.mu.Unlock()
		return r, nil
	}
	r = r.Put(r.Token.Place, fresh)
	r.Token = nil
	return r, visitor
}

// tokenOf is what is known of the token of a request of a user with a name.
func (c *Client) tokenOf(r *message.Request, name string) *token {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := name + "\n" + r.Token.Field + "\n" + r.Token.Page.Key()
	if c.tokens[key] == nil {
		c.tokens[key] = &token{value: r.Token.Value, version: -1}
	}
	return c.tokens[key]
}

// renew gives a request a token that the application takes: the one of the session, or, where each view of a page makes
// another, a new one. Then release must be called when the request is answered: until then no other takes one. A token
// that a test has changed stays.
func (c *Client) renew(ctx context.Context, r *message.Request, as *User) (renewed *message.Request, release func()) {
	release = func() {}
	if r.Token == nil || r.Token.Page == nil || valueAt(r, r.Token.Place) != r.Token.Value {
		return r, release
	}
	name := ""
	version := int64(0)
	if as != nil {
		name, version = as.Name, as.Version()
	}
	t := c.tokenOf(r, name)
	t.mu.Lock()
	if t.changes || t.version != version {
		page := r.Token.Page.Clone()
		page.Token = nil
		answer, err := c.send(ctx, page, Options{As: as})
		if err == nil {
			if fresh := fieldValue(answer.Body, r.Token.Field); fresh != "" {
				t.changes = t.changes || t.version < 0 && fresh != t.value
				t.value, t.version = fresh, version
			}
		}
	}
	value := t.value
	if t.changes {
		release = t.mu.Unlock
	} else {
		t.mu.Unlock()
	}
	out := r.Put(r.Token.Place, value)
	return out, release
}

// valueAt is the value of a request at a place; "" if it has none.
func valueAt(r *message.Request, place message.Place) string {
	for _, p := range message.Places(r) {
		if p.Same(place) && p.Index == place.Index {
			return p.Value
		}
	}
	return ""
}

// fieldValue is the value of the field, or the content of the meta element, of a name in a page; "" if it has none.
func fieldValue(body []byte, name string) string {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ""
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		t := z.Token()
		if t.Data != "input" && t.Data != "meta" {
			continue
		}
		named, value := false, ""
		for _, a := range t.Attr {
			named = named || a.Key == "name" && a.Val == name
			if t.Data == "input" && a.Key == "value" || t.Data == "meta" && a.Key == "content" {
				value = a.Val
			}
		}
		if named && value != "" {
			return value
		}
	}
}
