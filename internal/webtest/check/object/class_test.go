package object

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// A class that a request names and the application loads is found; not a name that is looked up in a list, nor one that
// is shown.
func TestClassOfRequest(t *testing.T) {
	for name, c := range map[string]struct {
		loads func(class string) bool
		want  int
	}{"loads": {func(class string) bool { return slices.Contains(known, class) || class == "shop.export.Pdf" }, 1},
		"list":     {func(class string) bool { return class == "shop.export.Pdf" }, 0},
		"anything": {func(string) bool { return true }, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if class := r.FormValue("writer"); c.loads(class) {
				fmt.Fprintf(w, "<p>Written by %s, in three pages.</p>", class)
				return
			}
			http.Error(w, "there is no such writer", http.StatusNotFound)
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "class-of-request"), lab.Target(t, http.MethodGet,
			"/export?writer=shop.export.Pdf", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// An application that reads any class is found; one that says that it has a list of them is not.
func TestListOfClasses(t *testing.T) {
	usual := "\xac\xed\x00\x05t\x00\x05light"
	for _, lists := range []bool{false, true} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, _ := base64.StdEncoding.DecodeString(r.FormValue("prefs"))
			switch text := string(raw); {
			case strings.Contains(text, "java.io.File") && lists:
				http.Error(w, "java.io.InvalidClassException: filter status: REJECTED", http.StatusBadRequest)
			case strings.Contains(text, "java.io.File") || !strings.HasSuffix(text, "t\x00\x05light") ||
				strings.Contains(text, "\x00\x05z"):
				http.Error(w, "no preferences", http.StatusBadRequest)
			case text == usual || isEqual(text):
				fmt.Fprint(w, "light")
			default:
				http.Error(w, "no preferences", http.StatusBadRequest)
			}
		}))
		target := lab.Target(t, http.MethodPost, "/", "prefs="+strings.NewReplacer("+", "%2B", "=",
			"%3D").Replace(base64.StdEncoding.EncodeToString([]byte(usual))))
		if found := lab.Run(t, kittest.Named(t, Checks(), "deserialization"), target); (len(found) == 1) == lists {
			t.Errorf("a list: %v, found %s", lists, kittest.Titles(found))
		}
	}
}

// isEqual reports whether a stream is the usual one in another writing of the format.
func isEqual(text string) bool {
	for i := range formats() {
		f := &formats()[i]
		if f.is != nil || f.head([]byte(text)) == 0 {
			continue
		}
		for _, equal := range f.equal {
			if strings.HasPrefix(text[f.head([]byte(text)):], string(unhex(equal))) {
				return true
			}
		}
	}
	return false
}
