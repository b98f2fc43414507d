package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Source is where a set comes from.
type Source struct {
	update.Source

	Early bool // it is the early set
}

// text is one file that may be a template.
type text struct {
	path string
	data []byte
}

// isTemplate finds the id that every template has at its top level.
var isTemplate = regexp.MustCompile(`(?m)^(?:id|"id")[ \t]*:|^\s*\{`)

// collected is the content of a source.
type collected struct {
	texts   []text  // every YAML file that has an id and is not hidden, by path
	refused []error // source that are too large to be a template
	digest  string  // hex, of all files that are not hidden: a folder's is its zip's
}

func collect(ctx context.Context, files fs.FS) (out collected, err error) {
	total, count := 0, 0
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			if !entry.IsDir() {
				out.refused = append(out.refused, leftOut(name, "it is a link or a special file"))
			}
			return nil
		}
		data, err := readBounded(files, name, syntax.MaxBytes)
		fmt.Fprintf(sum, "%x %s\n", sha256.Sum256(data), name)
		ext := path.Ext(name)
		isYAML := ext == ".yaml" || ext == ".yml"
		count, total = count+1, total+len(data)
		switch {
		case errors.Is(err, errTooLarge):
			if isYAML {
				out.refused = append(out.refused,
					syntax.Fault(name, 1, 0, "", "the template is larger than %d bytes", syntax.MaxBytes))
			}
		case err != nil:
			return fmt.Errorf("reading %s: %w", name, err)
		case isYAML && isTemplate.Match(data):
			out.texts = append(out.texts, text{name, data})
		}
		if count > update.MaxFiles || total > update.MaxBytes {
			return errs.Field("from", "from: there are more than %d files or %d bytes.", update.MaxFiles, update.MaxBytes)
		}
		return nil
	})
	out.digest = hex.EncodeToString(sum.Sum(nil))
	return out, err
}

// leftOut is why a file of a set is not used.
func leftOut(name, why string) error { return syntax.Fault(name, 1, 0, "", "%s", why) }

var errTooLarge = errors.New("the file is too large")

// readBounded reads a file; errTooLarge, with its beginning, when it has more than limit bytes.
func readBounded(files fs.FS, name string, limit int) ([]byte, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(data) > limit {
		return data[:limit], errTooLarge
	}
	return data, err
}
