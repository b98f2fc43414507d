package generate

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const good = "id: a\ninfo: {name: A, author: m, severity: low}\nhttp:\n  - path: [\"{{BaseURL}}/\"]\n" +
		"    matchers: [{type: status, status: [200]}]\n"
	for name, c := range map[string]struct {
		answer        string
		valid, canRun bool
		problem       string
	}{
		"a template":            {good, true, true, ""},
		"in a fence":            {"Here:\n```yaml\n" + good + "```\nEnjoy.", true, true, ""},
		"in an open fence":      {"```\n" + good, true, true, ""},
		"the first of two":      {"```yaml\n" + good + "```\n```yaml\nid: b\n```", true, true, ""},
		"no template":           {"I cannot do that.", false, false, "template.yaml"},
		"nothing":               {"", false, false, "template.yaml"},
		"what servers run not":  {strings.Replace(good, "http:", "code:\n  - {engine: [sh], source: id}\nhttp:", 1), true, false, "code"},
		"a key that is not one": {strings.Replace(good, "severity: low", "severity: hihg", 1), false, false, "hihg"},
	} {
		w := read(c.answer)
		if w.Valid != c.valid || w.CanRun != c.canRun || !strings.Contains(w.Problem, c.problem) ||
			(w.Problem == "") != c.canRun || c.valid && w.ID != "a" {
			t.Errorf("%s: %+v", name, w)
		}
	}
}
