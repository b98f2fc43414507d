package record

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// seen is a sighting of testdata/merging/sightings.jsonl: what another tool reported, or an event of ours.
type seen struct {
	N      int
	From   string
	Record *importer.Record
	Event  *engine.Event
}

// pair is what testdata/merging/pairs.tsv says of two sightings.
type pair struct {
	a, b   int
	same   bool
	reason string
}

// Over- and under-merging on sightings of real tools, all taken in by one team, in the order in which they were seen.
// testdata/merging/README.md has the definition by which the pairs were labelled, and the reasons.
func TestMerging(t *testing.T) {
	sightings, pairs := labelled(t)
	if len(pairs) < 600 {
		t.Fatalf("there are %d pairs", len(pairs))
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		of := weaknesses(t, d, sightings)
		m := measure(pairs, of)
		t.Log(m)
		for _, p := range m.wrong {
			t.Logf("%d and %d are %v by %s", p.a, p.b, map[bool]string{true: "the same", false: "different"}[p.same], p.reason)
		}
		if m.precision() < 0.995 || m.recall() < 0.95 {
			t.Errorf("precision must be at least 99.5 %%, recall 95 %%")
		}
	})
}

// BenchmarkMerging prints precision and recall of "same".
func BenchmarkMerging(b *testing.B) {
	sightings, pairs := labelled(b)
	for _, database := range dbtest.Engines {
		b.Run(database, func(b *testing.B) {
			d := dbtest.Open(b, database)
			for b.Loop() {
				m := measure(pairs, weaknesses(b, d, sightings))
				b.ReportMetric(100*m.precision(), "%precision")
				b.ReportMetric(100*m.recall(), "%recall")
			}
		})
	}
}

// measured counts pairs by what they are and what was said.
type measured struct {
	truePositive, falsePositive, falseNegative, trueNegative int
	wrong                                                    []pair
	missed                                                   map[string][2]int // reason: wrong, all
}

func (m measured) precision() float64 {
	return float64(m.truePositive) / float64(max(1, m.truePositive+m.falsePositive))
}

func (m measured) recall() float64 {
	return float64(m.truePositive) / float64(max(1, m.truePositive+m.falseNegative))
}

func (m measured) String() string {
	out := fmt.Sprintf("%d pairs: precision %.2f %%, recall %.2f %% (%d found, %d wrongly joined, %d missed, %d apart)",
		m.truePositive+m.falsePositive+m.falseNegative+m.trueNegative, 100*m.precision(), 100*m.recall(),
		m.truePositive, m.falsePositive, m.falseNegative, m.trueNegative)
	for _, reason := range slices.Sorted(maps.Keys(m.missed)) {
		if n := m.missed[reason]; n[0] > 0 {
			out += fmt.Sprintf("; %s: %d of %d wrong", reason, n[0], n[1])
		}
	}
	return out
}

func measure(pairs []pair, of map[int]string) (m measured) {
	m.missed = map[string][2]int{}
	for _, p := range pairs {
		said := of[p.a] == of[p.b]
		switch {
		case said && p.same:
			m.truePositive++
		case said:
			m.falsePositive++
		case p.same:
			m.falseNegative++
		default:
			m.trueNegative++
		}
		counts := m.missed[p.reason]
		counts[1]++
		if said != p.same {
			counts[0]++
			m.wrong = append(m.wrong, p)
		}
		m.missed[p.reason] = counts
	}
	return m
}

// weaknesses has a new team see all sightings, and gives the weakness of each.
func weaknesses(t testing.TB, d *db.DB, all []seen) map[int]string {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: ids.New() + "@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]identity.Sighting, len(all))
	for i, s := range all {
		var p identity.Parts
		if s.Event != nil {
			p = identity.Of(*s.Event, "")
		} else {
			p = *Sighting(*s.Record).Parts
		}
		parts[i] = identity.Sighting{Hash: p.Hash(), Parts: p}
	}
	var found []string
	err = d.Tx(context.Background(), func(tx *db.Tx) (err error) {
		found, _, err = identity.Resolve(context.Background(), tx, u.TeamID, db.At(time.Now()), parts)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	of := map[int]string{}
	for i, s := range all {
		of[s.N] = found[i]
	}
	return of
}

func labelled(t testing.TB) (all []seen, pairs []pair) {
	t.Helper()
	lines(t, "testdata/merging/sightings.jsonl", func(line string) error {
		var s seen
		err := json.Unmarshal([]byte(line), &s)
		all = append(all, s)
		return err
	})
	lines(t, "testdata/merging/pairs.tsv", func(line string) error {
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[2] != "same" && f[2] != "different" {
			return fmt.Errorf("%q is no pair", line)
		}
		a, err := strconv.Atoi(f[0])
		if err != nil {
			return err
		}
		b, err := strconv.Atoi(f[1])
		pairs = append(pairs, pair{a, b, f[2] == "same", f[3]})
		return err
	})
	return all, pairs
}

func lines(t testing.TB, name string, do func(line string) error) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := bufio.NewScanner(f)
	text.Buffer(nil, 1<<20)
	for n := 1; text.Scan(); n++ {
		if err := do(text.Text()); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
	}
	if err := text.Err(); err != nil {
		t.Fatal(err)
	}
}
