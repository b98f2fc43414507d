package bench

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// statement is a place of a statement where an input stands.
type statement struct {
	name, text   string // with @@ where the input stands
	param, value string
	proof        string // selects what the usual value does not
	expect       string
	slow         string // a value that takes two seconds when the statement is carried out
}

// busy is an expression that SQLite computes for some seconds; it has no function that waits.
const busy = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<6000000) SELECT COUNT(*) FROM c)"

func selects() []statement {
	return []statement{
		{name: "text", text: "SELECT name, price FROM goods WHERE tag = '@@' ORDER BY id", param: "kind", value: "wood",
			proof: "zzz' OR name='sofa' -- ", expect: "<li>sofa", slow: "zzz' OR 1<" + busy + " -- "},
		{name: "number", text: "SELECT name, price FROM goods WHERE id = @@", param: "id", value: "2", proof: "-1 OR name='sofa'", expect: "<li>sofa",
			slow: "-1 OR 1<" + busy},
		{name: "date", text: "SELECT name, price FROM goods WHERE made = '@@'", param: "day", value: "2024-03-01",
			proof: "2020-01-01' OR name='sofa' -- ", expect: "<li>sofa", slow: "2020-01-01' OR 1<" + busy + " -- "},
		{name: "like", text: "SELECT name, price FROM goods WHERE name LIKE '%@@%' ORDER BY id", param: "part", value: "a",
			proof: "zzz' OR name='sofa' -- ", expect: "<li>sofa", slow: "zzz' OR 1<" + busy + " -- "},
		{name: "order", text: "SELECT name, price FROM goods ORDER BY @@", param: "by", value: "price",
			proof: "CASE WHEN name='sofa' THEN 0 ELSE 1 END", expect: "<ol><li>sofa", slow: busy},
		{name: "limit", text: "SELECT name, price FROM goods ORDER BY id LIMIT @@", param: "most", value: "2", proof: "(SELECT 5)", expect: "<li>sofa"},
		{name: "list", text: "SELECT name, price FROM goods WHERE id IN (@@)", param: "ids", value: "1,2", proof: "0) OR (name='sofa'", expect: "<li>sofa"},
		{name: "quoted", text: `SELECT name, price FROM goods WHERE (tag = "@@") ORDER BY id`, param: "kind", value: "steel",
			proof: `zzz") OR (name="sofa`, expect: "<li>sofa"},
	}
}

// failing is how a page answers when its statement fails.
type failing struct {
	name   string
	answer func(w http.ResponseWriter, err error)
}

func failings() []failing {
	text := func(status int) func(http.ResponseWriter, error) {
		return func(w http.ResponseWriter, err error) {
			show(w, status, "Goods", "<p>The statement failed: "+enc(err.Error())+"</p>")
		}
	}
	return []failing{
		{"error-500", text(http.StatusInternalServerError)},
		{"error-200", text(http.StatusOK)},
		{"bare-500", func(w http.ResponseWriter, _ error) { show(w, 500, "Goods", "<p>Something went wrong.</p>") }},
		{"quiet-200", func(w http.ResponseWriter, _ error) { show(w, 200, "Goods", "<p>There are no such goods.</p>") }},
	}
}

func sqlPages() (all []page) {
	for _, f := range failings() {
		for i, q := range selects() {
			if i > 4 && f.name != "error-500" && f.name != "quiet-200" {
				continue
			}
			all = append(all, page{folder: "statements-" + f.name, name: "select-" + q.name, class: "sql", weak: true, param: q.param, value: q.value,
				proof: q.proof, expect: q.expect, serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
					s.goods(w, r, strings.ReplaceAll(q.text, "@@", in), f.answer)
				}})
		}
		all = append(all, writing(f)...)
	}
	for _, q := range selects()[:3] {
		all = append(all, page{folder: "statements-same-200", name: "select-" + q.name, class: "sql", weak: true, param: q.param, value: q.value,
			proof: q.slow, expect: "slow", serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
				_, _ = s.list(r, strings.ReplaceAll(q.text, "@@", in)) // the answer does not depend on it
				show(w, 200, "Goods", "<p>We have noted what you look for.</p>")
			}})
	}
	return append(all, sqlFilters()...)
}

// goods answers what a statement selects.
func (s *site) goods(w http.ResponseWriter, r *http.Request, text string, fails func(http.ResponseWriter, error), values ...any) {
	list, err := s.list(r, text, values...)
	if err != nil {
		fails(w, err)
		return
	}
	show(w, 200, "Goods", list)
}

// writing are pages whose statements are of a login, of an insert and of an update.
func writing(f failing) []page {
	folder := "statements-" + f.name
	return []page{
		{folder: folder, name: "login", class: "sql", weak: true, param: "user", value: "guest", more: "pass=guest", proof: "root' -- ", expect: "Welcome, root",
			serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
				s.welcome(w, r, "SELECT name FROM members WHERE name = '"+in+"' AND pass = '"+r.FormValue("pass")+"'", f.answer)
			}},
		{folder: folder, name: "insert", class: "sql", weak: true, param: "who", value: "guest", proof: "q7', (SELECT pass FROM members WHERE name='root')) -- ",
			expect: map[bool]string{true: "root-Pass9", false: "Thank you, q7\\."}[f.name == "error-500" || f.name == "error-200"],
			serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
				s.keep(w, r, f, "INSERT INTO entries (who, words) VALUES ('"+in+"', 'was here')")
			}},
		{folder: folder, name: "update", class: "sql", weak: true, param: "view", value: "home", proof: "zzz' OR page='about", expect: "1 counted",
			serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
				s.count(w, r, f, "UPDATE visits SET n = n + 1 WHERE page = '"+in+"'")
			}},
	}
}

// welcome answers whom a statement of a login selects.
func (s *site) welcome(w http.ResponseWriter, r *http.Request, text string, fails func(http.ResponseWriter, error), values ...any) {
	var name string
	err := s.db.QueryRowContext(r.Context(), text, values...).Scan(&name)
	switch {
	case err != nil && strings.Contains(err.Error(), "no rows"):
		show(w, 200, "Login", "<p>Name and password do not match.</p>")
	case err != nil:
		fails(w, err)
	default:
		show(w, 200, "Login", "<p>Welcome, "+enc(name)+".</p>")
	}
}

// keep carries out an insert and shows what was kept.
func (s *site) keep(w http.ResponseWriter, r *http.Request, f failing, text string, values ...any) {
	if _, err := s.db.ExecContext(r.Context(), text, values...); err != nil {
		f.answer(w, err)
		return
	}
	var who, words any
	if err := s.db.QueryRowContext(r.Context(), "SELECT who, words FROM entries ORDER BY id DESC LIMIT 1").Scan(&who, &words); err != nil {
		f.answer(w, err)
		return
	}
	text = "<p>Thank you, " + enc(toText(who)) + ".</p>"
	if strings.HasPrefix(f.name, "error") {
		text += "<p>Your entry: " + enc(toText(words)) + "</p>"
	}
	show(w, 200, "Guests", text)
}

// count carries out an update and shows how many rows it changed.
func (s *site) count(w http.ResponseWriter, r *http.Request, f failing, text string, values ...any) {
	done, err := s.db.ExecContext(r.Context(), text, values...)
	if err != nil {
		f.answer(w, err)
		return
	}
	n, _ := done.RowsAffected() // SQLite knows it
	show(w, 200, "Visits", "<p>"+strconv.FormatInt(n, 10)+" counted.</p>")
}

func toText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return ""
}

var blank = regexp.MustCompile(`\s`)

// sqlFilters are filters that leave a way.
func sqlFilters() (all []page) {
	quiet := failings()[3].answer
	q := selects()
	for _, one := range []struct {
		name   string
		of     statement
		filter func(string) string
		proof  string
	}{
		{"without-quotes-number", q[1], func(in string) string { return strings.ReplaceAll(in, "'", "") }, "-1 OR id=5"},
		{"without-blanks", q[0], func(in string) string { return blank.ReplaceAllString(in, "") }, "zzz'OR'1'='1"},
		{"without-word-once", q[0], func(in string) string { return strings.Replace(in, "OR", "", 1) }, "zzz' OORR name='sofa"},
		{"lower-words", q[0], func(in string) string {
			return strings.NewReplacer("union", "", "select", "", " or ", "", " and ", "").Replace(in)
		}, "zzz' OR name='sofa"},
		{"backslashes", q[0], func(in string) string { return strings.ReplaceAll(in, "'", `\'`) }, `zzz' OR name=CHAR(115,111,102,97) -- `},
		{"without-comments", q[3], func(in string) string { return strings.NewReplacer("--", "", "/*", "", "#", "").Replace(in) }, "zzz' OR name='sofa' OR 'a'='"},
	} {
		all = append(all, page{folder: "statements-filters", name: one.name, class: "sql", weak: true, param: one.of.param, value: one.of.value,
			proof: one.proof, expect: "<li>sofa", serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
				s.goods(w, r, strings.ReplaceAll(one.of.text, "@@", one.filter(in)), quiet)
			}})
	}
	return all
}

// sqlLooks are pages whose statements are right, with answers that look as if they were not.
func sqlLooks() (all []page) {
	fails := failings()
	bound := func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		s.goods(w, r, "SELECT name, price FROM goods WHERE tag = ? ORDER BY id", fails[0].answer, in)
	}
	list := func(name, param, value, proof string, serve serve) {
		all = append(all, page{folder: "statements-looks", name: name, class: "sql", param: param, value: value, proof: proof, expect: "<li>sofa", serve: serve})
	}
	text, number := selects()[0], selects()[1]
	list("bound-text", "kind", "wood", text.proof, bound)
	list("bound-like", "part", "a", "zzz' OR name='sofa' -- ", func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		s.goods(w, r, "SELECT name, price FROM goods WHERE name LIKE '%' || ? || '%' ORDER BY id", fails[0].answer, in)
	})
	list("checked-number", "id", "2", number.proof, func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		if _, err := strconv.Atoi(in); err != nil {
			show(w, 500, "Goods", "<p>Error: "+enc(err.Error())+"</p>")
			return
		}
		s.goods(w, r, "SELECT name, price FROM goods WHERE id = "+in, fails[0].answer)
	})
	list("listed-order", "by", "price", "CASE WHEN name='sofa' THEN 0 ELSE 1 END", func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		if in != "price" && in != "name" {
			in = "id"
		}
		s.goods(w, r, "SELECT name, price FROM goods ORDER BY "+in, fails[0].answer)
	})
	all[len(all)-1].expect = "<ol><li>sofa"
	list("doubled-quotes", "kind", "wood", text.proof, func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		s.goods(w, r, strings.ReplaceAll(text.text, "@@", strings.ReplaceAll(strings.ReplaceAll(in, "\x00", ""), "'", "''")), fails[0].answer)
	})
	list("refused-quotes", "kind", "wood", text.proof, func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		if strings.ContainsAny(in, `'"\;`) {
			show(w, 500, "Goods", "<p>Internal error: illegal character in the request.</p>")
			return
		}
		bound(s, w, r, in)
	})
	list("article", "kind", "wood", text.proof, func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
		show(w, 200, "Questions", "<p>About "+enc(in)+"</p><pre>You have an error in your SQL syntax; check the manual near &#39;&#39; at line 1</pre><p>What does it mean?</p>")
	})
	var turn atomic.Int64
	list("by-turns", "kind", "wood", text.proof, func(s *site, w http.ResponseWriter, r *http.Request, _ string) {
		s.goods(w, r, "SELECT name, price FROM goods WHERE id < 5 AND id % 3 = ?", fails[0].answer, turn.Add(1)%3)
	})
	list("late-by-turns", "kind", "wood", text.proof, func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		if turn.Add(1)%4 == 0 {
			time.Sleep(700 * time.Millisecond)
		}
		bound(s, w, r, in)
	})
	list("words-counted", "kind", "wood", text.proof, func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
		show(w, 200, "Words", "<p>"+strconv.Itoa(len(strings.Fields(in)))+" words, "+strconv.Itoa(strings.Count(in, "'"))+" quotes.</p>")
	})
	list("arithmetic", "id", "2", "-1 OR 1=1", func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
		sum := 0 // of what stands between signs
		for part := range strings.SplitSeq(in, "+") {
			n, _ := strconv.Atoi(strings.TrimSpace(part))
			sum += n
		}
		show(w, 200, "Sum", "<p>The sum is "+strconv.Itoa(sum)+".</p>")
	})
	list("bound-insert", "who", "guest", "q7', (SELECT 'sofa' || 'bed')) -- ", func(s *site, w http.ResponseWriter, r *http.Request, in string) {
		s.keep(w, r, failing{"error", fails[0].answer}, "INSERT INTO entries (who, words) VALUES (?, 'was here')", in)
	})
	all[len(all)-1].expect = "sofabed"
	all = append(all, page{folder: "statements-looks", name: "bound-login", class: "sql", param: "user", value: "guest", more: "pass=guest",
		proof: "root' -- ", expect: "Welcome, root", serve: func(s *site, w http.ResponseWriter, r *http.Request, in string) {
			s.welcome(w, r, "SELECT name FROM members WHERE name = ? AND pass = ?", fails[0].answer, in, r.FormValue("pass"))
		}})
	return all
}
