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
	changes bool // each view of the page gives another
	version int  // of the session in which it was given out
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
	version := 0
	if as != nil {
		name, version = as.Name, as.Version()
	}
	c.mu.Lock()
	key := name + "\n" + r.Token.Field + "\n" + r.Token.Page.Key()
	t := c.tokens[key]
	if t == nil {
		t = &token{value: r.Token.Value, version: -1}
		c.tokens[key] = t
	}
	c.mu.Unlock()
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
