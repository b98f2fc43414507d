package tracker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
)

func filer() *Filer {
	return New(&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
}

var sample = Finding{
	Hash: "0123abc", Title: "Open ```door", Severity: "high", MatchedAt: "http://h/`x`", TemplateID: "door",
	Description: "Tell @everyone",
	Request:     "GET / HTTP/1.1\n", Response: "HTTP/1.1 200 OK\n\n```\n@admin <script>\x00\n```",
}

func configured(t *testing.T, d *trackertest.Desk, more ...string) Tracker {
	t.Helper()
	config, err := Parse([]byte(d.Config(more...)))
	if err != nil {
		t.Fatal(err)
	}
	return config.Trackers[0]
}

// each runs a test at a desk of each provider, all of whose requests must be understood.
func each(t *testing.T, more []string, fn func(t *testing.T, d *trackertest.Desk, tr Tracker)) {
	t.Helper()
	for _, provider := range trackertest.Providers() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			d := trackertest.New(t, provider)
			fn(t, d, configured(t, d, more...))
			if wrong := d.Wrong(); len(wrong) > 0 {
				t.Errorf("not understood: %q", wrong)
			}
		})
	}
}

func opened(t *testing.T, tr Tracker, f Finding) Issue {
	t.Helper()
	issue, err := filer().Open(t.Context(), tr, f)
	if err != nil || issue.ID == "" || !netguard.IsWebURL(issue.URL) {
		t.Fatalf("%+v %v", issue, err)
	}
	return issue
}

// On every provider an issue is found again by its finding's hash, whatever happened to our record of it.
func TestOneIssueAFinding(t *testing.T) {
	each(t, []string{"severity-as-label: true"}, func(t *testing.T, d *trackertest.Desk, tr Tracker) {
		if ok, said := filer().Verify(t.Context(), []byte(d.Config())); !ok || !strings.Contains(said, d.Name()+" knows us as") {
			t.Error(said)
		}
		if none, err := filer().Find(t.Context(), tr, sample.Hash); err != nil || none.ID != "" {
			t.Errorf("%+v %v", none, err)
		}
		first := opened(t, tr, sample)
		if again, err := filer().Find(t.Context(), tr, sample.Hash); err != nil || again != first {
			t.Errorf("%+v %v, want %+v", again, err, first)
		}
		other := sample
		other.Hash = "fff"
		other.Response = "vedette-finding-0123abc and vedette-finding-eee" // a target's lie
		if second := opened(t, tr, other); second == first {
			t.Errorf("%+v", second)
		}
		if lie, err := filer().Find(t.Context(), tr, "eee"); err != nil || lie.ID != "" {
			t.Errorf("a target has named its issue: %+v %v", lie, err)
		}
		if list := d.Issues(); len(list) != 2 || !strings.Contains(list[0].Title, "[high]") ||
			!strings.Contains(list[0].Text, "Tell @\u200beveryone") {
			t.Errorf("%+v", list)
		}
		for _, refusal := range []struct {
			with  trackertest.Refusal
			wait  time.Duration
			again bool
		}{
			{trackertest.Refusal{Status: 429, Header: map[string]string{"Retry-After": "3"}, Body: `{"message": "slow down, t0ken"}`}, 3 * time.Second, true},
			{trackertest.Refusal{Status: 401, Body: `{"message": "who is t0ken"}`}, 0, false},
			{trackertest.Refusal{Status: 502, Body: "<html>"}, 0, true},
		} {
			d.Refuse(refusal.with)
			_, err := filer().Get(t.Context(), tr, first)
			if wait, again := apiclient.RetryAfter(err); wait != refusal.wait || again != refusal.again ||
				strings.Contains(err.Error(), "t0ken") {
				t.Errorf("refused: %v, wait %v, again %v", err, wait, again)
			}
		}
		d.Refuse(trackertest.Refusal{Status: 429})
		if ok, said := filer().Verify(t.Context(), []byte(d.Config())); ok || !strings.Contains(said, "429") {
			t.Error(said)
		}
	})
}

// From every state to every other, in one write, and the same state as people give it.
func TestStates(t *testing.T) {
	all := []State{Open, Progress, Done, Declined}
	each(t, nil, func(t *testing.T, d *trackertest.Desk, tr Tracker) {
		for _, from := range all {
			for _, to := range all {
				f := sample
				f.Hash = string(from) + string(to)
				issue := opened(t, tr, f)
				d.Move(issue.ID, string(from))
				now, err := filer().Get(t.Context(), tr, issue)
				if err != nil || now.State != from || now.Issue != issue || now.Version == "" {
					t.Fatalf("%s: %+v %v", from, now, err)
				}
				if d.Provider == "servicenow" && from == Declined { // closed for good
					if _, err := filer().Set(t.Context(), tr, now, to); !now.Final || !errors.Is(err, ErrNoWay) {
						t.Errorf("%+v %v", now, err)
					}
					continue
				}
				after, err := filer().Set(t.Context(), tr, now, to)
				if err != nil || after.State != to || after.Version < now.Version {
					t.Errorf("%s to %s: %+v %v", from, to, after, err)
				}
			}
		}
	})
}

func TestGone(t *testing.T) {
	each(t, nil, func(t *testing.T, d *trackertest.Desk, tr Tracker) {
		issue := opened(t, tr, sample)
		now, err := filer().Get(t.Context(), tr, issue)
		if err != nil {
			t.Fatal(err)
		}
		d.Remove(issue.ID)
		if _, err := filer().Get(t.Context(), tr, issue); !errors.Is(err, ErrGone) {
			t.Errorf("get: %v", err)
		}
		if _, err := filer().Set(t.Context(), tr, now, Done); !errors.Is(err, ErrGone) {
			t.Errorf("set: %v", err)
		}
		if err := filer().Comment(t.Context(), tr, issue, "k", "x"); !errors.Is(err, ErrGone) && d.Provider != "custom" {
			t.Errorf("comment: %v", err)
		}
	})
}

func TestNotes(t *testing.T) {
	each(t, nil, func(t *testing.T, d *trackertest.Desk, tr Tracker) {
		issue := opened(t, tr, sample)
		if err := filer().Comment(t.Context(), tr, issue, "key-1", "Seen <again> & again"); err != nil {
			t.Fatal(err)
		}
		d.Say(issue.ID, "ann", "We fix it <b>tomorrow</b>"+strings.Repeat("!", 5000))
		notes, has, err := filer().Notes(t.Context(), tr, issue, time.Time{}, []string{"key-1", "key-2"})
		if err != nil || len(notes) != 2 || !notes[0].Own || notes[1].Own || notes[1].Author != "ann" || !has["key-1"] || has["key-2"] ||
			!strings.HasPrefix(notes[0].Text, "Seen <again> & again") || !strings.HasPrefix(notes[1].Text, "We fix it") ||
			len(notes[1].Text) > maxNote+10 || notes[1].ID == "" || notes[1].ID == notes[0].ID {
			t.Errorf("%+v %v %v", notes, has, err)
		}
		if later, _, err := filer().Notes(t.Context(), tr, issue, time.Now().Add(time.Hour), nil); err != nil || len(later) != 0 {
			t.Errorf("%+v %v", later, err)
		}
	})
}

// All changes since a time are listed, over pages, each with the version that reading the issue gives.
func TestChanged(t *testing.T) {
	each(t, nil, func(t *testing.T, d *trackertest.Desk, tr Tracker) {
		d.Page(40) // where a service may shorten pages
		begin := time.Now().Add(-10 * time.Minute)
		for i := range 130 {
			f := sample
			f.Hash = fmt.Sprint("h", i)
			opened(t, tr, f)
		}
		list := d.Issues()
		d.Move(list[7].ID, "done")
		changes, err := filer().Changed(t.Context(), tr, begin)
		if err != nil || len(changes.Issues) != 130 || changes.More || changes.Lost || !changes.Until.After(begin) {
			t.Fatalf("%d issues, %+v %v", len(changes.Issues), changes.Until, err)
		}
		seen := map[string]string{}
		for _, c := range changes.Issues {
			seen[c.ID] = c.Version
		}
		now, err := filer().Get(t.Context(), tr, Issue{ID: list[7].ID})
		if err != nil || seen[now.ID] != now.Version {
			t.Errorf("version %q in the list, %q read, %v", seen[now.ID], now.Version, err)
		}
		if none, err := filer().Changed(t.Context(), tr, time.Now().Add(time.Hour)); err != nil || len(none.Issues) > 130 {
			t.Errorf("%+v %v", none, err)
		}
	})
}

// A revision that was read is written only if it is still the last.
func TestAzureRevision(t *testing.T) {
	d := trackertest.New(t, "azure")
	tr := configured(t, d)
	issue := opened(t, tr, sample)
	now, err := filer().Get(t.Context(), tr, issue)
	if err != nil {
		t.Fatal(err)
	}
	d.Move(issue.ID, "in_progress")
	if _, err := filer().Set(t.Context(), tr, now, Done); !errors.Is(err, ErrMoved) {
		t.Errorf("%v", err)
	}
}

const secret = "correct-horse-battery"

func TestHooks(t *testing.T) {
	each(t, []string{"webhook-secret: " + secret}, func(t *testing.T, d *trackertest.Desk, tr Tracker) {
		issue := opened(t, tr, sample)
		now := time.Now()
		header, query, body := d.Hook(issue.ID, "ann", secret)
		h, ok := tr.ReadHook(header, query, body, now)
		if !ok || h.Issue != issue.ID || h.Actor != "ann" || h.Delivery == "" {
			t.Errorf("%+v %v", h, ok)
		}
		if again, _ := tr.ReadHook(header, query, body, now); again.Delivery != h.Delivery {
			t.Errorf("%+v", again)
		}
		header2, query2, body2 := d.Hook(issue.ID, "ann", secret)
		if other, _ := tr.ReadHook(header2, query2, body2, now); other.Delivery == h.Delivery {
			t.Errorf("%+v", other)
		}
		wrongHeader, _, _ := d.Hook(issue.ID, "ann", "another-secret-word")
		for name, refused := range map[string]func() bool{
			"another secret": func() bool { _, ok := tr.ReadHook(wrongHeader, nil, body, now); return ok },
			"no header":      func() bool { _, ok := tr.ReadHook(http.Header{}, nil, body, now); return ok },
			"no secret of ours": func() bool {
				none := tr
				none.WebhookSecret = ""
				h, _, b := d.Hook(issue.ID, "ann", "0000000000000000")
				_, ok := none.ReadHook(h, nil, b, now)
				return ok
			},
			"another body": func() bool {
				_, ok := tr.ReadHook(header, nil, append([]byte(" "), body...), now)
				signed := d.Provider == "github" || d.Provider == "linear" || d.Name() == "jira"
				return ok && signed
			},
		} {
			if refused() {
				t.Errorf("%s was taken", name)
			}
		}
		if h, ok := tr.ReadHook(header, nil, body, now.Add(time.Hour)); d.Provider == "linear" && (!ok || h.Issue != "") {
			t.Errorf("an old one of Linear: %+v %v", h, ok)
		}
	})
	// Of other projects nothing is taken in, though their issues have the same numbers.
	for provider, doc := range map[string]string{
		"github": `{"issue": {"number": 1}, "repository": {"full_name": "o/other"}}`,
		"gitlab": `{"object_kind": "issue", "project": {"id": 8, "path_with_namespace": "g/other"}, "object_attributes": {"iid": 1}}`,
		"jira":   `{"issue": {"key": "OTHER-1"}}`, "azure": `{"id": "x", "eventType": "build.complete", "resource": {"id": 1}}`,
		"linear": `{"type": "Issue", "data": {"id": "L1", "teamId": "team-2"}}`, "servicenow": `[]`,
	} {
		tr := configured(t, trackertest.New(t, provider), "webhook-secret: "+secret)
		header := http.Header{"X-Gitlab-Token": {secret}, "X-Vedette-Token": {secret}, "Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(":"+secret))}}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(doc))
		header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		header.Set("Linear-Signature", hex.EncodeToString(mac.Sum(nil)))
		if h, ok := tr.ReadHook(header, nil, []byte(doc), time.Now()); !ok || h.Issue != "" || h.Delivery == "" {
			t.Errorf("%s: %+v %v", provider, h, ok)
		}
	}
}

func FuzzHook(f *testing.F) {
	f.Add("github", []byte(`{"issue": {"number": 1}, "repository": {"full_name": "o/p"}}`))
	f.Add("jira", []byte(`{"issue": {"key": "P-1"}, "comment": {"author": null}}`))
	f.Add("linear", []byte(`{"webhookTimestamp": -9223372036854775808, "data": []}`))
	f.Fuzz(func(t *testing.T, provider string, body []byte) {
		tr := Tracker{Provider: provider, WebhookSecret: secret, Owner: "o", Project: "p"}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		digits := hex.EncodeToString(mac.Sum(nil))
		header := http.Header{"X-Gitlab-Token": {secret}, "X-Vedette-Token": {secret}, "Linear-Signature": {digits},
			"X-Hub-Signature-256": {"sha256=" + digits}}
		h, ok := tr.ReadHook(header, nil, body, time.Now())
		if ok && (h.Delivery == "" || len(h.Delivery) > maxDelivery || len(h.Issue) > maxDelivery) {
			t.Errorf("%+v", h)
		}
	})
}

func FuzzTexts(f *testing.F) {
	f.Add(`{"type": "doc", "content": [{"type": "paragraph", "content": [{"text": "x"}]}]}`)
	f.Add(`"plain"`)
	f.Add("<div>a<br>b</div")
	f.Fuzz(func(t *testing.T, text string) {
		_ = plainText([]byte(text))
		_ = withoutTags(text)
	})
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
		"[]":                                               "not a mapping",
		"markdown: {directory: x}":                         "names no tracker",
		"github: {owner: o, token: t}":                     "project-name is needed",
		"linear: {team-id: t}":                             "api-key is needed",
		"custom: {url: 'ftp://x'}":                         "http or https URL",
		"github: {owner: [o]}":                             "not of its type",
		"jira: {}\ngithub: {}\ncustom: {}":                 "custom: url is needed", // of several mistakes always the same
		"custom: {url: 'http://x'}\nallow-list: 5":         "allow-list",
		"custom: {url: 'http://x', poll-minutes: 1441}":    "poll-minutes must be from 1 to 1440",
		"custom: {url: 'http://x', webhook-secret: short}": "at least 16",
		"jira: {url: 'http://x', project-name: p, token: t, api-version: '4'}":            "must be 2 or 3",
		"servicenow: {url: 'http://x', username: u, password: p, table: 'a/../sys_user'}": "name of a table",
		"azure: {owner: o, token: t}": "project-name is needed",
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
