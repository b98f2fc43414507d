package js_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// What a script computed with its arguments alone is not computed again at the next target; all else is.
func TestResultsAreKept(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "n.json")
	for name, c := range map[string]struct {
		code string
		kept bool
	}{
		"arguments":               {"let b = new bytes.Buffer(); b.WriteString(Word + structs.Pack('B', [7])); log(Word); Export(b.String())", true},
		"throws":                  {"throw new Error(Word)", false},
		"Date":                    {"String(new Date()).length", false},
		"Date.now":                {"Date.now() > 0", false},
		"random":                  {"Math.random() < 2", false},
		"Rand":                    {"Rand(3).length", false},
		"RandInt":                 {"RandInt() >= 0", false},
		"a name of the template":  {"template.Host", false},
		"an argument by template": {"log(template.Word); template.Word", true},
		"a port":                  {"try { isPortOpen('127.0.0.1', '1') } catch (e) {}; 1", false},
		"a module":                {"require('nuclei/net'); 1", false},
		"a file":                  {"require('./n.json').n", false},
	} {
		e := env("127.0.0.1:1", time.Minute)
		e.Scripts, e.Files = proto.NewScripts(1), true
		if err := os.WriteFile(file, []byte(`{"n": 1}`), 0o600); err != nil {
			t.Fatal(err)
		}
		block := &syntax.JavaScript{Code: c.code, Args: []syntax.Variable{{Name: "Word", Value: "w", Data: "w"}}}
		first, err := runIn(t, t.Context(), filepath.Join(folder, "t.yaml"), e, block)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kept := true
		e.Scripts.Once(t.Context(), block.Code, map[string]any{"Word": "w", "Port": "1"}, func() (any, int, bool) {
			kept = false
			return nil, 0, false
		})
		if kept != c.kept {
			t.Errorf("%s: kept %v, want %v (%q)", name, kept, c.kept, first.Response)
		}
		if !c.kept {
			continue
		}
		e.Log = func(text string) { t.Errorf("%s: computed again: %s", name, text) }
		again, err := runIn(t, t.Context(), filepath.Join(folder, "t.yaml"), e, block)
		if err != nil || again.Response != first.Response || first.Response == "" {
			t.Errorf("%s: %+v, then %+v, %v", name, first, again, err)
		}
	}
}
