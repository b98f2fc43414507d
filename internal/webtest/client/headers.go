package client

import (
	"net/http"
	"net/url"
)

// Headers are the header lines that the user sends to a URL besides cookies.
func (u *User) Headers(at *url.URL) http.Header { return u.header(at) }
