package inbound

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const secret = "correct-horse-battery"

// A webhook that is signed is taken; all others have one answer, byte for byte, and a long one is not read.
func TestAnswers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		logger := slog.New(slog.DiscardHandler)
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		q, err := queue.Open(t.Context(), d, queue.Config{Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = q.Stop(context.Background()) })
		box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		guard := &netguard.Guard{}
		settings := setting.New(d, box, guard)
		findings := finding.New(d, q)
		handler := New(ticket.New(d, q, findings, comment.New(d, findings, inbox.New(d, nil, "")), settings, guard, logger), review.New(d, q, review.Deps{Box: box}), chat.New(d, chat.Config{Queue: q, Box: box, Logger: logger}), logger)
		alice := account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
		desk := trackertest.New(t, "github")
		var ids []string
		for _, more := range []string{"webhook-secret: " + secret, "comments: false"} {
			c, err := settings.Create(alice, setting.NewConfig{Type: setting.Reporting, Name: "issues", Text: desk.Config(more)})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		header, _, body := desk.Hook("1", "ann", secret)
		wrong, _, _ := desk.Hook("1", "ann", "another-secret-word")
		send := func(method, path string, h http.Header, body io.Reader) (int, string) {
			r := httptest.NewRequest(method, path, body)
			r.Header = h
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		one := "/hooks/trackers/" + ids[0] + "/github"
		for range 2 { // the second time it has no effect
			if status, text := send(http.MethodPost, one, header, bytes.NewReader(body)); status != http.StatusOK || text != "{\"ok\":true}\n" {
				t.Errorf("%d %s", status, text)
			}
		}
		const none = "{\"message\":\"There is no such webhook.\"}\n"
		for name, c := range map[string]struct {
			method, path string
			header       http.Header
		}{
			"another signature":   {http.MethodPost, one, wrong},
			"no signature":        {http.MethodPost, one, http.Header{}},
			"no secret of ours":   {http.MethodPost, "/hooks/trackers/" + ids[1] + "/github", header},
			"another tracker":     {http.MethodPost, "/hooks/trackers/" + ids[0] + "/gitlab", header},
			"no configuration":    {http.MethodPost, "/hooks/trackers/01a21392-22f0-7a42-b91b-0a922652ca07/github", header},
			"no id":               {http.MethodPost, "/hooks/trackers/%00/github", header},
			"no app of Slack's":   {http.MethodPost, "/hooks/slack", header},
			"another path":        {http.MethodPost, "/hooks/", header},
			"another method":      {http.MethodGet, one, header},
			"a method of its own": {"PATCH", one, header},
		} {
			if status, text := send(c.method, c.path, c.header, bytes.NewReader(body)); status != http.StatusNotFound || text != none {
				t.Errorf("%s: %d %s", name, status, text)
			}
		}
		if status, text := send(http.MethodPost, "/hooks/slack/"+ids[0], header, bytes.NewReader(body)); status != http.StatusUnauthorized ||
			!strings.Contains(text, "signature") {
			t.Errorf("Slack, for no workspace: %d %s", status, text)
		}
		long := strings.NewReader(strings.Repeat(" ", ticket.MaxHook+1))
		if status, _ := send(http.MethodPost, one, header, io.MultiReader(long)); status != http.StatusRequestEntityTooLarge {
			t.Errorf("a long body: %d", status)
		}
		if status, _ := send(http.MethodPost, one+"?a=%zz", header, bytes.NewReader(body)); status != http.StatusOK {
			t.Errorf("an odd query: %d", status)
		}
	})
}
