package rest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

type thing struct {
	ID string `json:"id"`
}

type box struct {
	Message string `json:"message"`
	Thing   *thing `json:"thing"`
}

// audited is a surface with operations of all sorts and an audit log, a user's key and token.
type audited struct {
	surface
	db         *db.DB
	log        *audit.Log
	key, token string
	reader     context.Context //nolint:containedctx // the user, as a caller who may read the log
}

// entries are those written since the last call, and takes them out of the log.
func (a audited) entries(t *testing.T) []audit.Entry {
	t.Helper()
	found, err := a.log.Find(a.reader, audit.Filter{}, page.Window{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.db.Exec(t.Context(), `DELETE FROM audit_entry`); err != nil {
		t.Fatal(err)
	}
	return found
}

func openAudited(t *testing.T, rate float64) audited {
	t.Helper()
	d := dbtest.Open(t, "sqlite")
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := accounts.CreateKey(account.WithCaller(t.Context(), account.Caller{UserID: u.ID}))
	if err != nil {
		t.Fatal(err)
	}
	bearer, err := accounts.IssueToken(t.Context(), u.Email)
	if err != nil {
		t.Fatal(err)
	}
	op := func(method, path string) Op {
		return Op{Operation: huma.Operation{OperationID: strings.ToLower(method) + strings.ReplaceAll(path, "/", "-"),
			Method: method, Path: path}}
	}
	log := audit.New(d, nil, 0, time.Now, slog.New(slog.DiscardHandler))
	s := open(t, Config{Accounts: accounts, Rate: rate, Burst: 1000, Audit: log}, func(a *API) {
		Register(a, op("GET", "/thing"), func(context.Context, *struct{}) (*struct{ Body thing }, error) {
			return &struct{ Body thing }{thing{"seen"}}, nil
		})
		Register(a, op("POST", "/thing"), func(_ context.Context, _ *struct{ Body thing }) (*struct{ Body thing }, error) {
			return &struct{ Body thing }{thing{"made"}}, nil
		})
		Register(a, op("POST", "/box"), func(context.Context, *struct{}) (*struct{ Body box }, error) {
			return &struct{ Body box }{box{"A thing.", &thing{"within"}}}, nil
		})
		Register(a, op("DELETE", "/thing/{id}"), func(_ context.Context, in *struct {
			ID string `path:"id"`
		}) (*struct{}, error) {
			if in.ID == "no" {
				return nil, errs.Missing("thing")
			}
			return nil, nil //nolint:nilnil // huma: an answer without a body
		})
		Register(a, op("POST", "/stream"), func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
			About(ctx, "streamed")
			return &huma.StreamResponse{Body: func(out huma.Context) {
				out.SetStatus(http.StatusAccepted)
				_, _ = out.BodyWriter().Write([]byte("now"))
			}}, nil
		})
		Register(a, op("POST", "/panic"), func(context.Context, *struct{}) (*struct{}, error) { panic("oh") })
		many := op("POST", "/many")
		many.Unaudited = true
		Register(a, many, func(ctx context.Context, in *struct{ Body thing }) (*struct{}, error) {
			if in.Body.ID != "other" {
				Did(ctx, "many."+in.Body.ID, http.StatusConflict, in.Body.ID == "write")
			}
			return nil, nil //nolint:nilnil // huma: an answer without a body
		})
		open := op("POST", "/open")
		open.Auth = None
		Register(a, open, func(context.Context, *struct{}) (*struct{}, error) { return nil, nil }) //nolint:nilnil // huma
	})
	reader := account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin})
	return audited{surface: s, db: d, log: log, key: made.Key, token: bearer.AccessToken, reader: reader}
}

func TestEachRequestForAChangeHasAnAuditEntry(t *testing.T) {
	s := openAudited(t, 0)
	for _, c := range []struct {
		method, path, body string
		want               audit.Entry // but for what all have; no Action: no entry
		status             int
		bearer             bool
	}{
		{"GET", "/thing", "", audit.Entry{}, 200, false},
		{"POST", "/thing?secret=1", `{"id": "x"}`, audit.Entry{Action: "post-thing", Object: "made", Path: "/thing"}, 200,
			false},
		{"POST", "/thing", `{"id": "x"}`, audit.Entry{Action: "post-thing", Object: "made", Path: "/thing"}, 200, true},
		{"POST", "/box", "", audit.Entry{Action: "post-box", Object: "within", Path: "/box"}, 200, false},
		{"POST", "/thing", `{"id": 7}`, audit.Entry{Action: "post-thing", Path: "/thing"}, 400, false},
		{"POST", "/thing", `{`, audit.Entry{Action: "post-thing", Path: "/thing"}, 400, false},
		{"DELETE", "/thing/yes", "", audit.Entry{Action: "delete-thing-{id}", Object: "yes", Path: "/thing/yes"}, 204, false},
		{"DELETE", "/thing/no", "", audit.Entry{Action: "delete-thing-{id}", Object: "no", Path: "/thing/no"}, 404, true},
		{"POST", "/stream", "", audit.Entry{Action: "post-stream", Object: "streamed", Path: "/stream"}, 202, false},
		{"POST", "/panic", "", audit.Entry{Action: "post-panic", Path: "/panic"}, 500, false},
		{"POST", "/open", "", audit.Entry{}, 204, false},
		{"POST", "/many", `{"id": "read"}`, audit.Entry{}, 204, false},
		{"POST", "/many", `{"id": "write"}`, audit.Entry{Action: "many.write", Path: "/many"}, 409, false},
		{"POST", "/many", `{"id": "other"}`, audit.Entry{}, 204, false},
		{"PUT", "/thing", "", audit.Entry{}, 405, false},
		{"POST", "/nowhere", "", audit.Entry{}, 404, false},
	} {
		header := []string{"X-Api-Key", s.key, "Content-Type", "application/json"}
		if c.bearer {
			header = []string{"Authorization", "Bearer " + s.token, "Content-Type", "application/json"}
		}
		resp, _, text := s.do(t, c.method, c.path, strings.NewReader(c.body), header...)
		if c.path == "/many" { // the status of the answer is not that of the operation
			if resp.StatusCode != 204 {
				t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, text)
			}
		} else if resp.StatusCode != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, text)
		}
		entries := s.entries(t)
		if c.want.Action == "" {
			if len(entries) > 0 {
				t.Errorf("%s %s has entries: %+v", c.method, c.path, entries)
			}
			continue
		}
		if len(entries) != 1 {
			t.Fatalf("%s %s: entries %+v", c.method, c.path, entries)
		}
		got := entries[0]
		if got.Email != "ada@example.com" || got.TeamID == "" || got.UserID == "" ||
			got.ID != resp.Header.Get(RequestIDHeader) || got.IP != "127.0.0.1" {
			t.Errorf("%s %s: %+v", c.method, c.path, got)
		}
		c.want.ID, c.want.TeamID, c.want.UserID, c.want.Email, c.want.IP, c.want.CreatedAt = got.ID, got.TeamID, got.UserID,
			got.Email, got.IP, got.CreatedAt
		c.want.Seq, c.want.Hash = got.Seq, got.Hash
		c.want.Method, c.want.Status, c.want.Source = c.method, c.status, audit.API
		if c.bearer {
			c.want.Source = audit.Platform
		}
		if got != c.want {
			t.Errorf("%s %s:\ngot  %+v\nwant %+v", c.method, c.path, got, c.want)
		}
	}
}

func TestUnknownCallersHaveNoAuditEntries(t *testing.T) {
	s := openAudited(t, 0)
	for name, header := range map[string][]string{
		"no key": {}, "a wrong key": {"X-Api-Key", s.key[:len(s.key)-1] + "!"},
		"another's team": {"X-Api-Key", s.key, "X-Team-Id", "theirs"},
	} {
		resp, _, _ := s.do(t, "POST", "/thing", strings.NewReader(`{"id": "x"}`),
			append(header, "Content-Type", "application/json")...)
		var n int
		if err := s.db.QueryRow(t.Context(), `SELECT count(*) FROM audit_entry`).Scan(&n); err != nil || n > 0 ||
			resp.StatusCode < 401 || resp.StatusCode > 403 {
			t.Errorf("%s: %d, %d entries, %v", name, resp.StatusCode, n, err)
		}
	}
}

// TestFloodIsNoFloodOfAuditEntries: a request over its rate costs no write.
func TestFloodIsNoFloodOfAuditEntries(t *testing.T) {
	s := openAudited(t, 1e-9)
	refused := 0
	for range 1010 {
		if resp, _, _ := s.do(t, "DELETE", "/thing/yes", nil, "X-Api-Key",
			s.key); resp.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if entries := s.entries(t); refused != 10 || len(entries) != 1000 {
		t.Errorf("%d refused, %d entries", refused, len(entries))
	}
}

// TestNoAnswerWithoutItsAuditEntry: when an entry cannot be written, the answer is an error.
func TestNoAnswerWithoutItsAuditEntry(t *testing.T) {
	s := openAudited(t, 0)
	if _, err := s.db.Exec(t.Context(), `ALTER TABLE audit_entry RENAME TO lost`); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"POST /thing", "POST /stream", "DELETE /thing/yes", "DELETE /thing/no", "POST /panic"} {
		method, path, _ := strings.Cut(path, " ")
		resp, e, text := s.do(t, method, path, strings.NewReader(`{"id": "x"}`), "X-Api-Key", s.key, "Content-Type",
			"application/json")
		if resp.StatusCode != 500 || e.Code != "internal_error" || e.ID != resp.Header.Get(RequestIDHeader) ||
			strings.Contains(text, "audit_entry") || strings.Contains(text, "made") {
			t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
		}
		if !slices.ContainsFunc(strings.Split(s.logs.String(), "\n"), func(line string) bool {
			return strings.Contains(line, e.ID) && strings.Contains(line, "audit_entry") &&
				strings.Contains(line, `"status":500`)
		}) {
			t.Errorf("%s %s: the log does not say why", method, path)
		}
	}
	if resp, _, _ := s.do(t, "GET", "/thing", nil, "X-Api-Key", s.key); resp.StatusCode != 200 {
		t.Errorf("a read: %d", resp.StatusCode)
	}
}
