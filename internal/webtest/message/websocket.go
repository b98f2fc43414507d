package message

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// WebSocket is the Method of a request that is one message to a WebSocket (RFC 6455). Its URL is that of the handshake,
// with the scheme http or https; Header and the query belong to the handshake; Body is the message, whose format is
// known from Content-Type, which is not sent. After, if it is a message too, is sent before it on the same connection.
// Without a Body it is the handshake alone. The answer is all messages that come back, one on each line, with the
// status of the handshake.
const WebSocket = "WEBSOCKET"

// NewMessage makes a message to the WebSocket at a URL, whose scheme may be that of HTTP or of WebSockets.
func NewMessage(u *url.URL, text string) *Request {
	r := From(WebSocket, u)
	r.URL.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	if r.URL.Scheme == "" {
		r.URL.Scheme = u.Scheme
	}
	r.Body = []byte(text)
	r.Header.Set("Content-Type", typeOf(r.Body))
	return r
}

// typeOf is the media type of a message.
func typeOf(text []byte) string {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text):
		return "application/json"
	case len(text) > 0 && text[0] == '<':
		return "application/xml"
	}
	return "text/plain"
}

// IsMessage reports whether a request is a message to a WebSocket.
func (r *Request) IsMessage() bool { return r != nil && r.Method == WebSocket }

// SocketURL is the address of the WebSocket of a message, with the scheme ws or wss.
func (r *Request) SocketURL() *url.URL {
	u := *r.URL
	u.Scheme = "ws" + u.Scheme[len("http"):]
	return &u
}

// NewAnswer is the answer to a message: what came back, and the header of the handshake.
func NewAnswer(r *Request, status int, header http.Header, text []byte) *Response {
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", typeOf(text))
	return &Response{Status: status, Header: header, Body: text, Request: r}
}
