package names

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The bounds of one source's answers to one question.
const (
	maxRequests = 500
	maxBody     = 32 << 20 // bytes of one answer
	maxRefusals = 2        // after so many "ask less" nothing more is asked
	maxOpening  = 400      // bytes of an answer that are looked at for an excuse
	maxDetail   = 300
)

var (
	errEnough = errors.New("it has been asked often enough")
	errBody   = errors.New("its answer is too long")
)

// witness carries a source's requests and remembers how they went. A source's own error
// seldom says whether it was the key, the limit or the network.
type witness struct {
	next http.RoundTripper // nil: net/http's own

	mu       sync.Mutex
	requests int
	limited  int  // answers that say "ask less"
	rejected bool // 401, or 403 to one with a key
	missing  bool // 404
	forbade  bool // 403, 451
	status   int  // of the last answer that was no good
	opening  strings.Builder
	failure  error // of the last request that had no answer
	cut      bool  // an answer was too long, or there were too many
}

// RoundTrip sends one request under our own name, unless there have been too many.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := w.begin(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "vedette")
	next := w.next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failure = err
		return nil, err
	}
	w.note(answer)
	answer.Body = &body{ReadCloser: answer.Body, witness: w, left: maxBody}
	return answer, nil
}

// begin counts a request.
func (w *witness) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests++; w.requests > maxRequests || w.limited >= maxRefusals {
		w.cut = true
		return errEnough
	}
	return nil
}

// note remembers what an answer's head says.
func (w *witness) note(answer *http.Response) {
	switch code := answer.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusPaymentRequired,
		code == http.StatusForbidden && answer.Header.Get("Retry-After") != "",
		code == http.StatusForbidden && answer.Header.Get("X-Ratelimit-Remaining") == "0":
		w.limited++
	case code == http.StatusUnauthorized:
		w.rejected = true
	case code == http.StatusForbidden, code == http.StatusUnavailableForLegalReasons:
		w.forbade = true
	case code == http.StatusNotFound:
		w.missing = true
	case code/100 == 2:
		return
	}
	w.status = answer.StatusCode
}

// body is an answer's body, bounded, its beginning remembered.
type body struct {
	io.ReadCloser

	witness *witness
	left    int
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.witness.mu.Lock()
		b.witness.cut = true
		b.witness.mu.Unlock()
		return 0, errBody
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	w := b.witness
	w.mu.Lock()
	defer w.mu.Unlock()
	if room := maxOpening - w.opening.Len(); room > 0 {
		w.opening.Write(p[:min(n, room)])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.failure = err
	}
	return n, err
}

var (
	saysLimit = regexp.MustCompile(`(?i)(rate|count|quota|api|request|query|daily|usage)\W*(limit|exceeded|exhausted)|too many requests|quota`)
	saysKey   = regexp.MustCompile(`(?i)(invalid|wrong|missing|bad|unknown|expired)\W+(api|access|auth)?\W*(key|token|credential)|unauthori[sz]ed`)
)

// judge says how a source behaved that gave count names and ended with err.
func (w *witness) judge(err error, count int, keyed bool) (discover.SourceState, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	detail := ""
	if w.status != 0 {
		detail = fmt.Sprintf("it answered with HTTP status %d", w.status)
	}
	failure := w.failure
	if failure == nil {
		failure = err
	}
	var denied *netguard.Denied
	state := discover.SourceOK
	switch {
	case w.limited > 0, w.cut, errors.Is(err, errMany):
		state = discover.SourceLimited
		if detail == "" && err != nil {
			detail = err.Error()
		}
	case errors.As(failure, &denied):
		state, detail = discover.SourceBlocked, denied.Error()
	case w.rejected, w.forbade && keyed, errors.Is(err, errKey):
		state = discover.SourceKey
		if detail == "" {
			detail = errKey.Error()
		}
	case w.forbade:
		state = discover.SourceBlocked
	case isTimeout(failure):
		state, detail = discover.SourceTimedOut, "it did not answer in time"
	case count == 0 && saysLimit.MatchString(w.opening.String()):
		state, detail = discover.SourceLimited, w.opening.String()
	case count == 0 && saysKey.MatchString(w.opening.String()):
		state, detail = discover.SourceKey, w.opening.String()
	case w.missing && count == 0:
		state, detail = discover.SourceEmpty, ""
	case failure != nil && count > 0:
		state, detail = discover.SourceLimited, "it broke off: "+plain(failure)
	case failure != nil:
		state = discover.SourceFailed
		if detail == "" {
			detail = plain(failure)
		}
	case count == 0 && w.requests == 0:
		state, detail = discover.SourceFailed, "it asked nothing"
	case count == 0:
		state = discover.SourceEmpty
	}
	return state, detail
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// plain is an error without the URL it was about, which may hold a key.
func plain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

var address = regexp.MustCompile(`https?://[^\s"']+`)

// harmless is a text without keys, URLs and control characters, and bounded.
func harmless(s string, keys []string) string {
	s = address.ReplaceAllString(s, "its URL")
	for _, key := range keys {
		for _, part := range append([]string{key}, strings.Split(key, ":")...) {
			if len(part) > 3 {
				s = strings.ReplaceAll(s, part, "***")
			}
		}
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if runes := []rune(s); len(runes) > maxDetail {
		s = string(runes[:maxDetail])
	}
	return strings.TrimSpace(s)
}
