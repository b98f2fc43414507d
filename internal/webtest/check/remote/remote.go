// Package remote finds what an application fetches for its visitors: addresses (SSRF, inclusion of remote files) and
// external entities of XML; and operators of document databases in place of values.
//
// The proof of a fetch is content: a page of the application itself is named, and lines of it come back that the normal
// answer does not have; an address of the same form with no page does not bring them; a second page, or a second try
// does. Where an application shows the status of what it has read and nothing else, that is the proof (status.go).
// Nothing outside is asked for, and no internal address. Where there is an out-of-band server, a call of it is
// waited for, too: by DNS alone it is probable, by HTTP proved.
//
// Requests for a clean place: none where neither name nor value speaks of files or addresses; otherwise three to six,
// and one for the out-of-band server; up to eleven requests for each host, once, to read its own pages and its
// error page.
package remote

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check {
	included := kit.Check{ID: "file-inclusion", Class: "file-inclusion", Level: client.Safe}.Describe()
	fetched := kit.Check{ID: "ssrf", Class: "ssrf", Level: client.Safe}.Describe()
	fetched.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		return fetch(ctx, &included, &fetched, w, t, p)
	}
	return []kit.Check{fetched, xxe(), xinclude(), xxeInFile(), asXML(), operators(), upload(), mail(), outOfBand()}
}

var (
	fileName = regexp.MustCompile(`(?i)file|page|doc|templ|incl|dir|folder|lang|view|load|content|theme|style|skin|layout|` +
		`module|resource|target|show|open|read|path`)
	addressName = regexp.MustCompile(`(?i)ur[il]|host|site|link|feed|proxy|fetch|webhook|callback|image|img|src|avatar|` +
		`address|domain|server|endpoint|source|href|remote|import|download|dest|ping|preview|xml|wsdl|` +
		`adres|direcci|endere[cç]o|indirizz|osoite|enlace|lien|l[aä]nk|odkaz|quelle|fuente|bild`) //nolint:misspell // other languages
	fileValue = regexp.MustCompile(`[/\\]|^[^ ]+\.[A-Za-z][A-Za-z0-9]{1,4}$`)
)

// variants are how an address is written: {a} is it, {n} without its scheme, {s} what follows that, {o} with its host
// written otherwise, {m} with an IPv4 address in IPv6, which lists of forbidden hosts do not know. {z} has the
// last three numbers of that address as one, and {0} stands for this machine with zeros. {v} is the value of the place,
// which may have a host or an ending that is asked for, and {h} the scheme and the host of it.
var variants = []string{"{a}", "{n}", "{a}?{v}", "{h}@{n}", "{o}", "{m}", "hTtP{s}", "{a}\x00", "{z}", "{0}"}

// always are how many variants are sent where the answer does not depend on the place, as far as is seen.
const always = 6

// of is a variant for a value; "" if the value has no host and one is needed.
func of(variant, value string) string {
	origin := ""
	if u, err := url.Parse(value); err == nil && u.Host != "" {
		origin = u.Scheme + "://" + u.Host
	}
	if origin == "" && strings.Contains(variant, "{h}") {
		return ""
	}
	return strings.NewReplacer("{v}", value, "{h}", origin).Replace(variant)
}

// page is a page of the application and lines that only it has.
type page struct {
	address *url.URL
	lines   []string
	parts   []string // its title, and how its source begins, if no other page of ours has them
	texts   []string // that a preview may show of it, also those that other pages have
}

// isUsual reports whether a variant writes an address as it is.
func isUsual(variant string, at *url.URL) bool { return write(variant, at) == at.String() }

// names says whether a place may name an address, and whether it names that or a file.
func names(p message.Place) (isAddress, ok bool) {
	isAddress = strings.Contains(p.Value, "://") || addressName.MatchString(p.Name)
	return isAddress, !p.File && (isAddress || fileName.MatchString(p.Name) || fileValue.MatchString(p.Value))
}

// fetch tests one place.
func fetch(ctx context.Context, included, fetched *kit.Check, w *kit.World, t *kit.Target, p message.Place) error {
	isAddress, ok := names(p)
	if !ok {
		return nil
	}
	c := included
	if isAddress {
		c = fetched
	}
	if w.OAST != nil {
		if err := callback(ctx, c, w, t, p); err != nil {
			return err
		}
	}
	reaction, err := w.React(ctx, t, p)
	if err != nil {
		return err
	}
	base, err := w.Base(ctx, t)
	if err != nil {
		return err
	}
	pages, err := ownPages(ctx, w, t)
	if err != nil || len(pages) == 0 {
		return err
	}
	known := pages[0]
	preview, err := newPreviewed(ctx, w, fetched, t, p, pages, base.Response, reaction.Unknown)
	if err != nil {
		return err
	}
	isUsed := reaction.Effect || reaction.Echo
	for i, pattern := range variants {
		if i >= always && !isUsed {
			return nil
		}
		variant := of(pattern, p.Value)
		if variant == "" || i > 0 && isUsual(variant, known.address) {
			continue
		}
		first, match, err := brings(ctx, w, t, p, write(variant, known.address), known, base.Response, reaction.Unknown)
		if err != nil {
			return err
		}
		isUsed = isUsed || i == 0 && !kit.Same(first, reaction.Unknown) // it tells addresses from words
		if match == "" {
			if found, err := preview.shows(ctx, variant, first); err != nil || found {
				return err
			}
			continue
		}
		return preview.confirm(ctx, c, pattern, variant, first, match)
	}
	return nil
}

// confirm reports that the content of the first page has come back, where an address of no page does not bring it, and
// another page comes back as well.
func (v *previewed) confirm(ctx context.Context, c *kit.Check, pattern, variant string, first *message.Response,
	match string,
) error {
	base, unknown := v.usual[0], v.usual[1]
	known := v.pages[0]
	sent, gone := write(variant, known.address), write(variant, nowhere(known.address))
	control, unwanted, err := brings(ctx, v.World, v.t, v.p, gone, known, base, unknown)
	if err != nil || unwanted != "" {
		return err
	}
	second, again, note, err := another(ctx, v.World, v.t, v.p, variant, v.pages, base, unknown)
	if err != nil || again == "" {
		return err
	}
	user, users := kit.Names(v.t.User)
	v.Found(c, kit.Finding{Request: first.Request, Place: v.p, Payload: sent, Variant: pattern,
		Detail: "the content comes back",
		Evidence: []kit.Evidence{
			{Request: first.Request, Response: first, Match: match, Note: "lines of the page at " + known.address.String()},
			{Request: control.Request, Response: control, Note: "an address of no page does not bring them"},
			{Request: second.Request, Response: second, Match: again, Note: note},
		},
		Proof: &proof.Program{About: "The content of an address that the request names comes back.", Users: users,
			Steps: []proof.Step{
				{ID: "page", As: user, Send: v.t.Request.Put(v.p, sent),
					Expect: []proof.Expect{{What: proof.Contains, Value: match}}},
				{ID: "nowhere", As: user, Send: v.t.Request.Put(v.p, gone),
					Expect: []proof.Expect{{What: proof.Contains, Value: match, Not: true}}},
			}}})
	return nil
}

// another asks for another of the application's pages, or for the same again where there is no other, or the usual
// answer may be made of it. note says which came back; match is "" where none did.
func another(
	ctx context.Context, w *kit.World, t *kit.Target, p message.Place, variant string, pages []page,
	base, unknown *message.Response,
) (answer *message.Response, match, note string, err error) {
	if len(pages) > 1 {
		answer, match, err = brings(ctx, w, t, p, write(variant, pages[1].address), pages[1], base)
		if err != nil || match != "" {
			return answer, match, "another page comes back, too", err
		}
	}
	answer, match, err = brings(ctx, w, t, p, write(variant, pages[0].address), pages[0], base, unknown)
	return answer, match, "it comes back again", err
}

// write is an address in one way of writing.
func write(variant string, at *url.URL) string {
	text := at.String()
	_, rest, _ := strings.Cut(text, "://")
	otherwise := *at
	otherwise.Host = strings.Replace(at.Host, at.Hostname(), written(at.Hostname()), 1)
	return strings.NewReplacer("{a}", text, "{n}", rest, "{s}", "://"+rest, "{o}", otherwise.String(),
		"{m}", mapped(at), "{z}", hosted(at, shortened(at.Hostname())), "{0}", hosted(at, zeros(at.Hostname()))).Replace(variant)
}

// hosted is an address with another host.
func hosted(at *url.URL, host string) string {
	out := *at
	out.Host = strings.Replace(at.Host, at.Hostname(), host, 1)
	return out.String()
}

// ipv4 is the IPv4 address that a host is.
func ipv4(host string) (b [4]byte, ok bool) {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Is4() {
		return b, false
	}
	return ip.As4(), true
}

// shortened is an IPv4 address with its last three numbers as one, as 127.1; another host as it is.
func shortened(host string) string {
	b, ok := ipv4(host)
	if !ok {
		return host
	}
	return fmt.Sprintf("%d.%d", b[0], binary.BigEndian.Uint32(b[:])&0xffffff)
}

// zeros is the address of all interfaces for one of this machine, which leads to it as well; another host as it is.
func zeros(host string) string {
	if b, ok := ipv4(host); ok && b[0] == 127 {
		return "0.0.0.0"
	}
	return host
}

// mapped is an address whose host, if that is IPv4, is written as IPv6 in hexadecimal digits; else the address as it
// is.
func mapped(at *url.URL) string {
	b, ok := ipv4(at.Hostname())
	if !ok {
		return at.String()
	}
	return hosted(at, fmt.Sprintf("[::ffff:%x:%x]", binary.BigEndian.Uint16(b[:2]), binary.BigEndian.Uint16(b[2:])))
}

// written is a host in another way of writing, which is resolved to the same: an IPv4 address as one number, a name
// with the dot of the root. The number is a hexadecimal one, as Apache refuses a host of decimal digits.
func written(host string) string {
	if b, ok := ipv4(host); ok {
		return "0x" + strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[:])), 16)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	return strings.TrimSuffix(host, ".") + "."
}

// brings sends an address and returns a line of the page if the answer has most of its lines; those that stand in
// other answers do not count.
func brings(ctx context.Context, w *kit.World, t *kit.Target, p message.Place, text string, of page,
	without ...*message.Response) (*message.Response, string, error) {
	answer, err := w.Try(ctx, t, p, text)
	if err != nil {
		return nil, "", err
	}
	match, found, counted := "", 0, 0
	body := content(answer)
	others := make([]string, 0, len(without))
	for _, r := range without {
		others = append(others, content(r))
	}
	for _, line := range of.lines {
		if strings.Contains(text, line) ||
			slices.ContainsFunc(others, func(other string) bool { return strings.Contains(other, line) }) {
			continue
		}
		counted++
		if strings.Contains(body, line) {
			found++
			match = line
		}
	}
	if answer.Status/100 == 3 {
		return answer, "", nil
	}
	if counted == 0 || found*2 < counted || found == 0 {
		return answer, excerpt(body, text, of, without), nil
	}
	if !strings.Contains(message.Shown(answer.Body), match) {
		match = standing(answer, match)
	}
	return answer, match, nil
}

// excerpt is what a preview shows of a page: its title as the text of an element or a value, or the beginning of its
// source; "" if an answer has neither, or others have it, too.
func excerpt(body, text string, of page, without []*message.Response) string {
	for _, part := range of.parts {
		if !utf8.ValidString(part) {
			continue // an expression cannot have it
		}
		pattern := regexp.MustCompile(`(?:^|[>"'\s:])` + regexp.QuoteMeta(part) + `(?:$|[<"'\s.,])`)
		elsewhere := strings.Contains(text, part)
		for _, r := range without {
			elsewhere = elsewhere || pattern.MatchString(message.Shown(r.Body))
		}
		if !elsewhere && pattern.MatchString(body) {
			return part
		}
	}
	return ""
}

// maxCandidates are how many pages of the map are asked for to find those that everybody sees, maxLed how many more are
// to which they lead visitors who are not logged in, such as the login.
const maxCandidates, maxLed = 8, 2

// ownPages are up to three pages of the application that everybody sees, with what stands in none of the other answers.
// They are read once for each host.
func ownPages(ctx context.Context, w *kit.World, t *kit.Target) ([]page, error) {
	key := "own pages " + t.Request.URL.Host
	if known, ok := w.Memo.Load(key); ok {
		return without(known.([]page), t.Request.URL), nil //nolint:forcetypeassert // it is stored below
	}
	root := message.From(http.MethodGet, &url.URL{Scheme: t.Request.URL.Scheme, Host: t.Request.URL.Host})
	candidates := []*message.Request{root}
	for _, r := range w.Pages() {
		if r.Method == http.MethodGet && r.URL.Host == root.URL.Host && r.URL.RawQuery == "" &&
			len(candidates) < maxCandidates {
			candidates = append(candidates, r)
		}
	}
	var pages []page
	var answers []*message.Response
	led := map[string]bool{}
	for i := 0; i < len(candidates); i++ {
		r := candidates[i]
		answer, err := w.Client.Send(ctx, r, client.Options{})
		if errors.Is(err, client.ErrScope) {
			continue
		}
		if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
			return nil, err
		}
		if to := answer.Redirect(); to != nil && to.Host == root.URL.Host && to.RawQuery == "" && len(led) < maxLed &&
			!led[to.Path] {
			led[to.Path] = true
			candidates = slices.Insert(candidates, i+1, message.From(http.MethodGet, to))
		}
		// A page has often two addresses, and a token that is another each time: its title is not common then.
		twin := slices.ContainsFunc(answers, func(other *message.Response) bool {
			return title(other) == title(answer) && message.Skeleton(other) == message.Skeleton(answer) &&
				slices.Equal(textsOf(other), textsOf(answer))
		})
		if answer.Status != http.StatusOK || twin {
			continue
		}
		answers = append(answers, answer)
		own := page{address: r.URL, parts: partsOf(answer), texts: textsOf(answer)}
		for _, line := range pieces(string(answer.Body)) {
			if len(line) >= 12 && len(line) <= maxLine && len(own.lines) < 40 && isPlain(line) && !common(pages, line) {
				own.lines = append(own.lines, line)
			}
		}
		if len(own.lines) > 0 {
			pages = append(pages, own)
		}
		if len(pages) == 3 {
			break
		}
	}
	for i := range pages {
		pages[i].parts = slices.DeleteFunc(pages[i].parts, func(part string) bool {
			return slices.ContainsFunc(pages, func(p page) bool {
				return p.address != pages[i].address &&
					slices.Contains(p.parts, part)
			})
		})
	}
	w.Memo.Store(key, pages)
	return without(pages, t.Request.URL), nil
}

// maxLine is how long a line is at most that is looked for.
const maxLine = 300

// pieces are the lines of a page; longer ones, and those with letters that pages may write in another way, are cut
// where elements begin.
func pieces(body string) (all []string) {
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if len(line) <= maxLine && isPlain(line) {
			all = append(all, line)
			continue
		}
		for part := range strings.SplitSeq(line, "<") {
			all = append(all, "<"+strings.TrimSpace(part))
		}
	}
	return all
}

// isPlain reports whether a line has letters of ASCII alone.
func isPlain(line string) bool {
	return strings.IndexFunc(line, func(r rune) bool { return r > 126 }) < 0
}

var titled = regexp.MustCompile(`(?is)<title[^>]*>\s*([^<]{3,100}?)\s*</title>`)

// begins is how much of a source is its beginning.
const begins = 70

func title(r *message.Response) string { return string(titled.Find(r.Body)) }

// partsOf are the title of a page and the beginning of its source.
func partsOf(r *message.Response) (parts []string) {
	if m := titled.FindSubmatch(r.Body); m != nil {
		parts = append(parts, html.UnescapeString(string(m[1])))
	}
	if start := strings.TrimSpace(string(r.Body)); len(start) >= begins {
		line, _, _ := strings.Cut(firstOf(start, begins), "\n")
		if len(line) >= begins/2 {
			parts = append(parts, line)
		}
	}
	return parts
}

func common(pages []page, line string) bool {
	for _, p := range pages {
		if slices.Contains(p.lines, line) {
			return true
		}
	}
	return false
}

// without are pages other than one.
func without(pages []page, at *url.URL) (others []page) {
	for _, p := range pages {
		if p.address.Path != at.Path {
			others = append(others, p)
		}
	}
	return others
}
