package technique

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// decides looks for conditions that decide about the page; of a payload for the password of a login with its text in
// the field of the name, too. Where one filter has both values, each alone finds nobody. That is a request of its own,
// whose normal answer and reactions are asked for: four requests more.
func (o *probe) decides(ctx context.Context, p *Payload) (*shown, error) {
	if p.Beside == "" {
		return o.boolean(ctx, p)
	}
	name := o.nameOfLogin()
	both := *o
	both.Target = &kit.Target{Request: o.Request.Put(*name, p.Beside), Places: o.Places, User: o.User, From: o.From,
		Kind: o.Kind}
	var err error
	if both.base, err = o.Base(ctx, both.Target); err != nil {
		return nil, err
	}
	if both.reaction, err = o.React(ctx, both.Target, o.place); err != nil {
		return nil, err
	}
	found, err := both.boolean(ctx, p)
	if found != nil {
		found.request = both.request(found.payload)
		found.detail = "together with " + p.Beside + " as " + name.Name
	}
	return found, err
}

// nameOfLogin is the field before that of the password, which is the place; nil where the place is none.
func (o *probe) nameOfLogin() *message.Place {
	isPassword := func(p message.Place) bool {
		return p.Component == o.place.Component && client.IsSecret(p.Name[strings.LastIndexByte(p.Name, '.')+1:])
	}
	if !isPassword(o.place) {
		return nil
	}
	places := message.Places(o.Request)
	at := slices.IndexFunc(places, o.place.Same)
	for i := at - 1; i >= 0; i-- {
		token := o.Request.Token
		if q := places[i]; q.Component == o.place.Component && !q.Key && (token == nil || !q.Same(token.Place)) {
			return &q
		}
	}
	return nil
}
