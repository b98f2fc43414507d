package access

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// code is a short name of an object, such as a number in base 36. One of more letters may be a random one, which nobody
// guesses.
var code = regexp.MustCompile(`^[A-Za-z0-9]{3,8}$`)

// coded is a view with the place of its object, where that has none: in the last segment of the path, if it is a short
// name (codeOf).
func coded(views []view, v *view) *view {
	if len(v.places) == 0 {
		v.places = codeOf(views, v)
	}
	return v
}

// codeOf is the last segment of a view's path if it is the short name of an object, which looks like a word by itself:
// pages of the owner lead to another page at that place, whose name is as long and which is built the same. Pages of
// staff have words there.
func codeOf(views []view, v *view) []message.Place {
	if v.request.URL.RawQuery != "" || ofStaff(v.request) {
		return nil
	}
	folder, name := cutLast(v.request)
	if !code.MatchString(name) || kit.IsObject(name) {
		return nil
	}
	for i := range views {
		other, sibling := cutLast(views[i].request)
		if other != folder || sibling == name || len(sibling) != len(name) || !code.MatchString(sibling) ||
			views[i].request.URL.RawQuery != "" || message.Skeleton(views[i].owner) != message.Skeleton(v.owner) {
			continue
		}
		for _, p := range message.Places(v.request) {
			if p.Component == message.Path && p.Value == name {
				return []message.Place{p}
			}
		}
	}
	return nil
}

func cutLast(r *message.Request) (folder, name string) {
	at := strings.LastIndexByte(r.URL.Path, '/') + 1
	return r.URL.Host + r.URL.Path[:at], r.URL.Path[at:]
}

// absent is a value of the same form that names nothing.
func absent(v string) string {
	if code.MatchString(v) && !kit.IsObject(v) {
		return kit.Word()[:len(v)]
	}
	return kit.Nonexistent(v)
}
