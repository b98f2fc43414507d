package browser

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// The bounds of what is recorded of the requests of a page, in bytes.
const (
	maxRecorded = 8 << 20
	maxBody     = 1 << 20 // of one response
	maxText     = 1 << 20 // of other texts that pages choose
)

// Exchange is a request of a page and its response, as the browser shows them.
type Exchange struct {
	Request, Response string // with their bodies
	Status            int
	Head              []Header // of the response
}

// The kinds of rules.
const (
	SetMethod = iota // of the first request alone
	SetBody
	AddHeader
	SetHeader
	DeleteHeader
)

// Rule changes requests, or responses, of a page.
type Rule struct {
	Kind     int
	Response bool   // responses, else requests
	Name     string // of a header
	Value    string // of a header, the method or the body
	used     bool
}

// AddRule changes what the page sends and gets from now on.
func (p *Page) AddRule(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
}

// Exchanges are the requests of the page so far, in the order of their responses.
func (p *Page) Exchanges() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.exchanges)
}

// Refused are the requests that were refused by Before or Dial, each host once.
func (p *Page) Refused() []Refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.refused)
	for host, err := range p.unreached {
		if !slices.ContainsFunc(all, func(r Refusal) bool { return r.Host == host }) {
			all = append(all, Refusal{host, err})
		}
	}
	slices.SortStableFunc(all, func(a, b Refusal) int { return strings.Compare(a.Host, b.Host) })
	return all
}

// prove answers the proxy's question for the secret of the page, once for a request. A server that asks gets none.
func (p *Page) prove(e *fetch.EventAuthRequired) {
	answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	p.mu.Lock()
	proxy := e.AuthChallenge.Source == fetch.AuthChallengeSourceProxy &&
		strings.HasSuffix(e.AuthChallenge.Origin, "//"+p.process.proxy.addr())
	if proxy && !p.proved[e.RequestID] && len(p.proved) < maxSent {
		p.proved[e.RequestID] = true
		answer = &fetch.AuthChallengeResponse{
			Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: p.name, Password: p.name,
		}
	}
	p.mu.Unlock()
	_, _ = call(p, fetch.ContinueWithAuth,
		fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer})
}

// paused decides about a request before it is sent, and about its response.
func (p *Page) paused(e *fetch.EventRequestPaused) {
	if e.ResponseStatusCode != 0 || e.ResponseErrorReason != "" {
		p.responded(e)
		return
	}
	if err := p.admit(e); err != nil {
		_, _ = call(p, fetch.FailRequest,
			fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
		return
	}
	_, _ = call(p, fetch.ContinueRequest, p.changedRequest(e))
}

// ErrScheme is the error of a request that is neither http nor https.
var ErrScheme = errors.New("a page may ask for http and https alone")

// admit is why a request is not sent.
func (p *Page) admit(e *fetch.EventRequestPaused) error {
	u, err := url.Parse(e.Request.URL)
	if err == nil {
		err = p.admitURL(u, e.Request.Method)
	}
	if err == nil || u != nil && (u.Scheme == "data" || u.Scheme == "blob") {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	host := "?"
	if u != nil {
		host = cmp.Or(hostPort(u), u.Scheme+":")
	}
	known := func(r Refusal) bool { return r.Host == host }
	if len(p.refused) < maxDialogs && !slices.ContainsFunc(p.refused, known) {
		p.refused = append(p.refused, Refusal{host, err})
	}
	return err
}

func (p *Page) admitURL(u *url.URL, method string) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w, not for %s", ErrScheme, clip(u.Scheme, 20))
	}
	if p.options.ReadOnly && method != http.MethodGet && method != http.MethodHead {
		return errors.New("this page may only read")
	}
	p.mu.Lock()
	p.sent++
	over := p.sent > maxSent
	p.mu.Unlock()
	if over {
		return fmt.Errorf("the page sends more than %d requests", maxSent)
	}
	if p.options.Before == nil {
		return nil
	}
	return p.options.Before(p.ctx, u)
}

// hostPort is the address that a URL leads to; "" for none.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case u.Hostname() == "":
		return ""
	case port == "" && (u.Scheme == "https" || u.Scheme == "wss"):
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// changedRequest is a request with the rules applied, and the headers of all requests.
func (p *Page) changedRequest(e *fetch.EventRequestPaused) fetch.ContinueRequestParams {
	out := fetch.ContinueRequestParams{RequestID: e.RequestID}
	p.mu.Lock()
	defer p.mu.Unlock()
	headers, changed := requestHeaders(e.Request), len(p.options.Headers) > 0
	for _, h := range p.options.Headers {
		headers = change(headers, Rule{Kind: SetHeader, Name: h.Name, Value: h.Value})
	}
	for i := range p.rules {
		r := &p.rules[i]
		switch {
		case r.Response:
		case r.Kind == SetMethod:
			if !r.used {
				r.used, out.Method = true, r.Value
			}
		case r.Kind == SetBody:
			out.PostData = []byte(r.Value)
		default:
			headers, changed = change(headers, *r), true
		}
	}
	if changed {
		out.Headers = entries(headers)
	}
	return out
}

func requestHeaders(r *network.Request) (headers []Header) {
	for name, value := range r.Headers {
		headers = append(headers, Header{name, fmt.Sprint(value)})
	}
	slices.SortFunc(headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return headers
}

// change applies a rule for headers.
func change(headers []Header, r Rule) []Header {
	if r.Kind != AddHeader {
		headers = slices.DeleteFunc(headers, func(h Header) bool { return strings.EqualFold(h.Name, r.Name) })
	}
	if r.Kind != DeleteHeader {
		headers = append(headers, Header{r.Name, r.Value})
	}
	return headers
}

func entries(headers []Header) (list []*fetch.HeaderEntry) {
	for _, h := range headers {
		list = append(list, &fetch.HeaderEntry{Name: h.Name, Value: h.Value})
	}
	return list
}

// responded records a response, and passes it on as the rules want it.
func (p *Page) responded(e *fetch.EventRequestPaused) {
	if e.ResponseErrorReason != "" {
		_, _ = call(p, fetch.FailRequest,
			fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: e.ResponseErrorReason})
		return
	}
	var head []Header
	for _, h := range e.ResponseHeaders {
		head = append(head, Header{h.Name, h.Value})
	}
	p.mu.Lock()
	rules := slices.DeleteFunc(slices.Clone(p.rules), func(r Rule) bool { return !r.Response })
	p.mu.Unlock()
	body, set := p.changeResponse(rules, &head)
	place := p.record(e, head)
	redirect := e.ResponseStatusCode >= 300 && e.ResponseStatusCode < 400
	// A policy in the headers is read before they can be changed, unless the whole response is made anew.
	anew := len(rules) > 0 && !redirect
	if !set && !redirect && (anew || p.options.Bodies && place >= 0) {
		got, err := call(p, fetch.GetResponseBody, fetch.GetResponseBodyParams{RequestID: e.RequestID})
		if err != nil {
			anew = false
		}
		body = got.Body
	}
	p.addBody(place, body)
	if anew {
		if !set {
			head = change(head, Rule{Kind: DeleteHeader, Name: "Content-Length"})
		}
		head = change(head, Rule{Kind: DeleteHeader, Name: "Content-Encoding"}) // the body is decoded
		_, _ = call(p, fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: e.RequestID, ResponseCode: e.ResponseStatusCode, ResponsePhrase: e.ResponseStatusText,
			ResponseHeaders: entries(head), Body: body,
		})
		return
	}
	out := fetch.ContinueResponseParams{RequestID: e.RequestID}
	if len(rules) > 0 {
		out.ResponseCode, out.ResponsePhrase, out.ResponseHeaders = e.ResponseStatusCode, e.ResponseStatusText, entries(head)
	}
	_, _ = call(p, fetch.ContinueResponse, out)
}

// changeResponse applies rules to the headers of a response; set says that body replaces its own.
func (p *Page) changeResponse(rules []Rule, head *[]Header) (body []byte, set bool) {
	for _, r := range rules {
		switch r.Kind {
		case SetBody:
			body, set = []byte(r.Value), true
			*head = change(*head, Rule{Kind: SetHeader, Name: "Content-Length", Value: strconv.Itoa(len(body))})
		case AddHeader, SetHeader, DeleteHeader:
			*head = change(*head, r)
		}
	}
	return body, set
}

// record notes an exchange without the body of its response; its place is -1 when there is no room.
func (p *Page) record(e *fetch.EventRequestPaused, head []Header) int {
	var request, response bytes.Buffer
	out := bufio.NewWriter(&request)
	fmt.Fprintf(out, "%s %s HTTP/1.1\n", e.Request.Method, e.Request.URL)
	for _, h := range requestHeaders(e.Request) {
		fmt.Fprintf(out, "%s: %s\n", h.Name, h.Value)
	}
	if e.Request.HasPostData {
		fmt.Fprintf(out, "\n")
		for _, entry := range e.Request.PostDataEntries {
			_, _ = out.Write(entry.Bytes)
		}
		fmt.Fprintf(out, "\n")
	}
	_ = out.Flush()
	fmt.Fprintf(&response, "HTTP/1.1 %d %s\n", e.ResponseStatusCode, e.ResponseStatusText)
	for _, h := range head {
		fmt.Fprintf(&response, "%s: %s\n", h.Name, h.Value)
	}
	response.WriteByte('\n')
	x := Exchange{Request: clip(request.String(), maxText), Response: clip(response.String(), maxText),
		Status: int(e.ResponseStatusCode), Head: head}
	p.mu.Lock()
	defer p.mu.Unlock()
	size := len(x.Request) + len(x.Response)
	if p.recorded+size > maxRecorded {
		return -1
	}
	p.recorded += size
	p.exchanges = append(p.exchanges, x)
	return len(p.exchanges) - 1
}

// addBody adds the body of a response to its exchange.
func (p *Page) addBody(place int, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if place < 0 || len(body) == 0 || p.recorded >= maxRecorded {
		return
	}
	text := string(body[:min(len(body), maxBody, maxRecorded-p.recorded)])
	p.recorded += len(text)
	p.exchanges[place].Response += text
}
