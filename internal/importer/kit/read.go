package kit

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/importer/stream"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Bounds of a report.
const (
	// MaxItem is how large one item of a report may be, in bytes; a larger one is rejected.
	MaxItem = stream.MaxItem
	// MaxReport is how large a report may be when it is unpacked, unless Options say otherwise.
	MaxReport  = 16 << 30
	headBytes  = 256 << 10
	maxEntries = 1000
)

// Format is one kind of report.
type Format struct {
	Name     string   // of the option, such as nuclei
	Families []string // other names, which formats of one tool may share; the right one of them is recognised
	Title    string   // for people
	Tool     string   // the name that records carry, unless the report names another
	Kinds    []string // of files: JSON, JSONL, XML, CSV, text; or archives of them
	Example  string   // how such a report is made
	Class    Class    // of its records, unless a reader says otherwise
	Signs    []string // how a report is recognised, see Head
	Empty    bool     // the tool writes a file of 0 bytes when it found nothing
	Twice    bool     // the reader walks the report more than once
	Read     func(in *Input, out *Out) error
}

// Options say how a report is read.
type Options struct {
	Format   string            // the name of a format; auto or empty: recognise it
	FileName string            // of the report, a hint; may be empty
	Columns  map[string]string // for the format csv: field of a record to the name of its column
	MaxBytes int64             // of the unpacked report; 0: MaxReport
	TempDir  string            // for reports that are walked twice, and archives; empty: the system's
}

// Input is a report that is being read.
type Input struct {
	Options Options
	ctx     context.Context
	out     *Out
	stream  *bufio.Reader // for the first walk
	spool   *os.File      // for formats that walk twice
}

// Set are the formats that may be read.
type Set []Format

// Named are the formats with a name: one, or those of a family. It fails with the names that exist.
func (s Set) Named(name string) (Set, error) {
	var family Set
	for _, f := range s {
		if f.Name == name {
			return Set{f}, nil
		}
		if slices.Contains(f.Families, name) {
			family = append(family, f)
		}
	}
	if len(family) == 0 || name == "" {
		return nil, errs.Field("format", "There is no format %.40q. There are: %s.", name, s.names())
	}
	return family, nil
}

// Read reads a report and gives its items, in their order, to give, whose error ends it. It returns what it counted
// also when it fails: items before a fault were given. Faults of the report are errs.Invalid with the code
// import_malformed, or format_unknown or format_ambiguous where the format was to be recognised; a report beyond its
// bounds is errs.TooLarge.
func (s Set) Read(ctx context.Context, r io.Reader, opts Options, give func(Item) error) (Summary, error) {
	sum := Summary{Severities: map[Severity]int{}, Rejections: map[string]int{}, Ignores: map[string]int{}}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = MaxReport
	}
	if opts.Format == "" {
		opts.Format = "auto"
	}
	if opts.Format != "auto" {
		if _, err := s.Named(opts.Format); err != nil {
			return sum, err
		}
	}
	b := bufio.NewReader(r)
	if head, _ := b.Peek(4); bytes.Equal(head, []byte("PK\x03\x04")) {
		err := s.archive(ctx, b, opts, give, &sum)
		return sum, err
	}
	err := s.one(ctx, b, opts, give, &sum, "", nil)
	return sum, err
}

// one reads one report: a file, or an entry of an archive.
func (s Set) one(ctx context.Context, r io.Reader, opts Options, give func(Item) error, sum *Summary,
	entry string, unpacked *counter,
) error {
	b, err := plain(ctx, r, opts.MaxBytes, unpacked)
	if err != nil {
		return err
	}
	b = bufio.NewReaderSize(b, headBytes)
	head, err := b.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return faulty(err)
	}
	f, err := s.choose(head, opts, entry)
	if err != nil {
		return err
	}
	if sum.Format == "" {
		sum.Format = f.Name
	}
	if len(bytes.TrimSpace(head)) == 0 && len(head) < headBytes {
		if f.Empty {
			return nil
		}
		return Malformed("The report is empty, and %s writes none of 0 bytes.", f.Title)
	}
	out := &Out{ctx: ctx, give: give, sum: sum, file: entry, tool: first(f.Tool, f.Name), def: f.Class, at: time.Time{}}
	in := &Input{Options: opts, ctx: ctx, out: out, stream: b}
	if f.Twice {
		if err := in.keep(); err != nil {
			return faulty(err)
		}
		defer in.drop()
	}
	if err := f.Read(in, out); err != nil {
		return faulty(err)
	}
	if sum.Tool == "" {
		sum.Tool = out.tool
	}
	return nil
}

// faulty gives errors of readers their code, and leaves those of the receiver and of the context alone.
func faulty(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return Malformed("The report ends too early.")
	}
	return err
}

func (s Set) choose(head []byte, opts Options, entry string) (Format, error) {
	set := s
	if opts.Format != "auto" {
		var err error
		if set, err = s.Named(opts.Format); err != nil {
			return Format{}, err
		}
	}
	if opts.Format != "auto" && len(set) == 1 {
		return set[0], nil
	}
	f, err := set.Detect(head, First(entry, opts.FileName))
	if err != nil && opts.Format != "auto" {
		if f, ok := set.bare(head); ok {
			return f, nil
		}
	}
	return f, err
}

// bare is the format of a family for a report that says too little to be recognised, such as an empty list: the first
// one for this kind of file.
func (s Set) bare(head []byte) (Format, bool) {
	kind := ""
	switch text := bytes.TrimSpace(head); {
	case len(text) == 0:
	case text[0] == '{' || text[0] == '[' || string(text) == "null":
		kind = "JSON"
	case text[0] == '<':
		kind = "XML"
	}
	for _, f := range s {
		if kind == "" && f.Empty || kind != "" && slices.Contains(f.Kinds, kind) {
			return f, true
		}
	}
	return Format{}, false
}

// keep writes the report to a temporary file, so that it can be walked again.
func (in *Input) keep() error {
	file, err := os.CreateTemp(in.Options.TempDir, "vedette-import-*")
	if err != nil {
		return err
	}
	in.spool = file
	if _, err := io.Copy(file, in.stream); err != nil {
		in.drop()
		return err
	}
	return nil
}

func (in *Input) drop() {
	_ = in.spool.Close()
	_ = os.Remove(in.spool.Name())
}

// reader is the report from its beginning. Formats that are not Twice may ask once.
func (in *Input) reader() (*bufio.Reader, error) {
	if in.spool == nil {
		if in.stream == nil {
			return nil, errors.New("the format walks a report twice and does not say so")
		}
		r := in.stream
		in.stream = nil
		return r, nil
	}
	if _, err := in.spool.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(&counter{ctx: in.ctx, r: in.spool, limit: in.Options.MaxBytes}, 64<<10), nil
}

// Lines walks the lines of a text, without their ends; a line longer than MaxItem is rejected.
func (in *Input) Lines(do func(line string, n int) error) error {
	r, err := in.reader()
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		line, over, err := readLine(r, MaxItem)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if over {
			err = in.out.Reject(n, "", tooLong)
		} else {
			err = do(string(line), n)
		}
		if err != nil {
			return err
		}
	}
}

const tooLong = "it is larger than 8 MB"

// readLine reads a line without its end; of one longer than limit nothing is kept, and over is true.
func readLine(r *bufio.Reader, limit int) (line []byte, over bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			over, line = true, nil
		}
		if !over {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), over, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (len(line) > 0 || over):
			return bytes.TrimRight(line, "\r\n"), over, nil
		default:
			return nil, over, err
		}
	}
}

// archive reads each report of a zip file in turn, by name.
func (s Set) archive(ctx context.Context, r io.Reader, opts Options, give func(Item) error, sum *Summary) error {
	file, err := os.CreateTemp(opts.TempDir, "vedette-import-*.zip")
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}()
	size, err := io.Copy(file, &counter{ctx: ctx, r: r, limit: opts.MaxBytes})
	if err != nil {
		return err
	}
	z, err := zip.NewReader(file, size)
	if err != nil {
		return Malformed("The zip file is damaged: %v.", err)
	}
	if len(z.File) > maxEntries {
		return Malformed("The zip file has %d entries, at most %d are read.", len(z.File), maxEntries)
	}
	slices.SortFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	read := 0
	for _, entry := range z.File {
		base := filepath.Base(entry.Name)
		if entry.FileInfo().IsDir() || strings.HasPrefix(base, ".") || strings.HasPrefix(entry.Name, "__MACOSX/") {
			continue
		}
		if err := s.entry(ctx, entry, size, opts, give, sum); err != nil {
			return err
		}
		read++
	}
	if read == 0 {
		return Malformed("The zip file has no report.")
	}
	return nil
}

func (s Set) entry(ctx context.Context, entry *zip.File, size int64, opts Options, give func(Item) error,
	sum *Summary,
) error {
	content, err := entry.Open()
	if err != nil {
		return Malformed("%.200q in the zip file cannot be read: %v.", entry.Name, err)
	}
	defer content.Close()
	name := clip(entry.Name, maxTitle)
	err = s.one(ctx, content, opts, give, sum, name, &counter{n: size})
	if known := errs.From(err); err != nil && known.Kind != errs.Internal {
		known = known.At("file")
		return errs.New(known.Kind, known.Code, "%.200q in the zip file: %s", entry.Name, known.Message).At("file")
	}
	return err
}
