package technique

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// only is a check with one set.
func only(s *Set) kit.Check {
	c := kit.Check{ID: s.Class, Class: s.Class}.Describe()
	own := []*Set{s}
	return kit.Check{ID: s.Class, Class: s.Class, Place: checkPlace(&c, own)}
}

func start(t *testing.T, test Test) (*kittest.Lab, *kit.Target) {
	t.Helper()
	lab := kittest.New(t, serve(t, test.App))
	lab.World.Took = func(r *message.Response) time.Duration {
		slept, _ := strconv.ParseFloat(r.Header.Get("X-Slept"), 64)
		return time.Duration(slept*float64(time.Second)) + 20*time.Millisecond
	}
	value := test.Value
	if value == "" {
		value = "2"
	}
	pair := url.Values{"q": {value}}.Encode()
	if test.Method == http.MethodPost {
		return lab, lab.Target(t, test.Method, "/login", pair)
	}
	return lab, lab.Target(t, http.MethodGet, "/find?"+pair, "")
}

// Each set shows what its tests say, on small applications, and is silent at the look-alikes.
func TestSets(t *testing.T) {
	for _, s := range sets() {
		for _, test := range s.Tests {
			t.Run(s.ID+"/"+test.App, func(t *testing.T) {
				lab, target := start(t, test)
				found := slices.DeleteFunc(lab.Run(t, only(s), target),
					func(f kit.Finding) bool { return f.Check == verbose.ID })
				switch {
				case test.Want == "none" && len(found) > 0:
					t.Fatalf("reports %s", kittest.Titles(found))
				case test.Want == "none":
					return
				case len(found) != 1:
					t.Fatalf("%d findings, want 1", len(found))
				}
				f := found[0]
				if string(f.Confidence) != test.Want {
					t.Errorf("%s, want %s: %s", f.Confidence, test.Want, f.Payload)
				}
				if f.Variant != test.By {
					t.Errorf("by %q (%s), want %q", f.Variant, f.Payload, test.By)
				}
				if len(f.Evidence) == 0 || f.CWE == 0 || f.Impact == "" || f.Remediation == "" || len(f.OWASP) == 0 {
					t.Errorf("the finding lacks something: %+v", f)
				}
				holds(t, lab, f)
			})
		}
	}
}

// holds runs the proof of a finding.
func holds(t *testing.T, lab *kittest.Lab, f kit.Finding) {
	t.Helper()
	runner := proof.Runner{Send: func(ctx context.Context, r *message.Request, o client.Options) (*message.Response, error) {
		answer, err := lab.World.Client.Send(ctx, r, o)
		if err == nil {
			answer.Took = lab.World.Duration(answer)
		}
		return answer, err
	}}
	out, err := runner.Run(t.Context(), f.Proof)
	if err != nil || !out.Holds {
		t.Errorf("the proof does not hold: %s, %v", out.Failed, err)
	}
}

// What is sent to a database that computes changes no value: the statements bring the rows that they did.
func TestWorkChangesNothing(t *testing.T) {
	for _, s := range sets() {
		if s.Technique != "work" {
			continue
		}
		for _, p := range s.Payloads {
			app, value := "sqlite-string", "2"
			if p.Values == "number" {
				app = "sqlite-number"
			}
			o := probe{value: value}
			p.rate = 1
			if got := apps[app](o.fill(p.Text, draw(), p.waiting(time.Second)...)); !strings.Contains(got, "<td>bob</td>") ||
				strings.Count(got, "<tr>") != 1 {
				t.Errorf("%s: %s", p.ID, got)
			}
		}
	}
}

// A clean place costs no more than its set says, wherever the value is shown.
func TestBudgets(t *testing.T) {
	for _, s := range sets() {
		for _, app := range []string{"escaped-echo", "bound", "firewall"} {
			for _, value := range []string{"2", "a.txt", "word"} {
				lab, target := start(t, Test{App: app, Value: value})
				lab.Run(t, only(s), target)
				base := int64(1 + 2 + 2) // the target, its Base, its Reaction
				if s.Technique == "time" || s.Technique == "work" {
					base += 5
				}
				if sent := lab.Sent.Load() - base; sent > int64(s.Budget) {
					t.Errorf("%s: %d requests for a clean place (%s, %s), its budget is %d", s.ID, sent, app, value, s.Budget)
				}
			}
		}
	}
}

// A place that the page does not depend on costs nothing but what is blind.
func TestPlacesWithoutEffect(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<p>hello")) }))
	target := lab.Target(t, http.MethodGet, "/?q=2", "")
	for _, c := range Checks() {
		if found := lab.Run(t, c, target); len(found) > 0 {
			t.Errorf("reports %s", kittest.Titles(found))
		}
	}
	total := lab.Sent.Load()
	if total > 50 {
		t.Errorf("%d requests for a place without effect", total)
	}
	t.Logf("%d requests for a place without effect, all classes", total)
}

// The example of the documentation is a set.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/contribute/web-checks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	s, err := readSet([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range []string{"want: none", "technique: compute", "id: guillemets", "class: template-injection"} {
		if _, err := readSet([]byte(strings.Replace(example, broken, "want: maybe", 1))); err == nil {
			t.Errorf("a set without %q is accepted", broken)
		}
	}
	if _, err := readSet([]byte(strings.Replace(example, "    tells", `    expect: "{a}{b}"`+"\n    tells", 1))); err == nil {
		t.Error("a result that remains of its text is accepted")
	}
	lab, target := start(t, s.Tests[0])
	if found := lab.Run(t, only(s), target); len(found) != 0 {
		t.Errorf("reports %s", kittest.Titles(found))
	}
}

// Where any word breaks a statement, as between its words, the message is found beside the injection all the same.
func TestMessagesOfWords(t *testing.T) {
	for app, c := range map[string]struct {
		value string
		want  int
	}{"sqlite-direction": {"asc", 1}, "sqlite-offset": {"1", 1}, "sqlite-order": {"name", 0}, "bound": {"1", 0}} {
		lab, target := start(t, Test{App: app, Value: c.value})
		var got int
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "sql-injection"), target) {
			if f.Check == verbose.ID {
				got++
				holds(t, lab, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: %d messages, want %d", app, got, c.want)
		}
	}
}

// The message of a database beside an injection is a finding of its own; one that is always there, or that a check of
// inputs writes, is none.
func TestMessagesBesideInjections(t *testing.T) {
	for app, want := range map[string]int{"mysql-message": 1, "fixed-message": 0, "validator-message": 0} {
		for _, s := range sets() {
			if s.ID != "sql-error" {
				continue
			}
			lab, target := start(t, Test{App: app})
			var got int
			for _, f := range lab.Run(t, only(s), target) {
				if f.Check == verbose.ID {
					got++
					holds(t, lab, f)
				}
			}
			if got != want {
				t.Errorf("%s: %d messages, want %d", app, got, want)
			}
		}
	}
}

// A picture that an application reads by a name in the address is tested as any page is; one whose parameter is a version
// is a file, and is not.
func TestPicturesByName(t *testing.T) {
	for value, want := range map[string]int{"sea.svg": 1, "12": 0} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := strings.ReplaceAll(r.FormValue("q"), "../", "")
			w.Header().Set("Content-Type", "image/svg+xml")
			if name != value {
				w.Header().Set("Content-Type", "application/octet-stream")
			}
			if path.Join("/srv/pictures", name) == "/etc/passwd" {
				fmt.Fprint(w, "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n")
			} else if name == value {
				fmt.Fprint(w, "<svg/>")
			}
		}))
		var set *Set
		for _, s := range sets() {
			if s.ID == "path-unix" {
				set = s
			}
		}
		if found := lab.Run(t, only(set), lab.Target(t, http.MethodGet, "/img?q="+value, "")); len(found) != want {
			t.Errorf("%s: %s, want %d", value, kittest.Titles(found), want)
		}
	}
}
