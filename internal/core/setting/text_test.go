package setting

import (
	"strings"
	"testing"
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
