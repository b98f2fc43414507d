package web

import (
	"slices"
	"strings"
)

// sink is what a page does with its input.
type sink struct {
	class, name string
	stacks      string // which have it, separated by blanks
	param       string
	value       string
	proof       string // of the weakness; a stack may have its own in proofs
	expect      string
	weak        string // filters with which it is weak, separated by blanks
	safe        string // filters with which it only looks weak
	sources     string // separated by blanks; they take turns
	each        int    // how many of the sources each filter gets
}

// Filters, by what they do. "plain" does nothing.
//
// Of all classes: "base64" decodes the input; "list" knows the values that it takes, and says which one it does not
// know; "reject" refuses punctuation with status 403; "decoy" says all the time what a weak page would say, and is safe.
//
// Of statements and commands: "once" removes two words of the language, once each; "nospace" removes blanks; "bind"
// gives the value to the database, the shell or the file system as a value; "number" makes a number of it.
//
// Of pages: "script" removes the tag <script> once; "angle" encodes < and >; "quote" encodes both quotes; "all" encodes
// all five; "upper" makes capitals; "json" answers JSON, "text" plain text, which no browser renders.
//
// Of paths: "dots" removes ../ once; "base" keeps what follows the last slash; "real" compares the resolved path.
//
// Of addresses: "slash" wants a / at the beginning, "own" wants the own host anywhere in it, "local" wants a path.
const (
	sqlWeak = "plain once nospace base64"
	sqlSafe = "bind reject"
	all     = "php java python node go"
	files   = "query form cookie json header"
	every   = "query form cookie json header path"
	later   = "kept steps"
)

var sinks = slices.Concat(sqlSinks, pageSinks, otherSinks, laterSinks)

// SQL: positions of CWE-89. Errors of the database are shown by "where", "number" and "double" only.
var sqlSinks = []sink{
	{"sql", "where", all, "item", "chair", "zzz'OR'1'='1", "re:lamp", sqlWeak, sqlSafe + " list decoy", every, 2},
	{"sql", "number", all, "id", "1", "0/**/OR/**/1=1", "re:lamp", sqlWeak, sqlSafe + " number decoy", every, 2},
	{"sql", "double", "php", "item", "chair", `zzz"OR"1"="1`, "re:lamp", sqlWeak, sqlSafe, every, 2},
	{"sql", "quiet", all, "item", "chair", "zzz'OR'1'='1", "re:lamp", sqlWeak, sqlSafe + " list", every, 2},
	{"sql", "quietnumber", all, "id", "1", "0/**/OR/**/1=1", "re:lamp", sqlWeak, sqlSafe + " number", every, 2},
	{"sql", "like", all, "q", "chai", "zzz%'OR'1'LIKE'1", "re:lamp", "plain once nospace", sqlSafe, every, 2},
	{"sql", "bracket", all, "item", "chair", "zzz')OR('1'='1", "re:lamp", "plain once", sqlSafe, every, 2},
	{"sql", "members", all, "ids", "1,2", "0)OR(1=1", "re:lamp", "plain once", "reject number", every, 1},
	{"sql", "order", all, "sort", "name", "(CASE/**/WHEN/**/1=1/**/THEN/**/-price/**/ELSE/**/id/**/END)",
		"re:(?s)sofa.*desk.*lamp.*table.*chair", "plain nospace", "list reject", every, 2},
	{"sql", "column", all, "field", "name", "owner", "re:warehouse", "plain", "list", every, 1},
	{"sql", "limit", "java python node go", "n", "2", "(CASE/**/WHEN/**/1=1/**/THEN/**/5/**/ELSE/**/0/**/END)", "re:sofa",
		"plain", "number", every, 2},
	{"sql", "insert", all, "who", "anna", "x'", "500", "plain nospace", "bind", "form header cookie json", 2},
	{"sql", "update", all, "page", "home", "x'", "500", "plain nospace", "bind", "header cookie query", 2},
	{"sql", "login", all, "user", "anna", "anna'OR'1'='1", "re:Welcome", "plain once", "bind reject", "form json", 1},
	{"sql", "blind", "php java node", "ref", "a1", "", "slow", "plain once nospace", "bind decoy", every, 2},
}

// Pages: contexts of CWE-79.
var pageSinks = []sink{
	{"xss", "text", all, "name", "anna", "<b>q7", "re:<b>q7", "plain script quote base64", "all angle json text", "query form path", 2},
	{"xss", "quoted", all, "name", "anna", `"x7="`, `re:"x7="`, "plain angle script", "all quote", "query form path", 1},
	{"xss", "single", all, "name", "anna", `'x7='`, `re:'x7='`, "plain angle", "all quote", "query form", 1},
	{"xss", "bare", all, "name", "anna", "x x7=y", "re:=x x7=y", "plain all", "list", "query form", 1},
	{"xss", "href", all, "site", "/home", "javascript:q7()", `re:href="javascript:q7`, "plain all angle", "local list", "query form", 1},
	{"xss", "string", all, "name", "anna", `';q7('`, `re:';q7\('`, "plain angle", "all", "query form", 1},
	{"xss", "string", all, "name", "anna", "</script><b>q7", "re:</script><b>q7", "quote", "", "query form", 1},
	{"xss", "dstring", all, "name", "anna", `";q7("`, `re:";q7\("`, "plain angle", "all", "query form", 1},
	{"xss", "literal", all, "name", "anna", "${q7()}", `re:\$\{q7\(\)\}`, "plain all", "list", "query form", 1},
	{"xss", "block", all, "name", "anna", "</script><b>q7", "re:</script><b>q7", "plain quote", "all angle", "query form", 1},
	{"xss", "comment", all, "name", "anna", "--><b>q7", "re:--><b>q7", "plain script quote", "all angle", "query form path", 1},
	{"xss", "textarea", all, "name", "anna", "</textarea><b>q7", "re:</textarea><b>q7", "plain quote", "all angle", "query form", 1},
	{"xss", "title", all, "name", "anna", "</title><b>q7", "re:</title><b>q7", "plain quote", "all angle", "query form", 1},
	{"xss", "style", all, "name", "anna", "</style><b>q7", "re:</style><b>q7", "plain quote", "all angle", "query form", 1},
	{"xss", "handler", all, "name", "anna", "');q7('", `re:'\);q7\('|&#0?39;\);q7\(&#0?39;`, "plain all", "list", "query form", 1},
	{"xss", "value", all, "name", "anna", `"><b>q7`, `re:"><b>q7`, "plain script", "all quote", "query form", 1},
	{"xss", "stored", all, "note", "hello", "<b>q7", "", "plain script", "all", "form", 1},
}

var otherSinks = []sink{
	{"command", "output", all, "host", "alpha", "$((7*191))", "re:1337", "plain once nospace", "bind list reject decoy", every, 2},
	{"command", "single", all, "host", "alpha", "'$((7*191))'", "re:1337", "plain nospace", "bind reject", every, 1},
	{"command", "dquoted", all, "host", "alpha", "$((7*191))", "re:1337", "plain once", "bind", every, 1},
	{"command", "silent", all, "host", "alpha", "$(sleep${IFS}2)", "slow", "plain once nospace", "bind", every, 1},
	{"path", "folder", all, "file", "a.txt", "../../../../../../../../etc/passwd", "re:root:x:0:0:", "plain", "base real list decoy", files, 2},
	{"path", "folder", all, "file", "a.txt", "....//....//....//....//....//....//....//....//etc/passwd", "re:root:x:0:0:", "dots", "", files, 2},
	{"path", "absolute", all, "file", "{files}/a.txt", "/etc/passwd", "re:root:x:0:0:", "plain dots", "real", "query form cookie", 2},
	{"path", "include", "php java", "page", "home.html", "../../../../../../../../etc/passwd", "re:root:x:0:0:", "", "base list", "query form", 1},
	{"path", "include", "php", "page", "home.html", "../../../../../../../../etc/passwd", "re:root:x:0:0:", "plain", "", "query form cookie", 2},
	{"redirect", "location", all, "next", "/home", "http://evil.example/", "to:http://evil.example/", "plain", "local list inquery", "query form", 2},
	{"redirect", "location", all, "next", "/home", "//evil.example/", "to://evil.example/", "slash", "", "query form", 2},
	{"redirect", "location", all, "next", "/home?at=lab.example", "http://evil.example/?lab.example", "to:http://evil.example/", "own", "", "query", 1},
	{"redirect", "meta", all, "next", "/home", "http://evil.example/", "re:url=http://evil.example/", "plain", "local list", "query form", 1},
	{"redirect", "assign", all, "next", "/home", "http://evil.example/", `re:location = "http://evil.example/`, "plain", "local list", "query form", 1},
	{"template", "text", "python", "greeting", "Dear", "{{7*191}}", "re:1337", "plain", "bind list", every, 2},
	{"template", "inner", "python", "greeting", "Dear", "'~(7*191)~'", "re:1337", "plain nospace", "bind", every, 1},
	{"template", "text", "node", "greeting", "Dear", "<%= 7*191 %>", "re:1337", "plain", "bind list", every, 2},
	{"template", "nunjucks", "node", "greeting", "Dear", "{{7*191}}", "re:1337", "plain nospace", "bind", every, 1},
	{"code", "expression", "php python node", "sum", "1+1", "7*191", "re:1337", "plain", "list reject", every, 1},
	{"code", "string", "php python node", "label", "total", "", "re:1337", "plain nospace", "bind", every, 1},
	{"xxe", "feed", "php java python", "body", "<feed><title>news</title></feed>",
		`<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><feed><title>&e;</title></feed>`, "re:root:x:0:0:", "plain", "bind", "xml", 1},
	{"ssrf", "show", all, "url", "{self}/home.html", "{self}/internal.txt", "re:internal-only", "plain", "list", "query form json", 2},
	{"xpath", "user", "php java python", "user", "anna", "zzz'or'1'='1", "re:ben", "plain", "bind reject", every, 2},
	{"nosql", "filter", "node", "user", "anna", "", "", "plain", "bind", "query json", 2},
	{"nosql", "script", "node", "user", "anna", "zzz'||'1'=='1", "re:ben", "plain", "bind", "query json form", 2},
	{"crlf", "header", "go", "lang", "en", "en\\r\\nX-Q7: 1", "", "plain", "bind", "query form", 2},
}

// laterSinks are those of second-order weaknesses: another request than the one that brings the value uses it. "kept"
// is a value that one page keeps for the visitor, and another page uses; "steps" is one that is typed in the first step
// of a form, and used in the second.
var laterSinks = []sink{
	{"sql", "where", all, "item", "chair", "zzz'OR'1'='1", "re:lamp", "plain once", "bind list", later, 2},
	{"sql", "quiet", all, "item", "chair", "zzz'OR'1'='1", "re:lamp", "plain", "bind", later, 2},
	{"sql", "number", all, "id", "1", "0/**/OR/**/1=1", "re:lamp", "plain", "number decoy", later, 2},
	{"sql", "order", all, "sort", "name", "(CASE/**/WHEN/**/1=1/**/THEN/**/-price/**/ELSE/**/id/**/END)",
		"re:(?s)sofa.*desk.*lamp.*table.*chair", "plain", "list", later, 2},
	{"xss", "text", all, "name", "anna", "<b>q7", "re:<b>q7", "plain quote", "all angle", later, 2},
	{"xss", "quoted", all, "name", "anna", `"x7="`, `re:"x7="`, "plain", "all quote", later, 1},
	{"command", "output", all, "host", "alpha", "$((7*191))", "re:1337", "plain", "bind decoy", later, 2},
	{"command", "silent", all, "host", "alpha", "$(sleep${IFS}2)", "slow", "plain", "bind", later, 1},
	{"path", "folder", all, "file", "a.txt", "../../../../../../../../etc/passwd", "re:root:x:0:0:", "plain", "base decoy", later, 2},
	{"ssrf", "show", all, "url", "{self}/home.html", "{self}/internal.txt", "re:internal-only", "plain", "list", later, 1},
	{"template", "text", "python", "greeting", "Dear", "{{7*191}}", "re:1337", "plain", "bind", later, 2},
	{"template", "text", "node", "greeting", "Dear", "<%= 7*191 %>", "re:1337", "plain", "bind", later, 2},
	{"code", "string", "php python node", "label", "total", "", "re:1337", "plain", "bind", later, 1},
	{"xpath", "user", "php java python", "user", "anna", "zzz'or'1'='1", "re:ben", "plain", "bind", later, 1},
}

// proofs of single stacks, by stack, class and sink, where they differ.
var proofs = map[string]string{
	"php sql blind":    "x'OR/**/SLEEP(1)OR'",
	"java sql blind":   "x'||pg_sleep(2)||'",
	"node sql blind":   "x'||pg_sleep(2)||'",
	"php code string":  "'.(7*191).'",
	"node code string": "'+(7*191)+'", "python code string": "'+str(7*191)+'",
}

// areas are the first folders of the addresses, by class.
var areas = map[string]string{"sql": "catalog", "xss": "views", "command": "tools", "path": "files", "redirect": "go",
	"template": "letters", "code": "sums", "xxe": "feeds", "ssrf": "fetch", "xpath": "directory", "nosql": "people",
	"crlf": "language"}

var endings = map[string]string{"php": ".php", "java": ".jsp"}

// Generate makes all cases of the table.
func Generate() (cases []Case) {
	turn := map[string]int{}
	for stack := range strings.FieldsSeq(all) {
		for _, s := range sinks {
			if !slices.Contains(strings.Fields(s.stacks), stack) {
				continue
			}
			for _, weak := range []bool{true, false} {
				filters := s.safe
				each := 1
				if weak {
					filters, each = s.weak, s.each
				}
				for filter := range strings.FieldsSeq(filters) {
					sources := strings.Fields(s.sources)
					for range each {
						key := stack + s.class
						cases = append(cases, s.in(stack, filter, sources[turn[key]%len(sources)], weak))
						turn[key]++
					}
				}
			}
		}
	}
	return unique(cases)
}

func (s *sink) in(stack, filter, source string, weak bool) Case {
	c := Case{Stack: stack, Class: s.class, Sink: s.name, Filter: filter, Source: source, Param: s.param, Value: s.value,
		True: weak, Proof: s.proof, Expect: s.expect}
	if own, ok := proofs[stack+" "+s.class+" "+s.name]; ok {
		c.Proof = own
	}
	if source == "header" {
		switch s.name { // what applications log comes by itself; the others have a script send theirs
		case "insert":
			c.Param = "Referer"
		case "update":
			c.Param = "User-Agent"
		default:
			c.Param = "X-Item"
		}
	}
	c.Path = "/" + areas[s.class] + "/" + s.name + "/" + filter + "-" + source + endings[stack]
	return c
}

// unique drops cases with the same address, which the turns of sources may make.
func unique(cases []Case) (kept []Case) {
	seen := map[string]bool{}
	for _, c := range cases {
		if key := c.Stack + c.Path; !seen[key] {
			seen[key] = true
			kept = append(kept, c)
		}
	}
	return kept
}
