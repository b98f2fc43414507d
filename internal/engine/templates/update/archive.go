package update

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// openArchive opens a zip, a tar or a tar.gz, which it knows by their first bytes, after checking its digest and size.
func openArchive(ctx context.Context, s Source, name string) (o Opened, err error) {
	file, err := os.Open(name)
	if err != nil {
		return o, errs.Field("from", "from: %v.", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	size, err := s.checkSum(file)
	if err != nil {
		return o, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return o, err
	}
	packed := bufio.NewReader(file)
	begin, _ := packed.Peek(4) // a shorter file is none of them
	switch {
	case bytes.HasPrefix(begin, []byte("PK")):
		archive, err := zip.NewReader(file, size)
		if err != nil {
			return o, badArchive(err)
		}
		o, err = openZip(s, archive)
		if err != nil {
			return o, err
		}
		return o.then(file.Close), nil
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		plain, err := gzip.NewReader(packed)
		if err != nil {
			return o, badArchive(err)
		}
		o, err = openTar(ctx, s, plain)
		if err != nil {
			return o, err
		}
		return o.then(file.Close), nil
	}
	if o, err = openTar(ctx, s, packed); err != nil {
		return o, err
	}
	return o.then(file.Close), nil
}

func badArchive(err error) error {
	return errs.Field("from", "from: it is neither a folder nor a zip, tar or tar.gz that can be read: %v.", err)
}

// checkName refuses names that lead out of an archive, on any system.
func checkName(name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return errs.Field("from", "from: the archive has a file with the name %.200q, which leads out of it.", name)
	}
	return nil
}

func tooManyFiles(most int64) error {
	return errs.Field("from", "from: there are more than %d files or %d bytes.", MaxFiles, most)
}

// openZip reads a zip where it is: fs.FS shows its links as links.
func openZip(s Source, archive *zip.Reader) (o Opened, err error) {
	if len(archive.File) > MaxFiles {
		return o, tooManyFiles(s.unpacked())
	}
	names := make([]string, len(archive.File))
	for i, f := range archive.File {
		names[i] = f.Name
		if err := checkName(strings.TrimSuffix(f.Name, "/")); err != nil {
			return o, err
		}
	}
	top, tag := topFolder(names)
	o = Opened{Tag: cmp.Or(s.Tag, tag), Close: func() error { return nil }}
	o.FS, err = fs.Sub(archive, top)
	return o, err
}

var tagInFolder = regexp.MustCompile(`-v?(\d+(?:\.\d+)+[^/]*)$`)

// topFolder is the folder that all files of an archive are in, or ".", and the release at the end of its name.
func topFolder(names []string) (top, tag string) {
	for _, name := range names {
		first, _, folder := strings.Cut(name, "/")
		if !folder || top != "" && first != top {
			return ".", ""
		}
		top = first
	}
	if top == "" {
		return ".", ""
	}
	if m := tagInFolder.FindStringSubmatch(top); m != nil {
		tag = "v" + m[1]
	}
	return top, tag
}

// openTar unpacks a tar into a temporary folder, which Close removes.
func openTar(ctx context.Context, s Source, packed io.Reader) (o Opened, err error) {
	dir, err := os.MkdirTemp("", "vedette-templates-*")
	if err != nil {
		return o, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return o, err
	}
	defer func() {
		if err != nil {
			_ = root.Close()
		}
	}()
	names, left, err := unpack(ctx, root, packed, s.unpacked())
	if err != nil {
		return o, err
	}
	top, tag := topFolder(names)
	o = Opened{Tag: cmp.Or(s.Tag, tag), Left: left, Close: root.Close}
	if o.FS, err = fs.Sub(root.FS(), top); err != nil {
		return o, err
	}
	return o.then(remove), nil
}

// unpack writes the regular files of a tar and returns their names, and what it left out.
func unpack(ctx context.Context, to *os.Root, packed io.Reader, most int64) (names, left []string, err error) {
	// The size is that of what is unpacked, with the headers: a small archive may unpack to anything.
	limited := &io.LimitedReader{R: packed, N: most + min(most, MaxFiles*1024)}
	archive := tar.NewReader(limited)
	for count := 0; ; count++ {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return names, left, nil
		case limited.N <= 0 || count > MaxFiles:
			return nil, nil, tooManyFiles(most)
		case err != nil:
			return nil, nil, badArchive(err)
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		}
		name := strings.TrimSuffix(strings.TrimPrefix(header.Name, "./"), "/")
		if name == "" || header.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := checkName(name); err != nil {
			return nil, nil, err
		}
		switch header.Typeflag {
		case tar.TypeDir:
			continue
		case tar.TypeReg:
		default:
			left = append(left, name+": it is a link or a special file")
			continue
		}
		if err := unpackFile(to, name, archive, most); err != nil {
			if limited.N <= 0 {
				err = tooManyFiles(most)
			}
			return nil, nil, err
		}
		names = append(names, name)
	}
}

// unpackFile writes one file; of two with the same name the later one stays.
func unpackFile(to *os.Root, name string, text io.Reader, most int64) error {
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return errs.Field("from", "from: %.200q cannot be unpacked: %v.", name, err)
	}
	file, err := to.Create(name)
	if err != nil {
		return errs.Field("from", "from: %.200q cannot be unpacked: %v.", name, err)
	}
	n, err := io.Copy(file, io.LimitReader(text, most+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return errs.Field("from", "from: %.200q cannot be unpacked: %v.", name, err).Because(err)
	}
	if n > most {
		return tooManyFiles(most)
	}
	return nil
}
