package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Canary is what a target says to paths that surely do not exist on it.
type Canary struct {
	Answers []CanaryAnswer `json:"answers"`

	// AnswersAlike is true when every such path was answered with a 2xx: a wall that
	// has everything, where the existence of a path proves nothing.
	AnswersAlike bool `json:"answers_alike"`
}

// CanaryAnswer is the answer to one missing path.
type CanaryAnswer struct {
	Path        string `json:"path"`
	Status      int    `json:"status"`
	Length      int    `json:"length"`      // bytes of the body that were read
	Type        string `json:"type"`        // of the content, without parameters
	Fingerprint string `json:"fingerprint"` // of the body, without the path that was asked for and without digits; hex
}

// Canary asks a target for three paths that surely do not exist: a plain one, one with
// an extension, and a hidden file.
func (e *Engine) Canary(ctx context.Context, target string) (Canary, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return Canary{}, err
	}
	_, canary, err := e.locate(ctx, t, true, e.sendAlone)
	return canary, err
}

// sender sends one request in whatever limits apply.
type sender func(ctx context.Context, req web.Request) ([]*web.Exchange, error)

func (e *Engine) sendAlone(ctx context.Context, req web.Request) ([]*web.Exchange, error) {
	return e.send(ctx, req, e.gate)
}

// locate finds the scheme that a target answers on, by asking for a missing path, and
// with all asks for the other missing paths, too.
func (e *Engine) locate(ctx context.Context, t Target, all bool, send sender) (web.Address, Canary, error) {
	var canary Canary
	var firstErr error
	for _, scheme := range t.schemes {
		address := t.with(scheme)
		paths := canaryPaths()
		answer, err := askCanary(ctx, address, paths[0], send)
		if err == nil && answer.foreign {
			err = errors.New("the port speaks https")
		}
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			if ctx.Err() != nil {
				break
			}
			continue
		}
		canary.Answers = append(canary.Answers, answer.CanaryAnswer)
		if all {
			for _, p := range paths[1:] {
				// The target is there; a missing answer to one of these only means knowing less.
				if more, err := askCanary(ctx, address, p, send); err == nil {
					canary.Answers = append(canary.Answers, more.CanaryAnswer)
				}
			}
		}
		canary.AnswersAlike = len(canary.Answers) > 1 && !slices.ContainsFunc(canary.Answers, func(a CanaryAnswer) bool {
			return a.Status < 200 || a.Status > 299
		})
		return address, canary, ctx.Err()
	}
	return t.address, canary, firstErr
}

func canaryPaths() []string {
	return []string{"/" + randomWord(), "/" + randomWord() + ".zip", "/." + randomWord() + "/HEAD"}
}

type canaryReply struct {
	CanaryAnswer
	foreign bool // an https server complains about plain http
}

func askCanary(ctx context.Context, target web.Address, missing string, send sender) (canaryReply, error) {
	at := target
	at.Path, at.Query = strings.TrimSuffix(target.Path, "/")+missing, ""
	chain, err := send(ctx, web.Request{Address: at})
	if err != nil {
		return canaryReply{}, err
	}
	r := chain[len(chain)-1]
	kind, _, _ := strings.Cut(r.Header("Content-Type"), ";")
	return canaryReply{
		CanaryAnswer: CanaryAnswer{
			Path: at.Path, Status: r.Status, Length: len(r.Body),
			Type: Clean(strings.ToLower(strings.TrimSpace(kind))), Fingerprint: fingerprint(r.Body, at.Path),
		},
		foreign: target.Scheme == "http" && r.Status == 400 && plainToTLS.Match(r.Body),
	}, nil
}

// plainToTLS is what TLS servers answer to plain http.
var plainToTLS = regexp.MustCompile(`(?i)plain HTTP request was sent to HTTPS port|HTTP request to an HTTPS server|speaking plain HTTP to an SSL-enabled server`)

var digits = regexp.MustCompile(`[0-9]+`)

// fingerprint is equal for pages that differ in the path they name and in numbers.
func fingerprint(body []byte, asked string) string {
	text := strings.ReplaceAll(string(body), asked, "")
	text = digits.ReplaceAllString(strings.ReplaceAll(text, path.Base(asked), ""), "0")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Control asks for a sibling of the path that an event matched on, one that surely does
// not exist (same directory, same extension, same method and headers; for the root, a
// path below it), and says whether the same matcher holds there, too. If it does, the
// event says nothing about its path.
func (e *Engine) Control(ctx context.Context, target string, p *program.Program, ev Event) (matched bool, err error) {
	_, matched, err = e.again(ctx, target, p, ev, false, func(req *web.Request) { req.Address.Path = sibling(req.Address.Path) })
	return matched, err
}

// Confirm makes the request of an event once more, on a new connection and with nothing
// remembered, and gives the new event when the same matcher holds again.
func (e *Engine) Confirm(ctx context.Context, target string, p *program.Program, ev Event) (Event, bool, error) {
	return e.again(ctx, target, p, ev, true, func(*web.Request) {})
}

// again repeats what led to an event, with a change, and looks for the same finding.
func (e *Engine) again(ctx context.Context, target string, p *program.Program, ev Event, fresh bool, change func(*web.Request)) (Event, bool, error) {
	address, err := e.address(ctx, target, ev)
	if err != nil {
		return Event{}, false, err
	}
	for _, o := range origins(p, address, ev) {
		req, err := o.bound.Blocks[o.block].Steps[o.step].Request(address)
		if err != nil {
			return Event{}, false, errs.New(errs.Invalid, "step_not_possible", "%s: %v", p.ID, err)
		}
		change(&req)
		req.Fresh = fresh
		chain, err := e.send(ctx, req, e.gate)
		if err != nil {
			return Event{}, false, err
		}
		_, events := judge(chain)(o, address)
		for _, found := range events {
			if found.MatcherName == ev.MatcherName && found.ExtractorName == ev.ExtractorName {
				return found, true, nil
			}
		}
	}
	return Event{}, false, nil
}

// address is where a target answered when the event was made, or else answers now.
func (e *Engine) address(ctx context.Context, target string, ev Event) (web.Address, error) {
	t, err := ParseTarget(target)
	if err != nil {
		return web.Address{}, err
	}
	if len(t.schemes) == 1 {
		return t.address, nil
	}
	if seen, err := web.ParseAddress(ev.MatchedAt); err == nil && seen.HostPort() == t.with(seen.Scheme).HostPort() {
		return t.with(seen.Scheme), nil
	}
	address, _, err := e.locate(ctx, t, false, e.sendAlone)
	return address, err
}

// origins are the steps that can have made an event: the one it remembers; for an event
// that was stored in between, those that ask for the URL it names, or else all.
func origins(p *program.Program, target web.Address, ev Event) []origin {
	if ev.origin != nil && ev.origin.bound.Program == p {
		return []origin{*ev.origin}
	}
	bound := p.Bind(nil)
	var all, exact []origin
	for j, b := range bound.Blocks {
		for k, s := range b.Steps {
			o := origin{bound, j, k}
			req, err := s.Request(target)
			if err != nil {
				continue
			}
			all = append(all, o)
			if Clean(req.Address.String()) == ev.MatchedAt {
				exact = append(exact, o)
			}
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return all
}

// sibling is a path that surely does not exist next to another one.
func sibling(p string) string {
	if p == "" || p == "/" {
		return "/" + randomWord()
	}
	folder := strings.HasSuffix(p, "/")
	dir, base := path.Split(strings.TrimSuffix(p, "/"))
	word := randomWord()
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

// randomWord is a name that nobody gave to a file.
func randomWord() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	var word [16]byte
	for i := range word {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err) // never returned: crypto/rand ends the process itself
		}
		word[i] = letters[n.Int64()]
	}
	return string(word[:])
}
