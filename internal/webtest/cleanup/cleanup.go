// Package cleanup removes from an application what tests at level active have left there.
//
// Each page of the map is read again. What it shows now, did not show before the tests, and was sent by them
// (client.Wrote), is theirs. Nothing else is touched: a link or a form is used to remove something only if it says that
// it deletes, was not on the page before the tests, and stands in a part of the page, such as a row of a table, with
// such a text. Objects of an API are removed by the requests of the map that delete one of their kind. Fields of a form
// that the page fills in, such as those of a profile, and members of an object get the values back that they had. What
// is shown after all that is reported.
package cleanup

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

const (
	maxPages    = 400  // that are read again
	maxRemovals = 2000 // requests that remove something
	maxRounds   = 30   // readings of a page, of which each removed something
	maxOpened   = 30   // pages that were not there before, of one page
)

// Page is a page of the map.
type Page struct {
	Request *message.Request
	Before  *message.Response // what it was before the tests; nil: it was not there
	User    *client.User
}

// Config is what there is to clean.
type Config struct {
	Client   *client.Client
	Pages    []Page
	Removals []Page // requests of an API that delete one object
	Updates  []Page // and those that write one
}

// Result is what was done, and what is left.
type Result struct {
	Removed  int      // requests that removed something
	Restored int      // forms and objects that were given their values back
	Left     []string // addresses of pages that show what tests have sent, and did not before
	Over     bool     // the budget, or a limit here, ended it
}

// cleaner is a clean-up that runs.
type cleaner struct {
	Config
	Result
	known map[string]bool // addresses of the map
	tried map[string]bool // requests that were sent
}

// Run cleans up. The error is that of the context, of a budget that is used up, or of a target that is gone; the result
// has what was done until then.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	c := &cleaner{Config: cfg, known: map[string]bool{}, tried: map[string]bool{}}
	for _, p := range cfg.Pages {
		c.known[address(p.Request.URL)] = true
	}
	if len(c.Pages) > maxPages {
		c.Pages, c.Over = c.Pages[:maxPages], true
	}
	var dirty []Page
	for _, p := range c.Pages {
		clean, err := c.page(ctx, p, true)
		if err != nil {
			return &c.Result, err
		}
		if !clean {
			dirty = append(dirty, p)
		}
	}
	for _, p := range dirty { // what removes a text of one may have been on the page of another
		clean, err := c.page(ctx, p, false)
		if err != nil {
			return &c.Result, err
		}
		if at := p.Request.URL.Redacted(); !clean && !slices.Contains(c.Left, at) {
			c.Left = append(c.Left, at)
		}
	}
	return &c.Result, nil
}

func address(u *url.URL) string { return u.Host + u.RequestURI() }

// ends reports whether an error ends the clean-up, and not one request alone.
func ends(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, client.ErrBudget) || errors.Is(err, client.ErrDown)
}

// read asks for a page; nil where it has no answer to look at.
func (c *cleaner) read(ctx context.Context, p Page) (*message.Response, error) {
	answer, err := c.Client.Send(ctx, p.Request, client.Options{As: p.User})
	if err != nil && ends(ctx, err) {
		return nil, err
	}
	if err != nil || answer.Status != http.StatusOK {
		return nil, nil //nolint:nilerr,nilnil // there is nothing to clean
	}
	return answer, nil
}

// theirs are the texts of tests that a page shows and did not before them.
func (c *cleaner) theirs(p Page, answer *message.Response) map[string]bool {
	before := map[string]bool{}
	if p.Before != nil {
		for _, text := range textsOf(p.Before) {
			before[text] = true
		}
	}
	out := map[string]bool{}
	for _, text := range textsOf(answer) {
		if !before[text] && c.Client.Wrote(text) {
			out[text] = true
		}
	}
	return out
}

func textsOf(answer *message.Response) []string {
	if answer.IsHTML() {
		return sitemap.Texts(answer)
	}
	return stringsOf(answer)
}

// page cleans a page, and those that it links to and that were not there before. It reports whether nothing is left.
func (c *cleaner) page(ctx context.Context, p Page, open bool) (clean bool, err error) {
	for range maxRounds {
		answer, err := c.read(ctx, p)
		if err != nil || answer == nil {
			return err == nil, err
		}
		theirs := c.theirs(p, answer)
		if len(theirs) == 0 {
			return true, nil
		}
		var sent bool
		if answer.IsHTML() {
			sent, err = c.document(ctx, p, answer, theirs)
			if err == nil && !sent && open {
				sent, err = c.opened(ctx, p, answer, theirs)
			}
		} else {
			sent, err = c.objects(ctx, p, answer, theirs)
		}
		if err != nil || !sent {
			return false, err
		}
	}
	c.Over = true
	return false, nil
}

// document uses the controls of a page that remove what is of tests. It reports whether something was sent.
func (c *cleaner) document(ctx context.Context, p Page, answer *message.Response, theirs map[string]bool) (
	sent bool, err error,
) {
	var had []*sitemap.Control
	if p.Before != nil {
		had = sitemap.Controls(p.Before)
	}
	controls := sitemap.Controls(answer)
	var removing []*sitemap.Control
	for _, control := range controls {
		if client.Removes(control.Request, control.Label) {
			removing = append(removing, control)
		}
	}
	before := identities(had, removing)
	for _, control := range removing {
		id := identity(control.Request)
		if before[id] || before[control.Request.Shape()] || c.tried[id] ||
			!c.has(theirs, control.Row(removing, p.Before == nil)) {
			continue
		}
		if c.Removed >= maxRemovals {
			c.Over = true
			return sent, nil
		}
		if err := c.remove(ctx, p.User, control.Request); err != nil {
			return sent, err
		}
		sent = true
	}
	if sent {
		return true, nil
	}
	return c.restore(ctx, p.User, controls, had)
}

func (c *cleaner) has(theirs map[string]bool, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return theirs[text] })
}

// remove sends a request that removes something and, where a page asks whether that is meant, what the page sends.
func (c *cleaner) remove(ctx context.Context, u *client.User, r *message.Request) error {
	c.tried[identity(r)] = true
	answer, err := c.Client.Send(ctx, r, client.Options{As: u, Writes: true, Forced: true})
	if err != nil {
		if ends(ctx, err) {
			return err
		}
		return nil // the page is read again and shows whether it was removed
	}
	if answer.Status < http.StatusBadRequest {
		c.Removed++
	}
	if r.Method != http.MethodGet || !answer.IsHTML() || answer.Status != http.StatusOK {
		return nil
	}
	for _, asked := range sitemap.Controls(answer) {
		id := identity(asked.Request)
		if asked.Request.Method == http.MethodPost && !c.tried[id] && isSame(r, asked.Request) &&
			client.Removes(asked.Request, asked.Label) {
			c.tried[id] = true
			if _, err := c.Client.Send(ctx, asked.Request, client.Options{As: u, Writes: true, Forced: true}); err != nil &&
				ends(ctx, err) {
				return err
			}
			return nil
		}
	}
	return nil
}

// isSame reports whether the form of a page goes to the page's own address, or names its object.
func isSame(page, form *message.Request) bool {
	if page.URL.Host == form.URL.Host && page.URL.Path == form.URL.Path {
		return true
	}
	named := func(r *message.Request) (out []string) {
		for _, p := range message.Places(r) {
			if p.Component == message.Query || p.Component == message.Body ||
				p.Component == message.Path && message.SegmentKind(p.Value) != p.Value {
				out = append(out, p.Value)
			}
		}
		return out
	}
	objects := named(page)
	return slices.ContainsFunc(named(form), func(value string) bool {
		return value != "" && slices.Contains(objects, value)
	})
}

// identity is a request without what it has of tokens and times.
func identity(r *message.Request) string {
	for _, p := range message.Places(r) {
		if (p.Component == message.Query || p.Component == message.Body) && client.IsFleeting(p.Name) ||
			r.Token != nil && r.Token.Place.Same(p) {
			r = r.Put(p, "")
		}
	}
	return r.Key()
}

// identities are those of controls that a page had before the tests. Where it had some of a shape and none of them is
// there now, their addresses change by themselves, and the shape is among them: nothing says which are new.
func identities(had, now []*sitemap.Control) map[string]bool {
	before, shapes := map[string]bool{}, map[string]bool{}
	for _, control := range had {
		before[identity(control.Request)] = true
		shapes[control.Request.Shape()] = true
	}
	for _, control := range now {
		if before[identity(control.Request)] {
			delete(shapes, control.Request.Shape())
		}
	}
	for shape := range shapes {
		before[shape] = true
	}
	return before
}

// opened cleans pages that a page links to beside what is of tests, and that were not there before: such as that of a
// new object, with a button that deletes it. It reports whether there are such.
func (c *cleaner) opened(ctx context.Context, p Page, answer *message.Response, theirs map[string]bool) (bool, error) {
	links := sitemap.Controls(answer)
	n := 0
	for _, link := range links {
		at := address(link.Request.URL)
		if link.Request.Method != http.MethodGet || c.known[at] || link.Request.URL.Host != p.Request.URL.Host ||
			client.Removes(link.Request, link.Label) || !c.has(theirs, link.Row(links, false)) {
			continue
		}
		if n == maxOpened { // the others are in the next reading
			break
		}
		n++
		c.known[at] = true
		if _, err := c.page(ctx, Page{Request: link.Request, User: p.User}, false); err != nil {
			return true, err
		}
	}
	return n > 0, nil
}

// restore gives the fields of forms that show values of tests those back that they had.
func (c *cleaner) restore(ctx context.Context, u *client.User, now, had []*sitemap.Control) (sent bool, err error) {
	for _, control := range now {
		i := slices.IndexFunc(had, func(other *sitemap.Control) bool { return isForm(control.Request, other.Request) })
		if i < 0 || control.Request.Method == http.MethodGet || control.Request.Passwords > 0 ||
			c.tried["values "+identity(had[i].Request)] {
			continue
		}
		changed, request := false, control.Request
		for _, place := range message.Places(request) {
			value, known := had[i].Own[place.Name]
			if place.Component != message.Body || !known || control.Own[place.Name] == value {
				continue
			}
			if c.Client.Wrote(control.Own[place.Name]) {
				changed = true
			}
			request = request.Put(place, value)
		}
		if !changed {
			continue
		}
		c.tried["values "+identity(had[i].Request)] = true
		done, err := c.update(ctx, u, request)
		if err != nil {
			return sent, err
		}
		sent = sent || done
	}
	return sent, nil
}

// update sends a request that gives values back.
func (c *cleaner) update(ctx context.Context, u *client.User, r *message.Request) (done bool, err error) {
	answer, err := c.Client.Send(ctx, r, client.Options{As: u, Writes: true})
	if err != nil && ends(ctx, err) {
		return false, err
	}
	if err != nil || answer.Status >= http.StatusBadRequest {
		return false, nil //nolint:nilerr // the page is read again and shows what it is now
	}
	c.Restored++
	return true, nil
}

// isForm reports whether two requests are of one form: their address and the names of their fields are the same.
func isForm(a, b *message.Request) bool {
	return a.Method == b.Method && a.URL.Path == b.URL.Path && a.Shape() == b.Shape()
}
