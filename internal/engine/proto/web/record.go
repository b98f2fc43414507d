package web

import (
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// record hands over what was sent and answered, in copies: an exchange is released later.
func (c *Client) record(x *Exchange, err error) {
	if c.cfg.Record == nil {
		return
	}
	out := traffic.Exchange{At: x.At, Took: x.Duration, Method: x.Request.method(), URL: x.URL(), IP: x.IP}
	out.Request, out.RequestCut = traffic.Message(x.Sent(), nil, traffic.MaxRequest)
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Status = x.Status
		out.Response, out.ResponseCut = traffic.Message(x.Head(), x.Body, traffic.MaxResponse)
		out.ResponseCut = out.ResponseCut || x.Truncated
	}
	c.cfg.Record(out)
}
