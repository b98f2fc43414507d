package main

import (
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestSeedCreatesTheRequestedRows counts the rows, on both databases.
func TestSeedCreatesTheRequestedRows(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, engine)
			const scans, findings, assets = 50, 3000, 700
			if err := run(t.Context(), []string{"--database", url, "--scans", strconv.Itoa(scans), "--findings",
				strconv.Itoa(findings), "--assets", strconv.Itoa(assets)}); err != nil {
				t.Fatal(err)
			}
			d, err := db.Open(t.Context(), db.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			for query, want := range map[string]int{
				`SELECT count(*) FROM scan`:                                               scans,
				`SELECT count(*) FROM finding`:                                            findings,
				`SELECT sum(total) FROM finding_tally`:                                    findings,
				`SELECT count(*) FROM asset WHERE enumeration_id = 'seed'`:                assets,
				`SELECT count(DISTINCT status) FROM scan`:                                 4,
				`SELECT count(*) FROM scan_run WHERE status = 'finished'`:                 8,
				`SELECT count(*) FROM scan_run WHERE ended_at IS NULL`:                    0,
				`SELECT count(*) FROM scan WHERE status = 'scheduled'`:                    2,
				`SELECT count(*) FROM finding WHERE scan_id NOT IN (SELECT id FROM scan)`: 0,
			} {
				var got int
				if err := d.QueryRow(t.Context(), query).Scan(&got); err != nil || got != want {
					t.Errorf("%s: %d, want %d; %v", query, got, want, err)
				}
			}
			if err := run(t.Context(), []string{"--database", url}); err == nil {
				t.Error("it accepts an existing user")
			}
			if err := upload(t.Context(), d, "seed@example.com", 1, 40); err != nil {
				t.Error(err)
			}
			var all int
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM finding`).Scan(&all); err != nil || all != findings+40 {
				t.Errorf("%d findings after a further upload; %v", all, err)
			}
			if err := run(t.Context(), []string{"--database", url, "--uploads", "1", "--email", "x@example.com"}); err == nil {
				t.Error("it uploads for nobody")
			}
		})
	}
	for _, args := range [][]string{{"--scans", "0"}, {"--findings", "-1"}, {"--assets", "-1"}, {"more"}, {"--nonsense"},
		{"--database", "mysql://x"}} {
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
