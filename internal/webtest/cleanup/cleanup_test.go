package cleanup

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// board is an application with notes, a profile and an API, each with what was there before the tests.
type board struct {
	mu      sync.Mutex
	notes   map[int]string
	next    int
	profile string
	account bool
	// where deletes are: in rows of the list, on the page of a note, behind a question, or nowhere
	deletes string
}

func newBoard(deletes string) *board {
	return &board{notes: map[int]string{1: "milk and bread"}, next: 2, profile: "Alice of the office", account: true,
		deletes: deletes}
}

func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	switch {
	case r.URL.Path == "/notes" && r.Method == http.MethodPost:
		b.notes[b.next] = r.FormValue("text")
		b.next++
	case r.URL.Path == "/notes/delete" && b.deletes == "question" && r.Method == http.MethodGet:
		fmt.Fprintf(w, `<form method=post><input type=hidden name=id value=%s><button>Yes, delete it</button></form>`,
			r.FormValue("id"))
		return
	case r.URL.Path == "/notes/delete":
		id, _ := strconv.Atoi(r.FormValue("id"))
		delete(b.notes, id)
	case r.URL.Path == "/account/delete":
		b.account = false
	case r.URL.Path == "/profile" && r.Method == http.MethodPost:
		b.profile = r.FormValue("about")
	case r.URL.Path == "/profile":
		fmt.Fprintf(w, `<div><form method=post><input name=about value="%s"><button>Save</button></form>
			<form method=post action=/account/delete><button>Delete account</button></form></div>`, b.profile)
		return
	case r.URL.Path == "/api/me":
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPut {
			var me struct{ About string }
			_ = json.NewDecoder(r.Body).Decode(&me)
			b.profile = me.About
		}
		fmt.Fprintf(w, `{"id":7,"about":%q}`, b.profile)
		return
	case r.URL.Path == "/api/notes" && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		var rows []string
		for id, text := range b.notes {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"text":%q}`, id, text))
		}
		fmt.Fprintf(w, `{"items":[%s]}`, strings.Join(rows, ","))
		return
	case strings.HasPrefix(r.URL.Path, "/api/notes/") && r.Method == http.MethodDelete:
		id, _ := strconv.Atoi(r.URL.Path[len("/api/notes/"):])
		delete(b.notes, id)
		w.WriteHeader(http.StatusNoContent)
		return
	case strings.HasPrefix(r.URL.Path, "/notes/"):
		id := r.URL.Path[len("/notes/"):]
		n, _ := strconv.Atoi(id)
		fmt.Fprintf(w, `<body><h1>%s</h1><form method=post action=/notes/delete><input type=hidden name=id value=%s>
			<button>Delete</button></form>`, b.notes[n], id)
		return
	}
	fmt.Fprint(w, `<table>`)
	for id := range b.next {
		if text, ok := b.notes[id]; ok {
			fmt.Fprintf(w, `<tr><td>%s<td>%s`, text, b.control(id))
		}
	}
	fmt.Fprint(w, `</table><form method=post action=/notes><input name=text></form>`)
}

func (b *board) control(id int) string {
	switch b.deletes {
	case "row":
		return fmt.Sprintf(`<form method=post action=/notes/delete><input type=hidden name=id value=%d><button>X</button>
			</form>`, id)
	case "question":
		return fmt.Sprintf(`<a href="/notes/delete?id=%d">Remove</a>`, id)
	case "page":
		return fmt.Sprintf(`<a href="/notes/%d">Open</a>`, id)
	}
	return ""
}

type tester struct {
	t      *testing.T
	client *client.Client
	url    string
}

func start(t *testing.T, app http.Handler) *tester {
	t.Helper()
	s := httptest.NewServer(app)
	t.Cleanup(s.Close)
	c := client.New(client.Config{Level: client.Active, Dial: (&net.Dialer{}).DialContext})
	t.Cleanup(c.Close)
	return &tester{t, c, s.URL}
}

func (s *tester) send(method, path string, form ...string) (*message.Request, *message.Response) {
	s.t.Helper()
	r, err := message.New(method, s.url+path)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(form) == 1 {
		r.Body = []byte(form[0])
		r.Header.Set("Content-Type", "application/json")
	}
	if len(form) == 2 {
		r.Body = []byte(url.Values{form[0]: {form[1]}}.Encode())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := s.client.Send(s.t.Context(), r, client.Options{Writes: true, Forced: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return r, answer
}

func (s *tester) page(path string) Page {
	r, answer := s.send(http.MethodGet, path)
	return Page{Request: r, Before: answer}
}

func (s *tester) clean(pages, others []Page) *Result {
	s.t.Helper()
	result, err := Run(s.t.Context(), Config{Client: s.client, Pages: pages, Removals: others, Updates: others})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

func TestNotes(t *testing.T) {
	for _, deletes := range []string{"row", "question", "page"} {
		t.Run(deletes, func(t *testing.T) {
			app := newBoard(deletes)
			s := start(t, app)
			pages := []Page{s.page("/notes")}
			s.send(http.MethodPost, "/notes", "text", "<b>qabcdefghiz</b>")
			s.send(http.MethodPost, "/notes", "text", "1' AND 4=4 -- x")
			app.notes[app.next] = "somebody else wrote this meanwhile"
			app.next++
			result := s.clean(pages, nil)
			if len(app.notes) != 2 || app.notes[1] == "" || app.notes[4] == "" || result.Removed != 2 || len(result.Left) > 0 {
				t.Errorf("%v, %+v", app.notes, result)
			}
		})
	}
}

// Rows whose links change with each session are left alone: which of them are new cannot be told.
func TestLinksThatChange(t *testing.T) {
	views, deleted := 0, false
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		deleted = deleted || strings.HasPrefix(r.URL.Path, "/delete/")
		views++
		text := "milk"
		if views > 1 {
			text = "qabcdefghiz"
		}
		fmt.Fprintf(w, `<ul><li>%s <a href="/delete/%d">Delete</a></li></ul>`, text, 1000+views)
	}))
	result := s.clean([]Page{s.page("/")}, nil)
	if deleted || len(result.Left) != 1 {
		t.Errorf("deleted: %v, %+v", deleted, result)
	}
}

// Objects of an API go by its own request; what has no text of tests stays, though it is new.
func TestObjects(t *testing.T) {
	app := newBoard("")
	s := start(t, app)
	pages := []Page{s.page("/api/notes")}
	removal, err := message.New(http.MethodDelete, s.url+"/api/notes/1")
	if err != nil {
		t.Fatal(err)
	}
	s.send(http.MethodPost, "/notes", "text", "note qabcdefghiz")
	app.notes[app.next] = "somebody else wrote this meanwhile"
	app.next++
	result := s.clean(pages, []Page{{Request: removal}})
	if len(app.notes) != 2 || app.notes[2] != "" || result.Removed != 1 || len(result.Left) > 0 {
		t.Errorf("%v, %+v", app.notes, result)
	}
}

// A profile gets back what it was. The button that deletes the account was there before, and is not used, though what
// tests wrote stands beside it.
func TestProfile(t *testing.T) {
	app := newBoard("")
	s := start(t, app)
	pages := []Page{s.page("/profile")}
	s.send(http.MethodPost, "/profile", "about", "qabcdefghiz")
	result := s.clean(pages, nil)
	if app.profile != "Alice of the office" || !app.account || result.Restored != 1 || len(result.Left) > 0 {
		t.Errorf("%q, account %v, %+v", app.profile, app.account, result)
	}
}

func TestObjectOfAnAPI(t *testing.T) {
	app := newBoard("")
	s := start(t, app)
	pages := []Page{s.page("/api/me")}
	update, _ := s.send(http.MethodPut, "/api/me", `{"about":"x qabcdefghiz"}`)
	result := s.clean(pages, []Page{{Request: update}})
	if app.profile != "Alice of the office" || result.Restored != 1 || len(result.Left) > 0 {
		t.Errorf("%q, %+v", app.profile, result)
	}
}

// What cannot be removed is reported.
func TestLeft(t *testing.T) {
	app := newBoard("")
	s := start(t, app)
	pages := []Page{s.page("/notes"), s.page("/profile")}
	s.send(http.MethodPost, "/notes", "text", "a text of a test")
	result := s.clean(pages, nil)
	if len(result.Left) != 1 || !strings.HasSuffix(result.Left[0], "/notes") || result.Removed != 0 {
		t.Errorf("%+v", result)
	}
	written := s.client.Written()
	if len(written) != 1 || written[0].Requests != 1 || !strings.HasSuffix(written[0].URL, "/notes") {
		t.Errorf("written: %+v", written)
	}
}
