package sitemap

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// Scripts read controls by their ids, in forms or without one: size.value, document.getElementById("size").value,
// $("#size").val(), Number(size.value).
var (
	readByID = regexp.MustCompile(`(^|[^\w$.])(?:document\.getElementById\(\s*["']|document\.querySelector\(\s*["']#|` +
		`\$\(\s*["']#)?([A-Za-z_][\w-]*)(?:["']\s*\))?\.val(?:ue\b|\(\))`)
	asNumber = regexp.MustCompile(`\b(?:Number|parseInt|parseFloat)\(\s*"(-?\d+(?:\.\d+)?)"\s*(?:,\s*10\s*)?\)`)
)

// control notes the value of a control that has an id.
func (p *page) control(n *html.Node, a map[string]string) {
	one := &field{value: a["value"]}
	if n.Data == "select" {
		one.choose(n)
	}
	if a["id"] != "" && one.value != "" && a["type"] != "password" && !strings.ContainsAny(one.value, "\"'`\\$\n") &&
		len(p.typedIn) < maxFields {
		p.typedIn[a["id"]] = one.value
	}
}

// withTyped is the text of a call with the values of the controls in the place of what reads them.
func (p *page) withTyped(text string) string {
	text = readByID.ReplaceAllStringFunc(text, func(s string) string {
		m := readByID.FindStringSubmatch(s)
		if value, ok := p.typedIn[m[2]]; ok {
			return m[1] + `"` + value + `"`
		}
		return s
	})
	return asNumber.ReplaceAllString(text, "$1")
}
