package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A step whose address is where the one before leads goes there, also when it was stored as JSON; another stays.
func TestStepThatIsLed(t *testing.T) {
	n := 6
	c, at := open(t, client.Config{Level: client.Active}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/save" {
			n++
			http.Redirect(w, r, fmt.Sprint("/saved/", n), http.StatusSeeOther)
			return
		}
		fmt.Fprint(w, r.URL.Path)
	})
	for _, led := range []bool{true, false} {
		save, err := message.New(http.MethodPost, at+"/save")
		if err != nil {
			t.Fatal(err)
		}
		page, err := message.New(http.MethodGet, at+"/saved/1")
		if err != nil {
			t.Fatal(err)
		}
		page.After, page.Led = save, led
		text, err := page.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again message.Request
		if err := again.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		answer, err := c.Send(t.Context(), again.Clone(), client.Options{})
		if want := map[bool]string{true: fmt.Sprint("/saved/", n), false: "/saved/1"}[led]; err != nil ||
			string(answer.Body) != want {
			t.Errorf("led %v: %s %v, want %s", led, answer.Body, err, want)
		}
	}
}
