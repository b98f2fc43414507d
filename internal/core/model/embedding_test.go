package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Calls of an embedding model are reserved under the caps before they are made, and cost what the model counted; one that
// a cap refuses is not made and leaves no usage.
func TestEmbeddingSpending(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		asked, status := 0, http.StatusOK
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"data": [{"index": 0, "embedding": [1]}], "usage": {"prompt_tokens": 2}}`)
		}))
		defer server.Close()
		r := open(t, d, model.Config{Embedding: &model.Embedding{Name: "tiny", Price: llm.Price{Input: 1e6 * cent}, Priced: true,
			Config: llm.Config{Provider: llm.ProviderOpenAI, BaseURL: server.URL}}})
		ctx, ada := r.person("ada", "blue", account.Admin)
		e, err := r.EmbeddingOf(t.Context(), ada.TeamID)
		if err != nil || e == nil || e.Name != "tiny" || e.BYOK {
			t.Fatalf("%+v %v", e, err)
		}
		who := model.Account{TeamID: ada.TeamID, UserID: ada.UserID, TaskID: ids.New()}
		if has, err := open(t, d, model.Config{}).HasEmbedding(t.Context()); has || err != nil {
			t.Errorf("a team has a model: %t, %v", has, err)
		}
		usage := r.EmbeddingUsage(*e, who, "Vectors")
		streams := func() (sum int64, n int) {
			t.Helper()
			rows, n, err := r.FindStreams(ctx, model.UsageFilter{}, page.Window{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				sum += row.Micros
			}
			return sum, n
		}
		if _, err := r.accounts.SetCap(ctx, ada.Email, new(int64(1))); err != nil { // a cent; the text may cost more
			t.Fatal(err)
		}
		if _, err := r.Embed(t.Context(), *e, who, &usage, []string{"a"}); code(err) != model.CodeMemberCap || asked != 0 {
			t.Errorf("%v after %d calls", err, asked)
		}
		if sum, n := streams(); n != 0 || sum != 0 || usage.Steps != 0 {
			t.Errorf("%d rows of %d: %+v", n, sum, usage)
		}
		if _, err := r.accounts.SetCap(ctx, ada.Email, new(int64(1_000_000))); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if v, err := r.Embed(t.Context(), *e, who, &usage, []string{"a"}); err != nil || len(v) != 1 {
				t.Fatal(v, err)
			}
		}
		if sum, n := streams(); n != 1 || sum != 4*cent || usage.Status != "completed" {
			t.Errorf("%d rows of %d: %+v", n, sum, usage)
		}
		status = http.StatusBadRequest
		if _, err := r.Embed(t.Context(), *e, who, &usage, []string{"a"}); code(err) != llm.CodeRequest || asked != 3 {
			t.Errorf("%v after %d calls", err, asked)
		}
		if sum, n := streams(); n != 1 || sum != 4*cent || usage.Status != "error" || usage.Error == "" {
			t.Errorf("what failed costs: %d rows of %d: %+v", n, sum, usage)
		}
	})
}
