package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// see has a run of an enumeration see assets.
func (r room) see(t testing.TB, enumeration string, seen ...discover.Asset) {
	t.Helper()
	if err := r.db.Tx(r.alice, func(tx *db.Tx) error {
		if err := r.from.Assets.Register(r.alice, tx,
			asset.Enumeration{ID: enumeration, TeamID: r.team, Name: "E"}); err != nil {
			return err
		}
		_, err := r.from.Assets.Observe(r.alice, tx,
			asset.Seen{TeamID: r.team, EnumerationID: enumeration, Run: 1, At: time.Now(), Assets: seen})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// hostileAssets say what targets would say to break out of a file.
func hostileAssets() (out []discover.Asset) {
	for i, text := range hostile {
		out = append(out, discover.Asset{Host: fmt.Sprintf("h%02d.example.com", i), Port: 443, URL: "https://h", Title: text,
			Technologies: []string{text}, CNAME: []string{text}, TLS: &discover.TLS{SubjectCN: text}})
	}
	return out
}

// TestInventoryIsWritten reads each format of a file of assets back.
func TestInventoryIsWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for format, empty := range map[Format]string{Raw: "", Lines: "", JSON: "[\n]\n"} {
			if got := r.file(t, Request{Format: format, Inventory: &Inventory{}}); string(got) != empty {
				t.Errorf("no assets are %q as %s", got, format)
			}
		}
		r.see(t, "e", hostileAssets()...)
		r.see(t, "f", discover.Asset{Host: "2001:db8::1", Port: 80}, discover.Asset{Host: "z.example.org"})
		of := func(format Format, i Inventory) []byte { return r.file(t, Request{Format: format, Inventory: &i}) }

		want := "z.example.org\n[2001:db8::1]:80\n"
		if got := of(Raw, Inventory{EnumerationID: "f", SortDesc: "host"}); string(got) != want {
			t.Errorf("raw: %q, want %q", got, want)
		}
		if got := of(Raw, Inventory{Filters: asset.Filters{OnlyDNS: new(true),
			Domain: []string{"org"}}}); string(got) != "z.example.org\n" {
			t.Errorf("filtered: %q", got)
		}
		var all []discover.Asset
		if err := json.Unmarshal(of(JSON, Inventory{EnumerationID: "e", SortAsc: "host"}), &all); err != nil ||
			len(all) != len(hostile) {
			t.Fatalf("%d assets, %v", len(all), err)
		}
		lines := bytes.Split(bytes.TrimSuffix(of(Lines, Inventory{EnumerationID: "e", SortAsc: "host"}), []byte("\n")),
			[]byte("\n"))
		if len(lines) != len(hostile) {
			t.Fatalf("%d lines", len(lines))
		}
		for i, line := range lines {
			var one discover.Asset
			if err := json.Unmarshal(line, &one); err != nil || one.Host != all[i].Host || one.Title != all[i].Title {
				t.Errorf("line %d is %s, %v", i, line, err)
			}
		}
		table, err := csv.NewReader(bytes.NewReader(of(CSV, Inventory{EnumerationID: "e", SortAsc: "host"}))).ReadAll()
		if err != nil || len(table) != 1+len(hostile) {
			t.Fatalf("%d records, %v", len(table), err)
		}
		title := slices.Index(table[0], "title")
		for i, record := range table[1:] {
			if len(record) != len(assetCells(&asset.Asset{})) || record[2] != all[i].Host {
				t.Fatalf("record %d is %q", i, record)
			}
			for _, text := range record {
				if formula(text) || strings.ContainsFunc(text, func(r rune) bool { return visible(r) != r && r != '\r' }) {
					t.Errorf("%q is a cell", text)
				}
			}
			if plain := all[i].Title; plainCell(plain) && record[title] != plain {
				t.Errorf("title %q is %q", plain, record[title])
			}
		}
	})
}

// TestInventoryInTheBackground makes a file of assets as a job; a stranger has no such
// enumeration, and what cannot be made is refused before anything is kept.
func TestInventoryInTheBackground(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "e", hostileAssets()...)
		wanted := Request{Format: Raw, Name: "Assets",
			Inventory: &Inventory{EnumerationID: "e", At: time.Now(), Filters: asset.Filters{Time: "last_day"}, SortAsc: "host"}}
		e, err := r.Start(r.alice, wanted)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		done := make(chan error, 1)
		queue.Handle(r.queue, queue.Handler[RunArgs]{Work: func(ctx context.Context, job queue.Job[RunArgs]) error {
			err := r.Run(ctx, job)
			done <- err
			return err
		}})
		if err := r.queue.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if e, err = r.Find(r.alice, e.ID); err != nil || e.State != Finished || e.About != OfAssets ||
			e.Total != len(hostile) || !strings.HasPrefix(e.FileName(), "enumeration-e-") ||
			!strings.HasSuffix(e.FileName(), ".txt") {
			t.Fatalf("%+v, %s, %v", e, e.FileName(), err)
		}
		var got bytes.Buffer
		if err := r.Download(r.alice, e, &got); err != nil || got.String() != string(r.file(t, wanted)) ||
			!strings.HasPrefix(got.String(), "h00.example.com:443\n") {
			t.Errorf("%q, %v", got.String(), err)
		}
		for param, bad := range map[string]Inventory{"sort_asc": {SortAsc: "nothing"},
			"port": {Filters: asset.Filters{Port: "x"}}} {
			if _, err := r.Start(r.alice, Request{Format: JSON, Inventory: &bad}); errs.From(err).Param != param {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		if _, err := r.Start(r.stranger, wanted); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		if _, err := r.Open(r.alice, Request{Format: PDF, Inventory: &Inventory{}}); errs.From(err).Param != "format" {
			t.Errorf("a report of assets: %v", err)
		}
	})
}
