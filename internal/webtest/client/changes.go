package client

import "github.com/vedette-sec/vedette/internal/webtest/message"

// Changes is a number that grows with each request that may have changed data at the target: what was read while it was
// a lower one may be out of date. Each message to a WebSocket counts, each request of a page in a browser, of which the
// address alone is known, and what Raw sends.
func (c *Client) Changes() int64 { return c.changes.Load() }

// noteChange counts a request that was answered, or that may have arrived though no answer came.
func (c *Client) noteChange(r *message.Request, o Options, response *message.Response) {
	if isRefused := response != nil && response.Status/100 == 4; (!isRefused || r.IsMessage()) && mayChange(r, o) {
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
	return !r.IsQuery()
}
