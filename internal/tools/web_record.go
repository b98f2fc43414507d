package tools

import (
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// record captures a request, and its answer; nil: there was none.
func (w *web) record(begun time.Time, r *http.Request, body string, a *webAnswer, err error) {
	by := w.scope.Capture.By("http")
	if by == nil {
		return
	}
	x := traffic.Exchange{At: begun, Took: time.Since(begun), Method: r.Method, URL: r.URL.String()}
	x.Request, x.RequestCut = traffic.Message([]byte(requestText(r, body)), nil, traffic.MaxRequest)
	if a != nil {
		head := a.Proto + " " + http.StatusText(a.Status) + "\r\n" + headerText(a.Header) + "\r\n"
		x.Status = a.Status
		x.Response, x.ResponseCut = traffic.Message([]byte(head), a.Body, traffic.MaxResponse)
		x.ResponseCut = x.ResponseCut || a.Cut
	}
	if err != nil {
		x.Error = err.Error()
	}
	by(x)
}
