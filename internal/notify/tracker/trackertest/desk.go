// Package trackertest has issue trackers for tests: a desk keeps issues and speaks the API of one provider about them,
// as its public documentation describes it: pages, limits, versions, deleted and closed records. People at the desk
// change issues by the desk's methods, and webhooks about that are made by Hook.
package trackertest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The states of an issue, as internal/notify/tracker names them.
const (
	Open     = "open"
	Progress = "in_progress"
	Done     = "done"
	Declined = "declined"
)

// Issue is an issue at a desk.
type Issue struct {
	ID       string
	Title    string
	Text     string
	Mark     string // of ServiceNow: the correlation id
	Tags     string // of Azure
	State    string
	Final    bool // of ServiceNow: closed for good
	Labels   []string
	Comments []Comment
	Version  int
	Updated  time.Time
	Writes   int // changes of the state through the API
}

// Comment is a comment on an issue.
type Comment struct {
	ID, Author, Text string
	At               time.Time
}

// Desk is a tracker with its issues.
type Desk struct {
	URL      string
	Provider string

	t       testing.TB
	mu      sync.Mutex
	issues  []*Issue
	gone    map[string]bool
	now     func() time.Time
	clock   time.Time
	refuse  []Refusal
	isDown  bool
	lose    int // answers of writes that are lost
	wrong   []string
	Reads   int // requests that changed nothing
	Created int
	Changes int // of states, through the API
	Said    int // comments through the API
	page    int // the longest page of lists
	hookNo  int
}

// Refusal is an answer in place of the right one.
type Refusal struct {
	Status int
	Header map[string]string
	Body   string
}

// face speaks the API of a provider; false: the provider would not understand the request.
type face func(d *Desk, w http.ResponseWriter, r *request) bool

// request is a request with its body.
type request struct {
	*http.Request

	text []byte
	body map[string]any
}

var faces = map[string]face{
	"github": github, "gitlab": gitlab, "jira": jira2, "jira3": jira3, "linear": linear, "azure": azure,
	"servicenow": servicenow, "custom": own,
}

// Providers are the kinds of desks. jira3 is Jira in the cloud.
func Providers() []string { return slices.Sorted(maps.Keys(faces)) }

// New runs a desk until the end of the test.
func New(t testing.TB, provider string) *Desk {
	t.Helper()
	d := &Desk{Provider: provider, t: t, gone: map[string]bool{}, now: time.Now, page: 100}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	d.URL = server.URL
	return d
}

// Config is a reporting configuration for the desk, with more lines of the tracker's settings, such as "comments:
// true".
func (d *Desk) Config(more ...string) string {
	lines := map[string][]string{
		"github":     {"base-url: " + d.URL, "owner: o", "project-name: p", "token: t0ken"},
		"gitlab":     {"base-url: " + d.URL, "project-name: g/p", "token: t0ken"},
		"jira":       {"url: " + d.URL, "email: me@example.com", "token: t0ken", "project-name: P", "issue-type: Bug"},
		"jira3":      {"url: " + d.URL, "email: me@example.com", "token: t0ken", "project-name: P", "api-version: '3'"},
		"linear":     {"base-url: " + d.URL, "api-key: t0ken", "team-id: team-1"},
		"azure":      {"base-url: " + d.URL, "owner: org", "project-name: proj", "token: t0ken"},
		"servicenow": {"url: " + d.URL, "username: bot", "password: t0ken"},
		"custom":     {"url: " + d.URL, "token: t0ken", "sync: true"},
	}[d.Provider]
	return d.Name() + ":\n  " + strings.Join(slices.Concat(lines, more), "\n  ") + "\n"
}

// Name is the name of the provider in a configuration.
func (d *Desk) Name() string { return strings.TrimSuffix(d.Provider, "3") }

// ServeHTTP implements http.Handler.
func (d *Desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isDown {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	if len(d.refuse) > 0 {
		first := d.refuse[0]
		d.refuse = d.refuse[1:]
		for name, value := range first.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(first.Status)
		_, _ = io.WriteString(w, first.Body)
		return
	}
	text, _ := io.ReadAll(r.Body)
	in := &request{r, text, nil}
	_ = json.Unmarshal(text, &in.body)
	before := d.Created + d.Changes + d.Said
	kept := &answer{header: w.Header(), status: http.StatusOK}
	if !faces[d.Provider](d, kept, in) {
		d.wrong = append(d.wrong, r.Method+" "+r.URL.String()+" "+string(text))
		kept.status = http.StatusNotFound
	}
	if before == d.Created+d.Changes+d.Said {
		d.Reads++
	} else if d.lose > 0 {
		d.lose--
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(kept.status)
	_, _ = w.Write(kept.text)
}

// answer keeps an answer, so that it can be lost.
type answer struct {
	header http.Header
	status int
	text   []byte
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { a.text = append(a.text, b...); return len(b), nil }

func write(w http.ResponseWriter, status int, doc any) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded(doc))
	return true
}

// encoded is a document that can be encoded.
func encoded(doc any) []byte {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return text
}

func notFound(w http.ResponseWriter) bool {
	return write(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
}

// find is an issue by its id, nil without.
func (d *Desk) find(id string) *Issue {
	for _, i := range d.issues {
		if i.ID == id {
			return i
		}
	}
	return nil
}

func (d *Desk) touch(i *Issue) {
	d.clock = d.clock.Add(time.Millisecond)
	if now := d.now().UTC(); now.After(d.clock) {
		d.clock = now
	}
	i.Version++
	i.Updated = d.clock.Truncate(time.Millisecond)
}

func (d *Desk) create(id string, i Issue) *Issue {
	d.Created++
	i.ID, i.State = id, Open
	d.issues = append(d.issues, &i)
	d.touch(&i)
	return &i
}

func (d *Desk) next() string { return strconv.Itoa(len(d.issues) + 1) }

// set is a change of the state through the API. One that changes nothing is none.
func (d *Desk) set(i *Issue, state string) {
	if i.State == state {
		return
	}
	i.State = state
	i.Writes++
	d.Changes++
	d.touch(i)
}

func (d *Desk) say(i *Issue, text string) Comment {
	d.Said++
	return d.comment(i, "bot", text)
}

func (d *Desk) comment(i *Issue, author, text string) Comment {
	d.touch(i)
	c := Comment{fmt.Sprint("c", i.ID, "-", len(i.Comments)+1), author, text, i.Updated}
	if d.Provider == "github" || d.Provider == "gitlab" || d.Provider == "azure" {
		c.ID = fmt.Sprint(len(i.Comments)+1, "00", len(i.ID))
	}
	i.Comments = append(i.Comments, c)
	return c
}

// changedSince are the issues that were changed at a time or later, the first ones first.
func (d *Desk) changedSince(since time.Time) []*Issue {
	out := slices.DeleteFunc(slices.Clone(d.issues), func(i *Issue) bool { return i.Updated.Before(since) })
	slices.SortStableFunc(out, func(a, b *Issue) int { return a.Updated.Compare(b.Updated) })
	return out
}

// pageOf is a page of a list, from 1.
func pageOf[T any](list []T, page, size int) []T {
	start := min(max(page-1, 0)*size, len(list))
	return list[start:min(start+size, len(list))]
}
