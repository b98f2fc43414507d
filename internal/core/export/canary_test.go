package export

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The canaries: secrets that no file may have. Each is followed by what tells where it stood.
const (
	session  = "s%3ACANARYsession0123456789/+="
	password = "CANARYpassword-77"

	otherSession = "CANARYother5566778899" // in the request of a comparison alone
	apiKey       = "CANARYapikey998877"
	teamKey      = "CANARY team key +/ 5544"
	jwt          = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.Q0FOQVJZQ0FOQVJZ"
	cloud        = "AKIACANARYCANARY1234"
)

// canaries are the secrets and what is left of them in other spellings.
func canaries() []string {
	return []string{"CANARY", "eyJzdWIiOiJDQU5BUlkifQ", base64.StdEncoding.EncodeToString([]byte(session))[:30],
		base64.StdEncoding.EncodeToString([]byte("x" + session))[4:30], url.QueryEscape(session)[:20], "Q0FOQVJZQ0FOQVJZ"}
}

// leak is an event with a secret in every member that an export shows.
func leak() engine.Event {
	secrets := "https://a.example.com/x?access_token=" + apiKey + "&back=" + url.QueryEscape(session)
	return engine.Event{
		TemplateID: "leak", Host: "a.example.com", Port: "443", Type: "http", MatcherStatus: true, MatchedAt: secrets, Path: "/x",
		CurlCommand:      "curl -H 'Cookie: sid=" + session + "' -H 'Authorization: Bearer " + jwt + "' '" + secrets + "'",
		ExtractedResults: []string{session, "password=" + password, cloud, teamKey},
		Request: "POST /x?access_token=" + apiKey + " HTTP/1.1\r\nHost: a.example.com\r\nCookie: sid=" + session + "; theme=dark\r\nAuthorization: Bearer " + jwt +
			"\r\nX-CSRF-Token: " + apiKey + "\r\n\r\nuser=a&password=" + password,
		Response: "HTTP/1.1 200 OK\r\nSet-Cookie: sid=" + session + "; Path=/\r\n\r\nyou are " + session + " or " + url.QueryEscape(session) + " or " +
			base64.StdEncoding.EncodeToString([]byte(session)) + " or " + base64.StdEncoding.EncodeToString([]byte("x"+session)) + "\n" +
			`{"password":"` + password + `","key":"` + cloud + `","team":"` + teamKey + `"}` + "\n-----BEGIN PRIVATE KEY-----\nCANARYCANARY\n-----END PRIVATE KEY-----\nPROOF of the leak\n",
		Info: syntax.Info{Name: "A leak", Severity: "high", Description: "It leaks."},
		Compared: []engine.Compared{{Note: "the other one", Request: "GET /y HTTP/1.1\r\nCookie: sid=" + otherSession + "\r\n\r\n",
			Response: "HTTP/1.1 404 Not Found\r\n\r\nnothing for " + otherSession + " or " + session + "\n"}},
	}
}

// textOf is what a reader of a file sees.
func textOf(t *testing.T, format Format, file []byte) string {
	t.Helper()
	switch format {
	case PDF:
		text, _ := pdfText(t, file)
		return strings.Join(strings.Fields(text), "")
	case DOCX:
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&all, r); err != nil {
				t.Fatal(err)
			}
		}
		return strings.Join(strings.Fields(regexp.MustCompile("<[^>]*>").ReplaceAllString(strings.ReplaceAll(all.String(), "\u200b", ""), "")), "")
	default:
		return string(file)
	}
}

// TestNoSecretLeaves: no file of any format has a secret, of a scan, of a task or of a team; what is stored keeps
// them.
func TestNoSecretLeaves(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		if _, err := r.from.Secrets.Create(r.alice, secret.NewSecret{Name: "TEAM_KEY", Value: teamKey}); err != nil {
			t.Fatal(err)
		}
		r.add(t, "s", leak())
		id := r.task(t, leak())
		for _, format := range OfFinding {
			for name, request := range map[string]Request{"findings": {Format: format}, "task": {Format: format, TaskID: id}} {
				text := textOf(t, format, r.file(t, request))
				if !strings.Contains(text, "[masked:") && format != CSAF { // it names no place within a product
					t.Errorf("%s of %s: nothing is masked", format, name)
				}
				for _, canary := range canaries() {
					if strings.Contains(text, canary) {
						at := strings.Index(text, canary)
						t.Errorf("%s of %s: %q in %q", format, name, canary, text[max(0, at-80):min(len(text), at+60)])
					}
				}
				if format.IsReport() && !strings.Contains(strings.ReplaceAll(text, " ", ""), "404NotFound") {
					t.Errorf("%s of %s: what it was compared with is left out", format, name)
				}
				if name == "findings" && format.IsReport() && strings.Count(strings.ReplaceAll(text, " ", ""), "Aleak") < 2 {
					t.Errorf("%s: the report of the team leaves out what tasks found", format)
				}
				request.Unmasked = true
				if format == CycloneDX || format == OpenVEX || format == CSAF { // no evidence is in them
					continue
				}
				if text := textOf(t, format, r.file(t, request)); !strings.Contains(text, "CANARY") {
					t.Errorf("%s of %s: the secrets are masked although they were asked for", format, name)
				}
			}
		}
		// What is stored is as it was.
		found, _, err := r.from.Findings.FindAll(r.alice, finding.Filter{}, nil, pageOf(1))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		one, err := r.from.Findings.Find(r.alice, found[0].ID)
		if err != nil || !strings.Contains(one.Event.Request, session) || !strings.Contains(one.Event.Response, password) {
			t.Errorf("the evidence has changed: %v, %q", err, one.Event.Request)
		}
	})
}

// TestMaskedJSONIsJSON: what a masked export holds is the finding, but for its secrets.
func TestMaskedJSONIsJSON(t *testing.T) {
	r := setUp(t, dbtest.Open(t, "sqlite"))
	r.add(t, "s", leak())
	var all []struct {
		Event struct {
			Request, Response string
			Compared          []engine.Compared
			Extracted         []string `json:"extracted-results"`
		}
	}
	if err := json.Unmarshal(r.file(t, Request{Format: JSON}), &all); err != nil || len(all) != 1 {
		t.Fatal(err)
	}
	e := all[0].Event
	for _, want := range []string{"POST /x?access_token=[masked:18:", "Cookie: sid=[masked:30:", "theme=[masked:4:", "Authorization: Bearer [masked:",
		"user=a&password=[masked:17:"} {
		if !strings.Contains(e.Request, want) {
			t.Errorf("%q is not in %q", want, e.Request)
		}
	}
	if len(e.Extracted) != 4 || !strings.HasPrefix(e.Extracted[0], "[masked:30:") || !strings.Contains(e.Response, "PROOF of the leak") {
		t.Errorf("%+v", e)
	}
	if len(e.Compared) != 1 || !strings.Contains(e.Compared[0].Request, "Cookie: sid=[masked:21:") ||
		!strings.HasPrefix(e.Compared[0].Response, "HTTP/1.1 404") {
		t.Errorf("compared with %+v", e.Compared)
	}
	// Equal values have one tag.
	tag := regexp.MustCompile(`sid=(\[masked:[^\]]*\])`)
	if a, b := tag.FindStringSubmatch(e.Request), tag.FindStringSubmatch(e.Response); a == nil || b == nil || a[1] != b[1] {
		t.Errorf("%v, %v", a, b)
	}
}

// TestOnlyMembersSeeSecrets: who reads only gets masked files.
func TestOnlyMembersSeeSecrets(t *testing.T) {
	r := setUp(t, dbtest.Open(t, "sqlite"))
	r.add(t, "s", leak())
	c, err := account.From(r.alice)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []account.Role{account.Viewer, account.Guest} {
		c.Role = role
		ctx := account.WithCaller(t.Context(), c)
		if _, err := r.Open(ctx, Request{Format: JSON, Unmasked: true}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s: %v", role, err)
		}
		if _, err := r.Start(ctx, Request{Format: JSON, Unmasked: true}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s: %v", role, err)
		}
		if _, err := r.Open(ctx, Request{Format: JSON}); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// task makes a task of alice's that found events, and ends it.
func (r room) task(t testing.TB, events ...engine.Event) string {
	t.Helper()
	made, err := r.from.Tasks.Create(r.alice, task.NewTask{Instruction: "Look for leaks on https://a.example.com but not its shop"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := r.from.Tasks.Start(r.alice, task.RunArgs{TaskID: made.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if _, err := run.StoreMatch(r.alice, "https://"+e.Host, e); err != nil {
			t.Fatal(err)
		}
	}
	pending, err := run.PendingIssues(r.alice)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range pending {
		if err := run.Confirm(r.alice, i, task.Confirmation{Last: i.Event, Confirmed: 2, Tried: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Conclude(r.alice, task.Ending{Status: task.Completed}); err != nil {
		t.Fatal(err)
	}
	return made.ID
}
