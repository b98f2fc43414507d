package kit

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/vedette-sec/vedette/internal/importer/stream"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Node is an element of an XML report with what is in it. Names are local: without their namespace.
type Node struct {
	Name   string
	Attrs  []xml.Attr
	Kids   []*Node
	Line   int
	Offset int64 // where it begins: the same in each walk over a report
	Parent *Node // the elements around it: with names and attributes only
	text   strings.Builder
}

// Text is the text of the element, without that of elements in it.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.text.String())
}

// Attr is the value of an attribute; empty without it.
func (n *Node) Attr(name string) string {
	if n != nil {
		for _, a := range n.Attrs {
			if a.Name.Local == name {
				return a.Value
			}
		}
	}
	return ""
}

// Find is the first element at a path of names with slashes; nil without one.
func (n *Node) Find(path string) *Node {
	for name := range strings.SplitSeq(path, "/") {
		if n = n.kid(name); n == nil {
			return nil
		}
	}
	return n
}

func (n *Node) kid(name string) *Node {
	if n != nil {
		for _, k := range n.Kids {
			if k.Name == name {
				return k
			}
		}
	}
	return nil
}

// Get is the text of the first element at a path.
func (n *Node) Get(path string) string { return n.Find(path).Text() }

// All are the elements at a path: every one of its last name, within every one of the names before.
func (n *Node) All(path string) (all []*Node) {
	if n == nil {
		return nil
	}
	name, rest, more := strings.Cut(path, "/")
	for _, k := range n.Kids {
		switch {
		case k.Name != name:
		case more:
			all = append(all, k.All(rest)...)
		default:
			all = append(all, k)
		}
	}
	return all
}

// Texts are the texts of all elements at a path.
func (n *Node) Texts(path string) (all []string) {
	for _, k := range n.All(path) {
		if t := k.Text(); t != "" {
			all = append(all, t)
		}
	}
	return all
}

// Deep is the text of the element and of all elements in it.
func (n *Node) Deep() string {
	if n == nil {
		return ""
	}
	parts := []string{n.Text()}
	for _, k := range n.Kids {
		parts = append(parts, k.Deep())
	}
	return Join("\n", parts...)
}

// Record begins a record that stands where the element does.
func (n *Node) Record() Record { return Record{Line: n.Line, Position: n.where()} }

func (n *Node) where() string {
	if n == nil {
		return ""
	}
	return Join("/", n.Parent.where(), n.Name)
}

// Elements say which elements of an XML report a reader wants: keys are paths of names with slashes from the root,
// where ** in front matches at any depth. A path with < behind it calls when the element begins, with its attributes,
// and goes on into it; one with > when it ends.
type Elements map[string]func(n *Node) error

// parted takes the names behind ! out of the paths.
func (e Elements) parted() (plain Elements, without map[string]map[string]bool) {
	plain, without = Elements{}, map[string]map[string]bool{}
	for path, do := range e {
		path, names, _ := strings.Cut(path, "!")
		plain[path] = do
		for name := range strings.SplitSeq(names, ",") {
			if names != "" {
				if without[path] == nil {
					without[path] = map[string]bool{}
				}
				without[path][name] = true
			}
		}
	}
	return plain, without
}

// find is what to do for the path of an element, and the key under which that stands.
func (e Elements) find(path, mark string) (do func(*Node) error, key string) {
	if do, ok := e[path+mark]; ok {
		return do, path + mark
	}
	for from := 0; ; {
		key := "**/" + path[from:] + mark
		if do, ok := e[key]; ok {
			return do, key
		}
		slash := strings.IndexByte(path[from:], '/')
		if slash < 0 {
			return nil, ""
		}
		from += slash + 1
	}
}

// XML walks an XML report. Declarations of types are passed over: no entity is expanded beyond those of XML, and
// nothing is fetched. Items that are too large are rejected; a document that is not well-formed is an error that
// names the line.
func (in *Input) XML(elements Elements) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	guard := stream.NewGuard(r)
	dec := xml.NewDecoder(guard)
	dec.Strict = false
	dec.CharsetReader = stream.Charset
	w := &xmlWalk{dec: dec, guard: guard, out: in.out}
	w.elements, w.without = elements.parted()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return w.wrong(err)
		}
		if err := w.token(token); err != nil {
			return err
		}
	}
	switch {
	case w.roots == 0:
		return Malformed("The report is not XML: it has no element.")
	case w.at != nil:
		return Malformed("The XML ends too early: %s is open in line %d.", w.at.Name, guard.Line)
	}
	return nil
}

type xmlWalk struct {
	dec      *xml.Decoder
	guard    *stream.Guard
	elements Elements
	without  map[string]map[string]bool // by path: names of elements that are left out
	out      *Out
	at       *Node
	path     string
	depth    int
	roots    int
}

// wrong words an error of the decoder.
func (w *xmlWalk) wrong(err error) error {
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return Malformed("The report is not well-formed XML: line %d: %.200s.", syntax.Line, syntax.Msg)
	}
	if known := errs.From(err); known.Kind != errs.Internal || isContext(err) {
		return err
	}
	return Malformed("The report is not XML: %.200s.", err.Error())
}

func (w *xmlWalk) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return w.open(t)
	case xml.CharData, xml.Comment:
		w.guard.WasCut() // of what nobody asked for
	case xml.EndElement:
		if w.at == nil || w.at.Name != t.Name.Local {
			return Malformed("The report is not well-formed XML: line %d ends %.100s, which is not open.",
				w.guard.Line, t.Name.Local)
		}
		n, path := w.at, w.path
		w.close()
		if do, _ := w.elements.find(path, ">"); do != nil {
			return do(n)
		}
	}
	return nil
}

func (w *xmlWalk) close() {
	w.path = strings.TrimSuffix(strings.TrimSuffix(w.path, w.at.Name), "/")
	w.at = w.at.Parent
	w.depth--
}

func (w *xmlWalk) open(t xml.StartElement) error {
	if w.depth++; w.depth > stream.MaxDepth {
		return Malformed("The elements of line %d nest deeper than %d.", w.guard.Line, stream.MaxDepth)
	}
	line, _ := w.dec.InputPos()
	n := &Node{Name: t.Name.Local, Line: line, Offset: w.dec.InputOffset(), Parent: w.at}
	w.path = strings.TrimPrefix(w.path+"/"+n.Name, "/")
	w.roots++
	path := w.path
	cut := w.guard.WasCut()
	if do, pattern := w.elements.find(path, ""); do != nil {
		return w.item(n, t, do, w.without[pattern], cut)
	}
	n.Attrs = t.Copy().Attr
	w.at = n
	if do, _ := w.elements.find(path, "<"); do != nil {
		if cut {
			if err := w.out.Reject(n.Line, n.where(), tooLong); err != nil {
				return err
			}
		}
		return do(n)
	}
	return nil
}

// xmlItem is an element that is being read with all that is in it.
type xmlItem struct {
	root, at *Node
	depth    int
	size     int  // of what it keeps
	over     bool // something of it was cut by the guard
	without  map[string]bool
}

// item reads an element with all that is in it.
func (w *xmlWalk) item(root *Node, t xml.StartElement, do func(*Node) error, without map[string]bool, cut bool) error {
	root.Attrs = t.Copy().Attr
	item := &xmlItem{root: root, at: root, depth: 1, over: cut, without: without}
	before := w.at
	for item.depth > 0 {
		token, err := w.dec.Token()
		if errors.Is(err, io.EOF) {
			return Malformed("The XML ends too early: %s is open in line %d.", item.at.Name, w.guard.Line)
		}
		if err != nil {
			return w.wrong(err)
		}
		item.over = w.guard.WasCut() || item.over
		if err := w.within(item, token); err != nil {
			return err
		}
	}
	w.depth--
	w.path = strings.TrimSuffix(strings.TrimSuffix(w.path, root.Name), "/")
	w.at = before
	if item.size > MaxItem || item.over {
		return w.out.Reject(root.Line, root.where(), tooLong)
	}
	return do(root)
}

// within takes the next token of an item.
func (w *xmlWalk) within(item *xmlItem, token xml.Token) error {
	keep := item.size <= MaxItem && !item.over
	switch t := token.(type) {
	case xml.StartElement:
		if item.depth++; item.depth+w.depth > stream.MaxDepth {
			return Malformed("The elements of line %d nest deeper than %d.", w.guard.Line, stream.MaxDepth)
		}
		if item.depth == 2 && item.without[t.Name.Local] {
			err := w.skip(item.depth)
			item.depth--
			return err
		}
		line, _ := w.dec.InputPos()
		kid := &Node{Name: t.Name.Local, Line: line, Parent: item.at}
		item.size += 200
		if keep {
			kid.Attrs = t.Copy().Attr
			for _, a := range kid.Attrs {
				item.size += len(a.Value) + 50
			}
			item.at.Kids = append(item.at.Kids, kid)
		}
		item.at = kid
	case xml.EndElement:
		if item.at.Name != t.Name.Local {
			return Malformed("The report is not well-formed XML: line %d ends %.100s, and %.100s is open.",
				w.guard.Line, t.Name.Local, item.at.Name)
		}
		item.depth--
		item.at = item.at.Parent
	case xml.CharData:
		item.size += len(t)
		if keep {
			item.at.text.Write(t)
		}
	}
	return nil
}

// skip passes over the rest of an element.
func (w *xmlWalk) skip(depth int) error {
	for open := 1; open > 0; {
		token, err := w.dec.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return Malformed("The XML ends too early, in line %d.", w.guard.Line)
			}
			return w.wrong(err)
		}
		switch token.(type) {
		case xml.StartElement:
			if open++; open+depth+w.depth > stream.MaxDepth {
				return Malformed("The elements of line %d nest deeper than %d.", w.guard.Line, stream.MaxDepth)
			}
		case xml.EndElement:
			open--
		}
	}
	w.guard.WasCut()
	return nil
}
