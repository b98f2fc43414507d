package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"math/big"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
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

// sendAlone sends a request that belongs to no scan.
func (e *Engine) sendAlone(ctx context.Context, req web.Request) (*web.Exchange, error) {
	at := req.Address.HostPort()
	defer e.giveBack(at)
	return e.send(ctx, e.lend(at), req, e.gate)
}

// locate finds the scheme that a target answers on, by asking for a missing path, and
// with all asks for the other missing paths, too.
func (e *Engine) locate(ctx context.Context, t Target, all bool, send sender) (rawurl.URL, Canary, error) {
	var firstErr error
	for i, scheme := range t.schemes {
		address := t.with(scheme)
		canary, err := askCanaries(ctx, address, all, i < len(t.schemes)-1, send)
		if err == nil || ctx.Err() != nil {
			return address, canary, ctx.Err()
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return t.address, Canary{}, firstErr
}

// askCanaries asks for one missing path or for all. A server that will not answer for
// those, but answers for its root, is there as well. With choosy, a server that wants
// TLS is refused: it will be asked so next.
func askCanaries(ctx context.Context, address rawurl.URL, all, choosy bool, send sender) (Canary, error) {
	var canary Canary
	paths := canaryPaths()
	answer, err := askCanary(ctx, address, paths[0], send)
	switch {
	case err == nil && answer.foreign && choosy:
		return canary, errors.New("the port speaks https")
	case err == nil:
		canary.Answers = append(canary.Answers, answer.CanaryAnswer)
	case !isMiss(err) || unreachable(err):
		return canary, err
	default:
		root := web.Request{Address: rawurl.URL{Scheme: address.Scheme, Host: address.Host, Path: "/"}}
		if _, again := send(ctx, root); again != nil {
			return canary, err
		}
		return canary, nil
	}
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
	return canary, nil
}

// unreachable says whether an error means that there is no server at all.
func unreachable(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && (sent.Kind == web.KindDial || sent.Kind == web.KindTLS)
}

func canaryPaths() []string {
	return []string{"/" + randomWord(), "/" + randomWord() + ".zip", "/." + randomWord() + "/HEAD"}
}

type canaryReply struct {
	CanaryAnswer
	foreign bool // an https server complains about plain http
}

func askCanary(ctx context.Context, target rawurl.URL, missing string, send sender) (canaryReply, error) {
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

// Controls says whether Control can tell something about an event: it is about a path,
// or about a payload in the address.
func Controls(p *program.Program, ev Event) bool {
	return p.PathSpecific() || inAddress(ev)
}

// inAddress says whether fuzzing made the event by changing the address of the target.
func inAddress(ev Event) bool {
	return ev.Fuzzed && (ev.FuzzingPosition == "query" || ev.FuzzingPosition == "path")
}

// Control asks for a sibling of the path that an event matched on, one that surely does
// not exist (same directory, same extension, same method and headers; for the root, a
// path below it), and says whether the same matcher holds there, too. If it does, the
// event says nothing about its path. For an event of a payload in the address it asks for
// the address without the payload.
func (e *Engine) Control(ctx context.Context, target string, p *program.Program, ev Event) (matched bool, err error) {
	change := func(req *web.Request) { req.Address.Path = sibling(req.Address.Path) }
	if inAddress(ev) {
		_, plain, err := e.address(ctx, target, p, ev)
		if err != nil {
			return false, err
		}
		change = func(req *web.Request) { req.Address = plain }
	}
	_, matched, err = e.again(ctx, target, p, ev, false, change)
	return matched, err
}

// Confirm makes the request of an event once more, on a new connection and with nothing
// remembered, and gives the new event when the same matcher holds again. A template
// whose requests build on each other is run from its beginning.
func (e *Engine) Confirm(ctx context.Context, target string, p *program.Program, ev Event) (Event, bool, error) {
	return e.again(ctx, target, p, ev, true, nil)
}

// again repeats what led to an event, with a change, and looks for the same finding.
func (e *Engine) again(ctx context.Context, target string, p *program.Program, ev Event, fresh bool, change func(*web.Request)) (Event, bool, error) {
	t, address, err := e.address(ctx, target, p, ev)
	if err != nil {
		return Event{}, false, err
	}
	var found []Event
	s := session{
		seat: &seat{engine: e, target: t, address: address, send: e.sendAlone, gate: e.gate, hands: e.hands(), fresh: fresh, change: change},
		jar:  web.NewJar(), tell: func(events []Event) { found = append(found, events...) },
	}
	if s.bound = p.Bind(program.Vars{}); ev.origin != nil && ev.origin.bound.Program == p {
		s.bound, s.only = ev.origin.bound, ev.origin
	}
	if s.bound.Plain {
		for _, o := range origins(s.bound, address, ev) {
			got := s.entry(ctx, o.block, o.entry, o.tuple, 0, nil)
			if got.fault != nil {
				return Event{}, false, got.fault
			}
			found = append(found, got.events...)
		}
	} else if s.run(ctx); len(found) == 0 && s.fault != nil {
		return Event{}, false, s.fault
	}
	if err := ctx.Err(); err != nil {
		return Event{}, false, err
	}
	for _, again := range found {
		if again.MatcherName == ev.MatcherName && again.ExtractorName == ev.ExtractorName && maps.Equal(again.Meta, ev.Meta) &&
			again.FuzzingPosition == ev.FuzzingPosition && again.FuzzingParameter == ev.FuzzingParameter {
			return again, true, nil
		}
	}
	return Event{}, false, nil
}

// address is where a target answered when the event was made, or else answers now.
func (e *Engine) address(ctx context.Context, target string, p *program.Program, ev Event) (Target, rawurl.URL, error) {
	if p.SelfContained {
		return Target{}, rawurl.URL{}, nil
	}
	t, err := ParseTarget(target)
	if err != nil {
		return t, rawurl.URL{}, err
	}
	if len(t.schemes) == 1 {
		return t, t.address, nil
	}
	if seen, err := rawurl.Parse(ev.MatchedAt); err == nil && seen.HostPort() == t.with(seen.Scheme).HostPort() {
		return t, t.with(seen.Scheme), nil
	}
	address, _, err := e.locate(ctx, t, false, e.sendAlone)
	return t, address, err
}

// origins are the requests of a plain program that can have made an event: the one it
// remembers; for an event that was stored in between, those that ask for the URL it
// names, or else all.
func origins(b *program.Bound, target rawurl.URL, ev Event) []origin {
	if ev.origin != nil && ev.origin.bound == b {
		return []origin{*ev.origin}
	}
	var all, exact []origin
	for j := range b.Blocks {
		for k := range b.Blocks[j].Entries {
			o := origin{bound: b, block: j, entry: k}
			req, err := b.Request(j, k, program.Input{Target: target})
			if err != nil {
				continue
			}
			all = append(all, o)
			if Clean(req.URL()) == ev.MatchedAt {
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
