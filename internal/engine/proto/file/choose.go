package file

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// media are the extensions of files without text, which are left out unless a template names them.
var media = []string{
	".3g2", ".3gp", ".arj", ".avi", ".axd", ".bmp", ".css", ".csv", ".deb", ".dll", ".doc", ".drv", ".eot", ".exe",
	".flv", ".gif", ".gifv", ".h264", ".ico", ".iso", ".jar", ".jpeg", ".jpg", ".lock", ".m4a", ".m4v", ".map", ".mkv",
	".mov", ".mp3", ".mp4", ".mpeg", ".mpg", ".msi", ".ogg", ".ogm", ".ogv", ".otf", ".pdf", ".pkg", ".png", ".ppt",
	".psd", ".rm", ".rpm", ".svg", ".swf", ".sys", ".tif", ".tiff", ".ttf", ".vob", ".wav", ".webm", ".wmv", ".woff",
	".woff2", ".xcf", ".xls", ".xlsx",
}

// packed are the extensions of archives.
var packed = []string{".7z", ".apk", ".gz", ".rar", ".tar.gz", ".tar", ".zip"}

// chooser chooses the files to search.
type chooser struct {
	all        bool
	extensions []string // with the dot
	types      []string // MIME types
	denied     []string // extensions, names and paths
	flat       bool     // no folders
	byType     bool
}

func newChooser(s *syntax.File) chooser {
	c := chooser{flat: s.NoRecursive, byType: s.MIMEType, denied: slices.Clone(media)}
	if !s.Archive {
		c.denied = append(c.denied, packed...)
	}
	for _, x := range s.Extensions {
		switch {
		case x == "all":
			c.all = true
		case s.MIMEType && strings.Contains(x, "/"):
			c.types = append(c.types, x)
		default:
			c.extensions = append(c.extensions, "."+strings.TrimPrefix(x, "."))
		}
	}
	for _, x := range s.DenyList {
		c.denied = append(c.denied, x, filepath.Clean(x))
	}
	return c
}

// wants reports whether a file is searched: one with an extension of the list always; else, if the list is not for
// all, none; others unless their extension, name, folder or path is denied. head are its first bytes, if they are
// known.
func (c *chooser) wants(target, path string, head func() []byte) bool {
	extension := filepath.Ext(path)
	if slices.Contains(c.extensions, extension) {
		return true
	}
	if c.byType && head != nil {
		kind, _, _ := strings.Cut(http.DetectContentType(head()), ";")
		if slices.Contains(c.types, kind) {
			return true
		}
		if slices.Contains(c.denied, kind) {
			return false
		}
	}
	if len(c.extensions) > 0 && !c.all {
		return false
	}
	return !c.denies(target, path, extension)
}

func (c *chooser) denies(target, path, extension string) bool {
	name := filepath.Base(path)
	inside := strings.TrimPrefix(path, target)
	tests := []string{extension, path, name, inside, strings.TrimSuffix(inside, name), strings.TrimSuffix(path, name)}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) { // every folder above it
		tests = append(tests, dir)
		if next := filepath.Dir(dir); next == dir {
			break
		}
	}
	for dir := filepath.Dir(strings.TrimPrefix(inside, "/")); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		tests = append(tests, dir)
	}
	return slices.ContainsFunc(tests, func(t string) bool { return t != "" && slices.Contains(c.denied, t) })
}

// paths searches the files of a target: a pattern, a file or a folder.
func (s *search) paths(ctx context.Context, target string) error {
	one := func(path string) error {
		if !s.wants(target, path, func() []byte { return head(path) }) {
			return nil
		}
		return s.file(ctx, path)
	}
	err := s.walk(ctx, target, one)
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

func (s *search) walk(ctx context.Context, target string, one func(path string) error) error {
	if strings.Contains(target, "*") && !s.flat {
		matches, err := filepath.Glob(target)
		if err != nil {
			return proto.Inapplicable("%q is no pattern", target)
		}
		for _, path := range matches {
			if err := one(path); err != nil {
				return err
			}
		}
		return nil
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return proto.Inapplicable("the target is no file or folder")
	case !info.IsDir():
		return one(target)
	case s.flat:
		return nil
	}
	return filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ctx.Err() // a folder that cannot be read is left out
		}
		return one(path)
	})
}

// head is the first bytes of a file.
func head(path string) []byte {
	f, err := open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 1024)
	n, _ := f.Read(b)
	return b[:n]
}
