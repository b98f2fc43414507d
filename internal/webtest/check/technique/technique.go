// Package technique tests places with payload sets: what is sent is data, how it is judged is code.
//
// A set is a file in sets/: a class of weaknesses, a technique, payloads, and tests on small applications. The
// techniques are:
//
//   - compute: an expression of random numbers comes back as its result, which was never sent; the twin, which has the
//     same numbers and does not break out, does not bring it; other numbers do again.
//   - error: a payload brings the message of an interpreter, and its healed twin does not, twice; and the message
//     shows a result that was computed in it, or our own word as code.
//   - boolean: two conditions that hold bring the same page, two that do not bring another, a nonsense twin does not
//     bring the first; random conditions then come out right one after another.
//   - time: answers wait as long as they are asked to; see package stats.
//   - work: as time, for what cannot wait: answers take longer the more is computed.
//   - file: the content of a file comes back whose grammar is known, the name of a missing file does not bring it, and
//     a second file or a second try does.
//
// Requests for a place that is clean: two for its Reaction, which all sets share; then the budget of each set at most,
// which a test measures. Sets that would have to see an effect in the page send nothing where the page does not depend
// on the place.
package technique

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of all sets, one for each class, and that of functions which a field names.
func Checks() []kit.Check {
	byClass := map[string][]*Set{}
	for _, s := range sets() {
		byClass[s.Class] = append(byClass[s.Class], s)
	}
	var all []kit.Check
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		c := kit.Check{ID: class, Class: class}.Describe()
		c.Level = 1
		own := byClass[class]
		slices.SortFunc(own, func(a, b *Set) int { return a.Order - b.Order })
		c.Place = checkPlace(&c, own)
		all = append(all, c)
	}
	return append(all, functionOfField())
}

func checkPlace(c *kit.Check, own []*Set) func(context.Context, *kit.World, *kit.Target, message.Place) error {
	return func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		return run(ctx, c, own, w, t, p)
	}
}

// run tests a place with sets, until one has proved something.
func run(ctx context.Context, c *kit.Check, own []*Set, w *kit.World, t *kit.Target, p message.Place) error {
	if kit.Static(t.Response) && !kit.NamesFile(p) {
		return nil
	}
	if _, isLimited := t.Memo.Load(limitedMemo); isLimited {
		w.Skip(t, c.Class, limitedReason)
		return nil
	}
	reaction, err := w.React(ctx, t, p)
	if err != nil {
		return err
	}
	base, err := w.Base(ctx, t)
	if err != nil {
		return err
	}
	// A login refuses for what its fields say, and anything else whatever is sent.
	isField := p.Component == message.Body || p.Component == message.Query
	if kit.Refused(base.Response) && (!isField || !kit.TakesPassword(t.Request)) {
		return nil
	}
	o := &probe{World: w, Target: t, place: p, base: base, reaction: reaction, value: kit.Value(p)}
	if err := o.fillIn(ctx); err != nil {
		return err
	}
	var best *shown
	for _, s := range own {
		found, err := o.set(ctx, s)
		if errors.Is(err, errLimited) {
			t.Memo.Store(limitedMemo, true)
			w.Skip(t, c.Class, limitedReason)
			break
		}
		if err != nil {
			return err
		}
		if found != nil && (best == nil || best.confidence != kit.Proved) {
			best = found
		}
		if best != nil && best.confidence == kit.Proved {
			break
		}
	}
	if best != nil {
		if best.request == nil {
			best.request = o.request(best.payload)
		}
		w.Found(c, kit.Finding{Title: best.title, Request: best.request, Place: p,
			Payload: best.payload, Evidence: best.evidence, Proof: best.proof, Confidence: best.confidence,
			Detail: best.detail, Variant: best.variant})
		if best.confidence == kit.Proved {
			o.tellMessage(own)
		}
	}
	return nil
}

// probe is one place that is tested.
type probe struct {
	*kit.World
	*kit.Target

	place    message.Place
	base     *kit.Base
	reaction *kit.Reaction
	value    string
	message  *shown // of an interpreter, with the texts that bring it and that do not
}

// shown is what a technique has shown.
type shown struct {
	title, payload, detail string
	evidence               []kit.Evidence
	proof                  *proof.Program
	confidence             kit.Confidence
	variant                string           // the payload
	request                *message.Request // nil: that of the place with the payload
}

// answer is one answer to a payload.
type answer struct {
	*message.Response

	text string
	page *diff.Page // without echoes of the text: compared with answers to other payloads
	like *diff.Page // also without the value: compared with the normal answer
}

// errLimited ends the tests of a target that answers that it is asked too often, as a login does that counts wrong
// passwords: each such answer is a pause for the whole host.
var errLimited = errors.New(limitedReason)

const (
	limitedMemo   = "limited"
	limitedReason = "the application answers that it is asked too often"
)

// try sends a text in the place.
func (o *probe) try(ctx context.Context, text string) (*answer, error) {
	r, err := o.Try(ctx, o.Target, o.place, text)
	if err != nil {
		return nil, err
	}
	if r.Status == http.StatusTooManyRequests {
		return nil, errLimited
	}
	return &answer{r, text, diff.New(r, text), diff.New(r, text, o.value)}, nil
}

// plain is the page of the normal answer, as answer.like is made.
func (o *probe) plain() *diff.Page { return diff.New(o.base.Response, o.value) }

func (o *probe) same(a, b *diff.Page) bool { return diff.Same(a, b, o.base.Noise) }

// request is the request with a text in the place.
func (o *probe) request(text string) *message.Request { return o.Request.Put(o.place, text) }

func (a *answer) evidence(match, note string) kit.Evidence {
	return kit.Evidence{Request: a.Request, Response: a.Response, Match: match, Note: note}
}

// set runs one set.
func (o *probe) set(ctx context.Context, s *Set) (best *shown, err error) {
	alive := true
	if s.Poly != "" && (o.reaction.Echo || !s.Echo) {
		if alive, err = o.poly(ctx, s); err != nil {
			return nil, err
		}
	}
	sent := map[string]bool{}
	for i := range s.Payloads {
		p := &s.Payloads[i]
		if !alive && (!p.Always || !o.reaction.Effect) || !o.fits(s, p) {
			continue
		}
		same := o.fill(p.Text+p.Yes+p.Beside, numbers{})
		if sent[same] {
			continue
		}
		sent[same] = true
		var found *shown
		switch s.Technique {
		case "compute":
			found, err = o.compute(ctx, s, p)
		case "error":
			found, err = o.interpreterError(ctx, s, p)
		case "boolean":
			decides := o.decides
			if p.Values == "order" {
				decides = o.order
			}
			found, err = decides(ctx, p)
		case "time":
			found, err = o.time(ctx, p)
		case "work":
			found, err = o.work(ctx, p)
		case "file":
			found, err = o.file(ctx, s, p)
		}
		if err != nil {
			return best, err
		}
		if found != nil {
			found.variant = p.ID
		}
		if found != nil && best == nil {
			best = found
		}
		if found != nil && found.confidence == kit.Proved {
			return found, nil
		}
	}
	return best, nil
}

// fits says whether a payload can show something at this place, and may be sent.
func (o *probe) fits(s *Set, p *Payload) bool {
	number := kit.IsNumber(o.value)
	switch {
	case p.Values == "order" && !direction.MatchString(o.value), p.Values == "format" && !filledIn.MatchString(o.value),
		p.Values == "number" && !number, p.Values == "text" && number, p.Values == "path" && !o.isPath(),
		p.Values == "page" && (!pageName.MatchString(o.value) || o.place.Component != message.Query):
		return false
	case p.Reads && !kit.OnlyReads(o.Request), p.Beside != "" && o.nameOfLogin() == nil:
		return false
	case o.Level < s.level():
		return false
	case p.Only != "" && !o.looksLike(p.Only):
		return false
	case s.Echo && !o.reaction.Echo:
		return false
	case p.Blind:
		return s.Technique != "file" || o.isPath()
	}
	switch s.Technique {
	case "time", "work":
		return true
	case "boolean":
		return o.reaction.Effect
	}
	// A value that is run as code breaks at odd characters, so that more than its echo changes.
	return o.reaction.Effect || o.reaction.Echo && s.Echo
}

// isPath says whether the value, or the name of the place, is that of a file or folder.
func (o *probe) isPath() bool {
	return fileValue.MatchString(o.value) || fileName.MatchString(o.place.Name)
}

var (
	fileValue = regexp.MustCompile(`[/\\]|^[^ ]+\.[A-Za-z][A-Za-z0-9]{1,4}$`)
	direction = regexp.MustCompile(`(?i)^(?:asc|desc)(?:ending)?$`)
	filledIn  = regexp.MustCompile(`\{([A-Za-z_]\w*)[^{}]*\}`) // a place in a text, as of "Dear {name}"
	pageName  = regexp.MustCompile(`^[A-Za-z][\w/-]{1,40}$`)
	fileName  = regexp.MustCompile(`(?i)file|path|page|doc|templ|incl|dir|folder|lang|locale|view|url|src|load|im(g` +
		`|age)|` +
		`target|content|theme|style|skin|layout|module|resource|report|log|attach|read|show|open`)
	javaSigns = regexp.MustCompile(`(?i)jsessionid|servlet|tomcat|coyote|jetty|jboss|wildfly|weblogic|websphere` +
		`|undertow|` +
		`glassfish|payara|\bjava\b|\bjsp\b`)
	javaPath = regexp.MustCompile(`(?i)\.(jsp|jspx|do|action|jsf|faces|xhtml)$|;jsessionid=`)
	// otherSigns are of what is no Java; an application of Java may say nothing of itself.
	otherSigns = regexp.MustCompile(`(?i)php|asp\.net|iis|express|connect\.sid|werkzeug|gunicorn|uvicorn|python` +
		`|django|csrftoken|` +
		`rails|rack|puma|laravel|kestrel|phusion|deno|node`)
	endsAsOther = regexp.MustCompile(`(?i)\.(?:php\d?|phtml|aspx?|ashx|py|rb|cgi|pl|cfm)$`)
	phpSigns    = regexp.MustCompile(`(?i)phpsessid|\bphp\b`)
	phpPath     = regexp.MustCompile(`(?i)\.(php\d?|phtml)$`)
)

// looksLike says whether the application shows to be written in a language.
func (o *probe) looksLike(language string) bool {
	r := o.base.Response
	text := r.Header.Get("Server") + " " + r.Header.Get("X-Powered-By") + " " +
		strings.Join(r.Header.Values("Set-Cookie"), " ")
	for _, c := range o.User.Cookies(o.Request.URL) {
		text = strings.Join([]string{text, c.Name}, " ")
	}
	text += " " + o.Request.Header.Get("Cookie")
	path := o.Request.URL.Path
	switch language {
	case "java":
		return javaSigns.MatchString(text) || javaPath.MatchString(path) || !otherSigns.MatchString(text) &&
			!endsAsOther.MatchString(path)
	case "php":
		return phpSigns.MatchString(text) || phpPath.MatchString(path) || path == "/"
	}
	return true
}
