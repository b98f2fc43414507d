package web_test

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// newClient makes a client for the time of the test.
func newClient(t testing.TB, cfg web.Config) *web.Client {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	c := web.New(cfg)
	t.Cleanup(c.Close)
	return c
}

// get sends a request and follows it as it says; it gives the last answer.
func get(t testing.TB, cfg web.Config, req web.Request) (*web.Exchange, error) {
	t.Helper()
	c := newClient(t, cfg)
	if req.Address.Host == "" {
		req.Address = web.Address{Scheme: "http", Host: "h", Path: "/"}
	}
	first, err := c.Do(t.Context(), req)
	if err != nil {
		return nil, err
	}
	chain, err := c.Follow(t.Context(), first, req.Policy())
	if err != nil {
		return nil, err
	}
	return chain[len(chain)-1], nil
}
