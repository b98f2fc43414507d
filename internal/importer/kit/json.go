package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/vedette-sec/vedette/internal/importer/stream"
)

// Value is one item of a JSON report: any part of it can be asked for, none needs to be there.
type Value struct {
	gjson.Result
	Line     int
	Position string
	Key      string // the name of the innermost member that was matched by *
	Index    []int  // of the arrays around the item, outermost first
}

// Text is the text, number or word at a path of gjson; empty for anything else.
func (v Value) Text(path string) string { return text(v.Get(path)) }

// Texts are the texts at a path: an array of them, or one.
func (v Value) Texts(path string) []string { return texts(v.Get(path)) }

func text(r gjson.Result) string {
	switch r.Type {
	case gjson.String, gjson.Number, gjson.True, gjson.False:
		return r.String()
	}
	return ""
}

func texts(r gjson.Result) (all []string) {
	if !r.IsArray() {
		if t := text(r); t != "" {
			all = append(all, t)
		}
		return all
	}
	r.ForEach(func(_, v gjson.Result) bool {
		if t := text(v); t != "" {
			all = append(all, t)
		}
		return len(all) < maxList
	})
	return all
}

// Each calls do for each element of the array, or each value of the object, at a path; a single value counts as an
// array of one.
func (v Value) Each(path string, do func(key string, v Value) error) error {
	r := v.Get(path)
	if !r.Exists() || r.Type == gjson.Null {
		return nil
	}
	if !r.IsArray() && !r.IsObject() {
		return do("", v.at(r))
	}
	var err error
	r.ForEach(func(key, part gjson.Result) bool {
		err = do(key.String(), v.at(part))
		return err == nil
	})
	return err
}

// List are the elements of the array at a path, or the one object that is there.
func (v Value) List(path string) (all []Value) {
	r := v.Get(path)
	if r.IsObject() {
		return []Value{v.at(r)}
	}
	if r.IsArray() {
		r.ForEach(func(_, part gjson.Result) bool {
			all = append(all, v.at(part))
			return true
		})
	}
	return all
}

// Sub is the value at a path.
func (v Value) Sub(path string) Value { return v.at(v.Get(path)) }

func (v Value) at(r gjson.Result) Value {
	return Value{Result: r, Line: v.Line, Position: v.Position, Key: v.Key, Index: v.Index}
}

// Record begins a record that stands where the value does.
func (v Value) Record() Record { return Record{Line: v.Line, Position: v.Position} }

// Routes say which parts of a JSON report a reader wants, one at a time: keys are paths such as
// "runs[].results[]" or "vulnerabilities.*", where [] is each element of an array and * each member of an object. A
// path may end in "!a,b": without the members a and b of the object, however large they are. The path "" is the whole
// document. Other parts are passed over and not kept.
type Routes map[string]func(v Value) error

type route struct {
	do      func(v Value) error
	without map[string]bool
	members map[string]*route
	any     *route
	each    *route
}

func (routes Routes) tree() *route {
	root := &route{}
	for path, do := range routes {
		path, drop, _ := strings.Cut(path, "!")
		n := root
		for _, step := range steps(path) {
			n = n.next(step)
		}
		n.do = do
		if drop != "" {
			n.without = map[string]bool{}
			for name := range strings.SplitSeq(drop, ",") {
				n.without[name] = true
			}
		}
	}
	return root
}

func (n *route) next(step string) *route {
	switch step {
	case "[]":
		if n.each == nil {
			n.each = &route{}
		}
		return n.each
	case "*":
		if n.any == nil {
			n.any = &route{}
		}
		return n.any
	}
	if n.members == nil {
		n.members = map[string]*route{}
	}
	if n.members[step] == nil {
		n.members[step] = &route{}
	}
	return n.members[step]
}

// steps parts a[].b.* into a, [], b, *.
func steps(path string) (all []string) {
	for name := range strings.SplitSeq(path, ".") {
		bare := strings.TrimRight(name, "[]")
		if bare != "" {
			all = append(all, bare)
		}
		for range strings.Count(name[len(bare):], "[]") {
			all = append(all, "[]")
		}
	}
	return all
}

// JSON walks a JSON document, or several behind each other, along routes. Items that are broken or too large are
// rejected; a document whose brackets do not fit is an error that names the line.
func (in *Input) JSON(routes Routes) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	w := &jsonWalk{scan: stream.NewJSON(r), out: in.out}
	tree := routes.tree()
	for n := 0; ; n++ {
		if _, err := w.scan.Space(); errors.Is(err, io.EOF) {
			if n == 0 {
				return Malformed("The report is empty.")
			}
			return nil
		} else if err != nil {
			return err
		}
		if err := w.value(tree); err != nil {
			return err
		}
	}
}

type part struct {
	key   string
	index int // -1: a member of an object
}

type jsonWalk struct {
	scan *stream.JSON
	out  *Out
	at   []part
	star string
}

func (w *jsonWalk) value(n *route) error {
	c, err := w.scan.Space()
	if err != nil {
		return w.scan.Early(err)
	}
	switch {
	case n == nil || n.do == nil && c != '{' && c != '[':
		return w.scan.Skip()
	case n.do != nil:
		return w.item(n)
	case c == '{' && (n.members != nil || n.any != nil):
		return w.object(n)
	case c == '[' && n.each != nil:
		return w.array(n)
	}
	return w.scan.Skip()
}

func (w *jsonWalk) object(n *route) error {
	return w.scan.Object(func(key string) error {
		child := n.members[key]
		star := w.star
		if child == nil && n.any != nil {
			child = n.any
			w.star = key
		}
		w.at = append(w.at, part{key: key, index: -1})
		err := w.value(child)
		w.at = w.at[:len(w.at)-1]
		w.star = star
		return err
	})
}

func (w *jsonWalk) array(n *route) error {
	return w.scan.Array(func(i int) error {
		w.at = append(w.at, part{index: i})
		err := w.value(n.each)
		w.at = w.at[:len(w.at)-1]
		return err
	})
}

func (w *jsonWalk) position() (path string, indexes []int) {
	var b strings.Builder
	for _, p := range w.at {
		if p.index >= 0 {
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
			indexes = append(indexes, p.index)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p.key)
	}
	return b.String(), indexes
}

func (w *jsonWalk) item(n *route) error {
	position, indexes := w.position()
	line := w.scan.Line
	raw, over, err := w.scan.Take(n.without)
	if err != nil {
		return err
	}
	switch {
	case over:
		return w.out.Reject(line, position, tooLong)
	case !json.Valid(raw):
		return w.out.Reject(line, position, "it is not valid JSON")
	}
	return n.do(Value{Result: gjson.ParseBytes(raw), Line: line, Position: position, Key: w.star, Index: indexes})
}

// Values walks a sequence of JSON objects: one a line, behind each other, or the elements of an array. Of a file with
// one a line, a broken line is rejected and the next is read.
func (in *Input) Values(do func(v Value) error) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	r = bufio.NewReaderSize(r, 1<<20)
	if byLine(r) {
		return in.jsonLines(r, do)
	}
	w := &jsonWalk{scan: stream.NewJSON(r), out: in.out}
	item := &route{do: do}
	for {
		c, err := w.scan.Space()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if c == '[' {
			err = w.array(&route{each: item})
		} else {
			err = w.item(item)
		}
		if err != nil {
			return err
		}
	}
}

// byLine tells a file with one object a line from other JSON, by its beginning.
func byLine(r *bufio.Reader) bool {
	head, _ := r.Peek(1 << 20)
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) > 0 && head[0] == '[' {
		return false
	}
	line, rest, ended := bytes.Cut(head, []byte("\n"))
	if len(head) == 0 || !ended || head[0] != '{' || json.Valid(line) {
		return true
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == '{' && len(bytes.TrimSpace(line)) > 1
}

func (in *Input) jsonLines(r *bufio.Reader, do func(v Value) error) error {
	good, bad := 0, 0
	for n := 1; ; n++ {
		line, over, err := readLine(r, MaxItem)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		switch {
		case over:
			err = in.out.Reject(n, "", tooLong)
		case len(line) == 0:
			continue
		case line[0] != '{' && line[0] != '[' || !json.Valid(line):
			bad++
			if good == 0 && bad > 100 {
				return Malformed("Line %d and those before it are not JSON.", n)
			}
			err = in.out.Reject(n, "", "the line is not a JSON object")
		case stream.Deep(line):
			err = in.out.Reject(n, "", "its brackets nest too deeply")
		case line[0] == '[':
			good++
			list := Value{Result: gjson.ParseBytes(line), Line: n}
			err = list.Each("@this", func(_ string, v Value) error { return do(v) })
		default:
			good++
			err = do(Value{Result: gjson.ParseBytes(line), Line: n})
		}
		if err != nil {
			return err
		}
	}
	if good == 0 && bad > 0 {
		return Malformed("The report is not JSON.")
	}
	return nil
}
