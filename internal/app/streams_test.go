package app

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// follow opens the stream of a task. ended is closed when the server ends it, leave ends it from this side.
func (h *testServer) follow(taskID, header, value string) (status int, code string, ended chan struct{}, leave func()) {
	h.t.Helper()
	ctx, leave := context.WithCancel(h.t.Context())
	r := h.request(http.MethodGet, "/api/v1/tasks/"+taskID+"/stream", nil, "")
	r.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(r.WithContext(ctx))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { leave(); resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		var doc struct{ Code string }
		_ = json.NewDecoder(resp.Body).Decode(&doc)
		if resp.Header.Get("Retry-After") == "" {
			h.t.Error("a refused stream names no time to try again")
		}
		return resp.StatusCode, doc.Code, nil, leave
	}
	in := bufio.NewReader(resp.Body)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, ": task") {
		h.t.Fatalf("the stream begins with %q, %v", line, err)
	}
	ended = make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, in); close(ended) }()
	return resp.StatusCode, "", ended, leave
}

// TestOpenStreamsAreCapped: by user and by team. A refused request makes no task, and a closed stream makes room.
func TestOpenStreamsAreCapped(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			h := serve(t, engine, "USER_STREAMS=2", "TEAM_STREAMS=3")
			ada, bob := h.person("ada", "blue", account.Admin), h.person("bob", "blue", account.Member)
			eve := h.person("eve", "red", account.Admin)
			taskID, _ := h.task(ada)
			const bearer = "Authorization"
			_, _, _, leave := h.follow(taskID, bearer, "Bearer "+ada.token)
			h.follow(taskID, "X-Api-Key", ada.key) // another way in, and the same user
			refused := func(who string, p person) {
				t.Helper()
				status, code, _, _ := h.follow(taskID, bearer, "Bearer "+p.token)
				if status != http.StatusTooManyRequests || code != "too_many_streams" {
					t.Errorf("%s: %d %s", who, status, code)
				}
				r := h.request(http.MethodPost, "/api/v1/tasks", &p, `{"task":"check http://127.0.0.1:9/"}`)
				r.Header.Set("Accept", "text/event-stream")
				if got := h.do(r); got.status != http.StatusTooManyRequests || !strings.Contains(string(got.body), "too_many_streams") {
					t.Errorf("%s, with a new task: %d %s", who, got.status, got.body)
				}
				tasks, err := db.Value[int](t.Context(), h.db, `SELECT count(*) FROM task`)
				if err != nil || tasks != 1 {
					t.Errorf("%s: there are %d tasks, %v", who, tasks, err)
				}
			}
			refused("a user's third", ada)
			if status, _, _, _ := h.follow(taskID, bearer, "Bearer "+bob.token); status != http.StatusOK {
				t.Fatalf("another member's first: %d", status)
			}
			refused("a team's fourth", bob)
			other, _ := h.task(eve)
			if status, _, _, _ := h.follow(other, bearer, "Bearer "+eve.token); status != http.StatusOK {
				t.Errorf("another team's first: %d", status)
			}
			leave()
			until(t, "a closed stream makes room", func() bool {
				status, _, _, _ := h.follow(taskID, bearer, "Bearer "+ada.token)
				return status == http.StatusOK
			})
		})
	}
}

// TestStreamsAreCutOnEveryNode: whoever would be refused now reads no further, wherever that was decided, and nobody
// else is cut.
func TestStreamsAreCutOnEveryNode(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			h := serve(t, engine)
			elsewhere := serve(t, engine, "DATABASE="+h.config.Database)
			ada := h.person("ada", "blue", account.Admin)
			asAda := account.WithCaller(t.Context(), ada.Caller)
			taskID, _ := h.task(ada)
			_, _, stays, _ := h.follow(taskID, "X-Api-Key", ada.key)
			for _, c := range []struct {
				name, by string // by: key, token
				end      func(p person, signedIn context.Context) error
			}{
				{"removed", "key", func(p person, _ context.Context) error {
					return elsewhere.Accounts.RemoveMember(asAda, p.Email)
				}},
				{"disabled", "key", func(p person, _ context.Context) error {
					return elsewhere.Accounts.SetDisabled(t.Context(), p.Email, true)
				}},
				{"signed-out", "token", func(_ person, signedIn context.Context) error {
					return elsewhere.Accounts.EndSession(signedIn, account.CurrentSession)
				}},
				{"deleted-key", "key", func(p person, _ context.Context) error {
					return elsewhere.Accounts.DeleteKey(account.WithCaller(t.Context(), p.Caller))
				}},
				{"rotated-key", "key", func(p person, _ context.Context) error {
					_, err := elsewhere.Accounts.RotateKey(account.WithCaller(t.Context(), p.Caller))
					return err
				}},
				{"new-password", "token", func(p person, _ context.Context) error {
					return elsewhere.Accounts.SetPassword(t.Context(), p.Email, "battery-staple")
				}},
			} {
				p := h.person(c.name, "blue", account.Member)
				header, value := "X-Api-Key", p.key
				signedIn := t.Context()
				if c.by == "token" {
					header, value = "Authorization", "Bearer "+p.token
					caller, err := elsewhere.Accounts.ByBearer(t.Context(), p.token)
					if err != nil {
						t.Fatal(err)
					}
					signedIn = account.WithCaller(t.Context(), caller)
				}
				_, _, ended, _ := h.follow(taskID, header, value)
				begun := time.Now()
				if err := c.end(p, signedIn); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				select {
				case <-ended:
				case <-time.After(longWait): // a second, and what a loaded machine needs
					t.Errorf("%s: the stream is still open after %s", c.name, time.Since(begun))
				}
			}
			select {
			case <-stays:
				t.Error("the stream of somebody else was cut")
			default:
			}
		})
	}
}
