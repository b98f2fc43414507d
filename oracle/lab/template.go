// Package lab generates web servers on which templates match. From the matchers and extractors of a
// template it derives an answer that satisfies them, and serves on loopback: that answer, one that
// satisfies them by other alternatives, one that misses one requirement, and a plain 404.
//
// It parses templates itself and shares no code with the two compared programs.
package lab

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Template is the part of a template that the lab needs.
type Template struct {
	ID            string `yaml:"id"`
	Path          string `yaml:"-"` // of the file
	SelfContained bool   `yaml:"self-contained"`
	Flow          string `yaml:"flow"`
	Info          struct{ Tags list }
	Variables     ordered   `yaml:"variables"`
	Constants     ordered   `yaml:"constants"`
	Blocks        []Block   `yaml:"http"`
	Requests      []Block   `yaml:"requests"`
	Workflows     yaml.Node `yaml:"workflows"`
	Other         others    `yaml:",inline"`
}

type others struct {
	DNS, TCP, Network, SSL, File, Headless, Websocket, Whois, Code, Javascript yaml.Node
}

// Block is one element of a template's http list.
type Block struct {
	ID                      string
	Method                  string
	Path, Raw               list
	Headers                 map[string]string
	Body                    string
	Payloads                map[string]yaml.Node
	SelfContained           bool `yaml:"self-contained"`
	GlobalMatchers          bool `yaml:"global-matchers"`
	Redirects, Unsafe, Race bool
	HostRedirects           bool   `yaml:"host-redirects"`
	Condition               string `yaml:"matchers-condition"`
	Matchers                []Matcher
	Extractors              []Extractor
	Fuzzing                 yaml.Node
}

// Matcher is one matcher as written.
type Matcher struct {
	Type, Part, Condition, Name, Encoding string
	Negative, Internal                    bool
	CaseInsensitive                       bool `yaml:"case-insensitive"`
	Status, Size                          []int
	Words, Regex, Binary, DSL, XPath      list
}

// Extractor is one extractor as written.
type Extractor struct {
	Type, Part, Name, Attribute   string
	Internal                      bool
	Group                         int
	Regex, Kval, JSON, XPath, DSL list
}

// list is a list of texts; a single text is a list of one.
type list []string

// UnmarshalYAML reads a scalar or a sequence of scalars.
func (l *list) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = list{n.Value}
		return nil
	}
	for _, item := range n.Content {
		*l = append(*l, item.Value)
	}
	return nil
}

// pair is a key with its value, in the order of the file.
type pair struct{ Name, Value string }

type ordered []pair

// UnmarshalYAML reads a mapping of scalars; other values are left out.
func (o *ordered) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i+1].Kind == yaml.ScalarNode {
			*o = append(*o, pair{n.Content[i].Value, n.Content[i+1].Value})
		}
	}
	return nil
}

// Read reads one template file. The error says why the lab cannot serve it: it is invalid, has no HTTP
// request, or needs another protocol or no target.
func Read(path string) (*Template, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &Template{Path: path}
	if err := yaml.Unmarshal(text, t); err != nil {
		return nil, err
	}
	t.Blocks = append(t.Blocks, t.Requests...)
	if len(t.Blocks) == 0 {
		return nil, fmt.Errorf("no HTTP request")
	}
	if t.SelfContained {
		return nil, fmt.Errorf("self-contained")
	}
	for _, n := range []yaml.Node{t.Other.DNS, t.Other.TCP, t.Other.Network, t.Other.SSL, t.Other.File, t.Other.Headless,
		t.Other.Websocket, t.Other.Whois, t.Other.Code, t.Other.Javascript} {
		if n.Kind != 0 {
			return nil, fmt.Errorf("another protocol")
		}
	}
	for i := range t.Blocks {
		if b := &t.Blocks[i]; b.SelfContained {
			return nil, fmt.Errorf("self-contained")
		} else if b.Fuzzing.Kind != 0 {
			return nil, fmt.Errorf("fuzzing")
		} else if b.GlobalMatchers {
			return nil, fmt.Errorf("global matchers")
		}
	}
	return t, nil
}

// entry is one request of a block as written in the template.
type entry struct {
	method, target string // the request target with markers; "" at the front: the root of the host
	headers        string
	body           string
}

func (b *Block) entries() (all []entry) {
	for _, path := range b.Path {
		all = append(all, entry{method: strings.ToUpper(strings.TrimSpace(b.Method)), target: relative(path), body: b.Body})
	}
	if len(b.Path) > 0 {
		return all
	}
	for _, raw := range b.Raw {
		all = append(all, parseRaw(raw, b.Body))
	}
	return all
}

var annotation = regexp.MustCompile(`^\s*@[A-Za-z-]+\s*:?.*$`)

func parseRaw(raw, body string) entry {
	lines := strings.Split(strings.ReplaceAll(raw, "\r\n", "\n"), "\n")
	for len(lines) > 0 && (strings.TrimSpace(lines[0]) == "" || annotation.MatchString(lines[0])) {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return entry{}
	}
	method, rest, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	target := rest
	if i := strings.LastIndex(rest, " HTTP/"); i >= 0 {
		target = rest[:i]
	}
	head, text, _ := strings.Cut(strings.Join(lines[1:], "\n"), "\n\n")
	if body != "" {
		text = body
	}
	return entry{method: strings.ToUpper(method), target: relative(strings.TrimSpace(target)), headers: head, body: text}
}

var base = regexp.MustCompile(`^(?:https?://)?(?:\{\{(?:BaseURL|RootURL|Hostname|Host)\}\})(?::(?:\d+|\{\{Port\}\}))?`)
var absolute = regexp.MustCompile(`^https?://[^/]+`)

// relative is the target without the part that names the host.
func relative(target string) string {
	target = strings.TrimSpace(target)
	if m := base.FindString(target); m != "" {
		target = target[len(m):]
	} else if m := absolute.FindString(target); m != "" {
		target = target[len(m):]
	}
	target, _, _ = strings.Cut(target, "#")
	if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "{{") {
		target = "/" + target
	}
	return target
}

// names are the variables that the template, its user or the program defines.
func (t *Template) names() map[string]bool {
	all := map[string]bool{}
	for _, name := range []string{"body", "header", "all_headers", "response", "raw", "host", "Host", "ip", "duration",
		"status_code",
		"content_length", "request", "interactsh_protocol", "interactsh_request", "BaseURL", "Hostname", "RootURL", "Port",
		"type"} {
		all[name] = true
	}
	for _, pairs := range []ordered{t.Variables, t.Constants} {
		for _, v := range pairs {
			all[v.Name] = true
		}
	}
	for _, b := range t.Blocks {
		for name := range b.Payloads {
			all[name] = true
		}
		for _, x := range b.Extractors {
			all[x.Name] = true
		}
	}
	return all
}

// Input are the variables for credentials that the template uses and does not define: the user must
// give them on the command line.
func (t *Template) Input() []string {
	known := t.names()
	var text strings.Builder
	for _, b := range t.Blocks {
		text.WriteString(strings.Join(b.Path, " ") + strings.Join(b.Raw, " ") + b.Body)
	}
	var input []string
	for _, name := range []string{"username", "password", "email", "user", "pass"} {
		if strings.Contains(text.String(), "{{"+name+"}}") && !known[name] {
			input = append(input, name+"=lab"+name)
		}
	}
	return input
}

// Named reports whether the template needs a host name instead of an address.
func (t *Template) Named() bool {
	for _, b := range t.Blocks {
		for _, m := range b.Matchers {
			if strings.Contains(strings.Join(m.DSL, " "), "Host != ip") {
				return true
			}
		}
	}
	return false
}

// Tagged reports whether the template has the tag.
func (t *Template) Tagged(tag string) bool {
	for _, tags := range t.Info.Tags {
		for one := range strings.SplitSeq(tags, ",") {
			if strings.EqualFold(strings.TrimSpace(one), tag) {
				return true
			}
		}
	}
	return false
}
