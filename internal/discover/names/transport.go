package names

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The bounds of one source's answers to one question.
const (
	maxRequests  = 500
	maxBody      = 32 << 20 // bytes of one answer
	maxRefusals  = 2        // answers of "too many requests" after which no more are sent
	maxBodyStart = 400      // bytes of an answer that are searched for a refusal
	maxDetail    = 300
)

var (
	errTooManyRequests = errors.New("too many requests were needed")
	errBodyTooLong     = errors.New("its answer is too long")
)

// recorder sends a source's requests and records how they went: a source's own error seldom says whether it was
// the key, the limit or the network.
type recorder struct {
	next http.RoundTripper

	mu        sync.Mutex
	requests  int
	limited   int  // answers that ask for fewer requests
	rejected  bool // 401
	missing   bool // 404
	forbidden bool // 403, 451
	status    int  // of the last bad answer
	bodyStart strings.Builder
	failure   error // of the last request without an answer
	truncated bool  // an answer was too long, or there were too many requests
}

// newRecorder gives a client whose requests are recorded.
func newRecorder(client *http.Client) (*recorder, *http.Client) {
	w := &recorder{next: client.Transport}
	if w.next == nil {
		w.next = http.DefaultTransport
	}
	recorded := *client
	recorded.Transport = w
	return w, &recorded
}

// RoundTrip sends one request under our own name, unless there have been too many.
func (w *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := w.begin(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", "vedette")
	answer, err := w.next.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failure = err
		return nil, err
	}
	w.recordStatus(answer)
	answer.Body = &body{answer.Body, w, maxBody}
	return answer, nil
}

func (w *recorder) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests++; w.requests > maxRequests || w.limited >= maxRefusals {
		w.truncated = true
		return errTooManyRequests
	}
	return nil
}

func (w *recorder) recordStatus(answer *http.Response) {
	switch code := answer.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusPaymentRequired,
		code == http.StatusForbidden && answer.Header.Get("Retry-After") != "",
		code == http.StatusForbidden && answer.Header.Get("X-Ratelimit-Remaining") == "0":
		w.limited++
	case code == http.StatusUnauthorized:
		w.rejected = true
	case code == http.StatusForbidden, code == http.StatusUnavailableForLegalReasons:
		w.forbidden = true
	case code == http.StatusNotFound:
		w.missing = true
	case code/100 == 2:
		return
	}
	w.status = answer.StatusCode
}

// body is an answer's body, bounded, with its beginning recorded.
type body struct {
	io.ReadCloser

	*recorder
	left int
}

func (b *body) Read(p []byte) (int, error) {
	n, err := 0, errBodyTooLong
	if b.left > 0 {
		n, err = b.ReadCloser.Read(p[:min(len(p), b.left)])
	}
	b.left -= n
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bodyStart.Write(p[:min(n, maxBodyStart-b.bodyStart.Len())])
	if errors.Is(err, errBodyTooLong) {
		b.truncated = true
	} else if err != nil && !errors.Is(err, io.EOF) {
		b.failure = err
	}
	return n, err
}

var (
	limitText = regexp.MustCompile(`(?i)(rate|count|quota|api|request|query|daily|usage)\W*(limit|exceeded|exhausted)|too many requests|quota`)
	keyText   = regexp.MustCompile(`(?i)(invalid|wrong|missing|bad|unknown|expired)\W+(api|access|auth)?\W*(key|token|credential)|unauthori[sz]ed`)
)

// state is that of a source which gave count names and ended with err.
func (w *recorder) state(err error, count int, keyed bool) (discover.SourceState, string) {
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
	denied, isDenied := errors.AsType[*netguard.Denied](failure)
	state := discover.SourceOK
	switch {
	case w.limited > 0, w.truncated, errors.Is(err, errTooManyNames):
		state = discover.SourceLimited
		if detail == "" && err != nil {
			detail = err.Error()
		}
	case isDenied:
		state, detail = discover.SourceBlocked, denied.Error()
	case w.rejected, w.forbidden && keyed, errors.Is(err, errBadKey):
		state = discover.SourceKey
		if detail == "" {
			detail = errBadKey.Error()
		}
	case w.forbidden:
		state = discover.SourceBlocked
	case discover.IsTimeout(failure):
		state, detail = discover.SourceTimedOut, "it did not answer in time"
	case count == 0 && limitText.MatchString(w.bodyStart.String()):
		state, detail = discover.SourceLimited, w.bodyStart.String()
	case count == 0 && keyText.MatchString(w.bodyStart.String()):
		state, detail = discover.SourceKey, w.bodyStart.String()
	case w.missing && count == 0:
		state, detail = discover.SourceEmpty, ""
	case failure != nil && count > 0:
		state, detail = discover.SourceLimited, "it broke off: "+discover.WithoutURL(failure).Error()
	case failure != nil:
		state = discover.SourceFailed
		if detail == "" {
			detail = discover.WithoutURL(failure).Error()
		}
	case count == 0 && w.requests == 0:
		state, detail = discover.SourceFailed, "it asked nothing"
	case count == 0:
		state = discover.SourceEmpty
	}
	return state, detail
}

var urlForm = regexp.MustCompile(`https?://[^\s"']+`)

// withoutKeys is a text in one bounded line without keys and URLs.
func withoutKeys(s string, keys []string) string {
	s = urlForm.ReplaceAllString(s, "its URL")
	for _, key := range keys {
		for _, part := range append([]string{key}, strings.Split(key, ":")...) {
			if len(part) > 3 {
				s = strings.ReplaceAll(s, part, "***")
			}
		}
	}
	return discover.Clean(s, maxDetail)
}
