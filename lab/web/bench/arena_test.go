package bench

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/lab/web"
)

// The table of the arena can be read whole, and each of its cases can be proved by labweb -prove.
func TestArena(t *testing.T) {
	for line := range strings.Lines(arenaTable) {
		f := strings.Split(line, "\t")
		if len(f) != arenaFields || f[2] != "weak" && f[2] != "looks" && f[2] != "-" {
			t.Errorf("it cannot be read: %q", line)
		}
	}
	flows := Flows("java", nil)
	if len(flows) != 1 || flows[0].Name() != "java-arena-all" {
		t.Fatalf("%d flows", len(flows))
	}
	weak, looks, seen := map[string]int{}, map[string]int{}, map[string]bool{}
	total := [2]int{}
	sent := regexp.MustCompile(`^- (\[.*\] )?(GET|POST|FILE) (/[^ ?]*)`)
	for _, c := range flows[0].Cases {
		if seen[c.Path] || strings.Contains(c.Path, "{") {
			t.Errorf("%s is there twice, or not filled in", c.Path)
		}
		if seen[c.Path] = true; c.True {
			weak[c.Class]++
			total[0]++
		} else {
			looks[c.Class]++
			total[1]++
		}
		if len(web.FlowClasses[c.Class]) == 0 {
			t.Errorf("%s: %s has no CWE", c.Path, c.Class)
		}
		if _, err := regexp.Compile(strings.TrimPrefix(c.Expect, "head: ")); err != nil || c.Expect == "" {
			t.Errorf("%s expects %q: %v", c.Path, c.Expect, err)
		}
		if at := sent.FindStringSubmatch(c.Proof); at == nil || !c.At(at[3]) {
			t.Errorf("%s has the proof %q", c.Path, c.Proof)
		}
	}
	if total[0] < 160 || total[1] < 60 {
		t.Errorf("%d are weak, %d look so", total[0], total[1])
	}
	for class, n := range weak {
		if looks[class] == 0 {
			t.Errorf("%s has %d weak cases, and nothing that looks so", class, n)
		}
	}
	t.Logf("weak %v %v, look so %v %v", total[0], weak, total[1], looks)
	if only := Flows("java", []string{"xxe"}); len(only) != 1 || len(only[0].Cases) != weak["xxe"]+looks["xxe"] {
		t.Errorf("of one class: %v", only)
	}
}
