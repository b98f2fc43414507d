package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// ErrLate says that no byte of an answer came in time.
var ErrLate = errors.New("no answer came in time")

// maxRaw is how much of an answer Raw reads, in bytes.
const maxRaw = 16 << 10

// Raw sends bytes over a connection of their own, while nothing else is in flight at that host, and returns the
// beginning of the answer. It is for what no library sends, such as a request that contradicts itself; who calls it
// answers for what the bytes do. The error is ErrLate, or as that of Send.
func (c *Client) Raw(ctx context.Context, at *url.URL, text []byte, wait time.Duration) ([]byte, error) {
	if err := c.Permit(message.From(http.MethodGet, at), Options{}); err != nil {
		return nil, err
	}
	l := c.lane(at)
	if err := l.enter(ctx, Options{Alone: true}); err != nil {
		return nil, err
	}
	defer l.leave(Options{Alone: true}, nil, nil, true)
	if err := c.pace(ctx); err != nil {
		return nil, err
	}
	if !c.count() {
		return nil, overBudget(c.Over())
	}
	defer c.changes.Add(1)
	return c.raw(ctx, at, text, wait)
}

func (c *Client) raw(ctx context.Context, at *url.URL, text []byte, wait time.Duration) ([]byte, error) {
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	dialled, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := c.Dial(dialled, "tcp", net.JoinHostPort(at.Hostname(), port))
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		return nil, refused(denied.Why)
	}
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if at.Scheme == "https" {
		secured := tls.Client(conn, &tls.Config{ServerName: at.Hostname(), InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec // see transport
		if err := secured.HandshakeContext(dialled); err != nil {
			return nil, err
		}
		conn = secured
	}
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(text); err != nil {
		return nil, err
	}
	begun, answer := time.Now(), make([]byte, maxRaw)
	n, err := conn.Read(answer)
	c.recordRaw(begun, at, text, answer[:n], err)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, ErrLate
	}
	return answer[:n], nil
}
