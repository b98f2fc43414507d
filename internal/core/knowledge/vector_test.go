package knowledge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// meaning is a lab with an embedding model. Its vectors have something in common, as those of real ones, and count words
// of two meanings; extra numbers are added to them.
type meaning struct {
	lab
	asked []string // texts that the model got
	calls int
	fails func(call int) bool
	extra int
}

func newMeaning(t *testing.T, d *db.DB) *meaning {
	t.Helper()
	m := &meaning{lab: newLab(t, d), fails: func(int) bool { return false }}
	server := httptest.NewServer(http.HandlerFunc(m.answer))
	t.Cleanup(server.Close)
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	m.secrets = secret.New(d, box)
	m.models = model.New(d, box, accounts, model.Config{Embedding: &model.Embedding{Name: "tiny",
		Config: llm.Config{Provider: llm.ProviderOpenAI, BaseURL: server.URL}}})
	return m
}

func (m *meaning) answer(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Input []string }
	text, _ := io.ReadAll(r.Body)
	if m.calls++; json.Unmarshal(text, &asked) != nil || m.fails(m.calls) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error": {"message": "out of order"}}`)
		return
	}
	m.asked = append(m.asked, asked.Input...)
	type one struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	var out []one
	for i, text := range asked.Input {
		v := make([]float32, 3+m.extra)
		v[0] = 1
		for at, words := range [][]string{{"lorry", "car"}, {"physician", "doctor"}} {
			if strings.Contains(text, words[0]) || strings.Contains(text, words[1]) {
				v[1+at] = 1
			}
		}
		out = append(out, one{i, v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": out})
}

// embed runs the job that was asked for last.
func (m *meaning) embed() {
	m.t.Helper()
	team := m.callerOf(m.ada).TeamID
	p, err := m.progress(m.t.Context(), m.db, team)
	if err == nil {
		err = m.Embed(m.t.Context(), EmbedArgs{team, p.wanted})
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *meaning) callerOf(ctx context.Context) account.Caller {
	c, err := account.From(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// expect searches, and compares what is found and what part vectors had.
func (m *meaning) expect(query, names string, state VectorState, isUsed bool) Vectors {
	m.t.Helper()
	f, err := m.Search(m.ada, query, "", 10)
	var got []string
	for _, h := range f.Hits {
		got = append(got, h.Source)
	}
	if v := f.Vectors; err != nil || strings.Join(got, " ") != names || v.State != state || v.Used != isUsed {
		m.t.Errorf("%q finds %v, want %q: %+v %v", query, got, names, v, err)
	}
	return f.Vectors
}

// A search by meaning finds what is clearly nearer than unrelated texts are, and nothing where nothing is. Each state says
// why vectors were not used; words find all the same.
func TestVectors(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		m := newMeaning(t, d)
		m.expect("car", "", VectorsIndexing, false)
		m.put(m.ada, New{Name: "Fleet", Content: "The lorry stands in yard 4.", Shared: true})
		m.put(m.ada, New{Name: "Clinic", Content: "The physician comes on Mondays.", Shared: true})
		m.expect("lorry", "Fleet", VectorsIndexing, false)
		m.fails = func(int) bool { return true }
		m.embed()
		if v := m.expect("lorry", "Fleet", VectorsFailed, false); !strings.Contains(v.Message(), "out of order") {
			t.Error(v.Message())
		}
		m.fails = func(int) bool { return false }
		m.embed()
		m.expect("car", "Fleet", VectorsUsed, true)
		m.expect("a doctor", "Clinic", VectorsUsed, true)
		m.expect("car in Mondays", "Fleet Clinic", VectorsUsed, true)
		m.expect("violin", "", VectorsUsed, true) // Mondays and yards are as near to it as anything
		m.fails = func(int) bool { return true }
		m.expect("lorry", "Fleet", VectorsFailed, false)
		m.most = 1
		if v := m.expect("car", "", VectorsTooMany, false); !strings.Contains(v.Message(), "2 chunks") {
			t.Error(v.Message())
		}
		m.models = nil
		m.expect("lorry", "Fleet", VectorsNoModel, false)
	})
}

// A job that ends in the middle goes on where it was, and a text that is read again unchanged keeps its vectors.
func TestVectorsGoOn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		m := newMeaning(t, d)
		var b strings.Builder
		for i := range 1500 {
			fmt.Fprintf(&b, "Line %d of the list says where each lorry stands.\n", i)
		}
		s := m.put(m.ada, New{Name: "Fleet", Content: b.String(), Shared: true})
		if s.Chunks <= embedAtOnce {
			t.Fatalf("%d chunks are one batch", s.Chunks)
		}
		m.fails = func(call int) bool { return call == 2 }
		m.embed()
		v := m.expect("zebra", "", VectorsFailed, true)
		if v.Indexed != embedAtOnce || v.Chunks != s.Chunks || !strings.Contains(v.Message(), "out of order") {
			t.Errorf("%+v", v)
		}
		m.asked = nil
		m.embed()
		if len(m.asked) != s.Chunks-embedAtOnce {
			t.Errorf("%d texts were asked about, want %d", len(m.asked), s.Chunks-embedAtOnce)
		}
		s, err := m.Reindex(m.ada, s.ID)
		if err == nil {
			err = m.Index(t.Context(), IndexArgs{s.ID, s.round})
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.asked = nil; m.expect("zebra", "", VectorsUsed, true).Indexed != s.Chunks {
			t.Error("vectors of unchanged texts are gone")
		}
		if m.embed(); len(m.asked) != 1 {
			t.Errorf("%d texts were asked about again", len(m.asked)-1)
		}
		// A job that is no longer wanted does nothing.
		if err := m.Embed(t.Context(), EmbedArgs{s.TeamID, 0}); err != nil || len(m.asked) != 1 {
			t.Error(err)
		}
	})
}

// A model whose vectors have another length has all made again; one whose length keeps changing fails.
func TestVectorsOfAnotherLength(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		m := newMeaning(t, d)
		m.put(m.ada, New{Name: "Fleet", Content: "The lorry stands in yard 4.", Shared: true})
		m.put(m.ada, New{Name: "Clinic", Content: "The physician comes on Mondays.", Shared: true})
		m.embed()
		m.extra = 4
		m.now = func() time.Time { return time.Now().Add(time.Hour) }
		m.expect("car", "", VectorsIndexing, false)
		m.embed()
		m.expect("car", "Fleet", VectorsUsed, true)

		// The length changes between two calls of a job, too.
		m.put(m.ada, New{Name: "Boats", Content: "No boat.", Shared: true})
		m.extra = 0
		m.embed()
		if v := m.expect("car", "Fleet", VectorsUsed, true); v.Indexed != 3 {
			t.Errorf("%+v", v)
		}
		m.put(m.ada, New{Name: "Trains", Content: "No train.", Shared: true})
		m.fails = func(int) bool { m.extra++; return false }
		m.embed()
		if v := m.expect("lorry", "Fleet", VectorsFailed, false); !strings.Contains(v.Message(), "numbers") {
			t.Errorf("%+v", v)
		}
	})
}

func TestFuse(t *testing.T) {
	for want, rankings := range map[string][][]int64{"[2 1 3]": {{1, 2}, {2, 3}}, "[4 5]": {{5}, {4}}, "[7]": {nil, {7}}, "[]": {nil, nil}} {
		if got := fmt.Sprint(fuse(rankings...)); got != want {
			t.Errorf("%v: %s, want %s", rankings, got, want)
		}
	}
}

func TestDot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 19).Draw(t, "n")
		draw := func(name string) []float32 { return rapid.SliceOfN(rapid.Float32Range(-1, 1), n, n).Draw(t, name) }
		a, b := draw("a"), draw("b")
		var want float64
		for i := range a {
			want += float64(a[i]) * float64(b[i])
		}
		if got := dot(a, encode(b)); math.Abs(float64(got)-want) > 1e-5 {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestFloor(t *testing.T) {
	if got := mean([][]float32{{1, 0}, {0, 1}}); !slices.Equal(got, []float32{0.5, 0.5}) || len(mean(nil)) != 0 {
		t.Error(got)
	}
	for base, want := range map[float32]float32{-1: 0.2, 0: 0.2, 0.5: 0.6, 1: 1} {
		if got := floor(base); math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("%v: %v, want %v", base, got, want)
		}
	}
}
