package gitlab

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/forge"
	"github.com/vedette-sec/vedette/internal/notify/gitlab/gitlabtest"
)

var head = strings.Repeat("a", 40)

func open(t *testing.T, token string) (Account, *gitlabtest.Lab) {
	lab := gitlabtest.New()
	lab.Put(gitlabtest.Merge{Number: 1, Title: "A change", Author: "ada", Head: head, Labels: []string{"security"}, Files: []gitlabtest.File{
		{Old: "old.txt", New: "a.txt", Diff: "--- a/old.txt\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two", Text: "one\ntwo"}}})
	server := httptest.NewServer(lab)
	t.Cleanup(server.Close)
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	return New(guard).Account(server.URL+"/", token, gitlabtest.Bot), lab
}

func TestWhoAndProjects(t *testing.T) {
	account, _ := open(t, gitlabtest.Token)
	if u, err := account.Who(t.Context()); err != nil || u != (User{gitlabtest.Bot, "bot"}) {
		t.Error(u, err)
	}
	if p, err := account.Project(t.Context(), "acme/shop"); err != nil || p != (Project{70, "acme/shop", "private"}) {
		t.Error(p, err)
	}
	if _, err := account.Project(t.Context(), "acme/none"); !forge.Gone(err) {
		t.Error(err)
	}
	stranger, _ := open(t, "glpat-wrong-token")
	if _, err := stranger.Who(t.Context()); err == nil || strings.Contains(err.Error(), "glpat") {
		t.Error(err)
	}
}

func TestAMergeRequest(t *testing.T) {
	account, lab := open(t, gitlabtest.Token)
	ctx, repo := t.Context(), account.Repo(70)
	c, err := repo.Change(ctx, 1)
	if err != nil || !c.Open || c.Author != "ada" || c.Head != head || c.Into != "main" || len(c.Labels) != 1 || c.Base == "" || c.Start == "" {
		t.Fatalf("%+v %v", c, err)
	}
	files, more, err := repo.Files(ctx, 1, 10)
	if err != nil || more || len(files) != 1 || files[0] != (forge.File{Name: "a.txt", Old: "old.txt", Patch: "@@ -0,0 +1,2 @@\n+one\n+two"}) {
		t.Fatalf("%+v %v", files, err)
	}
	if text, whole, err := repo.Content(ctx, head, "a.txt"); string(text) != "one\ntwo" || !whole || err != nil {
		t.Errorf("%q %v %v", text, whole, err)
	}
	if _, _, err := repo.Content(ctx, head, "../a.txt"); !forge.Gone(err) {
		t.Error(err)
	}
	batch := forge.Batch{Change: c, Comments: []forge.LineComment{{File: files[0], Line: 2, Body: "here", Mark: "<!-- 1 -->"},
		{File: files[0], Line: 9, Body: "on no line", Mark: "<!-- 2 -->"}, {File: files[0], Line: 1, Body: "there", Mark: "<!-- 3 -->"}}}
	for range 2 {
		if err := repo.CommentLines(ctx, batch); err != nil {
			t.Fatal(err)
		}
		if d := lab.State().Discussions; len(d) != 2 || d[0].Path != "a.txt" || d[0].Line != 2 || d[0].Body != "here\n<!-- 1 -->" {
			t.Errorf("%+v", d)
		}
		batch.Again = true
	}
}

// What is written is found again by its mark, if the account wrote it.
func TestMarks(t *testing.T) {
	account, lab := open(t, gitlabtest.Token)
	ctx, repo := t.Context(), account.Repo(70)
	lab.Write(1, 2, "<!-- mark -->")
	if id, err := repo.FindComment(ctx, 1, "<!-- mark -->"); id != 0 || err != nil {
		t.Errorf("somebody else's: %d %v", id, err)
	}
	id, err := repo.Comment(ctx, 1, "text <!-- mark -->")
	if found, again := repo.FindComment(ctx, 1, "<!-- mark -->"); err != nil || again != nil || found != id || id == 0 {
		t.Errorf("%d is not %d: %v %v", found, id, err, again)
	}
	if gone, err := repo.Edit(ctx, 1, id, "new"); gone || err != nil {
		t.Error(gone, err)
	}
	if gone, err := repo.Edit(ctx, 1, 999, "new"); !gone || err != nil {
		t.Error(gone, err)
	}
	check := forge.Check{Name: "Vedette", Commit: head}
	for conclusion, want := range map[string]string{"": "running", forge.Neutral: "success", forge.Failure: "failed"} {
		check.Conclusion, check.Title = conclusion, strings.Repeat("é", 300)
		for range 2 { // GitLab refuses the second
			if id, err := repo.SetCheck(ctx, 0, check); err != nil || id == 0 || lab.State().Statuses[0].State != want {
				t.Error(conclusion, err, lab.State().Statuses)
			}
		}
	}
	for person, want := range map[string]bool{"1": true, "2": false, "3": false, "../5": false} {
		if may, err := repo.MayWrite(ctx, person); may != want || err != nil {
			t.Errorf("%s: %v %v", person, may, err)
		}
	}
}

func TestWebhooks(t *testing.T) {
	header := http.Header{"X-Gitlab-Token": {"the secret"}, "X-Gitlab-Event": {"Merge Request Hook"}}
	now := time.Now()
	if !Proven(header, nil, "the secret", now) || Proven(header, nil, "the secret2", now) || Proven(header, nil, "", now) ||
		Proven(http.Header{}, nil, "", now) {
		t.Error("the secret")
	}
	for body, want := range map[string]string{
		`{"object_kind":"merge_request","object_attributes":{"action":"open"}}`:                                                               "opened",
		`{"object_kind":"merge_request","object_attributes":{"action":"reopen"}}`:                                                             "reopened",
		`{"object_kind":"merge_request","object_attributes":{"action":"update","oldrev":"aa"}}`:                                               "synchronize",
		`{"object_kind":"merge_request","object_attributes":{"action":"update"},"changes":{"draft":{"previous":true,"current":false}}}`:       "ready_for_review",
		`{"object_kind":"merge_request","object_attributes":{"action":"update"},"changes":{"title":{}}}`:                                      "",
		`{"object_kind":"merge_request","object_attributes":{"action":"merge"}}`:                                                              "",
		`{"object_kind":"push","object_attributes":{"action":"open"}}`:                                                                        "",
		`{"object_kind":"note","object_attributes":{"noteable_type":"MergeRequest","note":"/vedette help","id":4},"merge_request":{"iid":1}}`: "", //nolint:misspell // GitLab calls it so
	} {
		e, ok := ReadEvent(header, []byte(body))
		if !ok || e.Cause() != want || e.IsNote() != strings.Contains(body, `"note":`) {
			t.Errorf("%s: %+v %q", body, e, e.Cause())
		}
	}
	for _, body := range []string{"", "[]", "{}", `{"object_kind":1}`} {
		if _, ok := ReadEvent(header, []byte(body)); ok {
			t.Error(body)
		}
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add(`{"object_kind":"merge_request","object_attributes":{"action":"update","oldrev":"a"},"changes":{"draft":null}}`)
	f.Add(`{"object_kind":"note","merge_request":{"iid":1},"user":{"id":1}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if e, ok := ReadEvent(http.Header{"X-Gitlab-Event": {"x"}}, []byte(body)); ok && e.Cause() != "" && e.IsNote() {
			t.Errorf("%+v", e)
		}
	})
}

// A webhook is proven by its signature, with the right key, of this body and of now; a token does not mend a wrong one.
func TestSignatures(t *testing.T) {
	secret, body, now := NewSecret(), []byte(`{"a": 1}`), time.Now()
	if other := NewSecret(); other == secret || !IsSigningToken(secret) || IsSigningToken(secret[1:]) || IsSigningToken(secret[:46]) {
		t.Fatal(secret, other)
	}
	header := gitlabtest.Sign(secret, "id-1", body, now)
	if !Proven(header, body, secret, now) || !Proven(header, body, secret, now.Add(4*time.Minute)) {
		t.Error("what is signed is not proven")
	}
	several := header.Clone()
	several.Set("Webhook-Signature", "v1a,x v1,AAAA "+header.Get("Webhook-Signature"))
	if !Proven(several, body, secret, now) {
		t.Error("one of several signatures is right")
	}
	changed := func(name, value string) http.Header {
		h := header.Clone()
		h.Set(name, value)
		h.Set("X-Gitlab-Token", secret)
		return h
	}
	for name, ok := range map[string]bool{
		"body":    Proven(changed("X", ""), []byte(`{"a": 2}`), secret, now),
		"key":     Proven(header, body, NewSecret(), now),
		"no key":  Proven(header, body, "", now),
		"old key": Proven(header, body, strings.TrimPrefix(secret, "whsec_"), now),
		"id":      Proven(changed("Webhook-Id", "id-2"), body, secret, now),
		"no id":   Proven(changed("Webhook-Id", ""), body, secret, now),
		"time":    Proven(changed("Webhook-Timestamp", "1"), body, secret, now),
		"no time": Proven(changed("Webhook-Timestamp", ""), body, secret, now),
		"old":     Proven(header, body, secret, now.Add(6*time.Minute)),
		"early":   Proven(header, body, secret, now.Add(-6*time.Minute)),
		"version": Proven(changed("Webhook-Signature", "v2"+header.Get("Webhook-Signature")[2:]), body, secret, now),
		"none":    Proven(changed("Webhook-Signature", "v1,"), body, secret, now),
	} {
		if ok {
			t.Errorf("proven in spite of its %s", name)
		}
	}
}
