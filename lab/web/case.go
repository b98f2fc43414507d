// Package web is a lab of weak web applications on real stacks (PHP with MariaDB, JSP on Tomcat with PostgreSQL, Flask
// with SQLite and PostgreSQL, Express with PostgreSQL, Go with SQLite), for measuring testers of web applications. Its
// data is fictitious; its applications listen on loopback only and must be reachable from nowhere else.
//
// A case is a page with one input. What the page does with it is its sink: a position in a statement, in a page, in a
// command, in a path. A filter stands between input and sink, and a source says where the input comes from. The table
// of sinks and filters (sinks.go) is written from the definitions of the weaknesses; each case is weak, or only looks
// so. cases.tsv is all of them, written out by Generate; the applications read it, and each has its sinks and filters
// in one file. Every weak case has a proof: a text that shows the weakness, and what then comes; sent to a case that
// only looks weak, it must show nothing. The proofs hold the labels to the truth, and no tester sees them.
package web

import (
	"bufio"
	_ "embed"
	"fmt"
	"strings"
)

// Case is one page.
type Case struct {
	Stack  string // php, java, python, node or go
	Path   string // of the page, such as /catalog/where/plain-query.php
	Class  string // of the weakness, a word of Classes
	Sink   string
	Filter string
	Source string // query, form, json, header, cookie, path; kept and steps: in a request before
	Param  string // the name of the input there
	Value  string // what it usually is
	True   bool   // it is weak
	Proof  string // a value that shows a weakness; "" for none
	Expect string // how: "re:" and a regular expression, a status, "slow", "to:" and the beginning of a Location
}

// Classes are the classes of weaknesses with the CWE numbers by which testers may name each.
var Classes = map[string][]int{
	"sql": {89, 564}, "xss": {79, 80, 83, 87}, "command": {78, 77}, "path": {22, 23, 36, 73, 98, 552, 200}, "redirect": {601},
	"template": {1336, 94, 95}, "code": {94, 95}, "xxe": {611, 776}, "ssrf": {918, 441, 98}, "nosql": {943}, "xpath": {643, 91},
	"crlf": {113, 93},
}

//go:embed cases.tsv
var table string

// Cases are all cases of a stack, in the order of the table; "" for those of all.
func Cases(stack string) ([]Case, error) {
	var all []Case
	lines := bufio.NewScanner(strings.NewReader(table))
	for n := 1; lines.Scan(); n++ {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != fields {
			return nil, fmt.Errorf("cases.tsv:%d: it has %d fields, not %d", n, len(f), fields)
		}
		c := Case{Stack: f[0], Path: f[1], Class: f[2], Sink: f[3], Filter: f[4], Source: f[5], Param: f[6], Value: f[7],
			True: f[8] == "true", Proof: f[9], Expect: f[10]}
		if stack == "" || c.Stack == stack {
			all = append(all, c)
		}
	}
	return all, lines.Err()
}

const fields = 11

// Later is the address of the request that uses what the one to Path has brought; "" for the cases of one request.
func (c *Case) Later() string {
	switch c.Source {
	case "kept":
		return c.Path + "/view"
	case "steps":
		return c.Path + "/next"
	}
	return ""
}

// Line is a case as a line of cases.tsv.
func (c *Case) Line() string {
	return strings.Join([]string{c.Stack, c.Path, c.Class, c.Sink, c.Filter, c.Source, c.Param, c.Value,
		fmt.Sprint(c.True), c.Proof, c.Expect}, "\t")
}
