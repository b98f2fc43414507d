package xss

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
)

// payload is a text that runs a script in one context.
type payload struct {
	ID, Text, Needs string
	Where           string // a sign that the page shows where it may work, such as that of a code of forums
	Stripped        bool   // only where elements are taken out: some may pass with their handlers
	Decoded         bool   // entities are decoded before it is script or markup
}

//go:embed contexts.yaml
var contextsText []byte

var sets = sync.OnceValue(func() map[string][]*payload {
	all, err := readSets(contextsText)
	if err != nil {
		panic(err) // it is ours
	}
	return all
})

func readSets(text []byte) (map[string][]*payload, error) {
	value, err := yamltext.Value(text)
	if err != nil {
		return nil, err
	}
	contexts, _ := value.(map[string]any)
	all := map[string][]*payload{}
	for name, list := range contexts {
		entries, _ := list.([]any)
		for i, entry := range entries {
			fields, _ := entry.(map[string]any)
			p := &payload{}
			p.ID, _ = fields["id"].(string)
			p.Text, _ = fields["text"].(string)
			p.Needs, _ = fields["needs"].(string)
			p.Where, _ = fields["where"].(string)
			p.Stripped, _ = fields["stripped"].(bool)
			if p.ID == "" || !strings.Contains(p.Text, "{f}") {
				return nil, fmt.Errorf("%s[%d]: id and text with {f} are needed", name, i)
			}
			all[name] = append(all[name], p)
		}
	}
	return all, nil
}

// passes says whether a payload needs only characters that come through, as they are or decoded, and signs that the
// page shows; what is not known may.
func (p *payload) passes(raw, decoded map[rune]bool, page string) bool {
	through := raw
	if p.Decoded {
		through = decoded
	}
	if !strings.Contains(page, p.Where) {
		return false
	}
	if through == nil {
		return !p.Stripped
	}
	if p.Stripped && (raw['>'] || decoded['>']) {
		return false
	}
	for _, c := range p.Needs {
		if !through[c] {
			return false
		}
	}
	return true
}

// payloads are those for a context, in order.
func payloads(c markup.Context) (all []*payload) {
	add := func(names ...string) {
		for _, name := range names {
			all = append(all, sets()[name]...)
		}
	}
	decoded := func(name string) {
		for _, p := range sets()[name] {
			all = append(all, &payload{ID: p.ID, Text: p.Text, Needs: p.Needs, Decoded: true})
		}
	}
	switch c.Kind {
	case markup.Text, markup.Directive:
		add("text")
	case markup.Raw:
		for _, p := range sets()["raw"] {
			all = append(all, &payload{ID: p.ID, Text: strings.ReplaceAll(p.Text, "{tag}", c.Tag), Needs: p.Needs})
		}
	case markup.Comment:
		add("comment", "text")
	case markup.TagName:
		add("tagname")
	case markup.Name:
		add("name")
	case markup.Script:
		add(codeSet(c))
	case markup.Data:
		add("data")
	case markup.Handler:
		// A quote that is not escaped for HTML ends the attribute; in the script, others do.
		decoded(codeSet(c))
		add(quoteSet(c))
	case markup.Address:
		switch {
		case c.Start && c.Tag == "script":
			decoded("source")
		case c.Start:
			decoded("address")
		}
		if c.State != "" {
			decoded(codeSet(c))
		}
		add(quoteSet(c))
	case markup.Value:
		if c.Attr == "srcdoc" {
			decoded("srcdoc")
		}
		add(quoteSet(c))
	}
	return all[:min(len(all), tries+4)]
}

func quoteSet(c markup.Context) string {
	switch c.Quote {
	case `"`:
		return "double"
	case "'":
		return "single"
	}
	return "bare"
}

func codeSet(c markup.Context) string {
	if c.Basic {
		switch c.State {
		case markup.Code:
			return "basic code"
		case markup.LineComment:
			return "basic comment"
		}
		return "basic string"
	}
	return string(c.State)
}
