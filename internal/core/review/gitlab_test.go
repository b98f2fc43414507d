package review

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/gitlab"
	"github.com/vedette-sec/vedette/internal/notify/gitlab/gitlabtest"
)

// A run at GitLab that is cut off between its discussions is done again, and what is there is written once. The token
// and the secret of the webhook are in no column in the clear.
func TestARunAtGitLabThatWasCutOff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, lab, c := connected(t, d)
		for number, request := range []string{"POST /notes", "POST /statuses/" + headOf(1), "POST /discussions"} {
			id := waiting(t, d, c, number, lab)
			lab.Fail(request, http.StatusBadGateway)
			held := func(context.Context, *db.Tx) error { return nil }
			if err := rs.run(t.Context(), RunArgs{id}, held); err == nil {
				t.Fatalf("%s fails, and the run does not", request)
			}
			for range 2 {
				if err := rs.run(t.Context(), RunArgs{id}, held); err != nil {
					t.Fatal(err)
				}
			}
			s := lab.State()
			if len(s.Discussions) != 2*(number+1) || len(s.Notes) != number+1 || len(s.Statuses) != number+1 ||
				s.Statuses[number].State != "success" {
				t.Errorf("%s: %+v", request, s)
			}
		}
		kept, err := scanConnection(d.QueryRow(t.Context(), `SELECT `+connectionColumns+` WHERE id = ?`, c.ID))
		if err != nil || strings.Contains(string(kept.token)+string(kept.hook), gitlabtest.Token) || kept.Error != "" {
			t.Errorf("%+v %v", kept, err)
		}
	})
}

func headOf(number int) string { return strings.Repeat(string(rune('a'+number)), 40) }

// connected is the service of a team with a connection to a GitLab.
func connected(t *testing.T, d *db.DB) (*Reviews, *gitlabtest.Lab, Connection) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	lab := gitlabtest.New()
	server := httptest.NewServer(lab)
	t.Cleanup(server.Close)
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	rs := New(d, nil, Deps{Lab: gitlab.New(guard), Box: box})
	ada := account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
	c, err := rs.Add(ada, NewConnection{URL: server.URL, Token: gitlabtest.Token, Projects: []string{"acme/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	return rs, lab, c
}

// waiting is a review of a merge request that adds two keys.
func waiting(t *testing.T, d *db.DB, c Connection, number int, lab *gitlabtest.Lab) string {
	t.Helper()
	lab.Put(gitlabtest.Merge{Number: number + 1, Head: headOf(number), Files: []gitlabtest.File{{Old: "env.sh", New: "env.sh",
		Diff: "@@ -0,0 +1,2 @@\n+export AWS_ACCESS_KEY_ID=AKIAQ3ZL7TXWN5VKE2YD\n+export B=AKIAQ3ZL7TXWN5VKE3YD"}}})
	id := ids.New()
	if _, err := d.Exec(t.Context(), `INSERT INTO review_run (id, team_id, forge, repo, pull, head, cause, status, error, conclusion, posting,
		check_id, findings, commented, files, created_at) SELECT ?, team_id, forge, id, ?, ?, 'opened', 'queued', '', '', ?, 0, ?, ?, 0, ?
		FROM review_repo WHERE connection = ?`, id, number+1, headOf(number), false, db.Doc([]string{}), db.Doc([]string{}),
		db.At(time.Now()), c.ID); err != nil {
		t.Fatal(err)
	}
	return id
}

// What a model said is kept: a run after one that was cut off does not pay for it again.
func TestAModelIsAskedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, lab, c := connected(t, d)
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		rs.Models = model.New(d, rs.Box, accounts, model.Config{Server: &model.Server{Model: "m", Script: &llm.Script{Replies: []llm.Reply{
			{Text: `[{"path":"env.sh","line":2,"title":"t","severity":"low","reason":"r"}]`}}}}})
		id := waiting(t, d, c, 0, lab)
		lab.Fail("POST /notes", http.StatusBadGateway)
		held := func(context.Context, *db.Tx) error { return nil }
		if rs.run(t.Context(), RunArgs{id}, held) == nil {
			t.Fatal("the run does not fail")
		}
		if err := rs.run(t.Context(), RunArgs{id}, held); err != nil {
			t.Fatal(err)
		}
		calls, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM reservation`)
		v, failed := scanReview(d.QueryRow(t.Context(), `SELECT `+reviewColumns+` FROM review_run WHERE id = ?`, id))
		if err != nil || failed != nil || calls != 1 || len(v.Findings) != 3 || v.Status != Completed {
			t.Errorf("%d calls, %+v, %v %v", calls, v, err, failed)
		}
	})
}

// A review that fails for good leaves no check in progress, and the connection says why.
func TestAReviewThatFailsForGood(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, lab, c := connected(t, d)
		id := waiting(t, d, c, 0, lab)
		lab.Fail("POST /notes", http.StatusForbidden)
		if err := rs.run(t.Context(), RunArgs{id}, func(context.Context, *db.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
		v, err := scanReview(d.QueryRow(t.Context(), `SELECT `+reviewColumns+` FROM review_run WHERE id = ?`, id))
		kept, failed := scanConnection(d.QueryRow(t.Context(), `SELECT `+connectionColumns+` WHERE id = ?`, c.ID))
		s := lab.State().Statuses
		if err != nil || failed != nil || v.Status != Failed || !strings.Contains(v.Error, "403") || !strings.Contains(kept.Error, "403") ||
			len(s) != 1 || s[0].State != "success" || s[0].Description != "The review failed" {
			t.Errorf("%+v %+v %+v %v %v", v, kept, s, err, failed)
		}
	})
}

// No check stays in progress: not of a review whose change has come to another commit while it waited to be tried again,
// nor of one whose job is not tried again.
func TestNoCheckStaysInProgress(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, lab, c := connected(t, d)
		q, err := queue.Open(t.Context(), d, queue.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = q.Stop(context.Background()) })
		rs.queue = q
		queue.Handle(q, queue.Handler[ReleaseArgs]{Work: rs.Release})
		passed, given := waiting(t, d, c, 0, lab), waiting(t, d, c, 1, lab)
		held := func(context.Context, *db.Tx) error { return nil }
		for _, id := range []string{passed, given} {
			lab.Fail("POST /notes", http.StatusBadGateway)
			if err := rs.run(t.Context(), RunArgs{id}, held); err == nil {
				t.Fatal("the run does not fail")
			}
		}
		ends := func(number int, title string) {
			t.Helper()
			if s := lab.State().Statuses[number]; s.State != "success" || s.Description != title {
				t.Errorf("%+v", s)
			}
		}
		lab.Put(gitlabtest.Merge{Number: 1, Head: strings.Repeat("9", 40)})
		lab.Fail("POST /statuses/"+headOf(0), http.StatusBadGateway)
		if err := rs.run(t.Context(), RunArgs{passed}, held); err == nil {
			t.Error("a check that could not be ended is not tried again")
		}
		if err := rs.run(t.Context(), RunArgs{passed}, held); err != nil {
			t.Fatal(err)
		}
		ends(0, passedTitle)
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return rs.GiveUp(t.Context(), tx, RunArgs{given}) }); err != nil {
			t.Fatal(err)
		}
		jobs, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM river_job WHERE kind = ?`, ReleaseArgs{}.Kind())
		if err != nil || jobs != 1 {
			t.Fatal(jobs, err)
		}
		if err := rs.Release(t.Context(), queue.Job[ReleaseArgs]{Args: ReleaseArgs{given}}); err != nil {
			t.Fatal(err)
		}
		ends(1, failedTitle)
	})
}

// A token that cannot be read any more, as with another key of the server, is replaced by sending it again.
func TestATokenThatCannotBeRead(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rs, _, c := connected(t, d)
		if _, err := d.Exec(t.Context(), `UPDATE gitlab_connection SET token = ? WHERE id = ?`, []byte("other"), c.ID); err != nil {
			t.Fatal(err)
		}
		ada := account.WithCaller(t.Context(), account.Caller{UserID: "ada", TeamID: c.TeamID, Role: account.Admin})
		if _, err := rs.Change(ada, c.ID, NewConnection{Hook: true}); errs.From(err).Code != "gitlab_token_unreadable" {
			t.Error(err)
		}
		if changed, err := rs.Change(ada, c.ID, NewConnection{Token: gitlabtest.Token}); err != nil || changed.Projects != 1 {
			t.Error(changed, err)
		}
	})
}
