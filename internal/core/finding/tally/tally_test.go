package tally

import (
	"maps"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// Counts are sums of changes; a severity that has none left is not shown, and the total is their sum.
func TestCounts(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		one, two := Counts{}, Counts{}
		one.Add("s1", "high", 3)
		one.Add("s1", "low", 1)
		one.Add("s2", "info", 2)
		two.Add("s1", "low", -1)
		two.Add("s1", "high", -1)
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			for _, c := range []Counts{one, two} {
				if err := c.Store(t.Context(), tx, "team"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := OfScans(t.Context(), d, []string{"s1", "s2", "none"})
		if err != nil || !maps.Equal(got["s1"], map[string]int{"high": 2}) || !maps.Equal(got["s2"], map[string]int{"info": 2}) ||
			len(got) != 2 {
			t.Errorf("%v, %v", got, err)
		}
		total, err := db.Value[int](t.Context(), d, `SELECT total FROM finding_total WHERE scan_id = 's1'`)
		if err != nil || total != 2 {
			t.Errorf("total %d, %v", total, err)
		}
	})
}
