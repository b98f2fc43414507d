package remote

import (
	"context"
	"fmt"
	"sync"

	"github.com/vedette-sec/vedette/internal/oast"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// pending are the places whose addresses were called.
type pending struct {
	mu    sync.Mutex
	calls map[string]waiting
}

type waiting struct {
	check  *kit.Check
	target *kit.Target
	place  message.Place
	write  func(address string) *message.Request // the request with an address
	first  oast.Interaction

	mail    bool // only a mail counts
	control bool // a call of it takes back what others of its place have shown
}

func pendingOf(w *kit.World) *pending {
	all, _ := w.Memo.LoadOrStore("pending", &pending{calls: map[string]waiting{}})
	return all.(*pending) //nolint:forcetypeassert // it is stored above
}

// callback sends an address of the out-of-band server in a place.
func callback(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place) error {
	return call(ctx, waiting{check: c, target: t, place: p, write: func(address string) *message.Request {
		return t.Request.Put(p, "http://"+address+"/")
	}}, w)
}

// call sends a request with an address that waits.
func call(ctx context.Context, one waiting, w *kit.World) error {
	all := pendingOf(w)
	var id string
	id, address := w.OAST.Address(func(i oast.Interaction) {
		all.mu.Lock()
		defer all.mu.Unlock()
		if one.mail && i.Protocol != "smtp" { // the name may be looked up to check an address
			return
		}
		known, ok := all.calls[i.UniqueID]
		if !ok || i.Protocol == "http" || i.Protocol == "https" {
			known = one
			known.first = i
		}
		all.calls[i.UniqueID] = known
	})
	_ = id
	_, err := w.Send(ctx, one.target, one.write(address))
	return err
}

// outOfBand is the check that waits for calls, when all was sent, and has each repeated with a second address.
func outOfBand() kit.Check {
	c := kit.Check{ID: "out-of-band", Class: "ssrf", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if w.OAST == nil {
			return nil
		}
		if _, err := w.OAST.Await(ctx, ""); err != nil {
			return err
		}
		all := pendingOf(w)
		all.mu.Lock()
		called := make([]waiting, 0, len(all.calls))
		taken := map[string]bool{}
		for _, one := range all.calls {
			if one.control {
				taken[one.key()] = true
			}
		}
		for _, one := range all.calls {
			if !taken[one.key()] {
				called = append(called, one)
			}
		}
		all.mu.Unlock()
		for _, one := range called {
			if err := confirm(ctx, w, one); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// key is equal for what is shown of one place.
func (one *waiting) key() string { return one.check.ID + one.target.Request.Key() + one.place.String() }

// confirm sends a second address and reports what was called.
func confirm(ctx context.Context, w *kit.World, one waiting) error {
	id, address := w.OAST.Address(func(oast.Interaction) {})
	request := one.write(address)
	answer, err := w.Send(ctx, one.target, request)
	if err != nil {
		return err
	}
	again, err := w.OAST.Await(ctx, id)
	if err != nil || !again {
		return err
	}
	confidence := kit.Probable // anything may resolve a name that it reads
	for _, i := range append(w.OAST.Called(id), one.first) {
		if i.Protocol == "http" || i.Protocol == "https" || one.mail && i.Protocol == "smtp" {
			confidence = kit.Proved
		}
	}
	user, users := kit.Names(one.target.User)
	w.Found(one.check, kit.Finding{Request: request, Place: one.place, Payload: address, Confidence: confidence,
		Detail: "called by " + one.first.Protocol,
		Evidence: []kit.Evidence{{Request: request, Response: answer, Match: one.first.RawRequest,
			Note: fmt.Sprintf("the out-of-band server was called by %s from %s, and again with a second address",
				one.first.Protocol, one.first.RemoteAddress)}},
		Proof: &proof.Program{About: "The target calls an address that the request names.", Users: users,
			Vars: []proof.Var{{Name: "o", Kind: proof.Callback}}, Steps: []proof.Step{{ID: "call", As: user,
				Send: one.write(proof.Marker("o")), Expect: []proof.Expect{{What: proof.Called, Value: "o"}}}}}})
	return nil
}
