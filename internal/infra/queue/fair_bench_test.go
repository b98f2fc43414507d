package queue

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// BenchmarkLook is the look for the next jobs, with 20,000 jobs of one team and one each of 100 others.
func BenchmarkLook(b *testing.B) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			d := dbtest.Open(b, engine)
			q := patient(b, d, 0)
			b.Cleanup(func() { stop(b, q) })
			if err := d.Tx(b.Context(), func(tx *db.Tx) error {
				for i := range 20_100 {
					team := "loud"
					if i >= 20_000 {
						team = strings.Repeat("x", i-19_999)
					}
					if _, err := q.Insert(b.Context(), tx, team, note{}); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
			l := &lane{name: longLane, workers: 8, spare: 2, team: 8}
			for b.Loop() {
				if number, err := q.plan(b.Context(), l, 8); err != nil || len(number) != 8 {
					b.Fatal(number, err)
				}
			}
		})
	}
}
