package diff_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"pgregory.net/rapid"
)

func answer(body string) *message.Response {
	return &message.Response{Status: 200, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(body)}
}

func TestEchoesAreCutInAllForms(t *testing.T) {
	payload := `x7q' AND 4821=4821-- "<b>`
	plain := diff.New(answer("<p>found </p>"), payload)
	for name, shown := range map[string]string{
		"raw": payload, "html": html.EscapeString(payload), "address": url.QueryEscape(payload),
		"quotes doubled": `x7q'' AND 4821=4821-- "<b>`, "quotes removed": `x7q AND 4821=4821-- b`,
		"backslashes": `x7q\' AND 4821=4821-- \"<b>`, "script": `x7q\u0027 AND 4821=4821-- \u0022\u003cb\u003e`,
		"upper case": `X7Q' AND 4821=4821-- "<B>`, "percent encoded twice": "x7q%2527%2520AND%25204821%253D4821--%2520b",
	} {
		if !diff.Same(plain, diff.New(answer("<p>found "+shown+"</p>"), payload), nil) {
			t.Errorf("%s: an echo counts as a difference", name)
		}
	}
	if diff.Same(plain, diff.New(answer("<p>nothing </p>"), payload), nil) {
		t.Error("another answer is the same")
	}
}

// What stands behind an echo is no part of it: the name of a parameter that ends in = and one that does not leave the
// same link.
func TestBehindAnEcho(t *testing.T) {
	link := func(name string) *diff.Page {
		return diff.New(answer("<a href='?u=a&amp;"+url.QueryEscape(name)+"=b'>x</a>"), name)
	}
	if !diff.Same(link("*)(objectClass=*"), link("*)(objectClass=qjsvivmfpjz"), nil) {
		t.Error("the = behind a name is cut with it")
	}
}

// Answers of the same bytes are the same: what looks like an echo of one request was there before.
func TestSameBytes(t *testing.T) {
	for name, c := range map[string]struct{ body, one, other string }{
		"a handbook": {"<h1>PhoneAdmin 1.2</h1><p>for admins", "admin=1", "admin=0"},
		"a list":     {"<ul><li>Order: 66</li><li>Orders: 7</li></ul>", "order=66", "order=67"},
	} {
		one, other := diff.New(answer(c.body), c.one), diff.New(answer(c.body), c.other)
		if !diff.Same(one, other, nil) || diff.Adds(one, nil, other) || diff.Adds(other, nil, one) ||
			diff.Likeness(one, other, nil) < 1 {
			t.Errorf("%s: the same bytes differ", name)
		}
		more := diff.New(answer(c.body+"<b>more</b>"), c.one)
		if diff.Same(more, other, nil) || !diff.Adds(more, nil, other) {
			t.Errorf("%s: other bytes are the same", name)
		}
	}
}

func TestNoiseIsLearned(t *testing.T) {
	page := func(n int, what string) *diff.Page {
		return diff.New(answer(fmt.Sprintf(`<p>%s</p><i>12:00:%02d</i><input value="%032x">`, what, n, n*7919)))
	}
	noise := diff.Learn(page(1, "a"), page(2, "a"), page(3, "a"))
	if !diff.Same(page(4, "a"), page(5, "a"), noise) {
		t.Error("a clock and a token are differences")
	}
	if diff.Same(page(4, "a"), page(5, "b"), noise) {
		t.Error("noise hides a difference")
	}
	if diff.Same(page(1, "a"), page(2, "a"), nil) {
		t.Error("without noise a clock is no difference")
	}
}

func TestStatusTargetAndTypeCount(t *testing.T) {
	a := answer("x")
	b := answer("x")
	b.Status = 500
	if diff.Same(diff.New(a), diff.New(b), nil) {
		t.Error("another status is the same")
	}
	c := answer("x")
	c.Header.Set("Location", "/other")
	if diff.Same(diff.New(a), diff.New(c), nil) {
		t.Error("another target is the same")
	}
}

func TestLikeness(t *testing.T) {
	a, b := diff.New(answer("<p>1<p>2<p>3<p>4")), diff.New(answer("<p>1<p>2<p>3<p>5"))
	if got := diff.Likeness(a, b, nil); got != 0.75 {
		t.Errorf("likeness %v, want 0.75", got)
	}
	if !diff.Adds(b, nil, a) || diff.Adds(a, nil, a, b) {
		t.Error("Adds is wrong")
	}
}

// Any body is like itself, whatever was echoed in it, and nothing panics.
func TestSameIsReflexive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body, echo := rapid.String().Draw(t, "body"), rapid.String().Draw(t, "echo")
		a, b := diff.New(answer(body), echo), diff.New(answer(body), echo)
		if !diff.Same(a, b, nil) || diff.Likeness(a, b, nil) != 1 {
			t.Fatal("a page differs from itself")
		}
	})
}

// Of what is special to a page, a sentence in the same layout has nothing.
func TestShare(t *testing.T) {
	page := func(text string) *diff.Page {
		return diff.New(&message.Response{Status: 200, Body: []byte("<nav>a</nav><p>start</p>" + text)})
	}
	own, layout := page("<p>order of anna</p><p>12 chairs</p>"), page("<p>hello</p>")
	for text, want := range map[string]float64{"<p>order of anna</p><p>12 chairs</p>": 1, "<p>order of anna</p><p>no more</p>": 0.5, "<p>not yours</p>": 0} {
		if got, special := diff.Share(own, page(text), layout); got != want || special != 2 {
			t.Errorf("%s: %v of %d", text, got, special)
		}
	}
	if _, special := diff.Share(layout, own, layout); special != 0 {
		t.Errorf("special: %d", special)
	}
}

// What most pages have is their layout; of a few pages nothing is known.
func TestCommon(t *testing.T) {
	page := func(text string) *diff.Page { return diff.New(&message.Response{Status: 200, Body: []byte(text)}) }
	all := []*diff.Page{page("<nav>a</nav><p>1"), page("<nav>a</nav><p>2"), page("<nav>a</nav><p>2"), page("<nav>b</nav><p>3")}
	own := page("<nav>a</nav><p>2")
	if _, special := diff.Share(own, own, diff.Common(all...)); special != 1 {
		t.Errorf("beside the layout there are %d lines, not one", special)
	}
	if _, special := diff.Share(own, own, diff.Common(all[:3]...)); special != 3 {
		t.Errorf("of three pages %d lines are the layout", 3-special)
	}
}
