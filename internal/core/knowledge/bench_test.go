package knowledge

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// BenchmarkPass compares a query with all vectors that a team can have, on SQLite. peak-MB is the most memory that the
// process held (Linux).
func BenchmarkPass(b *testing.B) {
	for _, dimensions := range []int{384, 1536} {
		b.Run(fmt.Sprint(dimensions), func(b *testing.B) {
			d := dbtest.Open(b, "sqlite")
			k := &Knowledge{db: d, embedder: embedder{passes: make(chan struct{}, passesAtOnce)}}
			accounts, err := account.Open(b.Context(), d, account.Config{})
			if err != nil {
				b.Fatal(err)
			}
			u, err := accounts.CreateUser(b.Context(), account.NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
			if err != nil {
				b.Fatal(err)
			}
			asked := randomly(dimensions)
			fill(b, d, u.TeamID, u.ID, dimensions)
			debug.FreeOSMemory()
			_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // VmHWM begins anew
			b.ReportAllocs()
			for b.Loop() {
				near, seen, err := k.pass(b.Context(), asked, floor(0), visible+` AND s.shown > 0`,
					[]any{u.TeamID, u.ID, 1})
				if err != nil || seen != maxChunks {
					b.Fatal(len(near), seen, err)
				}
			}
			status, _ := os.ReadFile("/proc/self/status")
			if found := regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status); found != nil {
				kb, _ := strconv.Atoi(string(found[1]))
				b.ReportMetric(float64(kb)/1024, "peak-MB")
			}
		})
	}
}

func randomly(dimensions int) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = rand.Float32() - 0.5
	}
	return v
}

// fill stores a source with as many chunks and vectors as a team can have.
func fill(b *testing.B, d *db.DB, teamID, userID string, dimensions int) {
	b.Helper()
	id := ids.New()
	if _, err := d.Exec(b.Context(), `INSERT INTO knowledge_source (id, team_id, user_id, shared, name, kind, url, file_key,
		ref, content, state, error, revision, bytes, chunks, round, shown, created_at)
		VALUES (?, ?, ?, ?, 'x', 'text', '', '', '', ?, 'ready', '', '', 0, ?, 1, 1, 0)`,
		id, teamID, userID, false, []byte{}, maxChunks); err != nil {
		b.Fatal(err)
	}
	const each = 1000
	for from := 0; from < maxChunks; from += each {
		chunks, vectors := make([][]any, each), make([][]any, each)
		for i := range each {
			chunks[i] = []any{from + i, id, teamID, 1, "p", 1, "t"}
			vectors[i] = []any{from + i, id, 1, 1, encode(randomly(dimensions))}
		}
		if err := d.Tx(b.Context(), func(tx *db.Tx) error {
			if err := tx.Insert(b.Context(), `knowledge_chunk (no, source_id, team_id, round, place, line, text)`, chunks); err != nil {
				return err
			}
			return tx.Insert(b.Context(), `knowledge_vector (no, source_id, round, space, vector)`, vectors)
		}); err != nil {
			b.Fatal(err)
		}
	}
}
