package jobs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// memberSite is an application with a login, whose weak page only members see; another weak call is in no link.
func memberSite(repaired *atomic.Bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		say := func(text string) string {
			if repaired.Load() {
				return html.EscapeString(text)
			}
			return text
		}
		cookie, _ := r.Cookie("sid")
		in := cookie != nil && cookie.Value == "of-alice"
		switch {
		case r.URL.Path == "/login" && r.Method == http.MethodPost:
			if r.FormValue("user") != "alice" || r.FormValue("password") != "correct horse" {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, "Wrong password. "+`<form method=post action=/login><input name=user><input type=password name=password></form>`)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "of-alice", Path: "/"})
			http.Redirect(w, r, "/", http.StatusFound)
		case r.URL.Path == "/described":
			fmt.Fprintf(w, "<p>Item %s</p>", say(r.FormValue("item")))
		case !in && r.URL.Path != "/login" && r.URL.Path != "/":
			http.Redirect(w, r, "/login", http.StatusFound)
		case !in:
			fmt.Fprint(w, `<form method=post action=/login><input name=user><input type=password name=password></form>`)
		case r.URL.Path == "/":
			fmt.Fprint(w, `Hello alice <a href="/hello?name=you">hello</a> <a href="/logout">Log out</a>`)
		case r.URL.Path == "/hello":
			fmt.Fprintf(w, "<p>Hello %s</p> <a href=/logout>Log out</a>", say(r.FormValue("name")))
		default:
			http.NotFound(w, r)
		}
	}
}

// A scan logs in as it was told, tests what a document describes, and tests again as the user; a login that fails is
// said, and what anyone can see is tested all the same.
func TestScanOfAnApplicationWithUsers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var repaired atomic.Bool
		base, _ := site(t, memberSite(&repaired))
		o := open(t, d)
		run := func(password string) (found []finding.Finding, cell scan.Cell) {
			made, err := o.scans.Create(o.ctx, scan.NewScan{
				Config: scan.Config{Type: scan.Web, Targets: []string{base}},
				Web: &webapp.Options{
					Users: []webapp.User{{Username: "alice", Password: password}},
					Descriptions: []webapp.Description{{Name: "openapi.json", Contents: `{"openapi": "3.0.0", "info": {"title": "x", "version": "1"},
						"paths": {"/described": {"get": {"parameters": [{"name": "item", "in": "query", "schema": {"type": "string"}}],
						"responses": {"200": {"description": "an item"}}}}}}`}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if done := o.scanEnds(t, made.ID); done.Status != scan.Finished {
				t.Fatalf("%+v", done)
			}
			for _, f := range o.found(t, finding.Filter{ScanIDs: []string{made.ID}}) {
				if f.TemplateID == "webtest-xss-reflected" {
					found = append(found, f)
				}
			}
			for _, state := range []engine.State{engine.Tested, engine.Failed} {
				c, err := o.scans.FindCoverage(o.ctx, made.ID, scan.CoverageFilter{State: state}, page.Window{Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				if len(c.Cells) == 1 {
					return found, c.Cells[0]
				}
			}
			t.Fatal("the coverage is empty")
			return nil, cell
		}
		found, cell := run("wrong")
		if cell.State != engine.Failed || !strings.HasPrefix(cell.Reason, "the login failed: ") || len(found) != 1 ||
			!strings.Contains(found[0].Event.MatchedAt, "/described") {
			t.Errorf("with a wrong password: %+v, %d findings", cell, len(found))
		}
		found, cell = run("correct horse")
		var weak *finding.Finding
		for i, f := range found {
			if strings.Contains(f.Event.MatchedAt, "/hello") {
				weak = &found[i]
			}
		}
		if cell.State != engine.Tested || len(found) != 2 || weak == nil {
			t.Fatalf("as alice: %+v, %d findings", cell, len(found))
		}
		if text := weak.Event.Request + weak.Event.Response + weak.TemplateEncoded; strings.Contains(text, "correct horse") {
			t.Errorf("the finding shows the password: %s", text)
		}
		for _, want := range []finding.RetestState{finding.Matched, finding.NotMatched} {
			repaired.Store(want == finding.NotMatched)
			if _, err := o.findings.QueueRetest(o.ctx, weak.ID, nil); err != nil {
				t.Fatal(err)
			}
			var got finding.Retest
			until(t, "the retest", func() (ended bool) {
				var err error
				_, got, err = o.findings.FindRetest(o.ctx, weak.ID)
				return err != nil || got.State != finding.RetestQueued
			})
			if got.State != want {
				t.Errorf("retest %+v, want %s", got, want)
			}
		}
	})
}

// A finding of the login shows no password: neither its request nor the proof that is kept with it.
func TestSightingsOfApplicationsShowNoSecret(t *testing.T) {
	web := webapp.Options{Users: []webapp.User{{Username: "alice", Password: "correct horse"}}}
	hide, fill := web.Replacers()
	s := webSite{web: web, hide: hide, target: "http://shop.example/"}
	r, err := message.New(http.MethodPost, "http://shop.example/login")
	if err != nil {
		t.Fatal(err)
	}
	r.Body = []byte("user=alice&password=correct+horse")
	text := `{"steps": [{"request": "POST http://shop.example/login", "body": "user=alice&password=correct+horse"}]}`
	var program proof.Program
	if err := json.Unmarshal([]byte(text), &program); err != nil {
		t.Fatal(err)
	}
	program.About = "alice with correct horse"
	seen := s.sighting(webtest.Finding{Check: "x", Request: r, Proof: &program,
		Evidence: []kit.Evidence{{Request: r, Response: &message.Response{Request: r, Body: []byte("hello correct horse")}}}})
	kept, err := base64.StdEncoding.DecodeString(seen.TemplateEncoded)
	if err != nil || len(kept) == 0 {
		t.Fatal(err)
	}
	all := seen.Event.Request + seen.Event.Response + string(kept)
	if strings.Contains(all, "correct horse") || strings.Contains(all, "correct+horse") || !strings.Contains(all, "{{web_options.users[0].password") {
		t.Errorf("it shows the password: %s", all)
	}
	var again proof.Program
	if err := json.Unmarshal([]byte(fill.Replace(string(kept))), &again); err != nil || again.About != program.About {
		t.Errorf("it cannot be put back: %+v, %v", again, err)
	}
}

// The levels that a scan may name are those of the tester: one that it did not know would be "safe" without a word.
func TestLevelsOfScansOfApplications(t *testing.T) {
	for i, name := range webapp.Levels {
		if level, known := client.ParseLevel(name); !known || level != client.Level(i) || level.String() != name {
			t.Errorf("%s is %s, %t", name, level, known)
		}
	}
	if last := client.Level(len(webapp.Levels) - 1); last != client.Intrusive {
		t.Errorf("the last level is %s", last)
	}
}
