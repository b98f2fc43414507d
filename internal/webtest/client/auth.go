package client

import (
	"net/http"
	"sync"

	"github.com/Azure/go-ntlmssp"
	"github.com/icholy/digest"
)

// Schemes of HTTP authentication that answer a challenge of the target.
const (
	Digest = "digest"
	NTLM   = "ntlm"
)

// credentials answer the challenges of one host. What is known of a challenge is kept, so that only the first request
// is sent twice. NTLM logs in connections and not requests: its requests go one after another over one connection.
type credentials struct {
	scheme, name, password string

	once      sync.Once
	transport http.RoundTripper
	turn      sync.Mutex
}

// Authenticate has requests to a host (with its port) answer its challenges, by Digest or NTLM.
func (u *User) Authenticate(host, scheme, name, password string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.credentials == nil {
		u.credentials = map[string]*credentials{}
	}
	u.credentials[host] = &credentials{scheme: scheme, name: name, password: password}
	u.version++
}

// credentialsFor are those of a user for a host; nil where there are none.
func (u *User) credentialsFor(host string) *credentials {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.credentials[host]
}

// send sends a request that says nothing of who sends it. done lets the next request of the user pass.
func (a *credentials) send(c *Client, wire *http.Request, shared http.RoundTripper) (
	answer *http.Response, done func(), err error,
) {
	if a.scheme == Digest {
		a.once.Do(func() {
			a.transport = &digest.Transport{Username: a.name, Password: a.password, Transport: shared}
		})
		answer, err = a.transport.RoundTrip(wire)
		return answer, func() {}, err
	}
	a.once.Do(func() {
		own := c.transport(false)
		own.MaxConnsPerHost = 1
		a.transport = ntlmssp.Negotiator{RoundTripper: own}
	})
	a.turn.Lock()
	wire.SetBasicAuth(a.name, a.password) // which is where the library looks for them; it does not send it
	answer, err = a.transport.RoundTrip(wire)
	return answer, a.turn.Unlock, err
}
