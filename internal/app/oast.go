package app

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/oast"
)

// oastTimeout is how long the out-of-band server may take for an answer.
const oastTimeout = 30 * time.Second

// openInteractions connects scans with the out-of-band server, and opens the one in this process, if they are
// configured.
func (a *App) openInteractions(box *seal.Box) error {
	if a.config.Role == RoleServer { // it runs no scans
		return nil
	}
	c := interaction.Config{Server: a.config.OAST, Token: a.config.OASTToken, Keep: a.config.OASTCooldown}
	switch {
	case len(a.config.OASTListen) > 0:
		c.Token = cmp.Or(c.Token, rand.Text()) // nobody but this process can register
		at, err := a.openOAST(c.Token)
		if err != nil {
			return err
		}
		c.Server, c.HTTP = "http://"+at, &http.Client{Transport: inProcess{a.oast}}
	case c.Server != "": // the operator names it, so it may be in a private network
		anywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
		c.HTTP = (&netguard.Guard{Allow: anywhere}).Client(oastTimeout)
	default:
		return nil
	}
	a.interactions = interaction.New(a.db, a.queue, box, c, a.logger)
	a.Scans.Interactions = a.interactions
	return nil
}

// openOAST opens the out-of-band server in this process, and returns its domain, or the address to give to targets.
func (a *App) openOAST(token string) (at string, err error) {
	addresses := make([]netip.Addr, len(a.config.OASTAddresses))
	for i, text := range a.config.OASTAddresses {
		if addresses[i], err = netip.ParseAddr(text); err != nil {
			return "", fmt.Errorf("oast_addresses: %w", err)
		}
	}
	s, err := oast.NewServer(oast.Config{Domain: a.config.OASTDomain, Addresses: addresses, Token: token})
	if err != nil {
		return "", fmt.Errorf("oast_domain: %w", err)
	}
	a.oast = s
	at = strings.ToLower(strings.Trim(a.config.OASTDomain, "."))
	for _, where := range a.config.OASTListen {
		bound, err := s.Listen(where)
		if err != nil {
			return "", fmt.Errorf("oast_listen %s: %w", where, err)
		}
		a.logger.Info("waiting for out-of-band interactions", "at", where)
		if at == "" && strings.HasPrefix(where, "http://") {
			at = bound
		}
	}
	if at == "" {
		return "", errors.New("oast_listen needs an http://HOST:PORT, or oast_domain")
	}
	return at, nil
}

// inProcess asks the out-of-band server in this process as a client does.
type inProcess struct{ server *oast.Server }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &keptAnswer{status: http.StatusOK, header: http.Header{}}
	t.server.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Request: r, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&w.body),
	}, nil
}

// keptAnswer is an http.ResponseWriter that keeps the answer.
type keptAnswer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *keptAnswer) Header() http.Header            { return a.header }
func (a *keptAnswer) WriteHeader(status int)         { a.status = status }
func (a *keptAnswer) Write(part []byte) (int, error) { return a.body.Write(part) }
