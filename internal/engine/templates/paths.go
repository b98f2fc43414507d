package templates

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// What is never a template, anywhere below a folder that is searched.
var (
	foreignFiles   = []string{"cves.json", "contributors.json", "TEMPLATES-STATS.json"}
	foreignFolders = []string{".git", ".github", "helpers", "profiles"}
)

// isTemplate reports whether a file below a folder can be a template, by its path there.
func isTemplate(rel string) bool {
	base := filepath.Base(rel)
	if slices.ContainsFunc(foreignFiles, func(name string) bool { return strings.Contains(base, name) }) {
		return false
	}
	return hasExtension(base) && !strings.HasPrefix(base, ".")
}

func hasExtension(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// expand finds the files of templates by paths: files, folders, globs, and text files that list such paths one a
// line. They come in the order of their paths, each once.
func expand(paths, roots []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if err := expandOne(path, roots, &files, true); err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func expandOne(path string, roots []string, found *[]string, lists bool) error {
	at, info := locate(path, roots)
	switch {
	case path == "":
		return errs.Field("templates", "a path is empty")
	case info == nil:
		return expandGlob(path, roots, found)
	case info.IsDir():
		return walk(at, found)
	case hasExtension(at):
		*found = append(*found, at)
		return nil
	case !lists:
		return errs.Field("templates", "%s is no template", path)
	}
	text, err := os.ReadFile(at) //nolint:gosec // the operator names it
	if err != nil {
		return errs.Field("templates", "%v", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := expandOne(line, roots, found, false); err != nil {
			return err
		}
	}
	return nil
}

// candidates are where a path may be: in the working directory and, if relative, in the roots.
func candidates(path string, roots []string) []string {
	all := []string{path}
	if !filepath.IsAbs(path) {
		for _, root := range roots {
			all = append(all, filepath.Join(root, path))
		}
	}
	return all
}

// locate finds a path; info is nil when it does not exist.
func locate(path string, roots []string) (at string, info fs.FileInfo) {
	for _, at := range candidates(path, roots) {
		if info, err := os.Stat(at); err == nil {
			return filepath.Clean(at), info
		}
	}
	return path, nil
}

func expandGlob(pattern string, roots []string, found *[]string) error {
	for _, one := range candidates(pattern, roots) {
		matches, err := filepath.Glob(one)
		if err != nil {
			return errs.Field("templates", "%s is no pattern of paths", pattern)
		}
		for _, match := range matches {
			info, err := os.Stat(match)
			switch {
			case err != nil:
			case info.IsDir():
				err = walk(match, found)
			case isTemplate(match):
				*found = append(*found, match)
			}
			if err != nil {
				return errs.Field("templates", "%v", err)
			}
		}
		if len(matches) > 0 {
			return nil
		}
	}
	return errs.Field("templates", "there is no file or folder %s", pattern)
}

// walk finds the templates below a folder.
func walk(root string, found *[]string) error {
	files, err := findTemplates(os.DirFS(root))
	for _, path := range files {
		*found = append(*found, filepath.Join(root, path))
	}
	return err
}

// findTemplates finds the templates of a file system, in the order of their paths.
func findTemplates(fsys fs.FS) (files []string, err error) {
	err = fs.WalkDir(fsys, ".", func(path string, entry fs.DirEntry, err error) error {
		named := func(name string) bool { return strings.EqualFold(entry.Name(), name) }
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.ContainsFunc(foreignFolders, named):
			return fs.SkipDir
		case !entry.IsDir() && isTemplate(path):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, errs.Field("templates", "%v", err)
	}
	return files, nil
}
