package importer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// corpus is where the reports of other tools lie beside the repository; tests that need them are skipped without.
const corpus = "../../../shared/corpus/imports"

// expected is a row of testdata/corpus.tsv, which testdata/corpus_counts.py works out by other means.
type expected struct {
	file, format, accepted, rejected, ignored, severities, places string
}

func expectations(t testing.TB) (all []expected) {
	t.Helper()
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus is not beside the repository")
	}
	text, err := os.ReadFile("testdata/corpus.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		c := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(c) != 8 || c[7] == "" {
			t.Fatalf("%q has %d columns", line, len(c))
		}
		all = append(all, expected{c[0], c[1], c[2], c[3], c[4], c[5], c[6]})
	}
	return all
}

// TestCorpus reads every file of the corpus, with its format recognised where the file is not empty, and compares
// counts, severities and places with the table.
func TestCorpus(t *testing.T) {
	rows := expectations(t)
	files, err := filepath.Glob(corpus + "/*/*")
	if err != nil || len(files) != len(rows) {
		t.Errorf("the corpus has %d files, the table %d rows (%v)", len(files), len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.file, func(t *testing.T) { compare(t, row) })
	}
}

func compare(t *testing.T, row expected) {
	t.Helper()
	name := filepath.Join(corpus, row.file)
	report, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	format := "auto"
	if bare := strings.TrimSpace(string(report)); len(bare) < 3 || bare == "null" || row.accepted == "E" {
		format = filepath.Base(filepath.Dir(name)) // nothing to recognise: the name of the family
	}
	opts := importer.Options{Format: format, FileName: name, TempDir: t.TempDir()}
	var places []string
	sum, err := importer.Read(context.Background(), strings.NewReader(string(report)), opts, func(item importer.Item) error {
		if item.Record != nil {
			if item.Record.Tool == "" || item.Record.Check == "" || item.Record.Class == "" {
				t.Errorf("a record is not complete: %+v", *item.Record)
			}
			places = append(places, placeOf(item.Record.Place))
		}
		return nil
	})
	if row.accepted == "E" {
		if err == nil || sum.Accepted > 0 || len(err.Error()) < 20 {
			t.Errorf("it is taken in: %+v, %v", sum, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := expected{row.file, sum.Format, strconv.Itoa(sum.Accepted), strconv.Itoa(sum.Rejected), strconv.Itoa(sum.Ignored),
		severities(sum), row.places}
	if row.places != "-" {
		slices.Sort(places)
		digest := sha256.Sum256([]byte(strings.Join(slices.Compact(places), "\n")))
		got.places = hex.EncodeToString(digest[:])[:12]
	}
	if got != row {
		t.Errorf("got  %+v\nwant %+v\nplaces: %q", got, row, slices.Compact(places))
	}
}

func severities(sum importer.Summary) string {
	var all []string
	for _, s := range kit.Severities {
		if n := sum.Severities[s]; n > 0 {
			all = append(all, fmt.Sprintf("%s:%d", s, n))
		}
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, " ")
}

// placeOf is a place as the script writes it.
func placeOf(p kit.Place) string {
	with := func(text, mark, more string) string {
		if more == "" || more == "0" {
			return text
		}
		return text + mark + more
	}
	switch {
	case p.URL != "":
		return with(p.URL, "|", p.Parameter.Name)
	case p.Host != "":
		return with(p.Host, ":", strconv.Itoa(p.Port))
	case p.Package.Name != "":
		return p.Package.Name + "@" + p.Package.Version
	case p.File != "":
		return with(p.File, ":", strconv.Itoa(p.StartLine))
	}
	return p.Resource.Name
}
