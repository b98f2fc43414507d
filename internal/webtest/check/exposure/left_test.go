package exposure

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// Copies of the files in which applications begin are found where they are source text and a random name is not.
func TestLeftCopies(t *testing.T) {
	const ruby, python = "require 'sinatra'\nget('/') { 'hello' }\n", "from flask import Flask\napp = Flask(__name__)\n"
	for name, c := range map[string]struct {
		path, body string
		all        bool
		want       int
	}{
		"python":           {"/main.py~", python, false, 1},
		"node":             {"/server.js.old", "const express = require('express')\n", false, 1},
		"ruby":             {"/app.rb.bak", ruby, false, 1},
		"any name":         {"/app.rb.bak", ruby, true, 0},
		"a page":           {"/app.py.bak", "<!doctype html><html><pre>\n" + python + "</pre></html>", false, 0},
		"a text":           {"/app.py.bak", "There is nothing here, import or export.\n", false, 0},
		"not of a program": {"/notes.py.bak", python, false, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != c.path && !(c.all && strings.HasSuffix(r.URL.Path, ".bak")) {
				http.Error(w, "not here: "+r.URL.Path, http.StatusNotFound)
				return
			}
			fmt.Fprint(w, c.body)
		}))
		found := lab.Run(t, leftCopies(), lab.Target(t, http.MethodGet, "/", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A source map with the sources of the site is information; one of libraries alone, without sources, or that is no
// source map is nothing.
func TestSourceMaps(t *testing.T) {
	for body, want := range map[string]int{
		`{"version":3,"sources":["src/cart.ts"],"sourcesContent":["export const a = 1 // TODO"],"mappings":"AAAA"}`:   1,
		`{"version":3,"sources":["node_modules/x/i.js","src/b.js"],"sourcesContent":["x","let b"],"mappings":"AAAA"}`: 1,
		`{"version":3,"sources":["../node_modules/x/i.js"],"sourcesContent":["module.exports=1"],"mappings":"AAAA"}`:  0,
		`{"version":3,"sources":["src/cart.ts"],"mappings":"AAAA"}`:                                                   0,
		`{"sources":["a"],"sourcesContent":["b"]}`:                                                                    0,
		`not found`: 0,
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		found := lab.Run(t, sourceMaps(), lab.Target(t, http.MethodGet, "/js/cart.js.map", ""))
		if len(found) != want {
			t.Errorf("%s: found %s", body, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
