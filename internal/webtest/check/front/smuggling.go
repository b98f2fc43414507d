package front

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// patience is how long an answer is waited for that a proxy and an application disagree about.
const patience = 6 * time.Second

// cut is a request that says in two ways where it ends. Whoever reads it in one way alone, as a single server does, has
// all of it and answers at once. Where a proxy passes on what it takes for the whole, and the application takes it for
// a part, it waits for the rest.
type cut struct{ id, about, length, body string }

var cuts = []cut{
	{"CL.TE", "the proxy reads Content-Length, the application Transfer-Encoding", "4", "1\r\nA\r\n0\r\n\r\n"},
	// Sent only where the first is answered at once: the other way round, its last byte would be the beginning of
	// somebody else's request.
	{"TE.CL", "the proxy reads Transfer-Encoding, the application Content-Length", "6", "0\r\n\r\nX"},
}

// whole says the same in both ways.
var whole = cut{id: "whole", length: "5", body: "0\r\n\r\n"}

func (c *cut) text(host string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: %s\r\nUser-Agent: Mozilla/5.0\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
		"Connection: close\r\nContent-Length: %s\r\nTransfer-Encoding: chunked\r\n\r\n%s", host, c.length, c.body)
}

// smuggling is the check for requests that a proxy and an application cut differently, by how long the answer takes, on
// connections of its own. Nothing of a request is left over that could come before that of somebody else.
func smuggling(wait time.Duration) kit.Check {
	c := kit.Check{ID: "request-smuggling", Class: "request-smuggling", Level: client.Active}.Describe()
	c.Site = func(ctx context.Context, w *kit.World, root *url.URL) error {
		for i := range cuts {
			one := &cuts[i]
			for n := range 3 {
				late, answered, err := waits(ctx, w, root, one, wait)
				if err != nil {
					return err
				}
				if !late {
					if n > 0 || !answered {
						return nil // it is not the same each time, or the connection is just closed
					}
					break
				}
				late, answered, err = waits(ctx, w, root, &whole, wait)
				if err != nil || late || !answered {
					return err
				}
				if n == 2 {
					r := message.From("POST", root)
					r.Header.Set("Content-Length", one.length)
					r.Header.Set("Transfer-Encoding", "chunked")
					r.Body = []byte(one.body)
					w.Found(&c, kit.Finding{Request: r, Payload: one.id, Detail: one.about, Evidence: []kit.Evidence{{Request: r,
						Note: fmt.Sprintf("three times there was no answer within %s, and in turn with it a request whose two "+
							"lengths agree was answered at once", wait)}}})
					return nil
				}
			}
		}
		return nil
	}
	return c
}

// waits sends a request and says whether no answer came in time, or else whether one came at all.
func waits(ctx context.Context, w *kit.World, root *url.URL, one *cut, wait time.Duration) (
	late, answered bool, err error,
) {
	answer, err := w.Client.Raw(ctx, root, []byte(one.text(root.Host)), wait)
	if errors.Is(err, client.ErrLate) {
		return true, false, nil
	}
	if errors.Is(err, client.ErrScope) || errors.Is(err, client.ErrBudget) || errors.Is(err, client.ErrDown) ||
		ctx.Err() != nil {
		return false, false, err
	}
	return false, len(answer) > 0, nil
}
