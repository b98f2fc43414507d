// Package file searches files of the machine that scans (template language 3.6): line by line, or whole where a
// template's conditions join several lines. A target is a file, a folder or a pattern; archives are opened.
package file

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/mholt/archives"

	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const (
	defaultSize = 1 << 30   // bytes of a file that are read
	maxLine     = 100 << 20 // bytes
	lineFactor  = 3         // how often a long line is in memory: in a buffer that grows, and as text
	maxWhole    = 256 << 20 // bytes of a file that is searched as a whole
	maxShown    = 16 << 10  // bytes of a line that an event shows
)

// Probe is a compiled block.
type Probe struct {
	chooser
	size  int64
	whole bool // all of a file is searched at once
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.File) (*Probe, error) {
	if len(s.Matchers)+len(s.Extractors) == 0 {
		return nil, syntax.Fault(file, s.Line, 0, "file", "a search needs matchers or extractors")
	}
	p := &Probe{chooser: newChooser(s), size: defaultSize, whole: s.MatchersCondition == "and"}
	p.whole = p.whole || slices.ContainsFunc(s.Matchers, func(m syntax.Matcher) bool { return m.Condition == "and" })
	if s.MaxSize != "" && s.MaxSize != "no" {
		n, err := humanize.ParseBytes(s.MaxSize)
		if err != nil || n == 0 || n > 1<<40 {
			return nil, syntax.Fault(file, s.Line, 0, "file.max-size", "%q is no size, such as 10Mb", s.MaxSize)
		}
		p.size = int64(n)
	}
	return p, nil
}

// Requests implements proto.Probe. How many files there are is not known.
func (p *Probe) Requests() int { return 0 }

// Names implements proto.Probe.
func (p *Probe) Names() []string { return nil }

// Run implements proto.Probe.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	if !env.Files {
		return proto.Unusable("templates for files run on the command line alone: they read files of the machine")
	}
	s := search{Probe: p, env: env, found: found}
	return s.paths(ctx, env.Input)
}

// search is one run.
type search struct {
	*Probe
	env   *proto.Env
	found func(*proto.Reply) bool
}

// errOver ends a search whose findings are not wanted any more.
var errOver = errors.New("over")

// file searches one file, or those in it.
func (s *search) file(ctx context.Context, path string) error {
	f, err := open(path)
	if err != nil {
		return nil // a file that cannot be read is left out, as a folder's others are searched
	}
	defer f.Close()
	format, stream, err := archives.Identify(ctx, path, f)
	if err != nil && !errors.Is(err, archives.NoMatch) {
		return ctx.Err()
	}
	switch kind := format.(type) {
	case archives.Extractor:
		return s.archive(ctx, path, kind, stream)
	case archives.Decompressor:
		reader, err := kind.OpenReader(stream)
		if err != nil {
			return nil // a broken archive is left out
		}
		defer reader.Close()
		return s.read(ctx, path, reader, maxWhole)
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	return s.read(ctx, path, f, info.Size()+1)
}

// open opens a file. Opening a pipe would wait for its writer, and a device may do more than that.
func open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fs.ErrInvalid)
	}
	return os.Open(path)
}

// maxInArchive bounds the files of one archive.
const maxInArchive = 100_000

func (s *search) archive(ctx context.Context, path string, kind archives.Extractor, stream io.Reader) error {
	files := 0
	err := kind.Extract(ctx, stream, func(ctx context.Context, inner archives.FileInfo) error {
		if files++; files > maxInArchive {
			return errOver
		}
		if inner.IsDir() || !s.wants("/", inner.Name(), nil) {
			return nil
		}
		reader, err := inner.Open()
		if err != nil {
			return nil // one that cannot be read is left out
		}
		defer reader.Close()
		return s.read(ctx, path+"/"+strings.TrimPrefix(inner.NameInArchive, "/"), reader, maxWhole)
	})
	if errors.Is(err, errOver) || ctx.Err() != nil {
		return err
	}
	return nil // a broken archive ends where it breaks
}

// read searches what a reader has: at most that many bytes of it, if all of it is searched at once.
func (s *search) read(ctx context.Context, path string, from io.Reader, most int64) error {
	from = io.LimitReader(from, s.size)
	if s.whole {
		share := membudget.Process().Share()
		defer share.Release()
		data, err := share.ReadAll(ctx, from, min(most, maxWhole))
		if err != nil {
			return ctx.Err()
		}
		return s.reply(ctx, path, 0, string(data))
	}
	share := membudget.Process().Share()
	defer share.Release()
	lines := bufio.NewReaderSize(from, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(ctx, lines, share)
		if len(line) > 0 || err == nil {
			if err := s.reply(ctx, path, n, string(line)); err != nil {
				return err
			}
		}
		if err != nil {
			return ctx.Err() // the end, or what cannot be read
		}
	}
}

// readLine reads up to the end of a line, at most maxLine bytes of it, without the line break. A long one is counted in
// the share.
func readLine(ctx context.Context, r *bufio.Reader, share *membudget.Share) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == nil {
		return bytes.TrimRight(line, "\r\n"), nil
	}
	whole := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) && len(whole) < maxLine {
		if _, full := share.Grow(ctx, membudget.Need(int64(len(whole)+1), lineFactor*maxLine)); full != nil {
			return nil, full
		}
		line, err = r.ReadSlice('\n')
		whole = append(whole, line...)
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil // the rest is the next line
	}
	return bytes.TrimRight(whole, "\r\n"), err
}

func (s *search) reply(ctx context.Context, path string, line int, text string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r := &proto.Reply{
		Env: s.env.Vars(rawurl.URL{}), MatchedAt: path, Path: s.env.Input, Unit: path, Line: line,
		Response: text[:min(len(text), maxShown)],
		Fields:   map[string]any{"type": "file", "path": s.env.Input, "matched": path, "raw": text, "data": text},
	}
	if !s.found(r) {
		return errOver
	}
	return nil
}
