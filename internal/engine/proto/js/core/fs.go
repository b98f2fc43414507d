package core

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
)

const maxFile = 1 << 20 // bytes of a file that a script reads

// Fs is the module nuclei/fs: files in the folder of the template, and below it.
func Fs(h *host.Host) *goja.Object {
	read := func(name string) ([]byte, error) { return ReadFile(h.Folder, name) }
	return h.Module(map[string]goja.Value{
		"ListDir": h.Func(func(a *host.Args) (any, error) { return listFolder(h.Folder, a.Text(0), a.Text(1)) }),
		"ReadFile": h.Func(func(a *host.Args) (any, error) {
			data, err := read(a.Text(0))
			return data, spend(h, data, err)
		}),
		"ReadFileAsString": h.Func(func(a *host.Args) (any, error) {
			data, err := read(a.Text(0))
			return string(data), spend(h, data, err)
		}),
		"ReadFilesFromDir": h.Func(func(a *host.Args) (any, error) {
			names, err := listFolder(h.Folder, a.Text(0), "file")
			if err != nil {
				return nil, err
			}
			all := []string{}
			for _, name := range names {
				data, err := read(path.Join(a.Text(0), name))
				if err := spend(h, data, err); err != nil {
					return nil, err
				}
				all = append(all, string(data))
			}
			return all, nil
		}),
	})
}

func spend(h *host.Host, data []byte, err error) error {
	if err != nil {
		return err
	}
	return h.Spend(len(data))
}

// root is the folder that scripts may read.
func root(folder string) (*os.Root, error) {
	if folder == "" {
		return nil, errors.New("a script may not read files here")
	}
	return os.OpenRoot(folder)
}

// ReadFile reads a file of a folder, or below it.
func ReadFile(folder, name string) ([]byte, error) {
	r, err := root(folder)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%.80q is no file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%.80q has more than %d bytes", name, maxFile)
	}
	return data, err
}

// listFolder are the names in a folder: of files, of folders (dir), or of both (all, or "").
func listFolder(folder, name, kind string) ([]string, error) {
	r, err := root(folder)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(10_000)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		if kind == "" || kind == "all" || e.IsDir() == (kind == "dir") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
