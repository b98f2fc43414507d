package github

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/forge"
	"github.com/vedette-sec/vedette/internal/notify/github/githubtest"
)

func open(t *testing.T) (*App, *githubtest.Hub) {
	hub := githubtest.New()
	hub.Put(githubtest.Pull{Repo: "octo/shop", Number: 1, Title: "A change", Author: "ada", Head: strings.Repeat("a", 40),
		Files: []githubtest.File{{Name: "a.txt", Status: "added", Patch: "@@ -0,0 +1,2 @@\n+one\n+two", Text: "one\ntwo"}}})
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	app, err := New(Config{AppID: githubtest.AppID, Key: hub.KeyPEM(), WebhookSecret: githubtest.Secret, ClientID: githubtest.ClientID,
		ClientSecret: githubtest.ClientSecret, API: server.URL}, &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	return app, hub
}

func TestConfigurationsAreChecked(t *testing.T) {
	good := Config{AppID: 1, Key: githubtest.New().KeyPEM(), WebhookSecret: "s"}
	for name, change := range map[string]func(*Config){
		"key": func(c *Config) { c.Key = []byte("none") }, "id": func(c *Config) { c.AppID = 0 },
		"secret": func(c *Config) { c.WebhookSecret = "" }, "URL": func(c *Config) { c.API = "github" },
	} {
		c := good
		change(&c)
		if _, err := New(c, &netguard.Guard{}); err == nil {
			t.Errorf("a wrong %s is taken", name)
		}
	}
	app, err := New(good, &netguard.Guard{})
	if err != nil || app.config.API != DefaultAPI || app.web() != "https://github.com" || app.WithPeople() {
		t.Errorf("%+v %v", app, err)
	}
	good.API = "https://git.example.com/api/v3/"
	if app, err := New(good, &netguard.Guard{}); err != nil || app.web() != "https://git.example.com" {
		t.Errorf("%+v %v", app, err)
	}
}

func TestAnInstallationHasOneToken(t *testing.T) {
	app, hub := open(t)
	ctx := t.Context()
	repos, total, err := app.Repositories(ctx, githubtest.Installation)
	if err != nil || total != 2 || len(repos) != 2 || repos[0].FullName != "octo/shop" {
		t.Fatalf("%v %d %v", repos, total, err)
	}
	repo := app.Repo(githubtest.Installation, "octo/shop")
	pull, err := repo.Change(ctx, 1)
	if err != nil || pull.Author != "ada" || hub.Tokens != 1 {
		t.Errorf("%+v %v, %d tokens", pull, err, hub.Tokens)
	}
	hub.Fail("GET /pulls/1", http.StatusUnauthorized) // the token was revoked: the next call gets another
	if _, err := repo.Change(ctx, 1); err == nil {
		t.Error("the refusal is lost")
	}
	if _, err := repo.Change(ctx, 1); err != nil || hub.Tokens != 2 {
		t.Errorf("%v, %d tokens", err, hub.Tokens)
	}
	_, err = app.Installation(ctx, 8)
	if failed, ok := errors.AsType[*apiclient.Error](err); !ok || failed.Status != http.StatusNotFound {
		t.Errorf("another installation: %v", err)
	}
}

func TestPeopleProveAnInstallation(t *testing.T) {
	app, _ := open(t)
	for code, want := range map[string]bool{"the-code": true, "another": false} {
		if owns, err := app.Owns(t.Context(), code, githubtest.Installation); owns != want || err != nil {
			t.Errorf("%s: %v %v", code, owns, err)
		}
	}
	if owns, err := app.Owns(t.Context(), "the-code", 8); owns || err != nil {
		t.Errorf("of somebody else: %v %v", owns, err)
	}
	link, err := app.InstallURL(t.Context(), "a b")
	if link != "https://github.com/apps/vedette-test/installations/new?state=a+b" || err != nil {
		t.Error(link, err)
	}
}

// What is written is found again by its mark, if the App wrote it.
func TestMarks(t *testing.T) {
	app, hub := open(t)
	ctx, repo := t.Context(), app.Repo(githubtest.Installation, "octo/shop")
	hub.Write("octo/shop", 1, "eve", "<!-- mark -->")
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
	head := strings.Repeat("a", 40)
	batch := forge.Batch{Change: forge.Change{Number: 1, Head: head}, Mark: "<!-- r -->", Text: "two",
		Comments: []forge.LineComment{{File: forge.File{Name: "a.txt"}, Line: 2, Body: "here"}}}
	for range 2 {
		if err := repo.CommentLines(ctx, batch); err != nil || len(hub.State().Reviews) != 1 {
			t.Fatal(err, hub.State().Reviews)
		}
		batch.Again = true
	}
	if text, whole, err := repo.Content(ctx, head, "a.txt"); string(text) != "one\ntwo" || !whole || err != nil {
		t.Errorf("%q %v %v", text, whole, err)
	}
	if _, _, err := repo.Content(ctx, head, "b c/d.txt"); !forge.Gone(err) {
		t.Error(err)
	}
	check := forge.Check{Name: "Vedette", Commit: head, External: "x"}
	made, err := repo.SetCheck(ctx, 0, check)
	if found, again := repo.SetCheck(ctx, 0, check); err != nil || again != nil || found != made || made == 0 {
		t.Errorf("%d is not %d: %v %v", found, made, err, again)
	}
	check.Conclusion, check.Title, check.Summary = forge.Failure, "1 finding", "text"
	if _, err := repo.SetCheck(ctx, made, check); err != nil || hub.State().Checks[0].Conclusion != forge.Failure {
		t.Error(err, hub.State().Checks)
	}
}

func TestWhoMayWrite(t *testing.T) {
	app, _ := open(t)
	repo := app.Repo(githubtest.Installation, "octo/shop")
	for login, want := range map[string]bool{"ada": true, "bob": true, "eve": false, "nobody": false} {
		if may, err := repo.MayWrite(t.Context(), login); may != want || err != nil {
			t.Errorf("%s: %v %v", login, may, err)
		}
	}
}

func TestWebhooks(t *testing.T) {
	app, _ := open(t)
	body := []byte(`{"action":"opened","installation":{"id":7},"pull_request":{"number":1,"head":{"sha":"aa"}}}`)
	header := http.Header{"X-Github-Event": {"pull_request"}, "X-Github-Delivery": {"d1"}, "X-Hub-Signature-256": {githubtest.Sign(body)}}
	e, ok := ReadEvent(header, body)
	if !app.Signed(header, body) || !ok || e.Action != "opened" || e.PullRequest.Head.SHA != "aa" || e.Installation.ID != 7 {
		t.Errorf("%+v", e)
	}
	for _, signature := range []string{"", "sha256=", "sha256=zz", "sha1=" + githubtest.Sign(body)[7:], githubtest.Sign(body)[7:],
		githubtest.Sign([]byte("other"))} {
		if app.Signed(http.Header{"X-Hub-Signature-256": {signature}}, body) {
			t.Errorf("%q is taken", signature)
		}
	}
	if _, ok := ReadEvent(http.Header{"X-Github-Event": {"ping"}}, []byte(`{}`)); ok {
		t.Error("a webhook without an id is taken")
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add(`{"action":"opened","pull_request":{"number":1}}`)
	f.Add(`{"repositories_added":[{"id":1,"full_name":"a/b"}],"issue":{"pull_request":null}}`)
	header := http.Header{"X-Github-Event": {"pull_request"}, "X-Github-Delivery": {"d1"}}
	f.Fuzz(func(t *testing.T, body string) {
		if e, ok := ReadEvent(header, []byte(body)); ok && (e.Name != "pull_request" || e.Delivery != "d1") {
			t.Errorf("%+v", e)
		}
	})
}
