package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
)

// Canary is how a target answers requests for paths that cannot exist on it.
type Canary struct {
	Answers []CanaryAnswer `json:"answers"`

	// AnswersAlike is true when every such path was answered with a 2xx: then the existence of a path proves nothing.
	AnswersAlike bool `json:"answers_alike"`
}

// CanaryAnswer is the response for one missing path.
type CanaryAnswer struct {
	Path        string `json:"path"`
	Status      int    `json:"status"`
	Length      int    `json:"length"`      // bytes of the body that were read
	Type        string `json:"type"`        // of the content, without parameters
	Fingerprint string `json:"fingerprint"` // of the body, without the requested path and without digits; hex
}

// Canary requests three missing paths: a plain one, one with an extension, and a hidden file.
func (e *Engine) Canary(ctx context.Context, target string) (Canary, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return Canary{}, err
	}
	_, canary, err := e.locate(ctx, t, true, e.sendAlone)
	return canary, err
}

// sendAlone sends a request outside of a scan.
func (e *Engine) sendAlone(ctx context.Context, req web.Request) (*web.Exchange, error) {
	at := req.Address.HostPort()
	defer e.sender.Release(at)
	return e.sender.Send(ctx, e.sender.Acquire(at), req, e.sender.Wait)
}

// locate finds the scheme that a target answers on by requesting a missing path; with all, also the other missing
// paths.
func (e *Engine) locate(ctx context.Context, t Target, all bool, send sendFunc) (rawurl.URL, Canary, error) {
	var firstErr error
	for i, scheme := range t.Schemes {
		address := t.With(scheme)
		canary, err := requestCanaries(ctx, address, all, i < len(t.Schemes)-1, send)
		if err == nil || ctx.Err() != nil {
			return address, canary, ctx.Err()
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return t.Address, Canary{}, firstErr
}

// requestCanaries requests one missing path or all. A server that answers only for its root counts as alive. With
// httpsNext, an http response that demands TLS is an error: https is tried next.
func requestCanaries(ctx context.Context, address rawurl.URL, all, httpsNext bool, send sendFunc) (Canary, error) {
	var canary Canary
	paths := []string{"/" + randomWord(), "/" + randomWord() + ".zip", "/." + randomWord() + "/HEAD"}
	answer, err := requestCanary(ctx, address, paths[0], send)
	switch {
	case err == nil && answer.demandsTLS && httpsNext:
		return canary, errors.New("the port speaks https")
	case err == nil:
		canary.Answers = append(canary.Answers, answer.CanaryAnswer)
	case !sender.Unanswered(err) || unreachable(err):
		return canary, err
	default:
		if _, again := send(ctx, web.Request{Address: address.Root()}); again != nil {
			return canary, err
		}
		return canary, nil
	}
	if all {
		for _, p := range paths[1:] {
			// The target is alive; a missing response to one of these is no error.
			if more, err := requestCanary(ctx, address, p, send); err == nil {
				canary.Answers = append(canary.Answers, more.CanaryAnswer)
			}
		}
	}
	canary.AnswersAlike = len(canary.Answers) > 1 && !slices.ContainsFunc(canary.Answers, func(a CanaryAnswer) bool {
		return a.Status < 200 || a.Status > 299
	})
	return canary, nil
}

// unreachable reports whether an error means that there is no server.
func unreachable(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && (sent.Kind == web.KindDial || sent.Kind == web.KindTLS)
}

type canaryReply struct {
	CanaryAnswer
	demandsTLS bool // an https server complains about plain http
}

func requestCanary(ctx context.Context, target rawurl.URL, missing string, send sendFunc) (canaryReply, error) {
	at := target
	at.Path, at.Query = strings.TrimSuffix(target.Path, "/")+missing, ""
	r, err := send(ctx, web.Request{Address: at})
	if err != nil {
		return canaryReply{}, err
	}
	kind, _, _ := strings.Cut(r.Header("Content-Type"), ";")
	return canaryReply{
		CanaryAnswer: CanaryAnswer{
			Path: at.Path, Status: r.Status, Length: len(r.Body),
			Type: Clean(strings.ToLower(strings.TrimSpace(kind))), Fingerprint: fingerprint(r.Body, at.Path),
		},
		demandsTLS: target.Scheme == "http" && r.Status == 400 && plainToTLS.Match(r.Body),
	}, nil
}

// plainToTLS is what TLS servers answer to plain http.
var plainToTLS = regexp.MustCompile(`(?i)plain HTTP request was sent to HTTPS port|HTTP request to an HTTPS server|speaking plain HTTP to an SSL-enabled server`)

var digits = regexp.MustCompile(`[0-9]+`)

// fingerprint is equal for pages that differ only in the path they name and in numbers.
func fingerprint(body []byte, requested string) string {
	text := strings.ReplaceAll(string(body), requested, "")
	text = digits.ReplaceAllString(strings.ReplaceAll(text, path.Base(requested), ""), "0")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// randomWord is a name of 16 letters that no file has.
func randomWord() string {
	return strings.Map(func(c rune) rune {
		if c < 'A' { // one of the digits 2 to 7
			return c - '2' + 'a'
		}
		return c - 'A' + 'a'
	}, rand.Text()[:16])
}
