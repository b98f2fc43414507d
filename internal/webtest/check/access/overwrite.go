package access

import (
	"context"
	"errors"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const (
	maxWrites  = 40 // requests that are sent as somebody else
	maxReaders = 6  // pages of the owner in which what was written may be
)

var (
	ownerName  = regexp.MustCompile(`(?i)user|owner|account|member|login|nick|^name$|e-?mail|^who$`)
	peopleName = regexp.MustCompile(`(?i)^(?:users?|accounts?|members?|people|persons?|profiles?|customers?|employees?)$`)
	mailName   = regexp.MustCompile(`(?i)e-?mail`)
	// versionName is a segment between the name of a kind and that of an object, as in /users/v1/ben.
	versionName = regexp.MustCompile(`(?i)^v\d{1,3}$`)
)

// overwriting is the check for requests by which a user changes what belongs to another, their password among it. The
// other sends a text of ours, the owner's page has it; with a second text the first is gone, so that it was not a
// message to the owner. The object is the owner's: the request or the page names the owner and not the other, or the
// other may not read it. What was there is put back where it is known. Passwords are changed of users alone whom the
// tester has registered itself, and put back. Up to ten requests for each request that writes and names an object; at
// level active alone.
func overwriting() kit.Check {
	c := kit.Check{ID: "access-by-writing", Class: "bola", Level: client.Active,
		Title: "A user changes what belongs to another"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) < 2 {
			w.Skip(nil, c.Class, "it needs two users")
			return nil
		}
		for i := range 2 {
			o := &overwrite{w: w, c: &c, owner: w.Users[i], other: w.Users[1-i]}
			if err := o.run(ctx); err != nil {
				return err
			}
		}
		if len(w.Made) > 1 { // whose passwords may be changed
			return (&overwrite{w: w, c: &c, owner: w.Made[0], other: w.Made[1], passwords: true}).run(ctx)
		}
		return nil
	}
	return c
}

// overwrite is the test of one user's objects.
type overwrite struct {
	w            *kit.World
	c            *kit.Check
	owner, other *client.User
	profiles     []*message.Request // pages that name the owner
	passwords    bool               // nothing else is changed
}

func (o *overwrite) run(ctx context.Context) error {
	if !o.passwords {
		if err := o.learn(ctx); err != nil {
			return err
		}
	}
	tried := 0
	for _, r := range o.w.Pages() {
		_, isLogin := kit.LoginOf(r)
		if r.Method != http.MethodPost && r.Method != http.MethodPut && r.Method != http.MethodPatch || isLogin || reads(r) ||
			r.IsMessage() || r.After != nil || tried >= maxWrites {
			continue
		}
		for _, named := range o.named(r) {
			if !o.w.Once("overwrite " + o.owner.Name + named.request.Key()) {
				continue
			}
			tried++
			if found, err := o.try(ctx, named); err != nil {
				return err
			} else if found {
				break
			}
		}
	}
	return nil
}

// learn reads the map as the owner, for pages that name the owner.
func (o *overwrite) learn(ctx context.Context) error {
	for i, r := range o.w.Pages() {
		if r.Method != http.MethodGet || i >= maxPages || len(o.profiles) >= maxReaders/2 {
			continue
		}
		answer, err := o.w.Shown(ctx, r, o.owner)
		if err != nil {
			return err
		}
		if answer.Status == http.StatusOK && strings.Contains(string(answer.Body), o.owner.Name) {
			o.profiles = append(o.profiles, r)
		}
	}
	return nil
}

// naming is a request that names an object, and where.
type naming struct {
	request *message.Request
	place   message.Place
	byOwner bool // by the owner's name
}

// named are the forms of a request that name an object: as it is in the map, and with the name of the owner.
func (o *overwrite) named(r *message.Request) (all []naming) {
	people := false
	for _, p := range message.Places(r) {
		if p.Component == message.Header || p.Component == message.Cookie || p.Key {
			continue
		}
		isObject := kit.ObjectValue.MatchString(p.Value) && (p.Component != message.Body || objectName.MatchString(p.Name))
		ofOwner := p.Component == message.Path && people && !versionName.MatchString(p.Value) ||
			p.Component != message.Path && ownerName.MatchString(p.Name) && !mailName.MatchString(p.Name)
		people = p.Component == message.Path &&
			(peopleName.MatchString(p.Value) || people && versionName.MatchString(p.Value))
		if isObject {
			all = append(all, naming{request: r, place: p})
		}
		if ofOwner && !isObject && p.Value != "" {
			all = append(all, naming{r.Put(p, o.owner.Name), p, true})
		}
	}
	return all
}

// field is where a text of ours goes: the first text of the body that is no name of the object, token or choice.
func (n *naming) field() (field message.Place, isPassword, ok bool) {
	var password []message.Place
	for _, p := range message.Places(n.request) {
		switch {
		case p.Component != message.Body || p.Key || p.File || p == n.place || p.Name == n.place.Name:
		case n.request.Token != nil && n.request.Token.Place == p || kit.TokenName.MatchString(p.Name):
		case client.IsPassword(p.Name):
			if kit.FormerName.MatchString(p.Name) {
				return field, false, false // whoever knows it may change it
			}
			password = append(password, p)
		case kit.ObjectValue.MatchString(p.Value) || p.Value == "true" || p.Value == "false" ||
			roleValue.MatchString(p.Value):
		case !ok:
			field, ok = p, true
		}
	}
	if len(password) > 0 {
		return password[0], true, n.byOwner
	}
	return field, false, ok
}

// try sends one request as the other.
func (o *overwrite) try(ctx context.Context, n naming) (bool, error) {
	field, isPassword, ok := n.field()
	if !ok || o.passwords && !isPassword {
		return false, nil
	}
	if isPassword {
		return o.password(ctx, n)
	}
	before, err := o.views(ctx, n)
	if err != nil || len(before) == 0 {
		return false, err
	}
	first, err := o.write(ctx, n, field, before)
	if err != nil || first.page == nil {
		return false, err
	}
	second, err := o.write(ctx, n, field, []view{*first.page})
	if err != nil || second.page == nil || strings.Contains(string(second.seen.Body), first.text) {
		return false, err
	}
	theirs, err := o.w.Ask(ctx, first.page.request, o.other)
	if err != nil || !o.owns(n, second.seen, theirs) {
		return false, err
	}
	f := o.finding(n, field, second)
	if old := valueIn(first.page.owner, field.Name); old != "" {
		back := n.request.Put(field, old)
		if _, err := o.w.Client.Send(ctx, back, client.Options{As: o.owner, Writes: true}); err != nil && ctx.Err() != nil {
			return false, err
		}
		f.Detail += "; it was put back"
	}
	o.w.Found(o.c, f)
	return true, nil
}

// owns says whether an object is the owner's, by its page as each sees it.
func (o *overwrite) owns(n naming, own, theirs *message.Response) bool {
	text := string(own.Body)
	if strings.Contains(text, o.other.Name) {
		return false // it is of both, or of the other
	}
	return n.byOwner || strings.Contains(text, o.owner.Name) || theirs.Status != http.StatusOK || !kit.Same(own, theirs)
}

// views are the pages where the owner may see what was written, as they are before.
func (o *overwrite) views(ctx context.Context, n naming) (all []view, err error) {
	at := *n.request.URL
	pages := []*message.Request{message.From(http.MethodGet, &at)}
	if up := path.Dir(strings.TrimSuffix(at.Path, "/")); len(up) > 1 {
		parent := at
		parent.Path, parent.RawPath, parent.RawQuery = up, "", ""
		pages = append(pages, message.From(http.MethodGet, &parent))
	}
	for _, r := range o.w.Pages() { // those of the object itself
		if of := message.Places(r); r.Method == http.MethodGet && len(pages) < maxReaders && !n.byOwner &&
			slices.ContainsFunc(of, func(p message.Place) bool {
				return (p.Component == message.Path || p.Component == message.Query) && p.Value == n.place.Value
			}) {
			pages = append(pages, r)
		}
	}
	for _, r := range append(pages, o.profiles...) {
		answer, err := o.w.Ask(ctx, r, o.owner)
		if err != nil {
			return nil, err
		}
		if answer.Status == http.StatusOK {
			all = append(all, view{request: r, owner: answer})
		}
	}
	return all, nil
}

// wrote is a text that the other has sent, and where the owner sees it.
type wrote struct {
	text       string
	page       *view // as it was before; nil: no page has the text
	sent, seen *message.Response
}

// write sends a new text as the other, and looks for it as the owner.
func (o *overwrite) write(ctx context.Context, n naming, field message.Place, pages []view) (done wrote, err error) {
	done.text = kit.Word()
	if mailName.MatchString(field.Name) || strings.Contains(field.Value, "@") {
		done.text += "@example.org"
	}
	r := n.request.Put(field, done.text)
	done.sent, err = o.w.Client.Send(ctx, r, client.Options{As: o.other, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return done, nil
	}
	if done.sent, err = kit.Broken(ctx, r, done.sent, err); err != nil || done.sent.Status == 0 ||
		done.sent.Status >= 400 {
		return done, err
	}
	for i := range pages {
		if done.seen, err = o.w.Ask(ctx, pages[i].request, o.owner); err != nil {
			return done, err
		}
		if strings.Contains(string(done.seen.Body), done.text) {
			done.page = &pages[i]
			break
		}
	}
	return done, nil
}

func (o *overwrite) finding(n naming, field message.Place, done wrote) kit.Finding {
	r := n.request.Put(field, done.text)
	marker := proof.Marker("t")
	if strings.HasSuffix(done.text, "@example.org") {
		marker += "@example.org"
	}
	return kit.Finding{Request: r, Place: n.place, Payload: n.place.Value,
		Detail: o.other.Name + " has changed " + field.Name + " of " + o.owner.Name,
		Evidence: []kit.Evidence{
			{Request: r, Response: done.sent, Note: "sent as " + o.other.Name},
			{Request: done.page.request, Response: done.seen, Match: kit.Around(done.seen.Body, done.text),
				Note: "what " + o.owner.Name + " sees: our text in place of the one before"}},
		Proof: &proof.Program{About: o.other.Name + " changes what belongs to " + o.owner.Name + ".",
			Users: []string{o.owner.Name, o.other.Name}, Vars: []proof.Var{{Name: "t", Kind: proof.Word}},
			Steps: []proof.Step{
				{ID: "write", As: o.other.Name, Send: n.request.Put(field, marker), Writes: true},
				{ID: "read", As: o.owner.Name, Send: done.page.request,
					Expect: []proof.Expect{{What: proof.Contains, Value: marker}}}}}}
}

// valueIn is the value of a field in JSON or in a form; "" if it is not there once.
func valueIn(page *message.Response, name string) string {
	name = regexp.QuoteMeta(name[strings.LastIndexAny(strings.TrimRight(name, "]"), ".[/")+1:])
	pattern := regexp.MustCompile(`"` + name + `"\s*:\s*"([^"\\]{1,200})"|name\s*=\s*"` + name + `"[^>]*value\s*=\s*"([^"&]{1,200})"`)
	all := pattern.FindAllStringSubmatch(string(page.Body), 2)
	if len(all) != 1 {
		return ""
	}
	return all[0][1] + all[0][2]
}

// password changes the password of the owner as the other, where the tester has registered both.
func (o *overwrite) password(ctx context.Context, n naming) (bool, error) {
	known := o.w.Registered[o.owner.Name]
	if known == "" || o.w.Registered[o.other.Name] == "" || o.w.LoginWith == nil {
		return false, nil
	}
	change := func(as *client.User, to string) (*message.Request, *message.Response, error) {
		r := n.request
		for _, p := range message.Places(r) {
			if p.Component == message.Body && client.IsPassword(p.Name) {
				r = r.Put(p, to)
			}
		}
		answer, err := o.w.Client.Send(ctx, r, client.Options{As: as, Writes: true, Forced: true})
		answer, err = kit.Broken(ctx, r, answer, err)
		return r, answer, err
	}
	ours := "Vd-" + kit.Word() + "8!"
	sent, answer, err := change(o.other, ours)
	if err != nil || answer.Status == 0 || answer.Status >= 400 {
		return false, err
	}
	with := o.w.LoginWith(ctx, o.owner, ours)
	without := o.w.LoginWith(ctx, o.owner, known)
	if ctx.Err() != nil || with != nil || without == nil {
		return false, ctx.Err()
	}
	back := "it was put back"
	if _, answer, err := change(o.other, known); err != nil || answer.Status >= 400 {
		back = "it is now one of ours"
	}
	o.w.Found(o.c, kit.Finding{Request: sent, Place: n.place, Payload: n.place.Value, Severity: kit.Critical,
		Detail: o.other.Name + " has changed the password of " + o.owner.Name + "; " + back,
		Evidence: []kit.Evidence{{Request: sent, Response: answer, Note: "sent as " + o.other.Name +
			": then " + o.owner.Name + " logs in with the new password, and not with the one before"}}})
	return true, nil
}
