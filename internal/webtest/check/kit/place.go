package kit

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Base is what a request answers without a test.
type Base struct {
	Response *message.Response
	Page     *diff.Page
	Noise    diff.Noise
}

// Reaction is what a place does with values that are not its own.
type Reaction struct {
	Word     string            // letters that stand nowhere else
	Unknown  *message.Response // to Word
	Odd      *message.Response // to the value followed by characters that mean something to interpreters
	OddText  string
	WordPage *diff.Page
	OddPage  *diff.Page

	Effect bool // the page depends on the value, or on the characters, by more than showing them
	Echo   bool // the answer has the word in it
}

// oddText is what breaks the syntax of queries, expressions and paths.
const oddText = `'"\)]}<z9`

// Send sends a request of a target as its user. One that logs in is sent as nobody: what it may bring is another
// session.
func (w *World) Send(ctx context.Context, t *Target, r *message.Request) (*message.Response, error) {
	return w.SendFrom(ctx, t, r, client.OwnPage)
}

// SendFrom is Send with the cookies that a browser sends with requests of an origin.
func (w *World) SendFrom(ctx context.Context, t *Target, r *message.Request, from client.Origin) (*message.Response,
	error) {
	as := t.User
	for _, p := range t.Places {
		if client.IsPassword(p.Name) {
			as = nil
		}
	}
	answer, err := w.Client.Send(ctx, r, client.Options{As: as, From: from})
	return Broken(ctx, r, answer, err)
}

// Ask sends a request as a user, or as nobody for nil. One that is out of scope, also because it does something by its
// name, gets an answer of status 0, as where the connection breaks.
func (w *World) Ask(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := w.Client.Send(ctx, r, client.Options{As: as})
	if errors.Is(err, client.ErrScope) {
		return &message.Response{Header: http.Header{}, Request: r}, nil
	}
	return Broken(ctx, r, answer, err)
}

// Broken makes an answer of status 0 of a connection that broke, which is what some applications do with some values.
// Errors that are not of one answer stay errors.
func Broken(ctx context.Context, r *message.Request, answer *message.Response, err error) (*message.Response, error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, client.ErrBudget) || errors.Is(err, client.ErrScope) ||
		errors.Is(err, client.ErrDown) || errors.Is(err, client.ErrSignedOut) {
		return answer, err
	}
	return &message.Response{Header: http.Header{}, Request: r}, nil
}

// Try sends a request of a target with another value in a place.
func (w *World) Try(ctx context.Context, t *Target, p message.Place, text string) (*message.Response, error) {
	return w.Send(ctx, t, t.Request.Put(p, text))
}

// Base is what a target's request answers: two more answers are asked for once and shared by all checks.
func (w *World) Base(ctx context.Context, t *Target) (*Base, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base != nil {
		return t.base, nil
	}
	answers := make([]*message.Response, 0, 3)
	for range 2 {
		r, err := w.Send(ctx, t, t.Request)
		if err != nil {
			return nil, err
		}
		answers = append(answers, r)
	}
	b := &Base{Response: answers[1], Page: diff.New(answers[1])}
	pages := []*diff.Page{b.Page, diff.New(answers[0])}
	if t.Response != nil && t.Response.Status == answers[1].Status {
		pages = append(pages, diff.New(t.Response))
	}
	b.Noise = diff.Learn(pages...)
	t.base = b
	return b, nil
}

// React is what a place does with an unknown word and with odd characters; two requests, shared by all checks.
func (w *World) React(ctx context.Context, t *Target, p message.Place) (*Reaction, error) {
	base, err := w.Base(ctx, t)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	known := t.reactions[p]
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	r := &Reaction{Word: Word(), OddText: Value(p) + oddText}
	ending := Ending(p)
	if r.Unknown, err = w.Try(ctx, t, p, r.Word+ending); err != nil {
		return nil, err
	}
	if r.Odd, err = w.Try(ctx, t, p, r.OddText+ending); err != nil {
		return nil, err
	}
	value := Value(p)
	r.WordPage, r.OddPage = diff.New(r.Unknown, r.Word+ending, value), diff.New(r.Odd, r.OddText+ending, value)
	plain := diff.New(base.Response, value)
	r.Echo = strings.Contains(string(r.Unknown.Body), r.Word) ||
		strings.Contains(r.Unknown.Header.Get("Location"), r.Word)
	// Where a page lists what was asked for, the value is in it once more than the word; where the odd characters break
	// what shows it, once less.
	shown := count(r.Unknown, r.Word)
	listed := count(base.Response, value)-count(r.Unknown, value) != shown
	lost := count(r.Odd, value)-count(r.Unknown, value) < shown
	r.Effect = listed || lost || !diff.Same(plain, r.WordPage, base.Noise) || !diff.Same(plain, r.OddPage, base.Noise)
	w.Plant(r.Word, t, p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reactions == nil {
		t.reactions = map[message.Place]*Reaction{}
	}
	t.reactions[p] = r
	return r, nil
}

// Ending is how the name of a file of an upload ends, where applications look at what it may be; "" for other places.
func Ending(p message.Place) string {
	if p.Format != message.Multipart || !strings.HasSuffix(p.Name, ".filename") {
		return ""
	}
	return path.Ext(p.Value)
}

// Planted is a word that was sent in a place.
type Planted struct {
	Word   string
	Target *Target
	Place  message.Place
}

// maxPlanted is how many words are kept.
const maxPlanted = 20_000

// Plant notes a word that was sent in a place, for those who look where it comes out.
func (w *World) Plant(word string, t *Target, p message.Place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.planted) < maxPlanted {
		w.planted = append(w.planted, Planted{word, t, p})
	}
}

// Planted are the words that were sent, for those who look where they come out.
func (w *World) Planted() []Planted {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.planted)
}

// count is how often a text is in an answer.
func count(r *message.Response, text string) (n int) {
	for rest := string(r.Body); ; n++ {
		at := strings.Index(rest, text)
		if at < 0 {
			return n
		}
		rest = rest[at+len(text):]
	}
}

// Value is the value of a place, or 1 where it has none.
func Value(p message.Place) string {
	if p.Value == "" {
		return "1"
	}
	return p.Value
}

// IsNumber reports whether a value is a whole number.
func IsNumber(v string) bool {
	_, err := strconv.ParseInt(v, 10, 64)
	return err == nil
}

// Word is a word of 11 letters that stands nowhere else.
func Word() string {
	return "q" + strings.NewReplacer("2", "x", "3", "y", "4", "k", "5", "j", "6", "v", "7", "w").
		Replace(strings.ToLower(rand.Text()[:9])) + "z"
}

// Number is a number of 5 digits; the product of two fits into 32 bits.
func Number() int {
	n, err := rand.Int(rand.Reader, big.NewInt(35_300))
	if err != nil {
		panic(err) // it never fails
	}
	return 11_003 + int(n.Int64())
}

// Same says whether two answers say the same, or nearly so: pages name their reader.
func Same(a, b *message.Response) bool {
	x, y := diff.New(a), diff.New(b)
	return x.Status == y.Status && x.Target == y.Target && diff.Likeness(x, y, nil) >= 0.9
}

// Bit is a random bit.
func Bit() bool { return Number()&1 == 1 }

// Around is the part of a body around a text, for evidence.
func Around(body []byte, text string) string {
	s := string(body)
	at := strings.Index(s, text)
	if at < 0 {
		return ""
	}
	from, to := max(0, at-80), min(len(s), at+len(text)+80)
	return strings.ToValidUTF8(s[from:to], "?")
}

// MayWrite reports whether a request, or one that belongs before it, may change data, as it looks.
func MayWrite(r *message.Request) bool {
	for ; r != nil; r = r.After {
		if client.Writes(r) {
			return true
		}
	}
	return false
}

// OnlyReads reports whether a request is one whose statements may be made to hold for all rows: it reads, or logs in.
func OnlyReads(r *message.Request) bool { return !MayWrite(r) }

// Static reports whether an answer is a file that depends on nothing: a script, a picture, a style sheet. So is what
// refuses one, or says that it is not there: servers do without reading more of the address than its path.
func Static(r *message.Response) bool {
	if r == nil {
		return false
	}
	if r.Request != nil && fileRefusals[r.Status] && fileName.MatchString(r.Request.URL.Path) {
		return true
	}
	t := r.Type()
	if t == "image/svg+xml" && r.Request != nil && r.Request.URL.RawQuery != "" {
		return false // a program draws it
	}
	return strings.HasPrefix(t, "image/") || strings.HasPrefix(t, "font/") || strings.HasPrefix(t, "audio/") ||
		strings.HasPrefix(t, "video/") || t == "text/css" || strings.Contains(t, "javascript")
}

// fileName is the path of a file that no program makes, fileRefusals are the statuses that servers answer for one.
var (
	fileName     = regexp.MustCompile(`(?i)/[^/]+\.(?:m?js|css|map|png|jpe?g|gif|svg|ico|webp|woff2?|ttf|eot|otf)$`)
	fileRefusals = map[int]bool{http.StatusForbidden: true, http.StatusNotFound: true, http.StatusGone: true}
)

var readByName = regexp.MustCompile(`(?i)[\w-]\.[a-z][a-z0-9]{1,3}$`)

// NamesFile reports whether a place of the query names a file: a picture that an application reads by its name is no
// static file.
func NamesFile(p message.Place) bool {
	return p.Component == message.Query && !p.Key && readByName.MatchString(Value(p))
}

// Refused reports whether an answer is the same whatever a place says: not allowed, not there, moved before it is read.
func Refused(r *message.Response) bool {
	return r != nil && (r.Status == 401 || r.Status == 405)
}

// TakesPassword reports whether a request sends a password, as a login does: it may be refused for what it says.
func TakesPassword(r *message.Request) bool {
	return r.Passwords > 0 || slices.ContainsFunc(message.Places(r), func(p message.Place) bool {
		return (p.Component == message.Body || p.Component == message.Query) && client.IsSecret(lastName(p.Name))
	})
}

// lastName is the last part of a path in JSON.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// Names are the name of a user and the users that a proof needs.
func Names(u *client.User) (name string, all []string) {
	if u == nil || u.Name == "" { // nobody's cookies may be kept, too
		return "", nil
	}
	return u.Name, []string{u.Name}
}

// Known reports whether a user is somebody.
func Known(u *client.User) bool { return u != nil && u.Name != "" }
