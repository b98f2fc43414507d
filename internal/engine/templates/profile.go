package templates

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ReadSettings reads a profile, a YAML file of scan options by the long names of their flags (template language 1.9),
// in written order. name is a file, or one in the folder profiles of a root. The error names file, line and key.
func ReadSettings(name string, roots []string) (path string, settings []syntax.Variable, err error) {
	candidates := []string{name}
	if filepath.Base(name) == name {
		for _, root := range roots {
			at := filepath.Join(root, "profiles", name)
			candidates = append(candidates, at+".yml", at+".yaml")
		}
	}
	for _, at := range candidates {
		if info, err := os.Stat(at); err != nil || info.IsDir() {
			continue
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return at, nil, errs.Field("profile", "%v", err)
		}
		settings, err = syntax.Settings(at, data)
		return at, settings, err
	}
	return "", nil, errs.Field("profile", "there is no profile %s", name)
}

// Profiles are the names of the roots' profiles, in order.
func Profiles(roots []string) (names []string) {
	for _, root := range roots {
		files, err := os.ReadDir(filepath.Join(root, "profiles"))
		if err != nil {
			continue // a folder without profiles
		}
		for _, file := range files {
			if ext := filepath.Ext(file.Name()); ext == ".yml" || ext == ".yaml" {
				names = append(names, strings.TrimSuffix(file.Name(), ext))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Roots are the folders that templates of some paths belong to: the nearest one above with an ignore file, or else
// the path itself if it is a folder.
func Roots(paths []string) (roots []string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		root := ""
		if info.IsDir() {
			root = path
		}
		if at, err := filepath.Abs(path); err == nil {
			for range maxRootDepth {
				if isRegular(filepath.Join(at, ignoreFile)) {
					root = at
					break
				}
				at = filepath.Dir(at)
			}
		}
		if root != "" && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}

// maxRootDepth is how far below its root a template may be.
const maxRootDepth = 12

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
