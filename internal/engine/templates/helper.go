package templates

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// maxHelper bounds a file that a template names, in bytes.
const maxHelper = 64 << 20

// helpers reads the files that templates name: payloads, scripts, includes. Templates are not trusted and what they
// read is sent to targets: they may only name files below a root, in their own folder, or (as the public set does
// with helpers/) in the folders above it, without links and hidden names that lead out of these.
type helpers struct {
	roots []string
	all   bool // every file may be read

	mu    sync.Mutex
	texts map[string]*helper // by the file's real path
}

// helper is a file that is read once.
type helper struct {
	once  sync.Once
	text  string
	lines []string
	err   error
}

// newHelpers makes a reader for template folders; with all, templates may name every file.
func newHelpers(roots []string, all bool) *helpers {
	h := &helpers{all: all, texts: map[string]*helper{}}
	for _, root := range roots {
		if root, err := filepath.Abs(root); err == nil {
			h.roots = append(h.roots, root)
		}
	}
	return h
}

func (h *helpers) open(template, name string) (*helper, error) {
	path, err := h.find(template, name)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	f := h.texts[path]
	if f == nil {
		f = new(helper)
		h.texts[path] = f
	}
	h.mu.Unlock()
	f.once.Do(func() {
		f.text, f.err = readHelper(path)
		f.split()
	})
	return f, f.err
}

func (f *helper) split() {
	for line := range strings.SplitSeq(f.text, "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			f.lines = append(f.lines, line)
		}
	}
}

func readHelper(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxHelper+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if len(text) > maxHelper {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxHelper)
	}
	return string(text), nil
}

// find is the real path of the file that a template names.
func (h *helpers) find(template, name string) (string, error) {
	name = filepath.FromSlash(name)
	for _, base := range h.bases(template, name, false) {
		at := filepath.Join(base.dir, base.name)
		if filepath.IsAbs(name) {
			at = name
		}
		path, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if h.all || inside(base.dir, path) ||
			slices.ContainsFunc(h.roots, func(root string) bool { return inside(root, path) }) {
			return path, nil
		}
	}
	if h.all {
		return "", fmt.Errorf("there is no file %s", name)
	}
	return "", noFile(name)
}

// base is a folder that a template's file may be in, and the file's name there.
type base struct{ dir, name string }

// helpersDir is the folder of helper files beside the public templates.
const helpersDir = "helpers" + string(filepath.Separator)

// bases are the folders that a template's file may be in: the roots, the template's own folder, and those above it up
// to a root. Above a root only folders named helpers count (templates/http means templates/helpers, too), unless
// everyName is set for names of templates. Outside of all roots, folders above count unless they are a system's or
// home.
func (h *helpers) bases(template, name string, everyName bool) []base {
	own, err := filepath.Abs(filepath.Dir(template))
	if err != nil {
		return nil
	}
	bases := make([]base, 0, 8)
	top := ""
	for _, root := range h.roots {
		bases = append(bases, base{root, name})
		if inside(root, own) && len(root) > len(top) {
			top = root
		}
	}
	bases = append(bases, base{own, name})
	if filepath.IsAbs(name) || top == "" && hidden(name) {
		return bases
	}
	within := top != ""
	for dir := own; ; {
		within = within && dir != top
		up := filepath.Dir(dir)
		if up == dir || !within && depth(up) < minDepth {
			return bases
		}
		dir = up
		switch rest, ok := strings.CutPrefix(name, helpersDir); {
		case within && dir == top: // it is among the roots
		case within || top == "" || everyName:
			bases = append(bases, base{dir, name})
		case ok:
			bases = append(bases, base{filepath.Join(dir, helpersDir), rest})
		}
	}
}

// minDepth is the least depth of a folder above a template: not /etc or /home.
const minDepth = 2

func depth(dir string) int {
	return strings.Count(strings.TrimSuffix(filepath.ToSlash(dir), "/"), "/")
}

// hidden reports whether a part of a name begins with a dot.
func hidden(name string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	return false
}

// inside reports whether a path, real or not, is the folder or lies below it.
func inside(dir, path string) bool {
	for _, dir := range []string{dir, realPath(dir)} {
		if rel, err := filepath.Rel(dir, path); err == nil && rel != ".." &&
			!strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func realPath(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		return path
	}
	return dir
}
