package program

import (
	"net/url"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// EventURL writes the address of a request as events name it (template language 8.1, matched-at): where it was sent,
// with its fragment, which is not sent. What is sent byte by byte is not escaped here either.
func (r *Request) EventURL(sent *web.Exchange) string {
	a := r.Address
	if sent != nil { // a server may turn out to want TLS
		a.Scheme, a.Host = sent.Request.Address.Scheme, sent.Request.Address.Host
	}
	path := a.Path
	if a = a.Sent(); r.Raw != nil {
		a.Path = path
	}
	text := a.String()
	if r.fragment != "" {
		text += "#" + (&url.URL{Fragment: r.fragment}).EscapedFragment()
	}
	return text
}

// RedirectURL writes the address of a redirect, with its query unchanged.
func RedirectURL(a rawurl.URL) string {
	a.Path = rawurl.EscapePath(a.Path)
	return a.String()
}
