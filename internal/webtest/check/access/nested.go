package access

import (
	"context"
	"iter"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// maxNested are how many pairs of requests are tried.
const maxNested = 20

// nested is the check for objects within others, such as /customers/11/orders/7, of which an application looks at the
// outer one alone. A user who is refused the page of another asks for its inner object within an outer one of their
// own: they must get what is special to that page, and something else for an inner object that does not exist. It needs
// two users. Six requests for each pair of such addresses of one form.
func nested() kit.Check {
	c := kit.Check{ID: "access-of-nested", Class: "bola", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) < 2 {
			return nil // others says so
		}
		tried := 0
		for r, q := range alikePages(w.Pages()) {
			inner, value, ok := mixable(r, q)
			if tried >= maxNested {
				break
			}
			if !ok || !w.Once("nested "+r.URL.String()+" "+q.URL.Path) {
				continue
			}
			tried++
			for i, owner := range w.Users[:2] {
				found, err := mixed(ctx, w, &c, r, q, inner, value, owner, w.Users[1-i])
				if err != nil {
					return err
				}
				if found {
					break
				}
			}
		}
		return nil
	}
	return c
}

// alikePages are each page with each of its form.
func alikePages(pages []*message.Request) iter.Seq2[*message.Request, *message.Request] {
	alike := map[string][]*message.Request{}
	for _, r := range pages {
		if form := formOf(r); form != "" {
			alike[form] = append(alike[form], r)
		}
	}
	return func(yield func(r, q *message.Request) bool) {
		for _, r := range pages {
			for _, q := range alike[formOf(r)] {
				if !yield(r, q) {
					return
				}
			}
		}
	}
}

// formOf is the same for pages whose addresses differ in objects alone; "" for other requests.
func formOf(r *message.Request) string {
	if r.Method != http.MethodGet {
		return ""
	}
	return r.URL.Host + message.PathShape(r.URL.EscapedPath())
}

// mixable is the place of the last object of q, and the value that it has in r: both requests are of one form, and
// differ in the objects before and in that one.
func mixable(r, q *message.Request) (inner message.Place, value string, ok bool) {
	a, b := objects(r), objects(q)
	if len(a) != len(b) || len(a) < 2 {
		return inner, "", false
	}
	last := len(a) - 1
	return b[last], a[last].Value, a[0].Value != b[0].Value && a[last].Value != b[last].Value
}

// mixed asks for the inner object of r within q, as the other user.
func mixed(ctx context.Context, w *kit.World, c *kit.Check, r, q *message.Request, inner message.Place, value string,
	owner, other *client.User,
) (bool, error) {
	asks := []struct {
		r  *message.Request
		as *client.User
	}{{r, owner}, {r, other}, {q, other}, {q.Put(inner, value), other}, {q.Put(inner, kit.Nonexistent(value)), other},
		{q.Put(inner, value), nil}}
	var got []*message.Response
	for _, one := range asks {
		answer, err := w.Ask(ctx, one.r, one.as)
		if err != nil {
			return false, err
		}
		got = append(got, answer)
	}
	theirs, refused, own, mix, missing, nobody := got[0], got[1], got[2], got[3], got[4], got[5]
	if theirs.Status != http.StatusOK || own.Status != http.StatusOK || mix.Status != http.StatusOK ||
		kit.Same(refused, theirs) || kit.Same(nobody, mix) {
		return false, nil
	}
	outer := objects(r)[0].Value
	page := diff.New(theirs, outer)
	share, special := diff.Share(page, diff.New(mix, outer, objects(q)[0].Value), diff.New(own, outer), diff.New(missing))
	if special == 0 || share < enough && !kit.Same(theirs, mix) || kit.Same(mix, missing) {
		return false, nil
	}
	w.Found(c, kit.Finding{Request: asks[3].r, Place: inner, Payload: value, Evidence: []kit.Evidence{
		{Request: r, Response: theirs, Note: "what " + owner.Name + " gets"},
		{Request: r, Response: refused, Note: other.Name + " is refused it"},
		{Request: asks[3].r, Response: mix, Note: "and gets it below an object of their own"},
		{Request: asks[4].r, Response: missing, Note: "an object that does not exist"}},
		Proof: &proof.Program{About: other.Name + " gets what belongs to " + owner.Name + ".", Users: []string{owner.Name,
			other.Name},
			Steps: []proof.Step{{ID: "refused", As: other.Name, Send: r, Expect: []proof.Expect{{What: proof.Status,
				Value: "200", Not: true}}},
				{ID: "mixed", As: other.Name, Send: asks[3].r, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
				{ID: "missing", As: other.Name, Send: asks[4].r, Expect: []proof.Expect{{What: proof.Same, Of: "mixed",
					Not: true}}}}}})
	return true, nil
}
