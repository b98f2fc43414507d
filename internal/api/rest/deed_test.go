package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// witness keeps what it is told, and can fail.
type witness struct {
	deeds []Deed
	err   error
}

func (w *witness) after(_ context.Context, d Deed) error {
	w.deeds = append(w.deeds, d)
	return w.err
}

type thing struct {
	ID string `json:"id"`
}

// witnessed is a surface with operations of all sorts, and a user's key and token.
func witnessed(t *testing.T, w *witness, rate float64) (s surface, key, token string) {
	t.Helper()
	accounts, err := account.Open(t.Context(), dbtest.Open(t, "sqlite"), account.Config{})
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
		return Op{Operation: huma.Operation{OperationID: strings.ToLower(method) + strings.ReplaceAll(path, "/", "-"), Method: method, Path: path}}
	}
	s = open(t, Config{Accounts: accounts, Rate: rate, Burst: 1000, After: w.after}, func(a *API) {
		Register(a, op("GET", "/thing"), func(context.Context, *struct{}) (*struct{ Body thing }, error) {
			return &struct{ Body thing }{thing{"seen"}}, nil
		})
		Register(a, op("POST", "/thing"), func(_ context.Context, _ *struct{ Body thing }) (*struct{ Body thing }, error) {
			return &struct{ Body thing }{thing{"made"}}, nil
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
		open := op("POST", "/open")
		open.Auth = None
		Register(a, open, func(context.Context, *struct{}) (*struct{}, error) { return nil, nil }) //nolint:nilnil // huma
	})
	return s, made.Key, bearer.AccessToken
}

func TestEachRequestForAChangeIsADeed(t *testing.T) {
	w := &witness{}
	s, key, token := witnessed(t, w, 0)
	for _, c := range []struct {
		method, path, body string
		want               Deed // but for what all have; no Operation: none
		status             int
		bearer             bool
	}{
		{"GET", "/thing", "", Deed{}, 200, false},
		{"POST", "/thing?secret=1", `{"id": "x"}`, Deed{Operation: "post-thing", Object: "made", Path: "/thing"}, 200, false},
		{"POST", "/thing", `{"id": "x"}`, Deed{Operation: "post-thing", Object: "made", Path: "/thing"}, 200, true},
		{"POST", "/thing", `{"id": 7}`, Deed{Operation: "post-thing", Path: "/thing"}, 400, false},
		{"POST", "/thing", `{`, Deed{Operation: "post-thing", Path: "/thing"}, 400, false},
		{"DELETE", "/thing/yes", "", Deed{Operation: "delete-thing-{id}", Object: "yes", Path: "/thing/yes"}, 204, false},
		{"DELETE", "/thing/no", "", Deed{Operation: "delete-thing-{id}", Object: "no", Path: "/thing/no"}, 404, true},
		{"POST", "/stream", "", Deed{Operation: "post-stream", Object: "streamed", Path: "/stream"}, 202, false},
		{"POST", "/panic", "", Deed{Operation: "post-panic", Path: "/panic"}, 500, false},
		{"POST", "/open", "", Deed{}, 204, false},
		{"PUT", "/thing", "", Deed{}, 405, false},
		{"POST", "/nowhere", "", Deed{}, 404, false},
	} {
		w.deeds = nil
		header := []string{"X-Api-Key", key, "Content-Type", "application/json"}
		if c.bearer {
			header = []string{"Authorization", "Bearer " + token, "Content-Type", "application/json"}
		}
		resp, _, text := s.do(t, c.method, c.path, strings.NewReader(c.body), header...)
		if resp.StatusCode != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, text)
		}
		if c.want.Operation == "" {
			if len(w.deeds) > 0 {
				t.Errorf("%s %s is a deed: %+v", c.method, c.path, w.deeds)
			}
			continue
		}
		if len(w.deeds) != 1 {
			t.Fatalf("%s %s: deeds %+v", c.method, c.path, w.deeds)
		}
		got := w.deeds[0]
		if got.Caller.Email != "ada@example.com" || got.Caller.TeamID == "" || got.ID != resp.Header.Get(RequestIDHeader) || got.IP != "127.0.0.1" {
			t.Errorf("%s %s: %+v", c.method, c.path, got)
		}
		c.want.ID, c.want.Caller, c.want.IP, c.want.Method, c.want.Status, c.want.ByKey = got.ID, got.Caller, got.IP, c.method, c.status, !c.bearer
		if got != c.want {
			t.Errorf("%s %s:\ngot  %+v\nwant %+v", c.method, c.path, got, c.want)
		}
	}
}

func TestStrangersAreNoDeeds(t *testing.T) {
	w := &witness{}
	s, key, _ := witnessed(t, w, 0)
	for name, header := range map[string][]string{
		"no key": {}, "a wrong key": {"X-Api-Key", key[:len(key)-1] + "!"}, "another's team": {"X-Api-Key", key, "X-Team-Id", "theirs"},
	} {
		if resp, _, _ := s.do(t, "POST", "/thing", strings.NewReader(`{"id": "x"}`), append(header, "Content-Type", "application/json")...); resp.StatusCode < 401 || resp.StatusCode > 403 || len(w.deeds) > 0 {
			t.Errorf("%s: %d, deeds %+v", name, resp.StatusCode, w.deeds)
		}
	}
}

// TestFloodIsNoFloodOfDeeds: what is over its rate costs no write.
func TestFloodIsNoFloodOfDeeds(t *testing.T) {
	w := &witness{}
	s, key, _ := witnessed(t, w, 1e-9)
	refused := 0
	for range 1010 {
		if resp, _, _ := s.do(t, "DELETE", "/thing/yes", nil, "X-Api-Key", key); resp.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 10 || len(w.deeds) != 1000 {
		t.Errorf("%d refused, %d deeds", refused, len(w.deeds))
	}
}

// TestNoAnswerWithoutItsDeed: when a deed cannot be kept, the good news is not sent.
func TestNoAnswerWithoutItsDeed(t *testing.T) {
	w := &witness{err: errors.New("the disk is full")}
	s, key, _ := witnessed(t, w, 0)
	for _, path := range []string{"POST /thing", "POST /stream", "DELETE /thing/yes", "DELETE /thing/no", "POST /panic"} {
		method, path, _ := strings.Cut(path, " ")
		w.deeds = nil
		resp, e, text := s.do(t, method, path, strings.NewReader(`{"id": "x"}`), "X-Api-Key", key, "Content-Type", "application/json")
		if resp.StatusCode != 500 || e.Code != "internal_error" || e.ID != resp.Header.Get(RequestIDHeader) || strings.Contains(text, "disk") || strings.Contains(text, "made") || len(w.deeds) != 1 {
			t.Errorf("%s %s: %d %s; deeds %+v", method, path, resp.StatusCode, text, w.deeds)
		}
		if !slices.ContainsFunc(strings.Split(s.logs.String(), "\n"), func(line string) bool {
			return strings.Contains(line, e.ID) && strings.Contains(line, "the disk is full") && strings.Contains(line, `"status":500`)
		}) {
			t.Errorf("%s %s: the log does not say why", method, path)
		}
	}
	if resp, _, _ := s.do(t, "GET", "/thing", nil, "X-Api-Key", key); resp.StatusCode != 200 {
		t.Errorf("a read: %d", resp.StatusCode)
	}
}
