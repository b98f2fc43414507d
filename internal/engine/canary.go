package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
)

// sendAlone sends a request outside of a scan.
func (e *Engine) sendAlone(ctx context.Context, req web.Request) (*web.Exchange, error) {
	at := req.Address.HostPort()
	defer e.sender.Release(at)
	return e.sender.Send(ctx, e.sender.Acquire(at), req, e.sender.Wait)
}

// locate finds the scheme that a target answers on by requesting a missing path. With all it requests three: a plain
// one, one with an extension and a hidden file; alike is true when all were answered with a 2xx, so that the existence
// of a path proves nothing.
func (e *Engine) locate(ctx context.Context, t Target, all bool, send sendFunc) (at rawurl.URL, alike bool, err error) {
	var firstErr error
	for i, scheme := range t.Schemes {
		at = t.With(scheme)
		alike, err = requestCanaries(ctx, at, all, i < len(t.Schemes)-1, send)
		if err == nil || ctx.Err() != nil {
			return at, alike, ctx.Err()
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return t.Address, false, firstErr
}

// requestCanaries requests one missing path or all. A server that answers only for its root counts as alive. With
// httpsNext, an http response that demands TLS is an error: https is tried next.
func requestCanaries(ctx context.Context, at rawurl.URL, all, httpsNext bool, send sendFunc) (alike bool, err error) {
	request := func(missing string) (*web.Exchange, error) {
		canary := at
		canary.Path, canary.Query = strings.TrimSuffix(at.Path, "/")+missing, ""
		return send(ctx, web.Request{Address: canary})
	}
	x, err := request("/" + randomWord())
	switch {
	case err == nil && httpsNext && at.Scheme == "http" && x.Status == 400 && plainToTLS.Match(x.Body):
		return false, errors.New("the port speaks https")
	case err != nil && (!sender.Unanswered(err) || unreachable(err)):
		return false, err
	case err != nil:
		if _, again := send(ctx, web.Request{Address: at.Root()}); again == nil {
			err = nil
		}
		return false, err
	case !all:
		return false, nil
	}
	answered, alike := 1, success(x)
	for _, missing := range []string{"/" + randomWord() + ".zip", "/." + randomWord() + "/HEAD"} {
		// The target is alive; a missing response to one of these is no error.
		if x, err := request(missing); err == nil {
			answered, alike = answered+1, alike && success(x)
		}
	}
	return alike && answered > 1, nil
}

func success(x *web.Exchange) bool { return x.Status >= 200 && x.Status <= 299 }

// unreachable reports whether an error means that there is no server.
func unreachable(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && (sent.Kind == web.KindDial || sent.Kind == web.KindTLS)
}

// plainToTLS is what TLS servers answer to plain http.
var plainToTLS = regexp.MustCompile(`(?i)plain HTTP request was sent to HTTPS port|` +
	`HTTP request to an HTTPS server|speaking plain HTTP to an SSL-enabled server`)

// randomWord is a name of 16 letters that no file has.
func randomWord() string {
	return strings.Map(func(c rune) rune {
		if c < 'A' { // one of the digits 2 to 7
			return c - '2' + 'a'
		}
		return c - 'A' + 'a'
	}, rand.Text()[:16])
}
