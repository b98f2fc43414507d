package web

import (
	"cmp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/infra/sigv4"
)

// SignAWS signs a request with AWS Signature Version 4: it adds the X-Amz-Date and Authorization lines, and
// X-Amz-Security-Token if there is a token. It signs the Host, X-Amz-… and Content-Type lines and the body: the
// request must not be changed afterwards.
func SignAWS(req *Request, keys sigv4.Keys, at time.Time) {
	req.Headers = without(req.Headers, "Authorization", "X-Amz-Date", "X-Amz-Security-Token")
	r := sigv4.Request{Method: req.method(), Host: req.host(), Body: req.Body}
	r.Path, r.Query, _ = strings.Cut(req.target(), "?")
	if cmp.Or(keys.Service, "sts") != "s3" {
		r.Path = rawurl.RemoveDots(r.Path)
	}
	for _, h := range req.Headers {
		r.Headers = append(r.Headers, [2]string{h.Name, h.Value})
	}
	for _, h := range keys.Sign(r, at) {
		req.Headers = append(req.Headers, Header{h[0], h[1]})
	}
}
