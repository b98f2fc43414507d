package web

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write cases.tsv")

// cases.tsv is what the table says, each case has an address of its own, and there are enough of both kinds.
func TestCases(t *testing.T) {
	var lines []string
	weak, safe := 0, 0
	count := map[string]int{}
	for _, c := range Generate() {
		line := c.Line()
		if strings.Count(line, "\t") != fields-1 || strings.Contains(line, "\n") {
			t.Errorf("%q is no line", line)
		}
		if Classes[c.Class] == nil || areas[c.Class] == "" {
			t.Errorf("%s has no CWE or no area", c.Class)
		}
		if lines = append(lines, line); c.True {
			weak++
		} else {
			safe++
		}
		count[c.Stack+" "+c.Class]++
	}
	text := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("cases.tsv", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != table {
		t.Error("cases.tsv is not what the table says: go test ./lab/web -update")
	}
	t.Logf("%d weak, %d that look so: %v", weak, safe, count)
	if weak < 600 || safe < 200 {
		t.Errorf("%d weak, %d that look so: want 600 and 200", weak, safe)
	}
}
