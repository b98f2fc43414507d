package match

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// corpus gives the blocks of every one of some public templates.
func corpus(t testing.TB, every int) (blocks []syntax.HTTP, files int) {
	dir := os.Getenv("VEDETTE_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	seen := 0
	_ = filepath.WalkDir(filepath.Join(dir, "templates", "http"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		if seen++; seen%every != 0 {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if template, err := syntax.Parse(path, data); err == nil {
			files++
			blocks = append(blocks, template.HTTP...)
		}
		return nil
	})
	if files == 0 {
		t.Skip("the template corpus is not here; VEDETTE_CORPUS names its folder")
	}
	return blocks, files
}

func compileCorpus(t testing.TB, blocks []syntax.HTTP) (operators []*Operators) {
	for _, b := range blocks {
		o, err := Compile("t.yaml", Spec{Condition: b.MatchersCondition, Matchers: b.Matchers, Extractors: b.Extractors})
		if err != nil {
			t.Error(err)
			continue
		}
		operators = append(operators, o)
	}
	return operators
}

// The operators of public templates compile, and say the same in one group as alone:
// about an ordinary page, and about one that has what many of them look for.
func TestCorpus(t *testing.T) {
	blocks, files := corpus(t, 4)
	operators := compileCorpus(t, blocks)
	var bait strings.Builder
	for i, b := range blocks {
		for _, m := range b.Matchers {
			for _, w := range m.Words {
				if i%5 == 0 {
					bait.WriteString(w + " \n")
				}
			}
		}
	}
	group := NewGroup(operators)
	for name, body := range map[string]string{"ordinary": string(benchPage(5000)),
		"bait": bait.String() + strings.ToUpper(bait.String()), "odd": "\u212aſİ" + bait.String(), "empty": ""} {
		start := time.Now()
		got := make([]string, len(operators))
		group.Eval(benchResponse([]byte(body)), nil, func(i int, o Outcome) { got[i] = tell(o) })
		together := time.Since(start)
		alone, yes := benchResponse([]byte(body)), 0
		for i, o := range operators {
			want := tell(o.Eval(alone, nil))
			if want == "no" {
				want = ""
			} else {
				yes++
			}
			if got[i] != want {
				t.Errorf("%s: %+v: %q in the group, %q alone", name, blocks[i].Matchers, got[i], want)
			}
		}
		t.Logf("%s: %d of %d say something; %v together", name, yes, len(operators), together)
	}
	t.Logf("%d blocks of %d templates", len(operators), files)
}

// All operators of the corpus on one page, as if all waited for it.
func BenchmarkCorpus(b *testing.B) {
	blocks, _ := corpus(b, 1)
	operators := compileCorpus(b, blocks)
	body := benchPage(20_000)
	b.Run(fmt.Sprintf("group of %d", len(operators)), func(b *testing.B) {
		g := NewGroup(operators)
		vars := func(int) dsl.Lookup { return nil }
		b.ReportAllocs()
		for b.Loop() {
			g.Eval(benchResponse(body), vars, func(int, Outcome) {})
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			compileCorpus(b, blocks)
		}
		b.ReportMetric(float64(len(blocks))*float64(b.N)/b.Elapsed().Seconds(), "blocks/s")
	})
}
