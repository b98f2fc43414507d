package catalog_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// made is a template as the test knows it.
type made struct {
	scope, id, writtenID, name, author, severity, description string
	tags, vendor, product, path                               string
	isNew                                                     bool
	createdAt                                                 int64
}

var vocabulary = strings.Fields("Anvil anvils upload up Größe GRÖSSE wp-login.php login log Zebra zeta émile rce rce2 xss panel 2024 CVE-2024-12 cve")

func somewords(r *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

func anyMade(r *rand.Rand, id string) made {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	tags := strings.Split(pick("cve,rce", "panel", "CVE,panel,panel", "xss,wp-login", "tech"), ",")
	return made{
		writtenID: id, name: somewords(r, 2), author: pick("pat", "kim", "pat,kim"), description: somewords(r, 5),
		severity: pick("info", "low", "high", "critical"),
		tags:     strings.Join(tags, ","), vendor: pick("", "acme", "Größe"), product: pick("", "anvil", "Zebra"),
		path: pick("", "http/", "http/cves/", "HTTP/x/", "https/") + id + ".yaml",
	}
}

func (m made) text() string {
	return fmt.Sprintf(`id: %s
info:
  name: %q
  author: %s
  severity: %s
  description: %q
  tags: %s
  metadata: {vendor: %q, product: %q}
http:
  - path: ["{{BaseURL}}/"]
    matchers: [{type: word, words: [needle]}]
`, m.writtenID, m.name, m.author, m.severity, m.description, m.tags, m.vendor, m.product)
}

func (m made) dir() string {
	if i := strings.LastIndexByte(m.path, '/'); i > 0 {
		return m.path[:i]
	}
	return ""
}

func (m made) facet(name string) []string {
	var values []string
	switch name {
	case "author":
		values = strings.Split(m.author, ",")
	case "creation_stats":
		values = []string{time.UnixMicro(m.createdAt).UTC().Format("2006-01")}
	case "dir":
		values = []string{m.dir()}
	case "is_early":
		values = []string{fmt.Sprint(m.scope == catalog.EarlySet)}
	case "is_new":
		values = []string{fmt.Sprint(m.isNew)}
	case "product":
		values = []string{m.product}
	case "severity":
		values = []string{m.severity}
	case "tags":
		values = strings.Split(strings.ToLower(m.tags), ",")
	case "type":
		values = []string{"http"}
	case "vendor":
		values = []string{m.vendor}
	}
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}

// fits reports how much a word weighs in a template: 0 where no word begins with it.
func (m made) fits(word string) int {
	letter := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	begins, whole := 0, 0
	look := func(weight int, texts ...string) {
		for _, text := range texts {
			text = strings.ToLower(text)
			for i := range text {
				before, _ := utf8.DecodeLastRuneInString(text[:i])
				if letter(before) || !strings.HasPrefix(text[i:], word) {
					continue
				}
				begins = max(begins, weight)
				rest := text[i+len(word):]
				after, _ := utf8.DecodeRuneInString(rest)
				if rest == "" || !letter(after) && (!strings.ContainsRune("-_.", after) || !strings.ContainsAny(word, "-_.")) {
					whole = max(whole, weight)
				}
			}
		}
	}
	look(16, m.writtenID, m.id)
	look(8, m.name)
	look(6, m.tags)
	look(5, m.vendor, m.product)
	look(3, m.author)
	look(1, m.description, m.path, "http", m.severity)
	return begins + whole
}

// picks reports whether a template meets a query of the test, and how well.
func (m made) picks(query string) (score int, ok bool) {
	for one := range strings.FieldsSeq(strings.ToLower(query)) {
		one, not := strings.CutPrefix(one, "-")
		field, value, named := strings.Cut(one, ":")
		var has bool
		switch {
		case !named:
			fit := m.fits(one)
			if has = fit > 0; !not {
				score += fit
			}
		case field == "id":
			has = m.id == value || strings.HasPrefix(strings.ToLower(m.writtenID), value)
		default:
			has = slices.ContainsFunc(m.facet(field), func(v string) bool {
				v = strings.ToLower(v)
				return v == value || field == "dir" && strings.HasPrefix(v, value+"/")
			})
		}
		if has == not {
			return 0, false
		}
	}
	return score, true
}

func (m made) compare(field string, other made) int {
	of := func(m made) string {
		switch field {
		case "id":
			return m.writtenID
		case "template_id":
			return m.id
		case "name":
			return strings.ToLower(m.name)
		case "severity":
			return fmt.Sprint(slices.Index([]string{"info", "low", "high", "critical"}, m.severity))
		case "dir":
			return m.dir()
		case "uri":
			return m.path
		case "vendor":
			return m.vendor
		case "product":
			return m.product
		case "created_at", "updated_at":
			return fmt.Sprint(m.createdAt)
		}
		return ""
	}
	return strings.Compare(of(m), of(other))
}

// expected is what a search must answer, by the rules alone.
func expected(
	all []made, team string, early bool, s catalog.Search, by string, desc bool,
) (keys []string, facets map[string]map[string]int) {
	ranks := map[string]int{catalog.StarterSet: 1, catalog.EarlySet: 2, catalog.PublicSet: 3}
	type hit struct {
		made
		score int
	}
	var hits []hit
	for _, m := range all {
		replaced := slices.ContainsFunc(all, func(o made) bool { return o.id == m.id && ranks[o.scope] > ranks[m.scope] })
		shown := s.Public && ranks[m.scope] > 0 && (early || m.scope != catalog.EarlySet) || s.Private && m.scope == team
		if score, ok := m.picks(s.Query); ok && shown && !replaced {
			hits = append(hits, hit{m, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		order := a.compare(by, b.made)
		if desc {
			order = -order
		}
		return cmp.Or(order, b.score-a.score, strings.Compare(a.writtenID, b.writtenID), strings.Compare(a.id, b.id))
	})
	facets = map[string]map[string]int{}
	for _, h := range hits {
		keys = append(keys, h.scope+" "+h.id)
		for _, name := range []string{"author", "creation_stats", "dir", "is_early", "is_new", "product", "severity", "tags",
			"type", "vendor"} {
			if facets[name] == nil {
				facets[name] = map[string]int{}
			}
			for _, v := range h.facet(name) {
				facets[name][v]++
			}
		}
	}
	return keys, facets
}

// TestSearchFollowsItsRules: on both databases a search of random templates answers as the rules
// say, which the test applies to each template by itself.
func TestSearchFollowsItsRules(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := rand.New(rand.NewPCG(1, 2))
		s := open(t, d)
		var all []made
		for _, set := range []string{catalog.EarlySet, catalog.PublicSet} {
			files := map[string]string{}
			for i := range 40 {
				m := anyMade(r, fmt.Sprintf("%s-%d", vocabulary[r.IntN(4)+7], i))
				m.scope, m.id, m.createdAt = set, m.writtenID, s.clock.Load()
				if files[m.path] == "" {
					all = append(all, m)
					files[m.path] = m.text()
				}
			}
			s.load(t, catalog.Source{Source: update.Source{From: folder(t, files)}, Early: set == catalog.EarlySet})
			s.later(45 * 24 * time.Hour)
		}
		team := caller(t, s.ada).TeamID
		for i := range 20 {
			m := anyMade(r, fmt.Sprintf("Zebra-%d", i/2))
			made, err := s.Create(s.ada, catalog.NewTemplate{Text: m.text(), Filename: m.writtenID + ".yaml", Dir: m.dir()})
			if err != nil {
				t.Fatal(err)
			}
			m.scope, m.id, m.createdAt, m.path = team, made.ID, s.clock.Load(), made.Path
			all = append(all, m)
		}
		starters, _, err := s.Public(s.ada, page.Window{Limit: 1000}, false)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(starters, func(t catalog.Template) bool { return t.Scope == catalog.StarterSet }) {
			t.Fatal("the test expects no starter set")
		}
		terms := []string{
			"anvil", "up", "größe", "rce", "-rce", "log", "login.php", "wp-login.php", "-zebra", "http", "2024", "CVE-2024",
			"zeta-1", "pat",
			"tags:panel", "-tags:PANEL", "author:KIM", "dir:http", "dir:http/cves", "-dir:HTTP", "id:zebra", "id:zebra-1",
			"-id:log",
			"severity:high", "vendor:größe", "product:Zebra", "is_early:true", "is_new:true",
		}
		for n := range 400 {
			query := ""
			for range r.IntN(3) {
				query += " " + terms[r.IntN(len(terms))]
			}
			by := []string{"", "id", "template_id", "name", "severity", "type", "dir", "uri", "vendor", "product",
				"created_at"}[r.IntN(11)]
			search := catalog.Search{
				Query: query, Public: r.IntN(4) > 0, Private: r.IntN(4) > 0, FacetSize: 1000,
				Window: page.Window{Offset: r.IntN(8), Limit: 30},
			}
			who, desc := caller(t, s.ada), r.IntN(2) == 0
			if n%3 == 0 {
				who.Plan = account.Free
			}
			if by != "" {
				search.Sorts = []page.Sort{{Column: catalog.Sortable[by], Desc: desc}}
			}
			keys, facets := expected(all, team, who.Plan != account.Free, search, by, desc)
			found, err := s.Search(account.WithCaller(t.Context(), who), search)
			if err != nil {
				t.Fatalf("%+v: %v", search, err)
			}
			var got []string
			for _, one := range found.Templates {
				got = append(got, one.Scope+" "+one.ID)
			}
			from := min(search.Window.Offset, len(keys))
			if want := keys[from:min(len(keys), from+30)]; found.Total != len(keys) || !slices.Equal(got, want) {
				t.Fatalf("%+v by %s: %d\n%v, want %d\n%v", search, by, found.Total, got, len(keys), want)
			}
			checkCounts(t, found, facets)
			if n == 100 { // the rest is answered from rows as Backfill makes them
				if _, err := d.Exec(t.Context(), `DELETE FROM template_search`); err != nil {
					t.Fatal(err)
				}
				if err := s.Backfill(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func checkCounts(t *testing.T, found catalog.Found, want map[string]map[string]int) {
	t.Helper()
	for name, facet := range found.Facets {
		got := map[string]int{}
		total := 0
		for _, b := range facet.Buckets {
			got[b.Value] = b.Count
			total += b.Count
		}
		if len(got) != len(want[name]) || total != facet.Total {
			t.Fatalf("%s: %v, want %v", name, facet, want[name])
		}
		for value, n := range want[name] {
			if got[value] != n {
				t.Fatalf("%s=%s: %d, want %d", name, value, got[value], n)
			}
		}
	}
}
