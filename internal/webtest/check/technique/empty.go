package technique

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// unsaid is the value of what the map knows no value of, besides none.
const unsaid = "test"

func isUnsaid(p message.Place) bool { return !p.Key && (p.Value == "" || p.Value == unsaid) }

// filled is a target with a value at a place that had none.
type filled struct {
	target   *kit.Target
	base     *kit.Base
	reaction *kit.Reaction
	value    string
}

// fillIn puts a number where the value of a place is not known and its target is refused, as where a script sends what
// its page does not say: payloads are compared with what the value brings, and not with the refusal. Other values that
// are not known are left empty, as a word that is looked for finds nothing, or else stay. Two requests for such a
// place, which all classes share, and four more where the value is taken.
func (o *probe) fillIn(ctx context.Context) error {
	if !isUnsaid(o.place) || o.base.Response.Status < http.StatusBadRequest || kit.TakesPassword(o.Request) ||
		o.place.Component != message.Query && o.place.Component != message.Body {
		return nil
	}
	memo := "filled " + o.place.String()
	known, ok := o.Target.Memo.Load(memo)
	if !ok {
		f, err := o.fillOne(ctx)
		if err != nil {
			return err
		}
		o.Target.Memo.Store(memo, f)
		known = f
	}
	if f, _ := known.(*filled); f != nil {
		o.Target, o.base, o.reaction, o.value = f.target, f.base, f.reaction, f.value
	}
	return nil
}

// fillOne is the target with a number in the place; nil where that is refused, too.
func (o *probe) fillOne(ctx context.Context) (*filled, error) {
	f := &filled{value: "1"}
	plain := o.Request.Put(o.place, f.value)
	emptied := plain
	for _, p := range message.Places(plain) {
		if p.Component == o.place.Component && isUnsaid(p) && !p.Same(o.place) && p.Value != "" {
			emptied = emptied.Put(p, "")
		}
	}
	for i, r := range []*message.Request{emptied, plain} {
		if i > 0 && emptied == plain {
			break
		}
		answer, err := o.Send(ctx, o.Target, r)
		if err != nil {
			return nil, err
		}
		if answer.Status == 0 || answer.Status >= http.StatusBadRequest {
			continue
		}
		f.target = &kit.Target{Request: r, Places: o.Places, User: o.User, From: o.From, Kind: o.Kind}
		if f.base, err = o.Base(ctx, f.target); err != nil {
			return nil, err
		}
		f.reaction, err = o.React(ctx, f.target, o.place)
		return f, err
	}
	return nil, nil
}
