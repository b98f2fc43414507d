package client

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// record hands over a request that was sent, and its answer; nil: there was none.
func (c *Client) record(begun time.Time, r *http.Request, body []byte, answer *message.Response, err error) {
	if c.Record == nil {
		return
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), cmp.Or(r.Host, r.URL.Host))
	writeHead(&head, r.Header)
	x := traffic.Exchange{At: begun, Method: r.Method, URL: r.URL.String()}
	x.Request, x.RequestCut = traffic.Message(head.Bytes(), body, traffic.MaxRequest)
	if answer != nil {
		head.Reset()
		fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", answer.Status, http.StatusText(answer.Status))
		writeHead(&head, answer.Header)
		x.Status, x.Took = answer.Status, answer.Took
		x.Response, x.ResponseCut = traffic.Message(head.Bytes(), answer.Body, traffic.MaxResponse)
		x.ResponseCut = x.ResponseCut || answer.Truncated
	}
	if err != nil {
		x.Error = err.Error()
	}
	c.Record(x)
}

func writeHead(to *bytes.Buffer, h http.Header) {
	_ = h.Write(to) // memory does not fail
	to.WriteString("\r\n")
}

// recordRaw hands over bytes that were sent, and the beginning of what was answered.
func (c *Client) recordRaw(begun time.Time, at *url.URL, text, answer []byte, err error) {
	if c.Record == nil {
		return
	}
	method, _, _ := bytes.Cut(text, []byte(" "))
	x := traffic.Exchange{
		At: begun, Took: time.Since(begun), Method: string(method[:min(len(method), 20)]), URL: at.String(),
	}
	x.Request, x.RequestCut = traffic.Message(text, nil, traffic.MaxRequest)
	x.Response, x.ResponseCut = traffic.Message(answer, nil, traffic.MaxResponse)
	line := string(answer[:min(len(answer), 12)])
	if _, scanErr := fmt.Sscanf(line, "HTTP/1.%1d %3d", new(int), &x.Status); scanErr != nil {
		x.Status = 0 // it is no HTTP
	}
	if err != nil {
		x.Error = err.Error()
	}
	c.Record(x)
}
