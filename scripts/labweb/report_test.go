package main

import (
	"testing"

	"github.com/vedette-sec/vedette/lab/web"
)

// A finding counts for the case at its address when it is of its class; on a case that only looks weak it is false.
func TestScore(t *testing.T) {
	cases := []web.Case{{Path: "/a/b/c", Class: "sql", True: true}, {Path: "/a/b/d", Class: "sql"},
		{Path: "/a/b/e", Class: "xss", Source: "path", True: true}, {Path: "/a/b/f", Class: "xss", True: true}}
	vedette, err := ofVedette([]byte(`{"title":"t","cwe":"CWE-89","url":"http://h/a/b/c?x=1","where":["GET http://h/a/b/d, query x"]}
{"title":"u","cwe":"CWE-79","url":"http://h/a/b/e/anna"}
{"title":"v","cwe":"CWE-89","url":"http://h/a/b/f"}
{"title":"w","cwe":"CWE-693","url":"http://h/a/b/d"}
`))
	if err != nil {
		t.Fatal(err)
	}
	wapiti, err := ofWapiti([]byte(`{"vulnerabilities":{"SQL Injection":[{"path":"/a/b/c"}],"Clickjacking":[{"path":"/a/b/d"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		findings                    []reported
		found, missed, wrong, extra int
	}{{vedette, 2, 1, 1, 1}, {wapiti, 1, 2, 0, 0}, {nil, 0, 3, 0, 0}} {
		r := &result{classes: map[string]*tally{}}
		r.score(cases, c.findings)
		if len(r.found) != c.found || len(r.missed) != c.missed || len(r.wrong) != c.wrong || len(r.extra) != c.extra {
			t.Errorf("%v: %d found, %d missed, %v wrong, %v extra", c.findings, len(r.found), len(r.missed), r.wrong, r.extra)
		}
	}
}

// A finding on an application of several pages counts by its CWE for the case of its address; other findings there are
// neither right nor wrong.
func TestScoreOfFlows(t *testing.T) {
	cases := []web.Case{{Path: "/orders/*", Class: "bola", True: true, Source: "flow"}, {Path: "/orders/*", Class: "sql", Source: "flow"},
		{Path: "/profile", Class: "mass", Source: "flow"}, {Path: "/index.php?page=people", Class: "bfla", True: true, Source: "flow"},
		{Path: "/index.php?page=faq", Class: "bfla", Source: "flow"}}
	all, err := ofVedette([]byte(`{"title":"t","cwe":"CWE-639","url":"http://h/orders/3"}
{"title":"u","cwe":"CWE-915","url":"http://h/profile"}
{"title":"v","cwe":"CWE-79","url":"http://h/profile"}
{"title":"w","cwe":"CWE-285","url":"http://h/./index.php;x=1?page=people"}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := &result{classes: map[string]*tally{}}
	r.score(cases, all)
	r.others(cases, all)
	if len(r.found) != 2 || len(r.missed) != 0 || len(r.wrong) != 1 || len(r.extra) != 1 {
		t.Errorf("found %v, missed %v, wrong %v, extra %v", r.found, r.missed, r.wrong, r.extra)
	}
}
