package setting

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"go.yaml.in/yaml/v4"
)

func TestMasks(t *testing.T) {
	for in, want := range map[string]string{
		"rate-limit: 10 # as agreed\n":                         "rate-limit: 10 # as agreed\n",
		"slack_webhook_url: https://hooks/x\n":                 "slack_webhook_url: \"********\"\n",
		"api-key: 12\n":                                        "api-key: \"********\"\n",
		"shodan: [a]\nkeys:\n  - b\n  - c\n":                   "shodan: [a]\nkeys:\n  - \"********\"\n  - \"********\"\n",
		"header:\n  - 'Authorization: Bearer x'\n  - 'A: b'\n": "header:\n  - \"Authorization: ********\"\n  - 'A: b'\n",
		"proxy: http://u:p@h:1\n":                              "proxy: \"********\"\n",
		"- provider: aws\n  aws_secret_key: x\n":               "- provider: aws\n  aws_secret_key: \"********\"\n",
		"token: ''\nmonkey: x\n":                               "token: ''\nmonkey: \"********\"\n",
	} {
		doc, err := parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.masked(Scan); got != want {
			t.Errorf("%q is shown as\n%q, want\n%q", in, got, want)
		}
	}
}

func TestKeeping(t *testing.T) {
	for _, c := range []struct{ old, sent, want string }{
		{"token: a\n", "token: '********'\n", "token: a\n"},
		{"- {id: a, token: x}\n- {id: b, token: y}\n", "- {id: b, token: '********'}\n", "- {id: b, token: y}\n"},
		{"header: ['Cookie: x']\n", "header: ['Cookie: ********']\n", "header: ['Cookie: x']\n"},
		{"host: a\ntoken: x\n", "host: b\ntoken: '********'\n", "********"},
		{"token: x\n", "other: {token: '********'}\n", "********"},
		{"webhook: [{id: a, url: x}]\n", "webhook: [{id: '********', url: '********'}]\n", "webhook: [{id: a, url: x}]\n"},
		{"- {id: a, token: x}\n", "- {id: c, token: '********'}\n", "********"},
	} {
		old, err := parse([]byte(c.old))
		if err != nil {
			t.Fatal(err)
		}
		sent, err := parse([]byte(c.sent))
		if err != nil {
			t.Fatal(err)
		}
		got, err := sent.keeping(old)
		if err != nil || !strings.Contains(string(got.text), c.want) {
			t.Errorf("%q over %q: %q %v", c.sent, c.old, got.text, err)
		}
	}
}

// numbered are n lines, each with its number in two places.
func numbered(n int, line string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, line, i, i)
	}
	return text.String()
}

// TestWorkGrowsWithTheConfiguration puts a secret back into configurations of 20,000 keys or items, which takes a
// second and more where each is looked up among all others, and some hundredths where it is not.
func TestWorkGrowsWithTheConfiguration(t *testing.T) {
	const n, most = 20_000, time.Second / 2
	const top, item, nested = "token: %s\n", "- {id: last, token: %s}\n", "- id: last\n  token: %s\n"
	for name, c := range map[string]struct{ old, sent, last string }{
		"keys":              {numbered(n, "key%d: %d\n"), numbered(n, "key%d: %d\n"), top},
		"addresses":         {numbered(n, "host%d: %d\n"), numbered(n, "host%d: %d\n"), top},
		"items by their id": {numbered(n, "- {id: %d, n: %d}\n"), numbered(n, "- {id: %d, n: %d}\n"), item},
		"items of two names": {numbered(n, "- {id: a, name: x%d, n: %d}\n"),
			numbered(n, "- {id: '"+Mask+"', name: x%d, n: %d}\n"), item},
		"items that were one": {numbered(n, "  key%d: %d\n"), numbered(n, "- {id: last, a%d: %d}\n"), nested},
	} {
		old := strings.Replace(c.last, "%s", "of-old", 1)
		if c.last == nested {
			old += c.old
		} else {
			old = c.old + old
		}
		before, err := parse([]byte(old))
		if err != nil {
			t.Fatal(err)
		}
		sent, err := parse([]byte(c.sent + strings.Replace(c.last, "%s", "'"+Mask+"'", 1)))
		if err != nil {
			t.Fatal(err)
		}
		began := cputime.Now()
		fill(sent.root, before.root)
		if took := began.Computed(); took > most {
			t.Errorf("%s: %v", name, took)
		}
		end := sent.root.Content[len(sent.root.Content)-1]
		if end.Kind == yaml.MappingNode {
			end = end.Content[len(end.Content)-1]
		}
		if end.Value != "of-old" {
			t.Errorf("%s: the secret is not put back", name)
		}
	}
}

// What is shown of a text has none of its secrets, parses, and sent back restores them.
func FuzzMask(f *testing.F) {
	for _, s := range []string{"token: a", "a: [{password: {x: [y, 1]}}]", "- key: |\n    many\n    lines\n",
		"url: 'https://u:p@h/'", "? [a]\n: token", "header: ['Cookie: a=b']", "token: !!binary aGVsbG8="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := parse([]byte(text))
		if err != nil || doc.hasMask() {
			return
		}
		shown, err := parse([]byte(doc.masked(Scan)))
		if err != nil {
			t.Fatalf("%q is shown as %q: %v", text, doc.masked(Scan), err)
		}
		again, err := shown.keeping(doc)
		if err != nil || again.hasMask() {
			t.Fatalf("%q, shown as %q, comes back as %q: %v", text, doc.masked(Scan), again.text, err)
		}
		if second := again.masked(Scan); second != shown.masked(Scan) && string(shown.text) != text {
			t.Fatalf("%q is shown as %q, then as %q", text, shown.text, second)
		}
	})
}
