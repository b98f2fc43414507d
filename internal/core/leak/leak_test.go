package leak

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// people are an admin and a member of a team that has proved acme.com, and an admin of another.
type people struct{ admin, member, stranger context.Context }

func setUp(t testing.TB, d *db.DB) (*Leaks, people) {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := account.Open(t.Context(), d, account.Config{Region: "us"})
	if err != nil {
		t.Fatal(err)
	}
	person := func(email, team string, role account.Role) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: role})
	}
	p := people{person("ada@acme.com", "blue", account.Admin), person("bob@home.example.org", "blue", account.Member),
		person("eve@evil.com", "red", account.Admin)}
	c, _ := account.From(p.admin)
	now := db.At(time.Now())
	for domain, status := range map[string]string{"acme.com": "verified", "evil.com": "pending"} {
		if _, err := d.Exec(t.Context(), `INSERT INTO domain (id, team_id, domain, type, token, status, created_at, updated_at)
			VALUES (?, ?, ?, 'dns', 't', ?, ?, ?)`, ids.New(), c.TeamID, domain, status, now, now); err != nil {
			t.Fatal(err)
		}
	}
	return New(d, box), p
}

const list = `{"url":"https://vpn.acme.com/login","username":"ada@acme.com","password":"hunter2","hostname":"LAPTOP-1","country":"DE","log_date":"2026-03-01 10:00:00"}
{"url":"https://forum.example.net/","username":"carl@mail.acme.com","password":"p:w","hardware_id":"HW1","country":"FR","log_date":"2026-02-01"}
{"url":"https://www.acme.com:8443/","username":"customer@gmail.com","password":"x","country":"DE","log_date":"2026-01-01"}
{"url":"https://notacme.com/","username":"mallory@notacme.com","password":"y"}
{"url":"https://evil.com/","username":"eve@evil.com","password":"z"}
{"url":"nothing","username":"nobody","password":"z"}
not json
`

func load(t *testing.T, ls *Leaks, name, text string) Loaded {
	t.Helper()
	done, err := ls.Load(t.Context(), name, strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func users(found []Leak) string {
	var out []string
	for _, l := range found {
		out = append(out, l.Username)
	}
	return strings.Join(out, " ")
}

func find(ctx context.Context, t *testing.T, ls *Leaks, q Query) Found {
	t.Helper()
	if q.Window.Limit == 0 {
		q.Window.Limit = 100
	}
	found, err := ls.FindAll(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWhoSeesWhat: nobody sees a leak of an address or a domain that is not theirs, by any question.
func TestWhoSeesWhat(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ls, p := setUp(t, d)
		if done := load(t, ls, "one", list); done.Lines != 5 || done.New != 5 || done.Rejected != 2 ||
			!strings.HasPrefix(done.Reasons[0], "line 6: ") || !strings.HasPrefix(done.Reasons[1], "line 7: ") {
			t.Errorf("%+v", done)
		}
		all := find(p.admin, t, ls, Query{})
		if got := users(all.Leaks); got != "ada@acme.com carl@mail.acme.com customer@gmail.com" {
			t.Errorf("the admin sees %s", got)
		}
		want := map[Type]int{Personal: 1, Employee: 1, Customer: 1, Vendor: 1}
		if !reflect.DeepEqual(all.Summary, want) {
			t.Errorf("%v", all.Summary)
		}
		if got := users(find(p.member, t, ls, Query{}).Leaks); got != "" {
			t.Errorf("the member sees %s", got)
		}
		if got := users(find(p.stranger, t, ls, Query{}).Leaks); got != "eve@evil.com" { // her own; her domain is not proved
			t.Errorf("the stranger sees %s", got)
		}
		for name, try := range map[string]func() error{
			"domain":          func() error { _, err := ls.FindAll(p.stranger, Query{Domain: "acme.com"}); return err },
			"unproved":        func() error { _, err := ls.FindAll(p.admin, Query{Domain: "evil.com"}); return err },
			"parent":          func() error { _, err := ls.FindAll(p.admin, Query{Domain: "notacme.com"}); return err },
			"email":           func() error { _, err := ls.FindAll(p.stranger, Query{Email: "ada@acme.com"}); return err },
			"email of member": func() error { _, err := ls.FindAll(p.member, Query{Email: "ada@acme.com"}); return err },
			"stats":           func() error { _, err := ls.Stats(p.stranger, "acme.com", ""); return err },
			"member's domain": func() error { _, err := ls.FindAll(p.member, Query{Domain: "acme.com"}); return err },
			"member's type":   func() error { _, err := ls.FindAll(p.member, Query{Type: Employee}); return err },
		} {
			if e, ok := errors.AsType[*errs.Error](try()); !ok || e.Kind != errs.Forbidden {
				t.Errorf("%s: %v", name, e)
			}
		}
		id := all.Leaks[0].ID
		if _, err := ls.Find(p.stranger, id); !isNotFound(err) {
			t.Errorf("the stranger reads it: %v", err)
		}
		if err := ls.SetStatus(p.stranger, []string{id}, Fixed); !isNotFound(err) {
			t.Errorf("the stranger changes it: %v", err)
		}
		if err := ls.SetStatus(p.admin, []string{all.Leaks[1].ID, ids.New()[:32]}, Fixed); err == nil {
			t.Error("an id that is none was taken")
		}
		if err := ls.SetStatus(p.admin, []string{strings.ToUpper(id)}, Fixed); err != nil {
			t.Fatal(err)
		}
		if got := users(find(p.admin, t, ls, Query{Status: Open}).Leaks); got != "carl@mail.acme.com customer@gmail.com" {
			t.Errorf("open: %s", got)
		}
	})
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Kind == errs.NotFound
}

// TestFilters: each field of a query narrows what is found.
func TestFilters(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ls, p := setUp(t, d)
		load(t, ls, "one", list)
		day := func(s string) time.Time { at, _ := time.Parse(time.DateOnly, s); return at }
		for name, c := range map[string]struct {
			Query
			want string
		}{
			"type":         {Query{Type: Customer}, "customer@gmail.com"},
			"vendor":       {Query{Type: Vendor}, "carl@mail.acme.com"},
			"personal":     {Query{Type: Personal}, "ada@acme.com"},
			"employee":     {Query{Type: Employee}, "ada@acme.com carl@mail.acme.com"},
			"organization": {Query{Type: Organization}, "ada@acme.com"},
			"domain":       {Query{Domain: "ACME.com."}, "ada@acme.com carl@mail.acme.com customer@gmail.com"},
			"name in it":   {Query{Domain: "mail.acme.com"}, "carl@mail.acme.com"},
			"email":        {Query{Email: "Carl@mail.acme.com"}, "carl@mail.acme.com"},
			"search":       {Query{Search: "FORUM"}, "carl@mail.acme.com"},
			"country":      {Query{Country: "de"}, "ada@acme.com customer@gmail.com"},
			"hostname":     {Query{Hostname: "laptop-1"}, "ada@acme.com"},
			"hardware":     {Query{HardwareID: "HW1"}, "carl@mail.acme.com"},
			"url":          {Query{URL: "vpn."}, "ada@acme.com"},
			"since":        {Query{Since: day("2026-02-01")}, "ada@acme.com carl@mail.acme.com"},
			"until":        {Query{Until: day("2026-02-01")}, "customer@gmail.com"},
			"sorted":       {Query{SortBy: "url"}, "carl@mail.acme.com ada@acme.com customer@gmail.com"},
			"descending":   {Query{SortBy: "url", Descending: true}, "customer@gmail.com ada@acme.com carl@mail.acme.com"},
			"page":         {Query{Window: page.Window{Offset: 1, Limit: 1}}, "carl@mail.acme.com"},
		} {
			if got := users(find(p.admin, t, ls, c.Query).Leaks); got != c.want {
				t.Errorf("%s: %s", name, got)
			}
		}
		groups := find(p.admin, t, ls, Query{GroupBy: "country"}).Groups
		if !reflect.DeepEqual(groups, []Group{{"DE", 2}, {"FR", 1}}) {
			t.Errorf("%v", groups)
		}
		stats, err := ls.Stats(p.admin, "acme.com", "")
		if err != nil || stats.Devices != 2 || stats.Of[Customer].Count != 1 || len(stats.Of[Customer].Months) != 1 ||
			stats.Of[Employee].URLs[0].Value != "forum.example.net" {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}

// TestListsComeAndGo: a list that is loaded again adds nothing; what another list has stays when one is removed.
func TestListsComeAndGo(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ls, p := setUp(t, d)
		load(t, ls, "one", list)
		if done := load(t, ls, "one", list); done.New != 0 || done.Lines != 5 {
			t.Errorf("%+v", done)
		}
		first, _, _ := strings.Cut(list, "\n")
		if done := load(t, ls, "two", first); done.New != 0 {
			t.Errorf("%+v", done)
		}
		lists, err := ls.Lists(t.Context())
		if err != nil || len(lists) != 2 || lists[0].Leaks != 5 || lists[1].Leaks != 1 {
			t.Errorf("%+v, %v", lists, err)
		}
		if err := ls.Remove(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		if got := users(find(p.admin, t, ls, Query{}).Leaks); got != "ada@acme.com" {
			t.Errorf("left: %s", got)
		}
		if err := ls.Remove(t.Context(), "one"); !isNotFound(err) {
			t.Errorf("%v", err)
		}
	})
}

// TestNothingIsReadableAtRest: no table has an address, a password, or their plain hashes.
func TestNothingIsReadableAtRest(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ls, _ := setUp(t, d)
		load(t, ls, "one", list)
		for _, column := range []string{"leak.id", "leak.sealed", "leak_name.hash"} {
			table, name, _ := strings.Cut(column, ".")
			for row, err := range d.Rows(t.Context(), "SELECT "+name+" FROM "+table) {
				var value []byte
				if err == nil {
					err = row.Scan(&value)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, word := range []string{"acme", "hunter2", "gmail", "LAPTOP"} {
					if bytes.Contains(value, []byte(word)) {
						t.Errorf("%s shows %s", column, word)
					}
				}
			}
		}
	})
}

// TestFormats: the same leak in every format.
func TestFormats(t *testing.T) {
	packed := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(s))
		_ = w.Close()
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"json":      {`{"website":"https://a.com/","email":"x@a.com","pass":"p","date":"2026-01-02"}`, "https://a.com/ x@a.com p 2026-01-02"},
		"csv":       {"URL,Username,Password,Other,log_date\nhttps://a.com/,x@a.com,\"p,1\",?,2026-01-02T03:04:05Z", "https://a.com/ x@a.com p,1 2026-01-02"},
		"semicolon": {"\xef\xbb\xbflogin;password\r\nx@a.com;p\r\n", " x@a.com p 0001-01-01"},
		"tab":       {"email\tpassword\nx@a.com\tp\n", " x@a.com p 0001-01-01"},
		"login":     {"x@a.com:p:q", " x@a.com p:q 0001-01-01"},
		"url":       {"https://a.com:8443/b:x@a.com:p", "https://a.com:8443/b x@a.com p 0001-01-01"},
		"port":      {"https://a.com:8443:x@a.com:p", "https://a.com:8443 x@a.com p 0001-01-01"},
		"gzip":      {packed("x@a.com:p\n"), " x@a.com p 0001-01-01"},
	} {
		r, err := newReader(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rec, err := r.next()
		got := fmt.Sprintf("%s %s %s %s", rec.URL, rec.Username, rec.Password, rec.date.Format(time.DateOnly))
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "\n", "[{}]"} {
		if _, err := newReader(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	long := "x@a.com:" + strings.Repeat("p", 2*maxLine) + "\ny@a.com:q\n"
	r, err := newReader(strings.NewReader("z@a.com:r\n" + long))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		rec, err := r.next()
		got = append(got, rec.Username+fmt.Sprint(errors.As(err, new(rejected))))
	}
	if want := []string{"z@a.comfalse", "true", "y@a.comfalse"}; !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}

// FuzzRead: any text is read to its end, line by line.
func FuzzRead(f *testing.F) {
	f.Add([]byte(list))
	f.Add([]byte("url,login,password\na,b,c\n"))
	f.Add([]byte("https://a.com:80:x@a.com:p\n\"\n"))
	f.Add([]byte{0x1f, 0x8b, 0})
	key := []byte("key")
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := newReader(bytes.NewReader(text))
		for lines := 0; err == nil; lines++ {
			if lines > 2*len(text)+2 && !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
				t.Fatal("reading does not end")
			}
			var rec record
			if rec, err = r.next(); errors.As(err, new(rejected)) {
				err = nil
				continue
			}
			for _, field := range []string{rec.URL, rec.Username, rec.Password} {
				if len(field) > maxField {
					t.Fatalf("a field of %d bytes", len(field))
				}
			}
			rec.names(key)
		}
	})
}

// BenchmarkFindAll asks for a page of the leaks of a domain that has 20,000, of 100,000.
func BenchmarkFindAll(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			ls, p := setUp(b, dbtest.Open(b, engine))
			var text strings.Builder
			for i := range 100_000 {
				fmt.Fprintf(&text, "https://site%d.example.net/login:user%d@%s:password%d\n", i%977, i, []string{"acme.com", "a.org", "b.org",
					"c.org", "d.org"}[i%5], i)
			}
			began := time.Now()
			if _, err := ls.Load(b.Context(), "big", strings.NewReader(text.String()), nil); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(100_000/time.Since(began).Seconds(), "loaded/s")
			for b.Loop() {
				found, err := ls.FindAll(p.admin, Query{Window: page.Window{Limit: 100}})
				if err != nil || found.Total != 20_000 {
					b.Fatal(found.Total, err)
				}
			}
		})
	}
}
