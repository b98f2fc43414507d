package tracker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// desk is a tracker of some provider: it speaks that provider's API about the issues it
// keeps.
type desk struct {
	url      string
	mu       sync.Mutex
	texts    []string // of issues
	comments int
	refuse   http.HandlerFunc // answers instead, when set
	wrong    []string         // requests that the real service would not understand
}

func (d *desk) answer(w http.ResponseWriter, doc string, args ...any) {
	_, _ = fmt.Fprintf(w, doc, args...)
}

func (d *desk) find(mark string) int {
	for i, text := range d.texts {
		if mark != "" && strings.Contains(text, mark) {
			return i
		}
	}
	return -1
}

var markForm = regexp.MustCompile(`vedette-finding-[0-9a-z]+`)

// serve runs a desk; speak answers one request of its provider.
func serve(
	t *testing.T, speak func(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, text string) bool,
) *desk {
	t.Helper()
	d := &desk{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.refuse != nil {
			d.refuse(w, r)
			return
		}
		text, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(text, &body)
		if !speak(d, w, r, body, string(text)) {
			d.wrong = append(d.wrong, r.Method+" "+r.URL.String()+" "+string(text))
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func githubDesk(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, _ string) bool {
	if r.Header.Get("Authorization") != "Bearer t0ken" {
		return false
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /user":
		d.answer(w, `{"login": "bot"}`)
	case "GET /repos/o/p":
		d.answer(w, `{}`)
	case "GET /search/issues": // lags behind: it knows nothing yet
		d.answer(w, `{"items": []}`)
	case "GET /repos/o/p/issues":
		var list []map[string]any
		for i, text := range d.texts {
			list = append(list, map[string]any{"number": i + 1, "html_url": fmt.Sprint("https://gh/", i+1), "body": text})
		}
		_ = json.NewEncoder(w).Encode(list)
	case "POST /repos/o/p/issues":
		d.texts = append(d.texts, body["body"].(string))
		w.WriteHeader(http.StatusCreated)
		d.answer(w, `{"number": %d, "html_url": "https://gh/%d"}`, len(d.texts), len(d.texts))
	case "POST /repos/o/p/issues/1/comments":
		d.comments++
		w.WriteHeader(http.StatusCreated)
		d.answer(w, `{}`)
	default:
		return false
	}
	return true
}

func gitlabDesk(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, _ string) bool {
	if r.Header.Get("Private-Token") != "t0ken" {
		return false
	}
	switch r.Method + " " + r.URL.EscapedPath() {
	case "GET /api/v4/user":
		d.answer(w, `{"username": "bot"}`)
	case "GET /api/v4/projects/g%2Fp":
		d.answer(w, `{}`)
	case "GET /api/v4/projects/g%2Fp/issues":
		if i := d.find(r.URL.Query().Get("search")); i >= 0 {
			d.answer(w, `[{"iid": %d, "web_url": "https://gl/%d"}]`, i+1, i+1)
		} else {
			d.answer(w, `[]`)
		}
	case "POST /api/v4/projects/g%2Fp/issues":
		d.texts = append(d.texts, body["description"].(string))
		d.answer(w, `{"iid": %d, "web_url": "https://gl/%d"}`, len(d.texts), len(d.texts))
	case "POST /api/v4/projects/g%2Fp/issues/1/notes":
		d.comments++
		d.answer(w, `{}`)
	default:
		return false
	}
	return true
}

func jiraDesk(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, _ string) bool {
	if login, token, _ := r.BasicAuth(); login != "me@example.com" || token != "t0ken" {
		return false
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /rest/api/2/myself":
		d.answer(w, `{"displayName": "bot"}`)
	case "GET /rest/api/2/project/P":
		d.answer(w, `{}`)
	case "POST /rest/api/2/search":
		if i := d.find(markForm.FindString(body["jql"].(string))); i >= 0 {
			d.answer(w, `{"issues": [{"key": "P-%d"}]}`, i+1)
		} else {
			d.answer(w, `{"issues": []}`)
		}
	case "POST /rest/api/2/issue":
		fields := body["fields"].(map[string]any)
		d.texts = append(d.texts, fields["description"].(string))
		d.answer(w, `{"key": "P-%d"}`, len(d.texts))
		return fields["issuetype"].(map[string]any)["name"] == "Bug" && fields["customfield_1"] == "x"
	case "POST /rest/api/2/issue/P-1/comment":
		d.comments++
		d.answer(w, `{}`)
	default:
		return false
	}
	return true
}

func linearDesk(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, text string) bool {
	query, ok := body["query"].(string)
	if !ok || r.URL.Path != "/graphql" || r.Header.Get("Authorization") != "t0ken" {
		return false
	}
	input, _ := body["variables"].(map[string]any)["input"].(map[string]any)
	switch {
	case strings.Contains(query, "viewer"):
		d.answer(w, `{"data": {"viewer": {"name": "bot"}}}`)
	case strings.Contains(query, "issues("):
		if i := d.find(markForm.FindString(text)); i >= 0 {
			d.answer(w, `{"data": {"issues": {"nodes": [{"id": "L%d", "url": "https://ln/%d"}]}}}`, i+1, i+1)
		} else {
			d.answer(w, `{"data": {"issues": {"nodes": []}}}`)
		}
	case strings.Contains(query, "issueCreate"):
		d.texts = append(d.texts, input["description"].(string))
		d.answer(w, `{"data": {"issueCreate": {"success": true, "issue": {"id": "L%d", "url": "https://ln/%d"}}}}`,
			len(d.texts), len(d.texts))
		return input["stateId"] == "s"
	case strings.Contains(query, "commentCreate"):
		d.comments++
		d.answer(w, `{"data": {"commentCreate": {"success": true}}}`)
		return input["issueId"] == "L1"
	default:
		return false
	}
	return true
}

func customDesk(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, _ string) bool {
	switch body["action"] {
	case "verify":
	case "find":
		if i := d.find(body["mark"].(string)); i >= 0 {
			d.answer(w, `{"id": "c%d", "url": "https://cu/%d"}`, i+1, i+1)
		}
	case "open":
		d.texts = append(d.texts, body["text"].(string))
		d.answer(w, `{"id": "c%d", "url": "https://cu/%d"}`, len(d.texts), len(d.texts))
	case "comment":
		d.comments++
	default:
		return false
	}
	return r.Header.Get("X-Own") == "y"
}

var desks = map[string]struct {
	speak  func(d *desk, w http.ResponseWriter, r *http.Request, body map[string]any, text string) bool
	config string // @ stands for the desk's address
	issue  string
}{
	"github": {githubDesk, "github: {base-url: '@', owner: o, project-name: p, token: t0ken, severity-as-label: true}",
		"1 https://gh/1"},
	"gitlab": {gitlabDesk, "gitlab: {base-url: '@/', project-name: g/p, token: t0ken}", "1 https://gl/1"},
	"jira":   {jiraDesk, "jira: {url: '@', email: me@example.com, token: t0ken, project-name: P, issue-type: Bug, custom-fields: {customfield_1: x}}", "P-1 @/browse/P-1"},
	"linear": {linearDesk, "linear: {base-url: '@', api-key: t0ken, team-id: t, open-state-id: s}", "L1 https://ln/1"},
	"custom": {customDesk, "custom: {url: '@', headers: {X-Own: y}}", "c1 https://cu/1"},
}

func filer() *Filer {
	return New(&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

var sample = Finding{
	Hash: "0123abc", Title: "Open ```door", Severity: "high", MatchedAt: "http://h/`x`", TemplateID: "door",
	Description: "Tell @everyone",
	Request:     "GET / HTTP/1.1\n", Response: "HTTP/1.1 200 OK\n\n```\n@admin <script>\x00\n```",
}

// On every provider a finding is filed once, whatever happened to our record of it.
func TestOneIssueAFinding(t *testing.T) {
	for name, c := range desks {
		t.Run(name, func(t *testing.T) {
			d := serve(t, c.speak)
			text := []byte(strings.ReplaceAll(c.config, "@", d.url))
			config, err := Parse([]byte(strings.ReplaceAll(strings.ReplaceAll(c.config, "me@example.com", "me\x01example.com"),
				"@", d.url)))
			if strings.Contains(c.config, "me@") {
				text = []byte(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(c.config, "me@example.com", "ME"), "@",
					d.url), "ME", "me@example.com"))
				config, err = Parse(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			tracker := config.Trackers[0]
			if ok, said := filer().Verify(t.Context(), text); !ok || !strings.Contains(said, name+" knows us as") {
				t.Error(said)
			}
			first, err := filer().File(t.Context(), tracker, sample, nil, false)
			if want := strings.ReplaceAll(c.issue, "@", d.url); err != nil || first.ID+" "+first.URL != want {
				t.Fatalf("%+v %v, want %s", first, err, want)
			}
			for range 2 { // our record of it was lost
				if again, err := filer().File(t.Context(), tracker, sample, nil, false); err != nil || again != first {
					t.Errorf("%+v %v", again, err)
				}
			}
			if again, err := filer().File(t.Context(), tracker, sample, &first, true); err != nil || again != first {
				t.Errorf("%+v %v", again, err)
			}
			other := sample
			other.Hash = "fff"
			if second, err := filer().File(t.Context(), tracker, other, nil, false); err != nil || second == first {
				t.Errorf("%+v %v", second, err)
			}
			if len(d.texts) != 2 || d.comments != 1 || len(d.wrong) != 0 {
				t.Errorf("%d issues, %d comments, not understood: %q", len(d.texts), d.comments, d.wrong)
			}
			d.refuse = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `{"message": "slow down, t0ken"}`)
			}
			_, err = filer().File(t.Context(), tracker, other, nil, false)
			if wait, retry := apiclient.RetryAfter(err); wait != 3*time.Second || !retry || name != "custom" &&
				strings.Contains(err.Error(), "t0ken") {
				t.Errorf("refused: %v, wait %v, retry %v", err, wait, retry)
			}
			if ok, said := filer().Verify(t.Context(), text); ok || !strings.Contains(said, "429") {
				t.Error(said)
			}
		})
	}
}

// What comes from targets stays inside its code, and calls nobody.
func TestTextIsFenced(t *testing.T) {
	text := Tracker{}.text(sample)
	for _, want := range []string{"\n````\nHTTP/1.1 200 OK\n\n```\n@admin <script>\n```\n````\n", "`` http://h/`x` ``",
		"@\u200beveryone", "vedette-finding-0123abc\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	large := sample
	large.Description = strings.Repeat("é", 40_000)
	if text := (Tracker{}).text(large); len(text) > maxText+100 || !strings.HasSuffix(text, mark(large.Hash)+"\n") {
		t.Errorf("%d bytes, and the end is %q", len(text), text[len(text)-30:])
	}
	if got := title(Finding{Title: "a\nb" + strings.Repeat("x", 300)}); strings.Contains(got, "\n") ||
		len([]rune(got)) != 200 {
		t.Errorf("%q", got)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                                       "not a mapping",
		"markdown: {directory: x}":                 "names no tracker",
		"github: {owner: o, token: t}":             "project-name is needed",
		"linear: {team-id: t}":                     "api-key is needed",
		"custom: {url: 'ftp://x'}":                 "http or https URL",
		"github: {owner: [o]}":                     "not of its type",
		"jira: {}\ngithub: {}\ncustom: {}":         "custom: url is needed", // of several mistakes always the same
		"custom: {url: 'http://x'}\nallow-list: 5": "allow-list",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	c, err := Parse([]byte("allow-list: {severity: [high]}\ncustom: {url: 'http://x'}\nlinear: {api-key: k, team-id: t, allow-list: {severity: [low]}, deny-list: {severity: [low]}}"))
	if err != nil || c.Provider() != "custom,linear" || !c.Trackers[0].Wants("high") || c.Trackers[0].Wants("low") ||
		c.Trackers[1].Wants("low") || c.Trackers[1].BaseURL != "https://api.linear.app" {
		t.Errorf("%+v %v", c, err)
	}
}

func FuzzBlock(f *testing.F) {
	f.Add("```\n", "a `` b")
	f.Add("\xff\x00", strings.Repeat("`", 500))
	f.Fuzz(func(t *testing.T, body, line string) {
		fenced := block(body)
		if body != "" {
			fence, _, _ := strings.Cut(fenced, "\n")
			inner := strings.TrimSuffix(strings.TrimPrefix(fenced, fence+"\n"), "\n"+fence)
			if strings.Contains(inner, fence) {
				t.Errorf("%q ends its fence: %q", body, fenced)
			}
		}
		if span := code(line); strings.Contains(span, "\n") || span != "" &&
			strings.Contains(strings.Trim(span, "`"), strings.Repeat("`", longest(line)+1)) {
			t.Errorf("%q: %q", line, span)
		}
	})
}
