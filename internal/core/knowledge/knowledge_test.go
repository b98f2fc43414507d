package knowledge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// lab is the service with callers of two teams.
type lab struct {
	*Knowledge
	t              *testing.T
	ada, bob, mary context.Context // ada and bob are of one team, mary of another
}

func newLab(t *testing.T, d *db.DB) lab {
	t.Helper()
	q, err := queue.Open(t.Context(), d, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := lab{Knowledge: NewService(d, q, file.New(d, blobs), &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil, nil), t: t}
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	person := func(name, team string, role account.Role) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: name + "@example.com", Team: team, Admin: role == account.Admin})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: role})
	}
	l.ada, l.bob, l.mary = person("ada", "blue", account.Admin), person("bob", "blue", account.Member), person("mary", "red", account.Admin)
	return l
}

// put adds a source and indexes it.
func (l lab) put(ctx context.Context, n New) Source {
	l.t.Helper()
	all, err := l.Add(ctx, n)
	if err == nil {
		err = l.Index(ctx, IndexArgs{all[0].ID, all[0].round})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := l.Find(ctx, all[0].ID)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l lab) places(ctx context.Context, query string) string {
	l.t.Helper()
	found, err := l.Search(ctx, query, "", 10)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, h := range found.Hits {
		out = append(out, fmt.Sprintf("%s:%d", h.Place, h.Line))
	}
	return strings.Join(out, " ")
}

func TestSearch(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLab(t, d)
		long := strings.Repeat("Filler words stand here.\n", 80) + "\nThe staging login is behind the VPN gateway.\n"
		s := l.put(l.ada, New{Name: "Network", Content: long, Shared: true})
		if s.State != Ready || s.Chunks < 2 || s.Bytes != int64(len(long)) || s.IndexedAt.IsZero() {
			t.Fatalf("%+v", s)
		}
		l.put(l.bob, New{Content: "Bob's own notes about the gateway.\nZephyr-4471 O'Reilly \"quoted\""})
		l.put(l.mary, New{Content: "The gateway of another team: canary-9931", Shared: true})
		if got := l.places(l.ada, "where is the staging gateway?"); !strings.HasPrefix(got, "Network:") || strings.Contains(got, "Bob") {
			t.Errorf("ada: %s", got)
		}
		if got := l.places(l.bob, "gateway"); !strings.Contains(got, "Network:") || !strings.Contains(got, "Bob's own notes about the gateway.:1") {
			t.Errorf("bob: %s", got)
		}
		for _, ctx := range []context.Context{l.ada, l.bob} {
			if got := l.places(ctx, "canary 9931"); got != "" {
				t.Errorf("another team's text: %s", got)
			}
		}
		for _, q := range []string{"o'reilly", `"quoted" OR NEAR(`, "zephyr*", "a & b | 'zephyr"} {
			if got := l.places(l.bob, q); !strings.Contains(got, "Bob") {
				t.Errorf("%q: %s", q, got)
			}
		}
		if got := l.places(l.bob, "?!"); got != "" {
			t.Error(got)
		}
		if _, err := l.Search(l.mary, "x", s.ID, 1); !errs.Is(err, errs.NotFound) {
			t.Error(err)
		}
		for _, q := range []string{" ", strings.Repeat("x", 2000)} {
			if _, err := l.Search(l.ada, q, "", 1); !errs.Is(err, errs.Invalid) {
				t.Error(err)
			}
		}
		if err := l.Delete(l.mary, s.ID); !errs.Is(err, errs.NotFound) {
			t.Error(err)
		}
		if err := l.Delete(l.bob, s.ID); !errs.Is(err, errs.Forbidden) {
			t.Error(err)
		}
		if err := l.Delete(l.ada, s.ID); err != nil {
			t.Error(err)
		}
		if got := l.places(l.ada, "staging"); got != "" {
			t.Error(got)
		}
		n, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM knowledge_text`)
		if err != nil || n != 2 {
			t.Errorf("the index has %d rows: %v", n, err)
		}
	})
}

// A page is fetched through the guard, its text is indexed, and indexing again replaces it; what fails says why and keeps
// what was there.
func TestPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		type answer struct {
			status int
			body   string
		}
		var now atomic.Pointer[answer]
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "/page", http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(now.Load().status)
			_, _ = io.WriteString(w, now.Load().body)
		}))
		defer site.Close()
		now.Store(&answer{200, "<html><script>evil()</script><h1>Runbook</h1><p>Restart the <b>indexer</b>.</p></html>"})
		l := newLab(t, d)
		s := l.put(l.bob, New{URLs: []string{site.URL + "/moved#part"}})
		if got := l.places(l.bob, "restart indexer"); s.State != Ready || got != site.URL+"/page:1" {
			t.Fatalf("%+v %s", s, got)
		}
		if got := l.places(l.bob, "evil"); got != "" {
			t.Error(got)
		}
		again := func(a answer) Source {
			t.Helper()
			now.Store(&a)
			s, err := l.Reindex(l.bob, s.ID)
			if err == nil {
				err = l.Index(t.Context(), IndexArgs{s.ID, s.round})
			}
			if err != nil {
				t.Fatal(err)
			}
			if s, err = l.Find(l.bob, s.ID); err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := again(answer{403, ""}); s.State != Failed || !strings.Contains(s.Error, "403") || l.places(l.bob, "indexer") == "" {
			t.Errorf("%+v", s)
		}
		if s := again(answer{200, "<p>Something else</p>"}); s.State != Ready || s.Error != "" || l.places(l.bob, "indexer") != "" ||
			l.places(l.bob, "something") == "" {
			t.Errorf("%+v", s)
		}
		// A job of a round that is no longer wanted changes nothing.
		if err := l.Index(t.Context(), IndexArgs{s.ID, 1}); err != nil || l.places(l.bob, "something") == "" {
			t.Error(err)
		}
		l.guard = &netguard.Guard{}
		if s := again(answer{200, "x"}); s.State != Failed || s.Error == "" {
			t.Errorf("a private address was fetched: %+v", s)
		}
	})
}

// An uploaded file is read by its owner's right at each time: texts and pages are, other formats and files that are gone
// say so.
func TestFiles(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLab(t, d)
		for key, text := range map[string]string{"notes/a.md": "# The depot\nBehind the mill.", "b.html": "<p>The ferry</p><script>evil()</script>",
			"c.pdf": "%PDF-1.7\x00"} {
			if _, err := l.files.Create(l.bob, file.NewFile{Key: key, Content: strings.NewReader(text)}); err != nil {
				t.Fatal(err)
			}
		}
		if s := l.put(l.bob, New{FileKeys: []string{"notes/a.md"}}); s.State != Ready || s.Kind != File || l.places(l.bob, "depot") != "notes/a.md:1" {
			t.Errorf("%+v", s)
		}
		page := l.put(l.bob, New{FileKeys: []string{"b.html"}})
		if l.places(l.bob, "ferry") != "b.html:1" || l.places(l.bob, "evil") != "" || l.places(l.ada, "ferry") != "" {
			t.Errorf("%+v", page)
		}
		if s := l.put(l.bob, New{FileKeys: []string{"c.pdf"}}); s.State != Failed || !strings.Contains(s.Error, "PDF") {
			t.Errorf("%+v", s)
		}
		if _, err := l.Add(l.ada, New{FileKeys: []string{"b.html"}}); !errs.Is(err, errs.Invalid) {
			t.Errorf("another's file: %v", err)
		}
		if err := l.files.Delete(l.bob, "b.html"); err != nil {
			t.Fatal(err)
		}
		s, err := l.Reindex(l.bob, page.ID)
		if err == nil {
			err = l.Index(t.Context(), IndexArgs{s.ID, s.round})
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, err = l.Find(l.bob, s.ID); err != nil || s.State != Failed || l.places(l.bob, "ferry") == "" {
			t.Errorf("%+v %v", s, err)
		}
	})
}

// What a request holds becomes sources; whoever may add nothing is told so before anything else.
func TestSources(t *testing.T) {
	got, err := New{Content: "a", URLs: []string{"https://b.example.com"}, FileKeys: []string{"k"}, GitURL: "https://c.example.com", Ref: "main",
		Shared: true}.sources()
	if err != nil || len(got) != 4 || got[1].URL != "https://b.example.com" || got[3].Ref != "main" || !got[0].Shared {
		t.Errorf("%+v %v", got, err)
	}
	for param, n := range map[string]New{"content": {}, "ref": {Content: "a", Ref: "main"}, "name": {Name: "n", Content: "a", GitURL: "https://c.example.com"}} {
		if _, err := n.sources(); err == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	viewer := account.WithCaller(t.Context(), account.Caller{UserID: ids.New(), TeamID: ids.New(), Role: account.Viewer})
	if _, err := new(Knowledge).Add(viewer, New{}); !errs.Is(err, errs.Forbidden) {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLab(t, d)
		for _, n := range []New{{Content: " "}, {Content: strings.Repeat("x", MaxContent+1)}, {URLs: []string{"file:///etc/passwd"}},
			{GitURL: "ssh://x/y"}, {URLs: []string{"https://u:p@h/"}}, {Content: "x", Name: strings.Repeat("n", 300)}} {
			if _, err := l.Add(l.bob, n); !errs.Is(err, errs.Invalid) {
				t.Errorf("%+.80v: %v", n, err)
			}
		}
		if _, err := l.Add(l.bob, New{Content: "x", Shared: true}); !errs.Is(err, errs.Forbidden) {
			t.Error(err)
		}
	})
}

// Chunks together have all words of a document in order, are bounded, and know their lines.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé \n]{0,300}`), 0, 40).Draw(t, "parts"), "\n")
		if rapid.Bool().Draw(t, "long") {
			text += strings.Repeat("é", 6000)
		}
		lines := strings.Split(text, "\n")
		var got strings.Builder
		for _, c := range chunks(document{"p", text}) {
			got.WriteString(c.text + " ")
			if len(c.text) > chunkSize+maxLine {
				t.Errorf("a chunk of %d bytes", len(c.text))
			}
			if c.line < 1 || c.line > len(lines) {
				t.Errorf("line %d of %d", c.line, len(lines))
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(got.String()) != squeeze(text) {
			t.Errorf("got %q, want %q", got.String(), text)
		}
	})
}

func FuzzTextOf(f *testing.F) {
	f.Add([]byte("<p>a<script>b</script>c"))
	f.Fuzz(func(t *testing.T, page []byte) {
		if got := textOf(page); len(got) > 3*len(page)+10 {
			t.Errorf("%d bytes of %d", len(got), len(page))
		}
	})
}
