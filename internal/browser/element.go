package browser

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// Selector says which element is meant; By decides which of the others counts: "" for a CSS selector, "regex" for one
// with a text that matches, "xpath", "js" for a function that returns the element, "search" for any of these or a text.
type Selector struct{ By, CSS, Regex, XPath, JS, Query string }

// ErrNoElement is the error where a page has no such element.
var ErrNoElement = errors.New("the page has no such element")

const (
	findTime = 4 * time.Second // for an element to appear
	findPoll = 100 * time.Millisecond
)

// library are the functions that run in pages.
//
//go:embed element.js
var library string

// Element is an element of the document; it goes with it.
type Element struct {
	page *Page
	id   runtime.RemoteObjectID
}

// Element finds an element, and waits for it as long as findTime. The error is ErrNoElement, or a *Thrown.
func (p *Page) Element(s Selector) (*Element, error) {
	end := time.Now().Add(findTime)
	for {
		e, err := p.find(s)
		if err == nil || !errors.Is(err, ErrNoElement) || time.Now().After(end) {
			return e, err
		}
		if err := p.Sleep(findPoll); err != nil {
			return nil, err
		}
	}
}

// find finds an element that is there.
func (p *Page) find(s Selector) (*Element, error) {
	p.flush()
	if err := p.soft(p.await(settleTime, func() bool { return !p.pending })); err != nil {
		return nil, err
	}
	expression := fmt.Sprintf("(%s).find(%s)", library, arguments(s.By, s.CSS, s.Regex, s.XPath, s.Query))
	if s.By == "js" {
		expression = fmt.Sprintf("(%s\n).apply(window)", strings.TrimRight(strings.TrimSpace(s.JS), ";"))
	}
	yes := true
	got, err := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, AwaitPromise: &yes})
	switch {
	case err != nil && p.ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", ErrNoElement, err) // the document went while it was asked
	case err != nil:
		return nil, p.why(err)
	case got.ExceptionDetails != nil:
		return nil, thrown(got.ExceptionDetails)
	case got.Result.ObjectID == "" || got.Result.Subtype != runtime.RemoteObjectSubtypeNode:
		return nil, ErrNoElement
	}
	return &Element{p, got.Result.ObjectID}, nil
}

func arguments(list ...string) string {
	text, err := json.Marshal(list)
	if err != nil { // texts always can
		return ""
	}
	return strings.Trim(string(text), "[]")
}

// WaitVisible waits until an element is there and seen; it looks every poll.
func (p *Page) WaitVisible(s Selector, poll, timeout time.Duration) error {
	end := time.Now().Add(timeout)
	for {
		e, err := p.find(s)
		if err == nil {
			var seen bool
			if err = e.call(&seen, "visible"); err == nil && seen {
				return nil
			}
		}
		if p.ctx.Err() != nil {
			return p.why(p.ctx.Err())
		}
		if time.Now().Add(poll).After(end) {
			return ErrNoElement
		}
		if err := p.Sleep(max(poll, 10*time.Millisecond)); err != nil {
			return err
		}
	}
}

// call calls a function of the library on the element; it returns a text if into is *string.
func (e *Element) call(into any, name string, args ...any) error {
	yes := true
	list := []*runtime.CallArgument{}
	for _, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		list = append(list, &runtime.CallArgument{Value: text})
	}
	got, err := call(e.page, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: fmt.Sprintf("function(...args) { return (%s).%s(this, ...args) }", library, name),
		ObjectID:            e.id, Arguments: list, ReturnByValue: &yes, AwaitPromise: &yes, UserGesture: &yes,
	})
	if err != nil {
		return e.page.why(err)
	}
	if got.ExceptionDetails != nil {
		return thrown(got.ExceptionDetails)
	}
	if into == nil || got.Result == nil || len(got.Result.Value) == 0 {
		return nil
	}
	if err := json.Unmarshal(got.Result.Value, into); err != nil {
		return &Thrown{"the element is not what it should be"}
	}
	return nil
}

// Click clicks on the middle of the element, with the right button if that is wanted.
func (e *Element) Click(right bool) error {
	var at []float64
	if err := e.call(&at, "middle"); err != nil {
		return err
	}
	if len(at) != 2 {
		return errors.New("the element is not seen, and cannot be clicked")
	}
	e.page.acts()
	button, buttons := input.MouseButtonLeft, int64(1)
	if right {
		button, buttons = input.MouseButtonRight, 2
	}
	for _, step := range []input.DispatchMouseEventParams{
		{Type: input.DispatchMouseEventTypeMouseMoved},
		{Type: input.DispatchMouseEventTypeMousePressed, Button: button, Buttons: buttons, ClickCount: 1},
		{Type: input.DispatchMouseEventTypeMouseReleased, Button: button, ClickCount: 1},
	} {
		step.X, step.Y = at[0], at[1]
		if _, err := call(e.page, input.DispatchMouseEvent, step); err != nil {
			return e.page.why(err)
		}
	}
	return nil
}

// Input types a text into the element.
func (e *Element) Input(text string) error {
	if err := e.call(nil, "focus"); err != nil {
		return err
	}
	if _, err := call(e.page, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		return e.page.why(err)
	}
	return e.call(nil, "changed")
}

// Time sets the time of an input element, in the form of its type.
func (e *Element) Time(t time.Time) error {
	year, week := t.ISOWeek()
	return e.call(nil, "time", map[string]string{
		"date": t.Format("2006-01-02"), "time": t.Format("15:04"), "month": t.Format("2006-01"),
		"datetime-local": t.Format("2006-01-02T15:04"), "week": fmt.Sprintf("%d-W%02d", year, week),
	})
}

// Select selects, or no longer selects, the options of a select element: those whose text contains the value, or with
// how "regex" matches it, or with "css" those that it selects.
func (e *Element) Select(value, how string, selected bool) error {
	var found bool
	if err := e.call(&found, "select", value, how, selected); err != nil {
		return err
	}
	if !found {
		return ErrNoElement
	}
	return nil
}

// Files sets the files of an input element, by their paths.
func (e *Element) Files(paths []string) error {
	_, err := call(e.page, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: paths, ObjectID: e.id})
	return e.page.why(err)
}

// Text is what the element shows.
func (e *Element) Text() (text string, err error) {
	err = e.call(&text, "text", maxText)
	return text, err
}

// Attribute is an attribute; false where the element has none of the name.
func (e *Element) Attribute(name string) (value string, ok bool, err error) {
	var got *string
	if err = e.call(&got, "attribute", name, maxText); err != nil || got == nil {
		return "", false, err
	}
	return *got, true, nil
}

// Resource is what the element has loaded, such as an image.
func (e *Element) Resource() ([]byte, error) {
	var source string
	if err := e.call(&source, "source"); err != nil {
		return nil, err
	}
	e.page.mu.Lock()
	frame := e.page.frame
	e.page.mu.Unlock()
	got, err := call(e.page, cdppage.GetResourceContent, cdppage.GetResourceContentParams{FrameID: frame, URL: source})
	if err != nil {
		return nil, e.page.why(err)
	}
	return got.Content[:min(len(got.Content), maxText)], nil
}
