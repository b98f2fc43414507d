package logic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Forms that are sent by visitors of their own are at most maxOnce of a host.
const maxOnce = 5

// onceOnly is the check for forms that count once for each visitor, as the money for one prize does, and more often
// when several come together. A new visitor sends the form: a number with a name changes on the page of the form. Sent
// once more, it is refused, or the number stays. Another new visitor sends it four times at once: the number changes by
// two times as much or more, and so it does for a third. Up to five requests for each of five forms that nobody needs
// to log in for, and twelve for one that counts once; at level active alone.
func onceOnly() kit.Check {
	c := kit.Check{ID: "race-of-forms", Class: "race-condition", Level: client.Active,
		Title: "A form that counts once counts more often when its requests come together"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		from, err := url.Parse(t.From)
		if err != nil || from.Host != t.Request.URL.Host || t.Request.Method != http.MethodPost || kit.Known(t.User) ||
			t.Request.IsMessage() || t.Request.After != nil || kit.TakesPassword(t.Request) ||
			!w.Once("once only "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil //nolint:nilerr // it has no page
		}
		tried, _ := w.Memo.LoadOrStore("once only "+t.Request.URL.Host, new(atomic.Int64))
		if tried.(*atomic.Int64).Add(1) > maxOnce { //nolint:forcetypeassert // it is stored above
			return nil
		}
		o := &once{World: w, Target: t, page: message.From(http.MethodGet, from)}
		return o.test(ctx, &c)
	}
	return c
}

// once is a form and its page.
type once struct {
	*kit.World
	*kit.Target

	page *message.Request
}

// visit is what the page shows a new visitor: before the form is sent, after it was sent so often at once, and after it
// was sent once more.
type visit struct {
	before, after, later    map[string]int
	answers                 []*message.Response
	first, shown, lastShown *message.Response
	last                    *message.Response
}

// as is a visit of a new visitor; nil where the form is not sent, or is refused at first.
func (o *once) as(ctx context.Context, times int) (*visit, error) {
	visitor, v := client.NewUser(""), &visit{}
	var err error
	if v.first, err = o.Ask(ctx, o.page, visitor); err != nil || v.first.Status != http.StatusOK ||
		len(visitor.Cookies(o.Request.URL)) == 0 {
		return nil, err
	}
	v.answers = make([]*message.Response, times)
	errs := make([]error, times)
	var wait sync.WaitGroup
	for i := range times {
		wait.Go(func() { v.answers[i], errs[i] = o.send(ctx, visitor) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil || v.answers[0].Status == 0 {
		return nil, err
	}
	if v.shown, err = o.Ask(ctx, o.page, visitor); err != nil {
		return nil, err
	}
	v.before, v.after = numbersByName(v.first), numbersByName(v.shown)
	if !v.changed() {
		return nil, nil //nolint:nilnil // it does not count
	}
	if v.last, err = o.send(ctx, visitor); err != nil {
		return nil, err
	}
	v.lastShown, err = o.Ask(ctx, o.page, visitor)
	if err != nil {
		return nil, err
	}
	v.later = numbersByName(v.lastShown)
	return v, nil
}

// send sends the form as a visitor.
func (o *once) send(ctx context.Context, visitor *client.User) (*message.Response, error) {
	answer, err := o.Client.Send(ctx, o.Request, client.Options{As: visitor, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return &message.Response{Header: http.Header{}, Request: o.Request}, nil
	}
	return kit.Broken(ctx, o.Request, answer, err)
}

// changed reports whether a number of the page has changed when the form was sent.
func (v *visit) changed() bool {
	for name, n := range v.after {
		if before, isShown := v.before[name]; isShown && before != n {
			return true
		}
	}
	return false
}

// step is by how much a number has changed for a visitor, and not once more later; 0 if it is not so.
func (v *visit) step(name string) int {
	before, isBefore := v.before[name]
	after, isAfter := v.after[name]
	later, isLater := v.later[name]
	if !isBefore || !isAfter || !isLater || later != after {
		return 0
	}
	return after - before
}

// test compares visitors.
func (o *once) test(ctx context.Context, c *kit.Check) error {
	alone, err := o.as(ctx, 1)
	if err != nil || alone == nil {
		return err
	}
	steps := map[string]int{}
	for name := range alone.before {
		if step := alone.step(name); step != 0 {
			steps[name] = step
		}
	}
	if len(steps) == 0 || kit.SameText(alone.answers[0], alone.last) && alone.last.Redirect() == nil {
		return nil
	}
	var visits []*visit
	for range needRace {
		together, err := o.as(ctx, atOnce)
		if err != nil || together == nil {
			return err
		}
		for name, step := range steps {
			if n := together.step(name); n%step != 0 || n/step < 2 || together.before[name] != alone.before[name] {
				delete(steps, name)
			}
		}
		visits = append(visits, together)
	}
	for name, step := range steps {
		v := visits[1]
		o.Found(c, kit.Finding{Request: o.Request,
			Detail: fmt.Sprintf("the number after %q changes %d times as much", name, v.step(name)/step),
			Evidence: []kit.Evidence{
				{Request: o.page, Response: alone.shown, Note: "what the page shows a visitor after the form was sent once"},
				{Request: o.Request, Response: alone.last, Note: "sent once more, it changes nothing"},
				{Request: o.page, Response: visits[0].shown, Note: "what it shows another after it was sent four times at once"},
				{Request: o.page, Response: v.shown, Note: "and a third"}}})
		return nil
	}
	return nil
}
