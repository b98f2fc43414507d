// Package access finds what users may do that they should not: pages and objects of others, logins that tell who
// exists, and fields that are not theirs to set.
//
// Content decides and not the status: a page is somebody's own when nobody else is shown the way to it and a stranger
// gets something else. Access is broken when another user gets the same page all the same, and not for an object that
// does not exist.
package access

import (
	"context"
	"crypto/md5"  //nolint:gosec // applications name objects by it
	"crypto/sha1" //nolint:gosec // as above
	"encoding/hex"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check {
	return []kit.Check{others(), nested(), offices(), roles(), neighbours(), enumeration(), assignment(),
		defaults(), limits(), fixation(), predictable(), ofUsers(), overwriting(), byType()}
}

// maxPages are how many pages of the map are compared.
const maxPages = 300

// others is the check for pages and objects of others. It needs two users. One request for each page of the
// map and each user, and one as nobody for some; three more for each that is suspected.
func others() kit.Check {
	c := kit.Check{ID: "access-of-others", Class: "bola", Level: client.Safe}.Describe()
	functions := kit.Check{ID: "access-of-roles", Class: "bfla", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) < 2 {
			w.Skip(nil, c.Class, "it needs two users")
			return nil
		}
		for i, owner := range w.Users[:min(len(w.Users), 3)] {
			for j, other := range w.Users[:min(len(w.Users), 3)] {
				if i == j {
					continue
				}
				if err := compare(ctx, w, &c, &functions, owner, other); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// view is what two users and nobody get of one request.
type view struct {
	request      *message.Request
	owner, other *message.Response
	objects      []string          // that the request names
	places       []message.Place   // where it names some
	ownSeen      *message.Response // before anything was tested; nil where not both are known
	otherSeen    *message.Response
	broken       bool // the other should not get it: what it leads to is not shown to them

	ownPage, otherPage *diff.Page
}

func viewOf(r *message.Request, owner, other *message.Response) view {
	v := view{request: r, owner: owner, other: other, ownPage: diff.New(owner), otherPage: diff.New(other)}
	v.places = objects(r)
	for _, p := range v.places {
		v.objects = append(v.objects, p.Value)
	}
	return v
}

// compare looks for pages of the owner that the other can use.
func compare(ctx context.Context, w *kit.World, objects, functions *kit.Check, owner, other *client.User) error {
	var views []view
	for _, r := range w.Pages() {
		if !reads(r) || len(views) >= maxPages {
			continue
		}
		own, err := w.Shown(ctx, r, owner)
		if err != nil {
			return err
		}
		if own.Status != http.StatusOK || kit.Static(own) || kit.Describes(own) {
			continue
		}
		theirs, err := w.Shown(ctx, r, other)
		if err != nil {
			return err
		}
		v := viewOf(r, own, theirs)
		if w.Seen != nil {
			if mine, its := w.Seen(owner, r), w.Seen(other, r); mine != nil && its != nil {
				v.ownSeen, v.otherSeen = mine, its
			}
		}
		views = append(views, v)
	}
	for again := true; again; { // what a broken page leads to is found in the next round
		again = false
		for i := range views {
			v := &views[i]
			if v.broken || v.other.Status != http.StatusOK || !gets(views, v) || !onlyShownTo(views, v) {
				continue
			}
			found, err := broken(ctx, w, objects, functions, coded(views, v), layout(views, v), owner, other)
			if err != nil {
				return err
			}
			v.broken, again = found, again || found
		}
	}
	return written(ctx, w, functions, views, owner, other)
}

// enough is the part of what is special to a page that somebody gets who gets the page.
const enough = 0.8

// gets reports whether the other gets what is special to a page of the owner: what no other page has that they are
// shown. A sentence that refuses, in the layout of all pages, has nothing of it.
//
// What most pages of the owner have, such as a menu with more in it, says nothing of one of them either.
func gets(views []view, v *view) bool {
	all := layout(views, v)
	all = append(slices.Clip(all), ownLayout(views, v))
	if share, special := diff.Share(v.ownPage, v.otherPage, all...); special > 0 {
		return share >= enough
	}
	share, special := diff.Share(v.ownPage, v.otherPage, all...)
	return special == 0 && kit.Same(v.owner, v.other) || special > 0 && share >= enough
}

// layout are the pages that the other is shown beside one, whose lines say nothing of it.
func layout(views []view, v *view) (all []*diff.Page) {
	for i := range views {
		if views[i].request != v.request && !sameObject(&views[i], v) {
			all = append(all, views[i].otherPage)
		}
	}
	return all
}

// ownLayout is what most pages have that the owner is shown beside one.
func ownLayout(views []view, v *view) *diff.Page {
	var all []*diff.Page
	for i := range views {
		if views[i].request != v.request && !sameObject(&views[i], v) {
			all = append(all, views[i].ownPage)
		}
	}
	return diff.Common(all...)
}

// onlyShownTo says whether pages of the owner lead to a request, or name its object, and none of the other does.
func onlyShownTo(views []view, v *view) bool {
	names := ways(v.request)
	shown := false
	for i := range views {
		l := &views[i]
		if l.request == v.request || sameObject(l, v) {
			continue // who asks for an object by its name is not led to it by the answer
		}
		for _, name := range names {
			if !l.broken && !ofStaff(l.request) && (contains(l.other, name) || contains(l.otherSeen, name)) {
				return false
			}
			shown = shown || contains(l.owner, name) || contains(l.ownSeen, name)
		}
	}
	return shown
}

// reads reports whether a request asks for something and changes nothing: by its method, or as a query of GraphQL.
func reads(r *message.Request) bool {
	return r.Method == http.MethodGet || r.IsQuery()
}

var staff = regexp.MustCompile(`(?i)(?:^|[/_-])(?:admin|administration|administrator|backoffice|manage|management|internal|staff|audit|moderation|supervisor)(?:$|[/_.-])`)

// ofStaff reports whether an address says that it is for those who run the application. That another user can open it
// does not make public what it shows.
func ofStaff(r *message.Request) bool { return staff.MatchString(r.URL.Path) }

// sameObject reports whether the requests of two views name one object.
func sameObject(a, b *view) bool {
	return slices.ContainsFunc(a.objects, func(value string) bool { return slices.Contains(b.objects, value) })
}

func contains(r *message.Response, name *regexp.Regexp) bool {
	return r != nil && r.Status == http.StatusOK && name.Match(r.Body)
}

// ways are what leads to a request: its address in an attribute, the number of its object in JSON.
func ways(r *message.Request) (all []*regexp.Regexp) {
	for _, p := range objects(r) {
		all = append(all, regexp.MustCompile(`"(?:[a-z_]*id|uuid|number|name|title|slug|key)"\s*:\s*"?`+regexp.QuoteMeta(p.Value)+`"?[,}\s]`))
	}
	if r.Method == http.MethodPost && reads(r) {
		return all // one address has all queries
	}
	uri := r.URL.RequestURI()
	base := uri[strings.LastIndexByte(r.URL.EscapedPath(), '/')+1:]
	escaped := regexp.QuoteMeta(strings.ReplaceAll(uri, "&", "&amp;"))
	all = append(all, regexp.MustCompile(`["'=](?:https?://[^/"']*)?(?:`+regexp.QuoteMeta(uri)+`|`+escaped+`)["'\s>#]`))
	if len(base) > 3 {
		all = append(all, regexp.MustCompile(`["'](?:\./)?(?:`+regexp.QuoteMeta(base)+`|`+
			regexp.QuoteMeta(strings.ReplaceAll(base, "&", "&amp;"))+`)["'#]`))
	}
	return all
}

var objectName = regexp.MustCompile(`(?i)(?:^|[._-]|[a-z])(?:id|uuid|number|key|slug)$|^(?:ref(?:erence)?|no|nr)$`)

// objects are the places of a request that name an object.
func objects(r *message.Request) (all []message.Place) {
	for _, p := range message.Places(r) {
		ofGraph := p.Component == message.Body && r.Method == http.MethodPost && objectName.MatchString(p.Name) && reads(r)
		if (p.Component == message.Path || p.Component == message.Query || ofGraph) && kit.IsObject(p.Value) {
			all = append(all, p)
		}
	}
	return all
}

// broken confirms that the other has what only the owner should: nobody has not, the other has it again, and an object
// that does not exist is answered otherwise.
func broken(ctx context.Context, w *kit.World, c, functions *kit.Check, v *view, layout []*diff.Page,
	owner, other *client.User) (bool, error) {
	nobody, err := w.Client.Send(ctx, v.request, client.Options{})
	if err != nil || nobody.Status == http.StatusOK && kit.Same(v.owner, nobody) {
		return false, err
	}
	again, err := w.Client.Send(ctx, v.request, client.Options{As: other, Fresh: true})
	if err != nil || !diff.Same(v.otherPage, diff.New(again), nil) && !kit.Same(v.other, again) {
		return false, err
	}
	f := kit.Finding{Request: v.request, Evidence: []kit.Evidence{
		{Request: v.request, Response: v.owner, Note: "what " + owner.Name + " gets, whom pages lead there"},
		{Request: v.request, Response: again, Note: "what " + other.Name + " gets, whom no page leads there"},
		{Request: v.request, Response: nobody, Note: "what nobody gets"},
	}}
	check := functions
	steps := []proof.Step{
		{ID: "owner", As: owner.Name, Send: v.request, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
		{ID: "other", As: other.Name, Send: v.request, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
		{ID: "nobody", Send: v.request, Expect: []proof.Expect{{What: proof.Same, Of: "owner", Not: true}}},
	}
	for _, p := range v.places {
		none := absent(p.Value)
		missing := v.request.Put(p, none)
		refused, err := w.Client.Send(ctx, missing, client.Options{As: other})
		if err != nil {
			return false, err
		}
		gone := diff.New(refused, none)
		if diff.Same(diff.New(again, p.Value), gone, nil) {
			return false, nil // the other gets what they get for an object that is not there
		}
		share, special := diff.Share(v.ownPage, gone, layout...)
		if special == 0 { // it is as other objects are
			share, special = diff.Share(v.ownPage, gone)
		}
		if special == 0 || share >= enough {
			continue // it does not decide about the page
		}
		check, f.Place, f.Payload = c, p, p.Value
		if isRandom(p.Value, owner.Name) {
			f.Confidence, f.Detail = kit.Probable, "the value is a random one, and nothing shows it to "+other.Name
		}
		f.Evidence = append(f.Evidence, kit.Evidence{Request: missing, Response: refused,
			Note: "an object that does not exist"})
		steps = append(steps, proof.Step{ID: "missing", As: other.Name, Send: missing,
			Expect: []proof.Expect{{What: proof.Same, Of: "other", Not: true}}})
		break
	}
	f.Proof = &proof.Program{About: other.Name + " gets what belongs to " + owner.Name + ".",
		Users: []string{owner.Name, other.Name}, Steps: steps}
	w.Found(check, f)
	return true, nil
}

var randomValue = regexp.MustCompile(`^(?i:[0-9a-f]{32,64}|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$`)

// isRandom reports whether a value is one that nobody guesses: whoever has it may have been given it, as of a link that
// is shared. The digest of a number or of a name is none.
func isRandom(value, name string) bool {
	if !randomValue.MatchString(value) || seriesOf(strings.ToLower(value)) != nil {
		return false
	}
	by5, by1 := md5.Sum([]byte(name)), sha1.Sum([]byte(name)) //nolint:gosec // as applications do
	return !strings.EqualFold(value, hex.EncodeToString(by5[:])) && !strings.EqualFold(value, hex.EncodeToString(by1[:]))
}
