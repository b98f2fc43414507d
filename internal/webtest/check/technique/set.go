package technique

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// Set is a payload set.
type Set struct {
	ID, Class, Technique string
	Title                string // of findings
	Harm                 string // the level: safe, active, intrusive
	Order                int    // among the sets of a class
	Budget               int    // requests for a clean place, at most
	Echo                 bool   // only where the value is shown
	Poly                 string // compute: many expressions in one text; where it comes back as it is, none is computed
	Payloads             []Payload
	Signatures           []Signature // error: of messages
	Files                []File      // file: what is read
	Tests                []Test
}

// Payload is one text that is sent, with what stands beside it. Texts name: {v} the value, {a} and {b} random numbers,
// {p} their product, {s} the sum of {p} and {a}, {w} a random word, {c} a condition, {d} seconds and {d1} one more,
// {n} an amount of work, {file} the path of a file, {dir}, {base} and {ext} the parts of a value that is a path,
// {null} a byte of zero.
type Payload struct {
	ID           string
	Text         string
	Twin         string    // compute: the same numbers without breaking out; error: the text healed
	Expect       string    // compute: what must come back, {p} by default
	Also, AlsoIs string    // compute: another expression of the same language, and its result
	Yes, No, Non string    // boolean: conditions that do not fit in {c}: true, false, and nonsense
	Kind         string    // boolean: and (true is as the normal page) or or (it is not); file: the kind of File
	Values       string    // where the value is one: number, text, order, format; path: where it or its name names a file
	Only         string    // java, php: only where the application shows to be that
	Beside       string    // boolean: what is in the field of the name, only where the place is the password of a login
	Reads        bool      // only in requests that do not change data
	Blind        bool      // also where the page does not depend on the place; of files where it is or names a path
	Always       bool      // compute: also where the expressions of Poly come back as they are, as in a text of the code
	Proves       []Proving // error: texts whose message shows {p} computed
	Tells        string    // what it tells: the database, the engine

	rate float64 // work: how much of it takes a second on this target
}

// Proving is a text for one interpreter; without Tells for each.
type Proving struct{ Tells, Text string }

// Signature is a message of an interpreter.
type Signature struct {
	Tells, Pattern string
	compiled       *regexp.Regexp
}

// File is a file that is looked for.
type File struct {
	Kind, Path, Missing, Grammar, Second, SecondGrammar string
	grammar, secondGrammar                              *regexp.Regexp
}

// Test is a test of a set on an application of the tests.
type Test struct{ App, Want, By, Value, Method string }

//go:embed sets/*.yaml
var setFiles embed.FS

var sets = sync.OnceValue(func() []*Set {
	names, err := setFiles.ReadDir("sets")
	if err != nil {
		panic(err) // they are ours
	}
	var all []*Set
	for _, name := range names {
		text, err := setFiles.ReadFile("sets/" + name.Name())
		if err != nil {
			panic(err)
		}
		s, err := readSet(text)
		if err != nil {
			panic(fmt.Errorf("%s: %w", name.Name(), err))
		}
		all = append(all, s)
	}
	return all
})

var techniques = []string{"compute", "error", "boolean", "time", "work", "file"}

// readSet reads a set. The error names what is wrong.
func readSet(text []byte) (*Set, error) {
	value, err := yamltext.Value(text)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	s := &Set{}
	if err := decoder.Decode(s); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(techniques, s.Technique):
		return nil, fmt.Errorf("technique: %q is none", s.Technique)
	case kit.About(s.Class).CWE == 0:
		return nil, fmt.Errorf("class: %q is none", s.Class)
	case s.ID == "" || len(s.Payloads) == 0 || s.Budget < 0:
		return nil, errors.New("id, payloads and budget are needed")
	case !slices.ContainsFunc(s.Tests, func(t Test) bool { return t.Want == "none" }):
		return nil, errors.New("tests: a set needs a look-alike that it must not report")
	}
	for i := range s.Payloads {
		if p := &s.Payloads[i]; p.Expect != "" && remains(p.Expect, p.Text) {
			return nil, fmt.Errorf("payload %s: %s remains of its text where other characters are taken out", p.ID, p.Expect)
		}
	}
	for i := range s.Signatures {
		if s.Signatures[i].compiled, err = regexp.Compile(s.Signatures[i].Pattern); err != nil {
			return nil, err
		}
	}
	for i := range s.Files {
		f := &s.Files[i]
		if f.grammar, err = regexp.Compile(f.Grammar); err != nil {
			return nil, err
		}
		if f.secondGrammar, err = regexp.Compile(f.SecondGrammar); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// remains reports whether a text is left of another when some of its characters are taken out.
func remains(text, of string) bool {
	numbers := strings.NewReplacer("{a}", "\x01", "{b}", "\x02")
	rest := []rune(numbers.Replace(text))
	for _, c := range numbers.Replace(of) {
		if len(rest) > 0 && rest[0] == c {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

func (s *Set) level() client.Level {
	level, ok := client.ParseLevel(s.Harm)
	if !ok {
		return client.Safe
	}
	return level
}

// numbers are the random numbers of one try.
type numbers struct {
	a, b int
	word string
}

func draw() numbers { return numbers{kit.Number(), kit.Number(), kit.Word()} }

// fill puts the value and random numbers into a text.
func (o *probe) fill(text string, n numbers, more ...string) string {
	dir, base := "", o.value
	if at := strings.LastIndexAny(o.value, `/\`); at >= 0 {
		dir, base = o.value[:at+1], o.value[at+1:]
	}
	ext := ""
	if at := strings.LastIndexByte(base, '.'); at >= 0 {
		ext = base[at:]
	}
	pairs := append([]string{"{v}", o.value, "{a}", strconv.Itoa(n.a), "{b}", strconv.Itoa(n.b), "{p}",
		strconv.Itoa(n.a * n.b), "{s}", strconv.Itoa(n.a*n.b + n.a), "{null}", "\x00",
		"{w}", n.word, "{dir}", dir, "{base}", base, "{ext}", ext}, more...)
	if m := filledIn.FindStringSubmatch(o.value); m != nil {
		pairs = append(pairs, "{n}", m[1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
