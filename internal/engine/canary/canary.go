// Package canary asks a target for paths that cannot exist on it: whether it answers, and whether it answers all paths
// alike, so that the existence of one proves nothing.
package canary

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
	Answers []Answer `json:"answers"`

	// AnswersAlike is true when every such path was answered with a 2xx: then the existence of a path proves nothing.
	AnswersAlike bool `json:"answers_alike"`
}

// Answer is the response for one missing path.
type Answer struct {
	Path        string `json:"path"`
	Status      int    `json:"status"`
	Length      int    `json:"length"`      // bytes of the body that were read
	Type        string `json:"type"`        // of the content, without parameters
	Fingerprint string `json:"fingerprint"` // of the body, without the requested path and without digits; hex
}

// Send sends one request.
type Send = func(ctx context.Context, req web.Request) (*web.Exchange, error)

// Request requests one missing path, or with all three: a plain one, one with an extension, and a hidden file. A
// server that answers only for its root counts as alive. With httpsNext, an http response that demands TLS is an error:
// https is tried next. With otherScheme a server that lets a request wait is not asked for its root: the other scheme
// was or will be tried.
func Request(
	ctx context.Context, address rawurl.URL, all, httpsNext, otherScheme bool, send Send,
) (Canary, error) {
	var canary Canary
	paths := []string{"/" + Word(), "/" + Word() + ".zip", "/." + Word() + "/HEAD"}
	answer, err := requestOne(ctx, address, paths[0], send)
	switch {
	case err == nil && answer.demandsTLS && httpsNext:
		return canary, errors.New("the port speaks https")
	case err == nil:
		canary.Answers = append(canary.Answers, answer.Answer)
	case !sender.Unanswered(err) || unreachable(err) || sender.TimedOut(err) && otherScheme:
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
			if more, err := requestOne(ctx, address, p, send); err == nil {
				canary.Answers = append(canary.Answers, more.Answer)
			}
		}
	}
	canary.AnswersAlike = len(canary.Answers) > 1 && !slices.ContainsFunc(canary.Answers, func(a Answer) bool {
		return a.Status < 200 || a.Status > 299
	})
	return canary, nil
}

// unreachable reports whether an error means that there is no server.
func unreachable(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && (sent.Kind == web.KindDial || sent.Kind == web.KindTLS)
}

type reply struct {
	Answer
	demandsTLS bool // an https server complains about plain http
}

func requestOne(ctx context.Context, target rawurl.URL, missing string, send Send) (reply, error) {
	at := target
	at.Path, at.Query = strings.TrimSuffix(target.Path, "/")+missing, ""
	r, err := send(ctx, web.Request{Address: at})
	if err != nil {
		return reply{}, err
	}
	kind, _, _ := strings.Cut(r.Header("Content-Type"), ";")
	return reply{
		Answer: Answer{
			Path: at.Path, Status: r.Status, Length: len(r.Body),
			Type: strings.ToLower(strings.TrimSpace(kind)), Fingerprint: fingerprint(r.Body, at.Path),
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

// Word is a name of 16 letters that no file has.
func Word() string {
	return strings.Map(func(c rune) rune {
		if c < 'A' { // one of the digits 2 to 7
			return c - '2' + 'a'
		}
		return c - 'A' + 'a'
	}, rand.Text()[:16])
}

// Beside is a path beside another one that cannot exist.
func Beside(p string) string {
	if p == "" || p == "/" {
		return "/" + Word()
	}
	folder := strings.HasSuffix(p, "/")
	dir, base := path.Split(strings.TrimSuffix(p, "/"))
	word := Word()
	if rest, hidden := strings.CutPrefix(base, "."); hidden {
		base, word = rest, "."+word
	}
	if !folder {
		word += path.Ext(base)
	} else {
		word += "/"
	}
	return dir + word
}
