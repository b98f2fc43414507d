package draft_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/draft"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

var rewrite = flag.Bool("update", false, "write the golden files anew")

// TestGolden writes a template of each file in testdata.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d cases, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			x, err := recorded.ReadExchange(text)
			if err != nil {
				t.Fatal(err)
			}
			made, err := draft.Write(t.Context(), x, draft.Details{})
			if err != nil {
				t.Fatalf("%v\n%s", err, made.Text)
			}
			got := made.Text + "# " + strings.Join(made.Notes, "\n# ") + "\n"
			golden := strings.TrimSuffix(name, ".txt") + ".yaml"
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(golden); err != nil || got != string(want) {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

func TestBadID(t *testing.T) {
	x := recorded.Exchange{Request: recorded.Request{URL: "http://a.example/", Method: "GET"}}
	if _, err := draft.Write(t.Context(), x, draft.Details{ID: "no id!"}); err == nil {
		t.Error("an id with a blank was taken")
	}
}
