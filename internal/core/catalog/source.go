package catalog

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Limits of an imported set: about ten times the largest public one.
const (
	maxArchive  = 256 << 20 // bytes of a zip
	maxFiles    = 200_000
	maxText     = 512 << 20 // bytes of all templates and the files they name
	maxHops     = 5         // redirects of a release's URL
	fetchWithin = 10 * time.Minute
)

// Source is where a set comes from.
type Source struct {
	From   string // a folder, a zip, or the http or https URL of a zip
	SHA256 string // what the zip must have, in hex; empty: anything
	Tag    string // the release; empty: taken from the URL or the zip's top folder
	Early  bool   // it is the early set
}

// opened is a source that can be read.
type opened struct {
	files fs.FS // with the templates at the top, or in one folder
	tag   string
	close func() error
}

// open makes a source readable; nothing in it is trusted.
func (c *Catalog) open(ctx context.Context, s Source) (opened, error) {
	if u, err := url.Parse(s.From); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return c.download(ctx, s)
	}
	info, err := os.Stat(s.From)
	if err != nil {
		return opened{}, errs.Field("from", "from: %v.", err)
	}
	if !info.IsDir() {
		return openZip(s, s.From)
	}
	if s.SHA256 != "" {
		return opened{}, errs.Field("sha256", "sha256 is that of a zip, and %s is a folder.", s.From)
	}
	root, err := os.OpenRoot(s.From) // no link leads out of it
	if err != nil {
		return opened{}, errs.Field("from", "from: %v.", err)
	}
	return opened{root.FS(), s.Tag, root.Close}, nil
}

// tagInURL finds the release in the URL of its archive.
var tagInURL = regexp.MustCompile(`/(?:tags|releases/download|archive)/(v?\d[^/]*?)(?:\.zip|/|$)`)

// download fetches a zip. Release pages redirect: unlike elsewhere, redirects are followed, each through the guard.
func (c *Catalog) download(ctx context.Context, s Source) (opened, error) {
	guard := c.Guard
	if guard == nil {
		guard = &netguard.Guard{}
	}
	client := guard.Client(fetchWithin)
	fail := func(format string, args ...any) (opened, error) {
		return opened{}, errs.New(errs.Unavailable, "source_unavailable", format, args...)
	}
	at := s.From
	for range maxHops {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return fail("%s cannot be fetched: %v.", at, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return opened{}, errs.New(errs.Unavailable, "source_unavailable", "%s cannot be fetched: %v.", at, err).Because(err)
		}
		if next := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && next != "" {
			resp.Body.Close()
			u, err := resp.Request.URL.Parse(next)
			if err != nil || resp.Request.URL.Scheme == "https" && u.Scheme != "https" {
				return fail("%s leads to %.200q, which is not followed.", at, next)
			}
			at = u.String()
			continue
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fail("%s answers %d.", at, resp.StatusCode)
		}
		return save(s, resp.Body)
	}
	return fail("%s leads through more than %d redirects.", s.From, maxHops)
}

// save writes what is fetched to a temporary file and opens it.
func save(s Source, body io.Reader) (o opened, err error) {
	file, err := os.CreateTemp("", "vedette-templates-*.zip")
	if err != nil {
		return o, err
	}
	remove := func() error { return os.Remove(file.Name()) }
	n, err := io.Copy(file, io.LimitReader(body, maxArchive+1))
	if err = errors.Join(err, file.Close()); err == nil && n > maxArchive {
		err = tooManyBytes()
	}
	if err == nil {
		if tag := tagInURL.FindStringSubmatch(s.From); s.Tag == "" && tag != nil {
			s.Tag = tag[1]
		}
		o, err = openZip(s, file.Name())
	}
	if err != nil {
		return o, errors.Join(err, remove())
	}
	closeZip := o.close
	o.close = func() error { return errors.Join(closeZip(), remove()) }
	return o, nil
}

func tooManyBytes() error {
	return errs.Field("from", "from: the archive has more than %d bytes.", maxArchive)
}

// openZip opens an archive after checking its digest, size and names.
func openZip(s Source, name string) (opened, error) {
	file, err := os.Open(name)
	if err != nil {
		return opened{}, errs.Field("from", "from: %v.", err)
	}
	fail := func(err error) (opened, error) { return opened{}, errors.Join(err, file.Close()) }
	digest := sha256.New()
	size, err := io.Copy(digest, io.LimitReader(file, maxArchive+1))
	if err != nil {
		return fail(err)
	}
	if size > maxArchive {
		return fail(tooManyBytes())
	}
	if got := hex.EncodeToString(digest.Sum(nil)); s.SHA256 != "" && !strings.EqualFold(got, strings.TrimSpace(s.SHA256)) {
		return fail(errs.New(errs.Invalid, "digest_mismatch",
			"The archive's sha256 is %s, and not the one that was given. Nothing was imported.", got).At("sha256"))
	}
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return fail(errs.Field("from", "from: it is neither a folder nor a zip: %v.", err))
	}
	if len(archive.File) > maxFiles {
		return fail(errs.Field("from", "from: the archive has more than %d files.", maxFiles))
	}
	for _, f := range archive.File {
		if name := strings.TrimSuffix(f.Name, "/"); !fs.ValidPath(name) || strings.Contains(name, `\`) {
			return fail(errs.Field("from", "from: the archive has a file with the name %.200q, which leads out of it.", f.Name))
		}
	}
	top, tag := topFolder(archive.File)
	files, err := fs.Sub(archive, top)
	if err != nil {
		return fail(err)
	}
	return opened{files, cmp.Or(s.Tag, tag), file.Close}, nil
}

var tagInFolder = regexp.MustCompile(`-v?(\d+(?:\.\d+)+[^/]*)$`)

// topFolder is the folder that all files of an archive are in, or ".", and the release at the end of its name.
func topFolder(files []*zip.File) (top, tag string) {
	for _, f := range files {
		first, _, folder := strings.Cut(f.Name, "/")
		if !folder || top != "" && first != top {
			return ".", ""
		}
		top = first
	}
	if m := tagInFolder.FindStringSubmatch(top); m != nil {
		tag = "v" + m[1]
	}
	return top, tag
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
		if count > maxFiles || total > maxText {
			return errs.Field("from", "from: there are more than %d files or %d bytes.", maxFiles, maxText)
		}
		return nil
	})
	out.digest = hex.EncodeToString(sum.Sum(nil))
	return out, err
}

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
