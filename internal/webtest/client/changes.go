package client

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Changes is a number that grows with each request that may have changed data at the target: what was read while it was
// a lower one may be out of date. Each message to a WebSocket counts, each request of a page in a browser, of which the
// address alone is known, and what Raw sends.
func (c *Client) Changes() int64 { return c.changes.Load() }

// noteChange counts a request that was answered, or that may have arrived though no answer came.
func (c *Client) noteChange(r *message.Request, o Options, response *message.Response) {
	isRefused := response != nil && response.Status/100 == 4 && !r.IsMessage()
	if !isRefused && mayChange(r, o) {
		c.changes.Add(1)
	}
}

// mayChange reports whether a request may change data, in doubt that it does. A login changes nothing but the session
// of whoever logs in.
func mayChange(r *message.Request, o Options) bool {
	in := intentOf(r)
	switch {
	case r.IsMessage():
		return true
	case in.reads:
		return o.Writes || Writes(r) || in.linkWrites() || in.any(deleteWords) && len(in.names) > 0
	case in.passwords == 1 && in.any(loginWords) && !in.any(writeWords):
		return false
	}
	return !IsQuery(r)
}

// IsQuery reports whether a request is a query of GraphQL, which is sent by POST and reads.
func IsQuery(r *message.Request) bool {
	var in struct{ Query string }
	return r.Method == http.MethodPost && isJSON(r) && json.Unmarshal(r.Body, &in) == nil &&
		in.Query != "" && !strings.Contains(in.Query, "mutation")
}
