package steps

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// sequence is an application with three steps, at addresses that a test gives, and a page at which they end. Visits are
// known by a cookie of theirs.
type sequence struct {
	first, second, third, end string
	ask                       string // of the second step
	weak, open, soft          bool   // the second may be left out; the third is for all; each address is answered alike
	stays                     bool   // the third is open for whoever has begun, also after the end

	mu                sync.Mutex
	begun, paid, done map[string]bool
}

func (s *sequence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	who := ""
	for _, name := range []string{"user", "visit"} {
		if k, err := r.Cookie(name); err == nil && who == "" {
			who = k.Value
		}
	}
	if who == "" {
		who = fmt.Sprint("visit", len(s.begun)+1, kit.Word())
		http.SetCookie(w, &http.Cookie{Name: "visit", Value: who, Path: "/"})
	}
	form := func(title, action, fields string) {
		fmt.Fprintf(w, `<h1>%s</h1><form method=post action="%s">%s<button>Next</button></form>`, title, action, fields)
	}
	post := r.Method == http.MethodPost
	at := r.URL.RequestURI()
	switch {
	case at == s.first && post:
		s.begun[who], s.paid[who] = true, false
		http.Redirect(w, r, s.second, http.StatusFound)
	case at == s.first:
		form("Begin", s.first, `<input name=seat value=A1>`)
	case at == s.second && post:
		s.paid[who] = r.FormValue("code") == "4711"
		http.Redirect(w, r, map[bool]string{true: s.third, false: s.second}[s.paid[who]], http.StatusFound)
	case at == s.second:
		form(s.ask, s.second, `<input name=code>`)
	case at == s.third && !s.open && (!s.begun[who] || !s.weak && !s.paid[who]):
		http.Redirect(w, r, s.first, http.StatusFound)
	case at == s.third && post:
		if !s.stays {
			delete(s.begun, who)
		}
		s.done[who] = true
		http.Redirect(w, r, s.end, http.StatusFound)
	case at == s.third:
		form("Last step", s.third, `<input type=hidden name=go value=1>`)
	case at == s.end && s.done[who]:
		fmt.Fprint(w, "<p>Your ticket: 99182</p>")
	case at == s.end:
		fmt.Fprint(w, "<p>None yet.</p>")
	case s.soft:
		form("Last step", "/else", `<input type=hidden name=go value=1>`)
	default:
		http.NotFound(w, r)
	}
}

// A payment that may be left out is found by the usual name of what is behind it, and a verification by the number of
// its step; not where the sequence is kept, nor where the step asks for nothing that is needed, the last page is for
// everybody, or each address is answered alike. One that stays open for whoever has begun is found where somebody else is
// there for whom it is closed.
func TestStepsLeftOut(t *testing.T) {
	booking := sequence{first: "/choose", second: "/pay", third: "/finish", end: "/mine", ask: "Step 2: payment"}
	signup := sequence{first: "/signup?step=1", second: "/signup?step=2", third: "/signup?step=3", end: "/welcome",
		ask: "Enter the verification code from our message"}
	for name, c := range map[string]struct {
		of             *sequence
		users          int
		weak, open     bool
		soft, isChoice bool
		stays          bool
		want           bool
	}{
		"a payment":                     {of: &booking, users: 1, weak: true, want: true},
		"a verification, of a visitor":  {of: &signup, weak: true, want: true},
		"a payment that is needed":      {of: &booking, users: 1},
		"a verification that is needed": {of: &signup},
		"a choice":                      {of: &booking, users: 1, weak: true, isChoice: true},
		"the last page is for all":      {of: &booking, users: 1, weak: true, open: true},
		"it is for all, two users":      {of: &booking, users: 2, weak: true, open: true},
		"it is for all, as visitors":    {of: &signup, weak: true, open: true},
		"open once begun":               {of: &booking, users: 2, weak: true, stays: true, want: true},
		"open once begun, to a visitor": {of: &signup, weak: true, stays: true, want: true},
		"open once begun, to one user":  {of: &booking, users: 1, weak: true, stays: true},
		"each address is answered":      {of: &booking, users: 1, soft: true},
	} {
		app := &sequence{first: c.of.first, second: c.of.second, third: c.of.third, end: c.of.end, ask: c.of.ask, weak: c.weak,
			open: c.open, soft: c.soft, stays: c.stays, begun: map[string]bool{}, paid: map[string]bool{}, done: map[string]bool{}}
		if c.isChoice {
			app.ask = "Which colour do you like?"
		}
		lab := kittest.New(t, app)
		for _, who := range []string{"alice", "bob"}[:c.users] {
			lab.World.Users = append(lab.World.Users, lab.As(t, who))
		}
		lab.World.Pages = func() (all []*message.Request) {
			for _, address := range []string{"GET " + app.first, "POST " + app.first, "GET " + app.end} {
				method, path, _ := strings.Cut(address, " ")
				r, err := message.New(method, lab.URL+path)
				if err != nil {
					t.Fatal(err)
				}
				if method == http.MethodPost {
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					r.Body = []byte("seat=A1")
				}
				all = append(all, r)
			}
			return all
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "step-left-out"), &kit.Target{})
		if (len(found) == 1) != c.want || len(found) > 1 {
			t.Errorf("%s: found %q, want %v", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			if f.Request.URL.RequestURI() != app.third {
				t.Errorf("%s: found at %s", name, f.Request.URL)
			}
			lab.Holds(t, f)
		}
	}
}
