package webtest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/object"
)

// pickled reads an object as Python does: N0 says nothing, and what follows the end is not read.
func pickled(value string) bool {
	raw, err := base64.StdEncoding.DecodeString(value)
	if end := strings.IndexFunc(value, func(c rune) bool { return !strings.ContainsRune(letters, c) }); err != nil && end > 0 {
		raw, err = base64.StdEncoding.DecodeString(value[:end/4*4])
	}
	rest, ok := strings.CutPrefix(string(raw), "\x80\x04")
	for strings.HasPrefix(rest, "N0") {
		rest = rest[2:]
	}
	return err == nil && ok && strings.HasPrefix(rest, "}chairs.")
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// serialized reads a list of one text as PHP does, whose end is not the end of the value either.
func serialized(value string) bool {
	value, err := url.QueryUnescape(value)
	return err == nil && slices.ContainsFunc([]string{`s:4:"blue"`, `S:4:"\62lue"`, `s:04:"blue"`}, func(text string) bool {
		return strings.HasPrefix(value, `a:1:{i:0;`+text+`;}`)
	})
}

// An object in a cookie that all pages get is found on the page that reads it, whichever is tested first, although what
// stands behind the end of the object is not read.
func TestObjectsInCookies(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		reads func(string) bool
		want  int
	}{
		"pickle":   {base64.StdEncoding.EncodeToString([]byte("\x80\x04}chairs.")), pickled, 1},
		"PHP":      {url.QueryEscape(`a:1:{i:0;s:4:"blue";}`), serialized, 1},
		"not read": {base64.StdEncoding.EncodeToString([]byte("\x80\x04}chairs.")), func(string) bool { return true }, 0},
	} {
		cfg := serve(t, webtest.Config{Checks: object.Checks(), Targets: 1}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("kept")
			switch {
			case r.URL.Path == "/":
				http.SetCookie(w, &http.Cookie{Name: "kept", Value: c.value, Path: "/"})
				fmt.Fprint(w, `<a href="/a?q=1">a</a><a href="/b?q=1">b</a><a href="/c?q=1">c</a><a href="/basket">basket</a>`)
			case r.URL.Path != "/basket":
				fmt.Fprintf(w, "<p>page %s</p>", r.URL.Path)
			case err != nil: // a proof that does not send the object sees another page
				fmt.Fprint(w, "<p>the basket is empty</p>")
			case c.reads(k.Value):
				fmt.Fprint(w, "<p>one chair</p>")
			default:
				http.Error(w, "the basket is broken", http.StatusInternalServerError)
			}
		})
		report, err := webtest.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		got := places(report)
		if len(got) != c.want || c.want == 1 && !strings.Contains(got[0], "GET /basket cookie kept") {
			t.Errorf("%s: %q", name, got)
		}
		for _, f := range report.Findings {
			if f.Confidence != kit.Proved {
				t.Errorf("%s: it is only %s: %s", name, f.Confidence, f.Detail)
			}
		}
	}
}
