// Package templates turns template files into programs: it finds files below paths, globs and lists (paths.go), reads
// them and the files that they name (load.go, helper.go), drops what filters and permissions exclude (filter.go,
// allow.go) and compiles the rest (select.go). Texts from a database or a request are compiled directly (compile.go),
// with a cache.
//
// A template file is parsed once: an index keeps its binary form under the digest of its text (index.go, codec.go),
// which makes the next start much faster. A file that the system reports as unchanged is not even read
// (filestate.go). A changed template has another digest, so the index never serves an old one.
package templates

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Options say what to load.
type Options struct {
	// Paths are files, folders and globs of templates, and text files that list such paths, relative to the working
	// directory or the roots.
	Paths []string
	// FS holds further templates; nil for none.
	FS fs.FS
	// Roots are the folders of templates, with their helper files and .nuclei-ignore files. Default: the Roots of
	// Paths.
	Roots []string

	Filter         Filter
	Allow          Allow
	IncludeIgnored bool // the .nuclei-ignore files do not count
	Lenient        bool // unknown keys are passed over, includes are followed

	// Aggression is the level of payloads: low (also ""), medium, high.
	Aggression string
	// Index is the file of the index; "" for none.
	Index string
	// Types asks for Result.Types.
	Types bool
	// LocalFiles lets templates name any file of the machine.
	LocalFiles bool
	// Certificates, in PEM, verify signatures.
	Certificates [][]byte
}

// Result is what was loaded.
type Result struct {
	Templates []*syntax.Template // in the order of their paths, each id once
	Refused   []Refusal          // in the order of their paths
	Skipped   []Skip             // in the order of their paths
	Indexed   int                // how many of all that were read came from the index
	IndexErr  error              // why the index could not be read or kept; nothing is lost by it
	Types     map[string]string  // by path, of all that could be read; nil without Options.Types

	steps map[stepKey][]*syntax.Template
}

// Refusal is a template that cannot be used, and why.
type Refusal struct {
	Path string
	Err  error // an *errs.Error as of package syntax
}

// Skip is a template that was left out, and why.
type Skip struct {
	Path   string
	Reason Reason
}

// Load reads templates. The error is about the options or the paths; a faulty template is a Refusal.
func Load(ctx context.Context, o Options) (*Result, error) {
	l, err := newLoader(o)
	if err != nil {
		return nil, err
	}
	var reading sync.WaitGroup // reads the index while the files are looked for
	reading.Go(l.openIndex)
	files, err := expand(o.Paths, l.roots)
	if reading.Wait(); err != nil {
		return nil, err
	}
	read, err := l.all(ctx, files, nil, l.filter)
	if err == nil && o.FS != nil {
		var more []loaded
		if files, err = findTemplates(o.FS); err == nil {
			more, err = l.all(ctx, files, o.FS.Open, l.filter)
		}
		read = append(read, more...)
	}
	if err != nil {
		return nil, err
	}
	r := new(Result)
	seen := map[string]bool{}
	if o.Types {
		r.Types = make(map[string]string, len(read))
	}
	for _, one := range read {
		if o.Types && one.kind != "" {
			r.Types[one.path] = one.kind
		}
		switch {
		case one.err != nil:
			r.Refused = append(r.Refused, Refusal{Path: one.path, Err: one.err})
		case one.skipped != "":
			r.Skipped = append(r.Skipped, Skip{Path: one.path, Reason: one.skipped})
		case seen[l.Allow.idOf(one.template)]:
			r.Skipped = append(r.Skipped, Skip{Path: one.path, Reason: SkippedDuplicate})
		default:
			seen[l.Allow.idOf(one.template)] = true
			r.Templates = append(r.Templates, one.template)
		}
	}
	if err := l.workflows(ctx, r); err != nil {
		return nil, err
	}
	r.Indexed, r.IndexErr = int(l.hits.Load()), l.writeIndex()
	return r, nil
}

type loader struct {
	Options
	roots   []string
	filter  *filter
	signers signers
	helpers *helpers
	known   *index
	readErr error // why the index could not be read
	now     func() time.Time

	hits        atomic.Int64
	mu          sync.Mutex
	usedEntries map[key]bool
	newEntries  map[key][]byte
}

func newLoader(o Options) (*loader, error) {
	l := &loader{Options: o, roots: o.Roots, usedEntries: map[key]bool{}, newEntries: map[key][]byte{}, known: &index{},
		now: time.Now}
	if len(l.roots) == 0 {
		l.roots = Roots(o.Paths)
	}
	if !slices.Contains([]string{"", "low", "medium", "high"}, o.Aggression) {
		return nil, errs.Field("fuzz-aggression", "%q is none of low, medium, high", o.Aggression)
	}
	l.helpers = newHelpers(l.roots, o.LocalFiles)
	var ignored Filter
	var err error
	if !o.IncludeIgnored {
		if ignored, err = readIgnored(l.roots); err != nil {
			return nil, err
		}
	}
	if l.filter, err = o.Filter.compile(l.roots, ignored); err != nil {
		return nil, err
	}
	if l.signers, err = newSigners(o.Certificates); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *loader) openIndex() {
	if l.Index != "" {
		l.known, l.readErr = readIndex(l.Index)
		l.usedEntries = make(map[key]bool, len(l.known.entries))
	}
}

// loaded is a file with its template, a reason to skip it, or an error.
type loaded struct {
	path     string
	kind     string // the template's type; empty when it cannot be read
	template *syntax.Template
	skipped  Reason
	err      error
}

// opener opens a file; nil opens one of the machine.
type opener func(name string) (fs.File, error)

// all reads files in parallel; results are in the order of the files.
func (l *loader) all(ctx context.Context, files []string, open opener, f *filter) ([]loaded, error) {
	read := make([]loaded, len(files))
	var buffers sync.Pool
	err := parallel(ctx, len(files), func(i int) {
		text, ok := buffers.Get().(*bytes.Buffer)
		if !ok {
			text = new(bytes.Buffer)
		}
		read[i] = l.loadOne(ctx, files[i], open, text, f)
		buffers.Put(text)
	})
	return read, err
}

// parallel calls fn with each number below n from several goroutines until the context ends.
func parallel(ctx context.Context, n int, fn func(i int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				fn(i)
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// loaded reads one file; f is nil where everything is wanted.
func (l *loader) loadOne(ctx context.Context, path string, open opener, text *bytes.Buffer, f *filter) loaded {
	result := loaded{path: path}
	t, err := l.read(path, open, text)
	if err != nil {
		result.err = err
		return result
	}
	result.kind = t.Type()
	if f != nil {
		if result.skipped = f.skips(ctx, t); result.skipped != "" {
			return result
		}
	}
	imports, err := fillScripts(t, l.helpers.open, false)
	if err == nil {
		t.Signature.Verified = l.verified(t, path, open, text, imports)
		if result.skipped = l.Allow.excludes(t); result.skipped != "" {
			return result
		}
		if l.Allow.Passive && !makePassive(t) {
			result.skipped = SkippedActive
			return result
		}
		err = fillPayloads(t, l.helpers.open, l.Aggression)
	}
	if !l.Allow.GlobalMatchers {
		for i := range t.HTTP {
			t.HTTP[i].GlobalMatchers = false
		}
	}
	result.template, result.err = t, err
	return result
}

// verified reports whether a template's signature is one of the signers'. The text of one from the index is read again,
// and must be the same.
func (l *loader) verified(t *syntax.Template, path string, open opener, text *bytes.Buffer, imports []string) bool {
	if len(l.signers) == 0 || !t.Signature.Present {
		return false
	}
	if text.Len() == 0 {
		if open == nil {
			open = func(name string) (fs.File, error) { return os.Open(name) }
		}
		if readFile(path, open, text) != nil {
			return false
		}
		if sum := sha256.Sum256(text.Bytes()); hex.EncodeToString(sum[:]) != t.Digest {
			return false
		}
	}
	return l.signers.verified(t, text.Bytes(), imports)
}

// read makes a template of a file and leaves its text in text, unless the index knows the file.
func (l *loader) read(path string, open opener, text *bytes.Buffer) (*syntax.Template, error) {
	text.Reset()
	var state fileState
	if open == nil {
		open = func(name string) (fs.File, error) { return os.Open(name) }
		state = l.stat(path)
		if digest, ok := l.digestOf(state); ok {
			if t, ok := l.indexed(path, l.keyFor(path, digest)); ok {
				return t, nil
			}
		}
	}
	if err := readFile(path, open, text); err != nil {
		return nil, syntax.Fault(path, 1, 0, "", "%v", err)
	}
	digest := sha256.Sum256(text.Bytes())
	l.remember(state, digest)
	k := l.keyFor(path, digest)
	if t, ok := l.indexed(path, k); ok {
		return t, nil
	}
	return l.parse(path, text.Bytes(), k)
}

// readFile reads at most one byte more than a template may have.
func readFile(path string, open opener, into *bytes.Buffer) error {
	file, err := open(path)
	if err != nil {
		return err
	}
	_, err = into.ReadFrom(io.LimitReader(file, syntax.MaxBytes+1))
	if err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// keyFor is the key of a text of a file.
func (l *loader) keyFor(path string, digest [sha256.Size]byte) key {
	k := key{digest: digest}
	if l.Lenient {
		k.mode |= modeLenient
	}
	if strings.EqualFold(filepath.Ext(path), ".json") {
		k.mode |= modeJSON
	}
	return k
}

// indexed is the template of a text in the index.
func (l *loader) indexed(path string, k key) (*syntax.Template, bool) {
	entry, ok := l.known.get(k)
	if !ok {
		return nil, false
	}
	t, err := refresh(entry)
	if err != nil || t.Digest != hex.EncodeToString(k.digest[:]) {
		return nil, false
	}
	l.hits.Add(1)
	l.use(k)
	t.Path = path
	return t, true
}

// parse makes a template of a text and puts it into the index.
func (l *loader) parse(path string, text []byte, k key) (*syntax.Template, error) {
	included := false
	read := syntax.Options{Lenient: l.Lenient, Include: func(name string) ([]byte, error) {
		included = true
		file, err := l.helpers.open(path, name)
		if err != nil {
			return nil, err
		}
		return []byte(file.text), nil
	}}
	t, err := read.Parse(path, text)
	if err != nil || included || l.Index == "" {
		return t, err
	}
	entry := newEntry(k, func(b []byte) []byte { return encode(b, seal(t)) })
	l.mu.Lock()
	l.newEntries[k] = entry
	l.mu.Unlock()
	// What was read of the text is let go: the template is the one that the next start has.
	if t, err = refresh(entry[entryHead:]); err == nil {
		t.Path = path
	}
	return t, err
}

// refresh decodes a template with new values for its random markers.
func refresh(entry []byte) (*syntax.Template, error) {
	t, err := decode(entry)
	if err != nil {
		return nil, err
	}
	var renewed []byte
	for _, c := range t.Constants {
		if !strings.HasPrefix(c.Name, "{{") {
			continue
		}
		if renewed == nil {
			renewed = bytes.Clone(entry)
		}
		fresh := syntax.Random()
		if len(fresh) != len(c.Value) {
			return nil, errDamaged
		}
		renewed = bytes.ReplaceAll(renewed, []byte(c.Value), []byte(fresh))
	}
	if renewed != nil {
		if t, err = decode(renewed); err != nil {
			return nil, err
		}
	}
	unseal(t)
	return t, nil
}

// writeIndex writes the index when there are new entries.
func (l *loader) writeIndex() error {
	if len(l.newEntries) == 0 || l.Index == "" {
		return l.readErr
	}
	if err := l.known.write(l.Index, l.usedEntries, l.newEntries); err != nil {
		return errs.New(errs.Internal, "index_not_kept", "the index of templates could not be kept").Because(err)
	}
	return nil
}
