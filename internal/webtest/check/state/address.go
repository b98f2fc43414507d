package state

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// idInAddress is a session in an address: as a parameter of the path, or of the query.
var idInAddress = regexp.MustCompile(`(?i)[;?&](?:amp;)?((?:j|php|asp)?sess(?:ion)?_?id|sid)=([\w.!~-]{16,200})`)

// inAddress is the check for addresses that carry the session, which browsers give to other sites and proxies write
// down. A visitor without a cookie gets an address with a session that a cookie of the same answer has, too; another
// visitor gets another one. Two requests for a host.
func inAddress() kit.Check {
	c := kit.Check{ID: "session-in-address", Class: "session-in-address", Level: client.Safe}.Describe()
	c.Site = func(ctx context.Context, w *kit.World, root *url.URL) error {
		var seen []string
		var last *message.Response
		for range 2 {
			r := message.From(http.MethodGet, root)
			answer, err := w.Ask(ctx, r, nil)
			if err != nil {
				return err
			}
			id := idOf(answer)
			if id == "" || len(seen) > 0 && seen[0] == id {
				return nil
			}
			seen, last = append(seen, id), answer
		}
		w.Found(&c, kit.Finding{Request: last.Request, Detail: "a link carries the session that the cookie has",
			Evidence: []kit.Evidence{{Request: last.Request, Response: last, Match: kit.Around(last.Body, seen[1]),
				Note: "an address of the answer has the session of its Set-Cookie"}}})
		return nil
	}
	return c
}

// idOf is the session that an address of an answer and a cookie of it have; "" for none.
func idOf(r *message.Response) string {
	text := html.UnescapeString(string(r.Body)) + " " + r.Header.Get("Location")
	for _, m := range idInAddress.FindAllStringSubmatch(text, 50) {
		for _, k := range (&http.Response{Header: r.Header}).Cookies() {
			if k.Value == m[2] {
				return m[2]
			}
		}
	}
	return ""
}
