package catalog_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestSearch: what a query finds, best first, and the same on both databases.
func TestSearch(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		s.load(t, catalog.Source{Source: update.Source{From: folder(t, map[string]string{
			"http/cves/CVE-2024-1234.yaml": written("CVE-2024-1234", "Anvil upload", "critical", "cve,cve2024,rce"),
			"http/panel/anvil-panel.yaml": strings.Replace(written("anvil-panel", "Anvil panel", "info", "panel,tech"),
				"cve-id: CVE-2024-1234", "cwe-id: CWE-200", 1),
			"http/x/wp-login.yaml": strings.NewReplacer("cve-id: CVE-2024-1234", "cwe-id: CWE-1", "product: anvil",
				"product: wordpress").Replace(written("wp-login", "Größe <b>of</b> it", "low", "panel")),
		})}})
		s.load(t, catalog.Source{Source: update.Source{From: folder(t, map[string]string{"e.yaml": written("early-anvil", "Early", "high", "x")})}, Early: true})
		if _, err := s.Create(s.ada, catalog.NewTemplate{Text: written("mine", "My anvil", "high", "x")}); err != nil {
			t.Fatal(err)
		}
		find := func(q string, sorts ...page.Sort) (out []string) {
			found, err := s.Search(s.ada, catalog.Search{Query: q, Public: true, Private: true, Sorts: sorts,
				Window: page.Window{Limit: 100}, FacetSize: 3})
			if err != nil {
				t.Fatalf("%q: %v", q, err)
			}
			for _, one := range found.Templates {
				out = append(out, one.WrittenID)
			}
			return out
		}
		for q, want := range map[string][]string{
			"":                      {"CVE-2024-1234", "anvil-panel", "early-anvil", "mine", "wp-login"},
			"anvil":                 {"anvil-panel", "early-anvil", "CVE-2024-1234", "mine"},
			"ANVIL -panel":          {"early-anvil", "CVE-2024-1234", "mine"},
			"cve-2024-1234 anvil-p": nil, "anvil-p": {"anvil-panel"}, "-anvil-p tags:panel": {"wp-login"},
			"panel anvil":           {"anvil-panel"},
			"severity:critical":     {"CVE-2024-1234"},
			"severity:HIGH anvil":   {"early-anvil", "mine"},
			"tags:panel -tags:tech": {"wp-login"},
			"dir:http":              {"CVE-2024-1234", "anvil-panel", "wp-login"},
			"id:cve-2024":           {"CVE-2024-1234"},
			"product:wordpress":     {"wp-login"},
			"is_early:true":         {"early-anvil"},
			"login.yaml":            {"wp-login"}, "24-12": nil, "2024-12 upload": {"CVE-2024-1234"},
			"größe":                  {"wp-login"},
			`author:kim && tags:rce`: {"CVE-2024-1234"},
			"https://":               nil,
			"nothinglikeit":          nil,
			`"anvil panel"`:          {"anvil-panel"},
			"- : ''":                 {"CVE-2024-1234", "anvil-panel", "early-anvil", "mine", "wp-login"},
		} {
			if got := find(q); !slices.Equal(got, want) {
				t.Errorf("%q finds %v, want %v", q, got, want)
			}
		}
		if got := find("", page.Sort{Column: catalog.Sortable["severity"], Desc: true},
			page.Sort{Column: catalog.Sortable["name"]}); !slices.Equal(got,
			[]string{"CVE-2024-1234", "early-anvil", "mine", "wp-login", "anvil-panel"}) {
			t.Errorf("by severity and name: %v", got)
		}
		checkFacets(t, s)
		checkScopes(t, s)
	})
}

func checkFacets(t *testing.T, s *shop) {
	t.Helper()
	found, err := s.Search(s.ada, catalog.Search{Public: true, Private: true, Window: page.Window{Limit: 1}, FacetSize: 2,
		Highlight: true, Query: "größe"})
	if err != nil || len(found.Highlights) != 1 ||
		found.Highlights[0]["name"][0] != "<em>Größe</em> &lt;b&gt;of&lt;/b&gt; it" {
		t.Errorf("%+v %v", found.Highlights, err)
	}
	found, err = s.Search(s.ada, catalog.Search{Public: true, Private: true, Window: page.Window{Limit: 1, Offset: 2},
		FacetSize: 2})
	if err != nil || found.Total != 5 || len(found.Templates) != 1 {
		t.Fatal(found, err)
	}
	for name, want := range map[string]catalog.Facet{
		"severity": {Buckets: []catalog.Bucket{{Value: "high", Count: 2}, {Value: "critical", Count: 1}}, Other: 2,
			Total: 5},
		"author":         {Buckets: []catalog.Bucket{{Value: "kim", Count: 5}, {Value: "pat", Count: 5}}, Total: 10},
		"product":        {Buckets: []catalog.Bucket{{Value: "anvil", Count: 4}, {Value: "wordpress", Count: 1}}, Total: 5},
		"is_early":       {Buckets: []catalog.Bucket{{Value: "false", Count: 4}, {Value: "true", Count: 1}}, Total: 5},
		"creation_stats": {Buckets: []catalog.Bucket{{Value: "2026-11", Count: 5}}, Total: 5},
		"dir": {Buckets: []catalog.Bucket{{Value: "http/cves", Count: 1}, {Value: "http/panel", Count: 1}},
			Other: 1, Total: 3, Missing: 2},
	} {
		if got := found.Facets[name]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func checkScopes(t *testing.T, s *shop) {
	t.Helper()
	free := caller(t, s.ada)
	free.Plan = account.Free
	for name, c := range map[string]struct {
		got  catalog.Found
		want int
	}{
		"public":         {search(t, s, catalog.Search{Public: true}), 4},
		"private":        {search(t, s, catalog.Search{Private: true}), 1},
		"neither":        {search(t, s, catalog.Search{}), 0},
		"beyond the end": {search(t, s, catalog.Search{Public: true, Window: page.Window{Offset: 1 << 31, Limit: 10}}), 4},
	} {
		if c.got.Total != c.want {
			t.Errorf("%s: %d, want %d", name, c.got.Total, c.want)
		}
	}
	for who, c := range map[string]struct {
		found catalog.Found
		err   error
		want  int
	}{
		"Eve": with(s.Search(s.eve, catalog.Search{Public: true, Private: true, Window: page.Window{Limit: 10}})),
		"a free plan": with(s.Search(account.WithCaller(t.Context(), free),
			catalog.Search{Public: true, Private: true, Window: page.Window{Limit: 10}})),
	} {
		if c.err != nil || c.found.Total != 4 {
			t.Errorf("%s finds %d, %v", who, c.found.Total, c.err)
		}
	}
	for _, q := range []string{strings.Repeat("x ", 300), strings.Repeat("x ", 30)} {
		if _, err := s.Search(s.ada, catalog.Search{Query: q, Public: true}); errs.From(err).Param != "q" {
			t.Errorf("%d bytes: %v", len(q), err)
		}
	}
}

func with(f catalog.Found, err error) struct {
	found catalog.Found
	err   error
	want  int
} {
	return struct {
		found catalog.Found
		err   error
		want  int
	}{f, err, 0}
}

func search(t *testing.T, s *shop, q catalog.Search) catalog.Found {
	t.Helper()
	found, err := s.Search(s.ada, q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// FuzzSearch: any query is answered or refused, and what is marked is the text, escaped.
func FuzzSearch(f *testing.F) {
	s := open(f, dbtest.Open(f, "sqlite"))
	s.load(f, catalog.Source{Source: update.Source{From: folder(f,
		map[string]string{"a.yaml": written("a", "Größe <b>&amp; İstanbul", "high", "x")})}})
	for _, q := range []string{"", "a", "İ", "größe", `"`, `-"a b" tags:x`, "severity:", ":", "-", "--", "\x00", "\xff",
		"<b>", "id:", "dir:/"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		found, err := s.Search(s.ada, catalog.Search{Query: q, Public: true, Window: page.Window{Limit: 10}, FacetSize: 5,
			Highlight: true})
		if err != nil {
			if errs.From(err).Param != "q" {
				t.Fatalf("%q: %v", q, err)
			}
			return
		}
		for _, one := range found.Highlights {
			for _, name := range one["name"] {
				if plain := strings.NewReplacer("<em>", "", "</em>",
					"").Replace(name); plain != "Größe &lt;b&gt;&amp;amp; İstanbul" {
					t.Errorf("%q marks %q", q, name)
				}
			}
		}
	})
}

// catalogueOf is a folder of n templates.
func catalogueOf(b *testing.B, n int) string {
	files := make(map[string]string, n)
	for i := range n {
		id := fmt.Sprintf("CVE-%d-%05d", 2000+i%25, i)
		files[filepath.Join("http", "cves", fmt.Sprint(2000+i%25), id+".yaml")] = strings.Replace(
			written(id, fmt.Sprintf("Product%d upload %d", i%700, i), []string{"info", "low", "medium", "high", "critical"}[i%5],
				fmt.Sprintf("cve,rce,product%d,tag%d", i%700, i%40)),
			"vendor: acme", fmt.Sprintf("vendor: vendor%d\n    padding: %s", i%500, strings.Repeat("x", 1500)), 1)
	}
	return folder(b, files)
}

func BenchmarkImport12000(b *testing.B) {
	dir := catalogueOf(b, 12_000)
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := open(b, dbtest.Open(b, engine))
				b.StartTimer()
				if r := s.load(b, catalog.Source{Source: update.Source{From: dir}}); r.Total != 12_000 {
					b.Fatalf("%+v", r)
				}
			}
		})
	}
}

func BenchmarkLists12000(b *testing.B) {
	dir := catalogueOf(b, 12_000)
	for _, engine := range dbtest.Engines {
		s := open(b, dbtest.Open(b, engine))
		s.load(b, catalog.Source{Source: update.Source{From: dir}})
		for _, c := range []struct {
			name   string
			search catalog.Search
		}{
			{"all", catalog.Search{}}, {"word", catalog.Search{Query: "upload product6"}},
			{"field", catalog.Search{Query: "severity:high tags:rce"}},
			{"sorted", catalog.Search{Sorts: []page.Sort{{Column: catalog.Sortable["name"], Desc: true}}}},
			{"texts", catalog.Search{Raw: true}},
		} {
			c.search.Public, c.search.Private, c.search.Window, c.search.FacetSize = true, true, page.Window{Limit: 100}, 5
			b.Run(engine+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				if _, err := s.Search(s.ada, c.search); err != nil { // makes the index
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := s.Search(s.ada, c.search); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(engine+"/public", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Public(s.ada, page.Window{Limit: 100, Offset: 5000}, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkForScan12000(b *testing.B) {
	dir := catalogueOf(b, 12_000)
	for _, engine := range dbtest.Engines {
		s := open(b, dbtest.Open(b, engine))
		s.load(b, catalog.Source{Source: update.Source{From: dir}})
		team := caller(b, s.ada).TeamID
		known, err := s.ForScan(b.Context(), team)
		if err != nil {
			b.Fatal(err)
		}
		ids := make([]string, 400)
		for i := range ids {
			ids[i] = known[i*20].ID
		}
		b.Run(engine+"/known", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.ForScan(b.Context(), team); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(engine+"/texts", func(b *testing.B) {
			for b.Loop() {
				if texts, err := s.Texts(b.Context(), team, ids); err != nil || len(texts) != len(ids) {
					b.Fatal(len(texts), err)
				}
			}
		})
	}
}
