package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	maxValue   = 4 << 20  // bytes of what a script returns, as JSON
	maxHTML    = 10 << 20 // characters of a page
	maxPicture = 16 << 20 // bytes of a screenshot
	maxHeight  = 16_384   // pixels of a screenshot
	settleTime = 5 * time.Second
	flushTime  = 2 * time.Second
)

// Navigate goes to an http or https URL, and returns when its answer begins. The error of one that is not reached is
// that of Dial or Before where there is one.
func (p *Page) Navigate(to string) error {
	u, err := url.Parse(to)
	if err != nil { // browsers understand more than is allowed
		scheme, rest, _ := strings.Cut(to, "://")
		u = &url.URL{Scheme: strings.ToLower(scheme), Host: rest[:strings.IndexAny(rest+"/", "/?#\\")]}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%w, not for %q", ErrScheme, clip(to, 100))
	}
	got, err := call(p, cdppage.Navigate, cdppage.NavigateParams{URL: to})
	if err != nil {
		return p.why(err)
	}
	if got.ErrorText != "" {
		return p.notReached(u, got.ErrorText)
	}
	if got.LoaderID == "" { // within the document
		return nil
	}
	return p.soft(p.await(settleTime, func() bool { return p.loader == got.LoaderID && p.shows == got.LoaderID }))
}

// notReached is why a URL, or what it led to, was not reached.
func (p *Page) notReached(u *url.URL, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.unreached[hostPort(u)]; err != nil {
		return err
	}
	if n := len(p.refused); n > 0 {
		return p.refused[n-1].Err
	}
	for _, err := range p.unreached {
		return err
	}
	return errors.New(strings.TrimPrefix(text, "net::"))
}

// soft leaves out that a wait was over.
func (p *Page) soft(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && p.ctx.Err() == nil {
		return nil
	}
	return err
}

// URL is the address of the document.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.url
}

// acts notes that a script may have asked for another document.
func (p *Page) acts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acted = true
}

// flush waits until scripts that were about to ask for another document have done so.
func (p *Page) flush() {
	p.mu.Lock()
	acted := p.acted
	p.acted = false
	p.mu.Unlock()
	if !acted {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, flushTime)
	defer cancel()
	await := true
	_, _ = chromedp.Call(ctx, runtime.Evaluate,
		runtime.EvaluateParams{Expression: "new Promise(done => setTimeout(done, 0))", AwaitPromise: &await})
}

// Wait waits until the document has gone through a stage: DOMContentLoaded, load, firstContentfulPaint,
// firstMeaningfulPaint, networkIdle. That it does not in time is no error.
func (p *Page) Wait(stage string, timeout time.Duration) error {
	p.flush()
	return p.soft(p.await(timeout, func() bool { return !p.pending && p.seen[stage] }))
}

// Stable waits until the document is loaded, has nothing to fetch and does not change for a time.
func (p *Page) Stable(still, timeout time.Duration) error {
	p.flush()
	end := time.Now().Add(timeout)
	err := p.await(timeout, func() bool { return !p.pending && p.seen["load"] && p.seen["networkIdle"] })
	for last := ""; err == nil; {
		var now string
		if now, err = p.HTML(); err != nil || now == last {
			return err
		}
		last = now
		if time.Now().Add(still).After(end) {
			return errors.New("the page did not come to rest")
		}
		err = p.Sleep(still)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the page did not come to rest")
	}
	return err
}

// Sleep waits.
func (p *Page) Sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return p.why(p.ctx.Err())
	}
}

// KnowsEvent reports whether the protocol has an event of this name, such as Page.loadEventFired.
func KnowsEvent(name string) bool {
	v, err := cdproto.UnmarshalMessage(&cdproto.Message{Method: cdproto.MethodType(name), Params: []byte("{}")})
	return err == nil && v != nil && strings.EqualFold(eventName(v), name)
}

// Arm has the page listen for an event from now on.
func (p *Page) Arm(name string) {
	domain, _, _ := strings.Cut(name, ".")
	// A domain without such a command needs none.
	_ = chromedp.FromContext(p.ctx).Target.Call(p.ctx, domain+".enable", nil, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed[strings.ToLower(name)] = false
}

// Event waits for an armed event.
func (p *Page) Event(name string, timeout time.Duration) error {
	err := p.await(timeout, func() bool { return p.armed[strings.ToLower(name)] })
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the event %s did not come", name)
	}
	return err
}

// Dialog waits for the next dialog; false when there is none in time.
func (p *Page) Dialog(timeout time.Duration) (d Dialog, ok bool, err error) {
	err = p.await(timeout, func() bool {
		if len(p.dialogs) == 0 {
			return false
		}
		d, ok, p.dialogs = p.dialogs[0], true, p.dialogs[1:]
		return true
	})
	return d, ok, p.soft(err)
}

// Thrown is the error of a script that threw something.
type Thrown struct{ Message string }

// Error implements error.
func (t *Thrown) Error() string { return "the script threw: " + t.Message }

// Eval calls a function, given as its text, in the page, waits for what it promises, and returns its result: nil,
// bool, float64, string, []any or map[string]any. The error is a *Thrown if it throws.
func (p *Page) Eval(function string) (any, error) {
	p.acts()
	text := fmt.Sprintf(`(async function() {
	const stringify = JSON.stringify, result = await (%s
	).apply(window, arguments)
	const text = result === undefined ? "null" : stringify(result)
	if (text === undefined) return "null"
	if (text.length > %d) throw new Error("the result is too long")
	return text
})()`, strings.TrimRight(strings.TrimSpace(function), ";"), maxValue)
	yes := true
	got, err := call(p, runtime.Evaluate,
		runtime.EvaluateParams{Expression: text, AwaitPromise: &yes, ReturnByValue: &yes, AllowUnsafeEvalBlockedByCSP: &yes})
	if err != nil {
		return nil, p.why(err)
	}
	if got.ExceptionDetails != nil {
		return nil, thrown(got.ExceptionDetails)
	}
	var value any
	var encoded string
	if json.Unmarshal(got.Result.Value, &encoded) != nil || json.Unmarshal([]byte(encoded), &value) != nil {
		return nil, &Thrown{"the result is no JSON"}
	}
	return value, nil
}

func thrown(e *runtime.ExceptionDetails) error {
	text := e.Text
	if e.Exception != nil && e.Exception.Description != "" {
		text = e.Exception.Description
	}
	line, _, _ := strings.Cut(text, "\n")
	return &Thrown{clip(line, 300)}
}

// Hook runs a script in each document from now on, before the document's own. If it is a function, that is called.
func (p *Page) Hook(script string) error {
	source := script
	if isFunction(script) {
		source = fmt.Sprintf("{ const made = (%s\n); if (typeof made === \"function\") made.call(window) }",
			strings.TrimRight(strings.TrimSpace(script), ";"))
	}
	_, err := call(p, cdppage.AddScriptToEvaluateOnNewDocument,
		cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: source})
	return p.why(err)
}

// isFunction reports whether a script is the text of a function.
func isFunction(script string) bool {
	text := strings.TrimSpace(script)
	return strings.HasPrefix(text, "function") || strings.HasPrefix(text, "async") || strings.HasPrefix(text, "(") &&
		strings.Contains(text, "=>") && !strings.HasSuffix(strings.TrimRight(text, "; \n"), ")()")
}

// settle waits, for a while, for a document that is on its way.
func (p *Page) settle() error { return p.Wait("DOMContentLoaded", settleTime) }

// HTML is the text of the document, once it has been read.
func (p *Page) HTML() (string, error) {
	if err := p.settle(); err != nil {
		return "", err
	}
	yes := true
	expression := fmt.Sprintf("document.documentElement ? document.documentElement.outerHTML.slice(0, %d) : ''", maxHTML)
	var err error
	for range 3 { // the document may go while it is asked
		var got runtime.EvaluateResult
		got, err = call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes})
		var text string
		if err == nil && got.ExceptionDetails == nil && json.Unmarshal(got.Result.Value, &text) == nil {
			return text, nil
		}
		if p.ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		err = errors.New("the page cannot be read")
	}
	return "", p.why(err)
}

// Keys types a text.
func (p *Page) Keys(text string) error {
	p.acts()
	for _, r := range text {
		for _, event := range kb.Encode(r) {
			if _, err := call(p, input.DispatchKeyEvent, *event); err != nil {
				return p.why(err)
			}
		}
	}
	return nil
}

// Screenshot is the page as PNG: what is seen of it, or all.
func (p *Page) Screenshot(full bool) ([]byte, error) {
	if err := p.settle(); err != nil {
		return nil, err
	}
	params := cdppage.CaptureScreenshotParams{Format: cdppage.CaptureScreenshotFormatPng}
	if full {
		size, err := call(p, cdppage.GetLayoutMetrics, cdp.Empty{})
		if err != nil {
			return nil, p.why(err)
		}
		yes := true
		params.CaptureBeyondViewport = &yes
		params.Clip = &cdppage.Viewport{Width: min(size.CSSContentSize.Width, maxHeight),
			Height: min(size.CSSContentSize.Height, maxHeight), Scale: 1}
	}
	got, err := call(p, cdppage.CaptureScreenshot, params)
	if err != nil {
		return nil, p.why(err)
	}
	if len(got.Data) > maxPicture {
		return nil, fmt.Errorf("the picture is larger than %d MiB", maxPicture>>20)
	}
	return got.Data, nil
}

// SetCookies gives the page cookies for a URL.
func (p *Page) SetCookies(at string, cookies []*http.Cookie) error {
	if len(cookies) == 0 {
		return nil
	}
	var list []*network.CookieParam
	for _, c := range cookies {
		list = append(list, &network.CookieParam{Name: c.Name, Value: c.Value, URL: at})
	}
	_, err := call(p, network.SetCookies, network.SetCookiesParams{Cookies: list})
	return p.why(err)
}

// Cookies are those of the page for a URL.
func (p *Page) Cookies(at string) (cookies []*http.Cookie, err error) {
	got, err := call(p, network.GetCookies, network.GetCookiesParams{URLs: []string{at}})
	if err != nil {
		return nil, p.why(err)
	}
	for _, c := range got.Cookies {
		cookies = append(cookies, &http.Cookie{ //nolint:gosec // as the site has set it
			Name: c.Name, Value: c.Value, Path: c.Path, Secure: c.Secure, HttpOnly: c.HTTPOnly,
			SameSite: sameSite[c.SameSite],
		})
	}
	return cookies, nil
}

// sameSite are the values of that attribute; a cookie without it has none of them.
var sameSite = map[network.CookieSameSite]http.SameSite{
	network.CookieSameSiteStrict: http.SameSiteStrictMode, network.CookieSameSiteLax: http.SameSiteLaxMode,
	network.CookieSameSiteNone: http.SameSiteNoneMode,
}
