package setting

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/turn"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"go.yaml.in/yaml/v4"
)

// Mask is shown in the place of a secret.
const Mask = "********"

type document struct {
	text    []byte
	root    *yaml.Node
	encoded bool // it came in base64, and is shown so
}

// read parses a text as it was sent: YAML, plain or in base64.
func read(sent string) (document, error) {
	if err := checkSize(sent); err != nil {
		return document{}, err
	}
	text, encoded := decode(sent)
	if err := yamltext.Check(text); err != nil {
		return document{}, errs.Field("config", "config is not YAML: %v.", err).Because(err)
	}
	doc, err := parse(text)
	if err != nil {
		return document{}, errs.Field("config", "config is no configuration: %v.", err).Because(err)
	}
	doc.encoded = encoded
	return doc, nil
}

// checkSize refuses a text that is missing or too long.
func checkSize(sent string) error {
	switch {
	case strings.TrimSpace(sent) == "":
		return errs.Field("config", "config is required.")
	case len(sent) > maxText*4/3:
		return errs.Field("config", "config is longer than %d bytes.", maxText)
	}
	return nil
}

// readUnmasked is read for a text that must have no masks.
func readUnmasked(sent string) (document, error) {
	doc, err := read(sent)
	if err == nil && doc.hasMask() {
		err = errs.Field("config", "config has %s where a secret should be.", Mask)
	}
	return doc, err
}

// decode decodes a text in base64. Plain YAML is rarely base64 by accident: a mapping has colons, a list hyphens and
// blanks.
func decode(sent string) (text []byte, encoded bool) {
	packed := strings.NewReplacer("\n", "", "\r", "", "=", "").Replace(strings.TrimSpace(sent))
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if text, err := alphabet.DecodeString(packed); err == nil && utf8.Valid(text) {
			return text, true
		}
	}
	return []byte(sent), false
}

// parse reads a text that yamltext has checked.
func parse(text []byte) (document, error) {
	defer turn.Take(len(text))()
	var top yaml.Node
	err := yaml.Unmarshal(text, &top)
	if err == nil && len(top.Content) != 1 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return document{text: text}, err
	}
	return document{text: text, root: top.Content[0]}, nil
}

// masked is the text with its secrets masked. Configurations of subfinder contain only names of sources and
// their keys.
func (d document) masked(t Type) string {
	defer turn.Take(len(d.text))()
	text := d.text
	if root, changed := hide(d.root, t == Subfinder); changed {
		text = render(root)
	}
	if d.encoded {
		return base64.StdEncoding.EncodeToString(text)
	}
	return string(text)
}

func render(root *yaml.Node) []byte {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return []byte(Mask) // never the text itself
	}
	return b.Bytes()
}

// hide returns a copy of the tree without secrets, and whether it had any.
func hide(n *yaml.Node, secret bool) (*yaml.Node, bool) {
	out := *n
	out.Content = slices.Clone(n.Content)
	hidden := false
	switch n.Kind {
	case yaml.ScalarNode:
		return hideScalar(&out, secret)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			var did bool
			out.Content[i+1], did = hide(n.Content[i+1], secret || isSecret(n.Content[i].Value))
			hidden = hidden || did
		}
	default:
		for i, child := range n.Content {
			var did bool
			out.Content[i], did = hide(child, secret)
			hidden = hidden || did
		}
	}
	if hidden {
		out.HeadComment, out.LineComment, out.FootComment = "", "", "" // people write old keys there
	}
	return &out, hidden
}

func hideScalar(n *yaml.Node, secret bool) (*yaml.Node, bool) {
	name, _, header := strings.Cut(n.Value, ":")
	switch {
	case n.Value == "":
		return n, false
	case secret, hasPassword(n.Value):
		n.Value = Mask
	case header && isSecret(name) && !strings.ContainsAny(name, " /"):
		n.Value = name + ": " + Mask // a header line, such as Authorization: …
	default:
		return n, false
	}
	n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	return n, true
}

func hasPassword(value string) bool {
	if !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

var secretWords = []string{
	"token", "secret", "password", "passwd", "apikey", "accesskey", "privatekey", "credential", "webhook", "kubeconfig",
	"serviceaccount", "connectionstring", "authorization", "cookie", "passphrase", "sessionid", "sas",
}

// flatten takes out what stands between the words of a key. It is made once: a text has many keys.
var flatten = strings.NewReplacer("-", "", "_", "", " ", "")

func isSecret(key string) bool {
	flat := flatten.Replace(strings.ToLower(key))
	if flat == "key" || strings.HasSuffix(flat, "key") || flat == "keys" {
		return true
	}
	return containsAny(flat, secretWords)
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

func (d document) hasMask() bool { return bytes.Contains(d.text, []byte(Mask)) }

// keeping puts the old secrets in place of the masks.
func (d document) keeping(old document) (document, error) {
	if !d.hasMask() {
		return d, nil
	}
	out, err := parse(d.restored(old))
	out.encoded = d.encoded
	return out, err
}

// restored is the text with the masks filled from the old one.
func (d document) restored(old document) []byte {
	defer turn.Take(len(d.text))()
	fill(d.root, old.root)
	return render(d.root)
}

// filler has what is looked up in an old tree, once for each of its mappings and lists: many items of a list may have
// been the same one before. So the work grows with the length of both texts and not with their product.
type filler struct {
	fields map[*yaml.Node]map[string]*yaml.Node
	named  map[*yaml.Node]map[name]*yaml.Node
}

// fill fills the masks of a tree from the old one.
func fill(n, old *yaml.Node) {
	f := filler{map[*yaml.Node]map[string]*yaml.Node{}, map[*yaml.Node]map[name]*yaml.Node{}}
	f.restore(n, old)
}

// restore fills the masks of a tree from the old one: values by their keys, items of lists by their id, name
// or provider, else by their position.
func (f filler) restore(n, old *yaml.Node) {
	if old == nil || n.Kind != old.Kind {
		return
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if strings.HasSuffix(n.Value, Mask) {
			n.Value, n.Tag, n.Style = old.Value, old.Tag, old.Style
		}
	case yaml.MappingNode:
		before := once(f.fields, old, fields)
		if moved(n, before) {
			return // changing an address must not send the secret to it
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			f.restore(n.Content[i+1], before[n.Content[i].Value])
		}
	default:
		named := once(f.named, old, byNames)
		for i, item := range n.Content {
			f.restore(item, same(item, i, old.Content, named))
		}
	}
}

// addressWords are parts of the names of values that decide where secrets are sent.
var addressWords = []string{"url", "host", "server", "endpoint", "address", "port", "domain"}

// moved reports whether a value of a mapping decides where secrets are sent, and is not what it was before.
func moved(n *yaml.Node, before map[string]*yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		if value.Value == Mask || !containsAny(strings.ToLower(n.Content[i].Value), addressWords) {
			continue
		}
		if was := before[n.Content[i].Value]; was == nil || was.Value != value.Value {
			return true
		}
	}
	return false
}

// once is what is made of a node, made when it is asked for the first time.
func once[T any](made map[*yaml.Node]T, n *yaml.Node, index func(*yaml.Node) T) T {
	all, ok := made[n]
	if !ok {
		all = index(n)
		made[n] = all
	}
	return all
}

// fields are the values of a mapping by their keys; of equal keys the first counts.
func fields(n *yaml.Node) map[string]*yaml.Node {
	all := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i].Value; all[key] == nil {
			all[key] = n.Content[i+1]
		}
	}
	return all
}

// nameKeys are the keys by which an item of a list is known.
var nameKeys = []string{"id", "name", "provider"}

// name is one of nameKeys and its value.
type name struct{ key, value string }

// namesOf are those of nameKeys that an item has.
func namesOf(item *yaml.Node) (all []name) {
	if item.Kind != yaml.MappingNode {
		return nil
	}
	for _, key := range nameKeys {
		for i := 0; i+1 < len(item.Content); i += 2 {
			if item.Content[i].Value == key {
				all = append(all, name{key, item.Content[i+1].Value})
				break
			}
		}
	}
	return all
}

// byNames are the items of a list by their names; of equal ones the first counts.
func byNames(list *yaml.Node) map[name]*yaml.Node {
	all := map[name]*yaml.Node{}
	for _, item := range list.Content {
		for _, n := range namesOf(item) {
			if all[n] == nil {
				all[n] = item
			}
		}
	}
	return all
}

// same is what the item at a place of a list was before: the one of its first name that is no mask, else the one at its
// place.
func same(item *yaml.Node, at int, old []*yaml.Node, named map[name]*yaml.Node) *yaml.Node {
	for _, n := range namesOf(item) {
		if n.value != Mask {
			return named[n]
		}
	}
	if at < len(old) {
		return old[at]
	}
	return nil
}
