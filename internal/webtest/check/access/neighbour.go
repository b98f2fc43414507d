package access

import (
	"bytes"
	"context"
	"crypto/md5"  //nolint:gosec // applications hide numbers in it
	"crypto/sha1" //nolint:gosec // as above
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const (
	maxSeries = 60 // requests whose objects have numbers, of the map
	minLike   = 0.7
)

// neighbours is the check for objects of others where one user alone logs in. An object of the user has a number; the
// objects with the numbers beside it, and the first ones, are asked for. One that has private data of its own, such as
// another address of e-mail, and that no page of the user leads to, belongs to somebody else: nobody without a login
// gets it, and a number that is nobody's is answered otherwise. Without private data, the name of its owner tells
// (neighbour_name.go). Two requests for each page whose address or cookie has
// a number, six more where nobody gets it.
func neighbours() kit.Check {
	c := kit.Check{ID: "access-of-neighbours", Class: "bola", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) != 1 {
			return nil
		}
		n := &neighbourhood{w: w, c: &c, as: w.Users[0]}
		tried := map[string]bool{}
		for _, r := range w.Pages() {
			if kit.MayWrite(r) || r.IsMessage() || len(tried) >= maxSeries {
				continue
			}
			for _, p := range n.numbered(r) {
				key := r.Method + r.URL.Host + r.Shape() + string(p.Component) + p.Name
				if tried[key] {
					continue
				}
				tried[key] = true
				if err := n.look(ctx, r, p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

type neighbourhood struct {
	w     *kit.World
	c     *kit.Check
	as    *client.User
	pages []*message.Response // of the map, as the user sees them
}

// numbered are the places of a request whose value is a number, or hides one.
func (n *neighbourhood) numbered(r *message.Request) (all []message.Place) {
	for _, p := range message.Places(r) {
		if p.Component != message.Header && p.Component != message.Cookie && seriesOf(p.Value) != nil {
			all = append(all, p)
		}
	}
	for _, k := range n.as.Cookies(r.URL) {
		if p := message.PlaceOfCookie(k.Name, k.Value); seriesOf(p.Value) != nil {
			all = append(all, p)
		}
	}
	return all
}

// series writes numbers as a value does.
type series struct {
	number int
	write  func(int) string
}

const maxHidden = 2000 // numbers whose digest is looked for

// encodings are those in which values hide numbers, and what stands before them.
var encodings = []struct {
	decode func(string) ([]byte, error)
	encode func([]byte) string
}{
	{base64.StdEncoding.DecodeString, base64.StdEncoding.EncodeToString},
	{base64.RawStdEncoding.DecodeString, base64.RawStdEncoding.EncodeToString},
	{base64.URLEncoding.DecodeString, base64.URLEncoding.EncodeToString},
	{base64.RawURLEncoding.DecodeString, base64.RawURLEncoding.EncodeToString},
	{hex.DecodeString, hex.EncodeToString},
}

// afterWord is a word before a number, as of order-17, INV0042 or user:5, and the ending of a file behind it, as of
// bill-0042.pdf.
var afterWord = regexp.MustCompile(`^([A-Za-z][A-Za-z_.:#/-]{0,20})([0-9]{1,9})(\.[A-Za-z]{2,5})?$`)

// seriesOf says how a value counts: as a number, with or without a word before it, in base64 or hexadecimal, or as the
// digest of a small number. nil: it does not.
func seriesOf(value string) *series {
	if n, err := strconv.Atoi(value); err == nil && n >= 0 && len(value) < 10 && strconv.Itoa(n) == value {
		return &series{n, strconv.Itoa}
	}
	if s := countedBy(value); s != nil {
		return s
	}
	for _, by := range encodings {
		raw, err := by.decode(value)
		if err != nil || len(value) < 4 || by.encode(raw) != value {
			continue
		}
		s := countedBy(string(raw))
		if s == nil {
			s = seriesOfObject(raw)
		}
		if s != nil {
			return &series{s.number, func(n int) string { return by.encode([]byte(s.write(n))) }}
		}
		if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 && strconv.Itoa(n) == string(raw) {
			return &series{n, func(n int) string { return by.encode([]byte(strconv.Itoa(n))) }}
		}
	}
	if write := digests[len(value)]; write != nil {
		for n := range maxHidden {
			if write(n) == value {
				return &series{n, write}
			}
		}
	}
	return nil
}

// countedBy is the series of a value with a word before its number, which keeps as many digits where it begins with 0.
func countedBy(value string) *series {
	m := afterWord.FindStringSubmatch(value)
	if m == nil {
		return nil
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return nil
	}
	width := 0
	if m[2][0] == '0' {
		width = len(m[2])
	}
	return &series{n, func(n int) string { return m[1] + fmt.Sprintf("%0*d", width, n) + m[3] }}
}

// digests are those that hide numbers, by their length.
var digests = map[int]func(int) string{
	32: func(n int) string {
		sum := md5.Sum([]byte(strconv.Itoa(n))) //nolint:gosec // see above
		return hex.EncodeToString(sum[:])
	},
	40: func(n int) string {
		sum := sha1.Sum([]byte(strconv.Itoa(n))) //nolint:gosec // see above
		return hex.EncodeToString(sum[:])
	},
}

// beside are the numbers that are tried.
func (s *series) beside() (all []int) {
	for _, n := range []int{s.number - 1, s.number + 1, 1, 2, 3, s.number + 2} {
		if n >= 0 && n != s.number && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// look looks for an object of somebody else at one place.
func (n *neighbourhood) look(ctx context.Context, r *message.Request, p message.Place) error {
	own, err := n.send(ctx, r, n.as)
	if err != nil || own.Status != http.StatusOK || kit.Static(own) {
		return err
	}
	byName := len(private(own)) == 0 // the name of who has it must tell then
	if byName {
		if isOwn, err := n.isOwn(ctx, r, p, own); err != nil || !isOwn {
			return err
		}
	}
	nobody, err := n.send(ctx, r, nil)
	if err != nil || nobody.Status == http.StatusOK && kit.Same(own, nobody) {
		return err
	}
	s := seriesOf(p.Value)
	none := r.Put(p, s.write(s.number%1000+987_654_000))
	missing, err := n.send(ctx, none, n.as)
	if err != nil || kit.Same(own, missing) {
		return err
	}
	for _, number := range s.beside() {
		theirs := r.Put(p, s.write(number))
		answer, err := n.send(ctx, theirs, n.as)
		if err != nil {
			return err
		}
		others := foreign(answer, own, missing, nobody)
		if byName {
			others = n.namedInstead(own, answer, missing)
		}
		if answer.Status != http.StatusOK || len(others) == 0 || !alike(own, answer) {
			continue
		}
		if leads, err := n.leadsTo(ctx, theirs, p, others, byName); err != nil || leads {
			return err
		}
		refused, err := n.send(ctx, theirs, nil)
		if err != nil || refused.Status == http.StatusOK && kit.Same(refused, answer) {
			return err
		}
		again, err := n.send(ctx, theirs, n.as)
		if err != nil || !kit.Same(again, answer) {
			return err
		}
		n.found(r, theirs, p, others[0], []kit.Evidence{
			{Request: r, Response: own, Note: "what belongs to " + n.as.Name},
			{Request: theirs, Response: again, Match: others[0], Note: "another number: what belongs to somebody else"},
			{Request: theirs, Response: refused, Note: "what nobody gets"},
			{Request: none, Response: missing, Note: "a number that is nobody's"},
		})
		return nil
	}
	return nil
}

func (n *neighbourhood) found(own, theirs *message.Request, p message.Place, what string, evidence []kit.Evidence) {
	n.w.Found(n.c, kit.Finding{Request: theirs, Place: p, Evidence: evidence,
		Proof: &proof.Program{About: n.as.Name + " gets what belongs to somebody else.", Users: []string{n.as.Name},
			Steps: []proof.Step{
				{ID: "own", As: n.as.Name, Send: own, Expect: []proof.Expect{{What: proof.Contains, Value: what, Not: true}}},
				{ID: "theirs", As: n.as.Name, Send: theirs, Expect: []proof.Expect{{What: proof.Contains, Value: what}}},
				{ID: "nobody", Send: theirs, Expect: []proof.Expect{{What: proof.Contains, Value: what, Not: true}}},
			}}})
}

func (n *neighbourhood) send(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := n.w.Client.Send(ctx, r, client.Options{As: as, Fresh: as != nil})
	return kit.Broken(ctx, r, answer, err)
}

// read reads the pages of the map as the user.
func (n *neighbourhood) read(ctx context.Context) error {
	if n.pages != nil {
		return nil
	}
	for _, r := range n.w.Pages() {
		if r.Method != http.MethodGet || len(n.pages) >= maxPages {
			continue
		}
		answer, err := n.w.Shown(ctx, r, n.as)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err == nil && answer.Status == http.StatusOK {
			n.pages = append(n.pages, answer)
		}
	}
	return nil
}

// leadsTo says whether pages of the map, as the user sees them, lead to an object or show what it has: it is there for
// the user then, such as a colleague in a list.
func (n *neighbourhood) leadsTo(ctx context.Context, theirs *message.Request, p message.Place, others []string,
	byName bool) (bool, error) {
	if err := n.read(ctx); err != nil {
		return false, err
	}
	var names []*regexp.Regexp
	if p.Component == message.Path || p.Component == message.Query {
		names = ways(theirs)[len(objects(theirs)):] // its addresses; a number in JSON may be that of anything
	}
	for _, page := range n.pages {
		for _, name := range names {
			if name.Match(page.Body) {
				return true, nil
			}
		}
		for _, text := range others {
			if !byName && bytes.Contains(page.Body, []byte(text)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Private data: addresses of e-mail, and values with a name that says so, in JSON, in fields and in tables.
var (
	labeled = regexp.MustCompile(`(?i)["'>\s](?:e-?mail|phone|mobile|address|street|ssn|social.security(?:.number)?|` +
		`date.of.birth|birth.?da(?:y|te)|dob|salary|balance|iban|card.?number|account.?number|password|pass|secret|` +
		`api.?key|access.?token|token|diagnosis|passport)["']?\s*(?::|</(?:th|td|dt|label|strong|b|span)>)\s*` +
		`(?:<[^>]{1,200}>\s*)*["']?([^"'<>,}\r\n]{3,200})`)
)

// private is the private data of an answer.
func private(r *message.Response) (all []string) {
	all = append(all, kit.MailAddress.FindAllString(string(r.Body), 50)...)
	for _, m := range labeled.FindAllStringSubmatch(string(r.Body), 50) {
		all = append(all, m[1])
	}
	return all
}

// foreign is the private data of an answer that none of the others has.
func foreign(r *message.Response, others ...*message.Response) []string {
	return slices.DeleteFunc(private(r), func(text string) bool {
		return slices.ContainsFunc(others, func(o *message.Response) bool {
			return bytes.Contains(o.Body, []byte(text))
		})
	})
}

// bones are the elements of a page and the names of a JSON object.
var bones = regexp.MustCompile(`<[a-zA-Z][a-zA-Z0-9]*|"[\w-]{1,60}"\s*:`)

// alike says whether two answers are of the same kind, about other things: their elements and names are nearly the
// same.
func alike(a, b *message.Response) bool {
	if a.Status != b.Status || a.Type() != b.Type() {
		return false
	}
	counts := map[string]int{}
	total, shared := 0, 0
	for _, bone := range bones.FindAll(a.Body, -1) {
		counts[string(bone)]++
		total++
	}
	for _, bone := range bones.FindAll(b.Body, -1) {
		if total++; counts[string(bone)] > 0 {
			counts[string(bone)]--
			shared += 2
		}
	}
	return float64(shared) >= minLike*float64(total)
}
