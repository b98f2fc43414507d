package templates

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Files reads a payload list or a script that a template names.
type Files func(name string) ([]byte, error)

// notOnServers are the kinds of templates that a server never runs: they read files of the machine, or list templates.
// Those that start programs (code) run when they are signed.
var notOnServers = []string{"file", "workflow"}

// Compile compiles a template's text on a server. Without files it cannot name any. The error names the line and the
// key; a template beside the error is correct, but a server cannot run it. One that starts programs is such a template,
// see CompileSigned.
func Compile(path string, text []byte, files Files) (*syntax.Template, *program.Program, error) {
	return compile(path, text, files, false)
}

// CompileSigned is Compile for a template whose programs may run, because CheckSignature says so or because nothing
// is run: to see whether a template is correct.
func CompileSigned(path string, text []byte, files Files) (*syntax.Template, *program.Program, error) {
	return compile(path, text, files, true)
}

func compile(path string, text []byte, files Files, signed bool) (*syntax.Template, *program.Program, error) {
	t, err := syntax.Parse(path, text)
	if err != nil {
		return nil, nil, err
	}
	open := files.open
	if _, err = fillScripts(t, open, true); err == nil {
		err = fillPayloads(t, open, "")
	}
	if err != nil {
		return nil, nil, err
	}
	t.Signature.Verified = signed && len(t.Code) > 0
	for _, kind := range append(t.Protocols, t.Type()) {
		if slices.Contains(notOnServers, kind) || kind == "code" && !signed {
			return t, nil, syntax.Unsupported(path, 1, kind)
		}
	}
	p, err := program.Compile(t)
	if err != nil && !isUnsupported(err) {
		t = nil
	}
	return t, p, err
}

func (files Files) open(_, name string) (*helper, error) {
	if files == nil {
		return nil, noFile(name)
	}
	text, err := files(name)
	f := &helper{text: string(text)}
	f.split()
	return f, err
}

// noFile is the error for a file that is missing or must not be read.
func noFile(name string) error {
	return fmt.Errorf("there is no file %.200s that the template may read", name)
}

// openHelper opens a file that a template names.
type openHelper func(template, name string) (*helper, error)

// maxName bounds the name of a script file in bytes; a longer text is a script.
const maxName = 255

// fillScripts replaces the names of script files by their texts and returns these in the order in which a signature
// covers them. A line that names no file is a script; with strict, not when it ends with .js.
func fillScripts(t *syntax.Template, open openHelper, strict bool) (imports []string, err error) {
	fill := func(source *string, line int, key string, strict bool) error {
		name := strings.TrimSpace(*source)
		if name == "" || len(name) > maxName || strings.Contains(name, "\n") {
			return nil
		}
		file, err := open(t.Path, name)
		switch {
		case err == nil:
			*source = file.text
			imports = append(imports, file.text)
		case strict && strings.HasSuffix(name, ".js"):
			return syntax.Fault(t.Path, line, 0, key, "%v", err)
		}
		return nil
	}
	for i := range t.Code {
		if err := fill(&t.Code[i].Source, t.Code[i].Line, "code.source", false); err != nil {
			return nil, err
		}
	}
	for i := range t.JavaScript {
		if err := fill(&t.JavaScript[i].Code, t.JavaScript[i].Line, "javascript.code", strict); err != nil {
			return nil, err
		}
	}
	if strings.HasSuffix(strings.TrimSpace(t.Flow), ".js") { // a flow on one line is rarely a file
		err = fill(&t.Flow, 1, "flow", true)
	}
	return imports, err
}

// fillPayloads reads the files of payloads and selects the payloads of an aggression level.
func fillPayloads(t *syntax.Template, open openHelper, aggression string) error {
	for _, set := range t.PayloadSets() {
		for i := range set.Payloads {
			p := &set.Payloads[i]
			if p.Levels != nil {
				p.Values = p.Levels.UpTo(aggression)
			}
			if p.File == "" {
				continue
			}
			file, err := open(t.Path, p.File)
			if err != nil {
				return syntax.Fault(t.Path, p.Line, 0, "payloads."+p.Name, "%v", err)
			}
			p.Values = file.lines
		}
	}
	return nil
}

// maxCached is how many programs a Cache keeps: more than the largest public set has.
const maxCached = 20_000

// Cache keeps the programs of texts, so that the chunks of a scan compile each template once. The zero value is
// ready.
type Cache struct {
	mu       sync.Mutex
	programs map[string]compiled // by path and digest
}

// Known reports whether Compile has seen a text, which it does not need again then.
func (c *Cache) Known(digest, path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.programs[path+"\x00"+digest]
	return known
}

// Compile is Compile for a text, or with signed CompileSigned; digest covers it, all files that it names, and signed.
func (c *Cache) Compile(digest, path string, text []byte, files Files, signed bool) (*program.Program, error) {
	key := path + "\x00" + digest
	c.mu.Lock()
	result, ok := c.programs[key]
	c.mu.Unlock()
	if ok {
		return result.program, result.err
	}
	_, result.program, result.err = compile(path, text, files, signed)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.programs) >= maxCached || c.programs == nil {
		c.programs = map[string]compiled{}
	}
	c.programs[key] = result
	return result.program, result.err
}
