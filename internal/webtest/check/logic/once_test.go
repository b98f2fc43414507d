package logic

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// purse is what a visitor of a fair has, and where their requests wait for each other.
type purse struct {
	tokens, prizes, waiting int
	together                chan struct{}
}

// fair gives prizes for tokens. If it is weak, requests that come together all look at the tokens before one pays; which
// visitors come with several at once is known from the order in which the check sends them.
type fair struct {
	isWeak  bool
	price   int
	page    string
	answers func(w http.ResponseWriter, r *http.Request, taken bool)

	mu     sync.Mutex
	purses []*purse
}

// of is the purse of a visitor, who gets a cookie, and their number.
func (f *fair) of(w http.ResponseWriter, r *http.Request) (*purse, int) {
	if k, err := r.Cookie("purse"); err == nil {
		n, _ := strconv.Atoi(k.Value)
		return f.purses[n], n
	}
	n := len(f.purses)
	http.SetCookie(w, &http.Cookie{Name: "purse", Value: strconv.Itoa(n), Path: "/"})
	f.purses = append(f.purses, &purse{tokens: 10, together: make(chan struct{})})
	return f.purses[n], n
}

func (f *fair) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine, number := f.of(w, r)
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, f.page, mine.tokens, mine.prizes)
		return
	}
	taken := mine.tokens >= f.price
	if taken {
		const alone = 2 // the target of the test, and the first visitor of the check
		if mine.waiting++; f.isWeak && number >= alone {
			if mine.waiting == atOnce {
				close(mine.together)
			}
			f.mu.Unlock()
			<-mine.together
			f.mu.Lock()
		}
		mine.tokens -= f.price
		mine.prizes++
	}
	f.answers(w, r, taken)
}

// A form that counts once is found where it counts several times at once, by whatever says that it is refused; not where
// requests wait for each other, nor where it counts as often as it is sent, nor where nothing is counted.
func TestOnceOnly(t *testing.T) {
	refuses := func(w http.ResponseWriter, r *http.Request, taken bool) {
		if !taken {
			http.Error(w, "Not enough tokens.", http.StatusConflict)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
	leads := func(w http.ResponseWriter, r *http.Request, _ bool) { http.Redirect(w, r, "/", http.StatusSeeOther) }
	const page, list = "<p>Tokens: %d</p><p>Bears: %d</p>", "<ul><li>left %d</li><li>bears won <b>%d</b></li></ul>"
	for name, c := range map[string]struct {
		app  *fair
		want int
	}{
		"refuses by its status":     {&fair{isWeak: true, price: 10, page: page, answers: refuses}, 1},
		"leads back":                {&fair{isWeak: true, price: 10, page: list, answers: leads}, 1},
		"one after the other":       {&fair{price: 10, page: page, answers: refuses}, 0},
		"leads back, in order":      {&fair{price: 10, page: list, answers: leads}, 0},
		"counts as often as sent":   {&fair{price: 0, page: page, answers: leads}, 0},
		"twice, one after another":  {&fair{price: 5, page: page, answers: refuses}, 0},
		"shows nothing that counts": {&fair{price: 10, page: "<p>Welcome</p><!-- %d %d -->", answers: refuses}, 0},
	} {
		lab := kittest.New(t, c.app)
		target := lab.Target(t, http.MethodPost, "/prize", "prize=bear")
		target.From = lab.URL + "/"
		found := lab.Run(t, kittest.Named(t, Checks(), "race-of-forms"), target)
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
