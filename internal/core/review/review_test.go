package review

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/forge"
	"github.com/vedette-sec/vedette/internal/notify/github"
	"github.com/vedette-sec/vedette/internal/notify/github/githubtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestWhatIsReviewedByItself(t *testing.T) {
	s := forge.Change{Author: "Ada", Into: "release/1", Title: "Fix the Login", Labels: []string{"Security"}}
	for name, c := range map[string]struct {
		change Config
		want   bool
	}{
		"by default": {Config{}, true}, "off": {Config{AutoReview: new(false)}, false},
		"the author": {Config{AuthorInclude: new([]string{"ada"})}, true}, "not the author": {Config{AuthorExclude: new([]string{"ada"})}, false},
		"the branch":     {Config{BranchInclude: new([]string{"release/*"})}, true},
		"another branch": {Config{BranchInclude: new([]string{"main"})}, false},
		"the word":       {Config{KeywordInclude: new([]string{"login"})}, true}, "not the word": {Config{KeywordExclude: new([]string{"login"})}, false},
		"the label": {Config{LabelInclude: new([]string{"security"})}, true}, "no such label": {Config{LabelInclude: new([]string{"bug"})}, false},
	} {
		if c.change.automatic(s) != c.want {
			t.Error(name)
		}
	}
	s.Draft = true
	if (Config{}).automatic(s) || !(Config{Draft: new(DraftReview)}).automatic(s) {
		t.Error("drafts")
	}
}

func TestPatternsAndCommands(t *testing.T) {
	for pattern, names := range map[string][2]string{
		"vendor/**": {"vendor/a/b.go", "cmd/vendor/a.go"}, "*.lock": {"go.lock", "a/go.lock"}, "**/*.lock": {"a/go.lock", "go.locks"},
	} {
		if !matches([]string{pattern}, names[0]) || matches([]string{pattern}, names[1]) {
			t.Error(pattern)
		}
	}
	for text, want := range map[string]string{"/vedette review": "review", " /Vedette Help \nmore": "help", "see /vedette review": "",
		"/vedette": "", "/vedette reviews": "", "/vedette review now": ""} {
		if got := commandIn(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A run that is cut off after any of its writes is done again, and what is there is written once; one that has lost its
// lease writes nothing.
func TestARunThatWasCutOff(t *testing.T) {
	for _, request := range []string{"POST /check-runs", "POST /pulls/1/reviews", "POST /issues/1/comments", "PATCH /check-runs/1"} {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			rs, hub, id := open(t, d)
			if err := rs.run(t.Context(), RunArgs{id}, func(context.Context, *db.Tx) error { return queue.ErrLeaseLost }); err == nil {
				t.Error("the lease is not checked")
			}
			if s := hub.State(); len(s.Checks)+len(s.Comments)+len(s.Reviews) > 0 {
				t.Fatalf("%+v", s)
			}
			held := func(context.Context, *db.Tx) error { return nil }
			hub.Fail(request, http.StatusBadGateway)
			if err := rs.run(t.Context(), RunArgs{id}, held); err == nil {
				t.Fatalf("%s fails, and the run does not", request)
			}
			for range 2 {
				if err := rs.run(t.Context(), RunArgs{id}, held); err != nil {
					t.Fatal(err)
				}
			}
			s := hub.State()
			if len(s.Checks) != 1 || s.Checks[0].Conclusion != forge.Neutral || len(s.Comments) != 1 || len(s.Reviews) != 1 ||
				len(s.Reviews[0].Comments) != 1 {
				t.Errorf("%s: %+v", request, s)
			}
		})
	}
}

// open is the service with a review that waits.
func open(t *testing.T, d *db.DB) (*Reviews, *githubtest.Hub, string) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	hub := githubtest.New()
	head := strings.Repeat("a", 40)
	hub.Put(githubtest.Pull{Repo: "octo/shop", Number: 1, Head: head, Files: []githubtest.File{
		{Name: "env.sh", Status: "added", Patch: "@@ -0,0 +1,1 @@\n+export AWS_ACCESS_KEY_ID=AKIAQ3ZL7TXWN5VKE2YD"}}})
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	app, err := github.New(github.Config{AppID: githubtest.AppID, Key: hub.KeyPEM(), WebhookSecret: githubtest.Secret, API: server.URL},
		&netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	rs := New(d, nil, Deps{App: app})
	i, err := rs.connect(t.Context(), u.TeamID, githubtest.Installation)
	if err != nil {
		t.Fatal(err)
	}
	id := ids.New()
	if _, err := d.Exec(t.Context(), `INSERT INTO review_run (id, team_id, forge, repo, pull, head, cause, status, error, conclusion, posting,
		check_id, findings, commented, files, created_at) SELECT ?, team_id, forge, id, 1, ?, 'opened', 'queued', '', '', ?, 0, ?, ?, 0, ?
		FROM review_repo WHERE install = ? AND full_name = 'octo/shop'`, id, head, false, db.Doc([]string{}), db.Doc([]string{}),
		db.At(time.Now()), i.ID); err != nil {
		t.Fatal(err)
	}
	return rs, hub, id
}

// Repositories that an installation has no longer are gone when it is read again; the others keep what was set.
func TestRepositoriesThatAreGone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, _, _ := open(t, d)
		var team string
		if err := d.QueryRow(t.Context(), `SELECT team_id FROM github_installation`).Scan(&team); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `INSERT INTO review_repo (id, team_id, forge, install, repo_id, full_name, is_private, config)
			SELECT ?, team_id, 'github', id, 999, 'octo/gone', ?, ? FROM github_installation`, ids.New(), false, db.Doc(Config{})); err != nil {
			t.Fatal(err)
		}
		if _, err := rs.connect(t.Context(), team, githubtest.Installation); err != nil {
			t.Fatal(err)
		}
		names, err := db.Values[string](t.Context(), d, `SELECT full_name FROM review_repo ORDER BY full_name`)
		if err != nil || strings.Join(names, " ") != "octo/shop octo/site" {
			t.Errorf("%q, %v", names, err)
		}
	})
}
