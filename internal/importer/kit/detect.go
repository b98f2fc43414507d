package kit

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/stream"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Head is what is known of a report from its beginning.
//
// The signs of a format are words with a prefix, and several in one sign must all hold; one sign is enough:
//
//	json:PATH    a member is there: runs[].tool, or [].check_id for a report that is an array, * for any name
//	object:      the report is a JSON object (or several behind each other)
//	xml:PATH     an element is there, from the root: nmaprun/host; or an attribute: nmaprun@scanner=nmap
//	csv:NAME     one of the first rows has a cell with that name
//	text:WORDS   the beginning has the text, + for a blank
//	name:SUFFIX  the name of the file ends so
//
// ! in front of a word means that it must not hold.
type Head struct {
	text  string
	name  string
	json  map[string]bool
	xml   map[string]bool
	cells map[string]bool
}

// NewHead looks at the beginning of a report.
func NewHead(beginning []byte, name string) Head {
	h := Head{text: string(beginning), name: strings.ToLower(path.Base(name)), json: map[string]bool{},
		xml: map[string]bool{}, cells: map[string]bool{}}
	trimmed := bytes.TrimLeft(beginning, " \t\r\n")
	switch {
	case len(trimmed) == 0:
	case trimmed[0] == '{' || trimmed[0] == '[':
		h.lookJSON(trimmed)
	case trimmed[0] == '<':
		h.lookXML(trimmed)
	default:
		h.lookCSV(trimmed)
	}
	return h
}

const maxSigns = 20_000

// lookJSON notes the paths of members down to the sixth level, until the beginning ends or is no JSON.
func (h *Head) lookJSON(beginning []byte) {
	scan := stream.NewJSON(bufio.NewReader(bytes.NewReader(beginning)))
	var look func(at string, depth int) error
	look = func(at string, depth int) error {
		c, err := scan.Space()
		if err != nil {
			return err
		}
		if len(h.json) < maxSigns {
			h.json[at] = true
		}
		switch {
		case depth > 6 || c != '{' && c != '[':
			return scan.Skip()
		case c == '{':
			if depth == 0 {
				h.json["{}"] = true
			}
			return scan.Object(func(key string) error {
				if len(key) > 100 {
					return scan.Skip()
				}
				return look(strings.TrimPrefix(at+"."+key, "."), depth+1)
			})
		}
		return scan.Array(func(int) error { return look(at+"[]", depth+1) })
	}
	for look("", 0) == nil {
	}
}

// lookXML notes the paths of elements, and their attributes.
func (h *Head) lookXML(beginning []byte) {
	dec := xml.NewDecoder(stream.NewGuard(bufio.NewReader(bytes.NewReader(beginning))))
	dec.Strict = false
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var at []string
	for len(h.xml) < maxSigns {
		token, err := dec.Token()
		if err != nil {
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			if at = append(at, t.Name.Local); len(at) > 8 {
				continue
			}
			p := strings.Join(at, "/")
			h.xml[p] = true
			for _, a := range t.Attr {
				h.xml[p+"@"+a.Name.Local] = true
				if len(a.Value) < 100 {
					h.xml[p+"@"+a.Name.Local+"="+a.Value] = true
				}
			}
		case xml.EndElement:
			if len(at) > 0 {
				at = at[:len(at)-1]
			}
		}
	}
}

func (h *Head) lookCSV(beginning []byte) {
	r := bufio.NewReader(bytes.NewReader(beginning))
	c := &csvScan{r: r, line: 1, comma: separator(r)}
	for range 20 {
		row, over, err := c.row()
		if err != nil || over {
			return
		}
		for _, cell := range row.Cells {
			h.cells[column(cell)] = true
		}
	}
}

// fits says whether a sign holds, and by how many words.
func (h Head) fits(sign string) (words int, ok bool) {
	for word := range strings.FieldsSeq(sign) {
		bare, not := strings.CutPrefix(word, "!")
		if h.has(bare) == not {
			return 0, false
		}
		words++
	}
	return words, words > 0
}

func (h Head) has(word string) bool {
	kind, what, _ := strings.Cut(word, ":")
	switch kind {
	case "json":
		if strings.Contains(what, "*") {
			return h.hasLike(what)
		}
		return h.json[what]
	case "object":
		return h.json["{}"]
	case "xml":
		return h.xml[what]
	case "csv":
		return h.cells[column(what)]
	case "text":
		return strings.Contains(h.text, strings.ReplaceAll(what, "+", " "))
	case "name":
		return strings.HasSuffix(h.name, what)
	}
	return false
}

// hasLike compares step by step, where * is any member.
func (h Head) hasLike(pattern string) bool {
	want := strings.Split(pattern, ".")
	for p := range h.json {
		have := strings.Split(p, ".")
		if len(have) == len(want) && slices.EqualFunc(want, have, func(w, h string) bool {
			return w == h || w == "*" && !strings.HasSuffix(h, "[]") || w == "*[]" && strings.HasSuffix(h, "[]")
		}) {
			return true
		}
	}
	return false
}

// Detect is the format of which a sign holds at the beginning of a report; of several, the one whose sign says most.
// Without one, and with several that say the same amount, it is an error that names what there is.
func (s Set) Detect(beginning []byte, name string) (Format, error) {
	if len(bytes.TrimSpace(beginning)) == 0 {
		return Format{}, errs.New(errs.Invalid, "format_unknown",
			"The report is empty: say which format it has.").At("format")
	}
	h := NewHead(beginning, name)
	var best []Format
	most := 0
	for _, f := range s {
		words := 0
		for _, sign := range f.Signs {
			if n, ok := h.fits(sign); ok {
				words = max(words, n)
			}
		}
		if words > most {
			best, most = nil, words
		}
		if words == most && words > 0 {
			best = append(best, f)
		}
	}
	switch len(best) {
	case 1:
		return best[0], nil
	case 0:
		return Format{}, errs.New(errs.Invalid, "format_unknown",
			"The format of the report is not recognised: say which it is. There are: %s.", s.names()).At("format")
	}
	return Format{}, errs.New(errs.Invalid, "format_ambiguous",
		"The report may be any of %s: say which it is.", Set(best).names()).At("format")
}

func (s Set) names() string {
	names := make([]string, len(s))
	for i, f := range s {
		names[i] = f.Name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
