package update

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Folder is a folder of templates that updates replace.
type Folder struct {
	Path      string // it need not exist
	Overwrite bool   // also when it holds what no update put there
	Guard     *netguard.Guard
	Now       func() time.Time // time.Now when nil
}

// Report is what an update of a folder did.
type Report struct {
	Changes
	Source, Tag, Commit string
	Digest              string // SHA-256 of the names and texts of all files, in hex
	Total               int    // templates and workflows that can be used
	Unchanged           bool   // the folder had this set already
	Refused             []Refusal
	Left                []string // links and special files, which are left out
}

// Refusal is a template that is in the folder and cannot be used.
type Refusal struct {
	Path   string `json:"path"` // in the folder
	Reason string `json:"reason"`
}

// record is the file in a folder that says where its set came from.
type record struct {
	Source    string    `json:"source"`
	Ref       string    `json:"ref,omitempty"`
	Tag       string    `json:"release_tag,omitempty"`
	Commit    string    `json:"commit,omitempty"`
	Digest    string    `json:"digest"`
	UpdatedAt time.Time `json:"updated_at"`
}

const recordName = ".vedette-update.json"

// Replace makes the folder's content that of a source; without Source.From, that of the last update. The old content
// stays when anything fails.
func (f Folder) Replace(ctx context.Context, s Source) (r Report, err error) {
	path, err := filepath.Abs(f.Path)
	if err != nil {
		return r, errs.Field("to", "to: %v.", err)
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved // the folder that a link names is exchanged, not the link
	}
	f.Path = path
	unlock, err := f.lock()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	known, err := f.known()
	if err != nil {
		return r, err
	}
	if s.From == "" {
		if s.From = known.Source; s.Ref == "" {
			s.Ref = known.Ref
		}
	}
	if s.From == "" {
		return r, errs.Field("from", "from is required: say where the templates are. The next time it is known.")
	}
	if from, err := filepath.Abs(s.From); err == nil && strings.HasPrefix(f.Path, from+string(filepath.Separator)) {
		return r, errs.Field("to", "to is inside of the folder that the templates come from.")
	}
	o, err := Open(ctx, s, f.Guard)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return f.bring(ctx, s, o, known)
}

// known is the record of the folder. It fails when the folder has content that no update put there.
func (f Folder) known() (record, error) {
	var k record
	entries, err := os.ReadDir(f.Path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return k, nil
	}
	if err != nil {
		return k, errs.Field("to", "to: %v.", err)
	}
	text, err := os.ReadFile(filepath.Join(f.Path, recordName))
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if f.Overwrite {
		return k, nil
	}
	if err != nil {
		return k, errs.Field("to", "%s holds files that no update put there. Name another folder, or use --overwrite, "+
			"which replaces all of it.", f.Path)
	}
	digest, err := digestOf(os.DirFS(f.Path))
	if err != nil {
		return k, err
	}
	if digest != k.Digest {
		return k, errs.Field("to", "Files of %s were changed since the last update. Move your own to another folder, or "+
			"use --overwrite, which loses the changes.", f.Path)
	}
	return k, nil
}

// beside is the name of a file beside the folder that only updates use.
func (f Folder) beside(what string) string {
	return filepath.Join(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+".vedette-"+what)
}

// lock keeps other updates out, by a lock on the folder's folder. What a killed one left behind is removed.
func (f Folder) lock() (unlock func() error, err error) {
	parent := filepath.Dir(f.Path)
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // as mkdir makes it
		return nil, errs.Field("to", "to: %v.", err)
	}
	dir, err := os.Open(parent)
	if err != nil {
		return nil, errs.Field("to", "to: %v.", err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errs.New(errs.Conflict, "update_running", "Another update in %s is running.", parent),
			dir.Close())
	}
	if err := f.mend(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return func() error { return errors.Join(os.RemoveAll(f.beside("new")), dir.Close()) }, nil
}

// mend brings an interrupted update to its end: where folders cannot be exchanged at once, the old one may be away.
func (f Folder) mend() error {
	if _, err := os.Stat(f.Path); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(f.beside("old"), f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("bringing the old set back: %w", err)
		}
	}
	return errors.Join(os.RemoveAll(f.beside("new")), os.RemoveAll(f.beside("old")))
}

// bring writes the new set beside the folder, reads both, and exchanges them.
func (f Folder) bring(ctx context.Context, s Source, o Opened, known record) (r Report, err error) {
	fresh := f.beside("new")
	r = Report{Source: s.From, Tag: o.Tag, Commit: o.Commit, Left: o.Left}
	links, err := copySet(ctx, o.FS, fresh)
	if err != nil {
		return r, err
	}
	r.Left = append(r.Left, links...)
	if r.Digest, err = digestOf(os.DirFS(fresh)); err != nil {
		return r, err
	}
	after, refused, err := read(ctx, fresh, f.Path)
	if err != nil {
		return r, err
	}
	r.Total, r.Refused = len(after), refused
	if len(after) == 0 {
		return r, errs.New(errs.Invalid, "no_templates", "%s has no template that can be used. The old set stays.", s.From).
			At("from")
	}
	r.Unchanged = r.Digest == known.Digest && !f.Overwrite
	if r.Unchanged && known.Source == s.From && known.Tag == o.Tag {
		r.Changes = Compare(nil, nil, nil)
		return r, nil
	}
	var before []Known
	if _, err := os.Stat(f.Path); err == nil {
		if before, _, err = read(ctx, f.Path, f.Path); err != nil {
			return r, err
		}
	}
	reasons := map[string]string{}
	for _, one := range refused {
		reasons[one.Path] = one.Reason
	}
	r.Changes = Compare(before, after, reasons)
	now := time.Now
	if f.Now != nil {
		now = f.Now
	}
	text, err := json.MarshalIndent(record{s.From, s.Ref, o.Tag, o.Commit, r.Digest, now().UTC()}, "", "  ")
	if err != nil {
		return r, err
	}
	text = append(text, '\n')
	if err := os.WriteFile(filepath.Join(fresh, recordName), text, 0o644); err != nil { //nolint:gosec // no secret
		return r, err
	}
	if err := settle(fresh); err != nil {
		return r, err
	}
	return r, f.exchange(fresh)
}

// exchange puts the new folder in the place of the old one, which it removes.
func (f Folder) exchange(fresh string) error {
	if _, err := os.Lstat(f.Path); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(fresh, f.Path)
	}
	if err := swap(fresh, f.Path); err == nil {
		return os.RemoveAll(fresh) // it is the old one now
	}
	// Not every file system exchanges folders. In between there is none; the next update brings the old one back.
	if err := os.Rename(f.Path, f.beside("old")); err != nil {
		return fmt.Errorf("putting the old set aside: %w", err)
	}
	if err := os.Rename(fresh, f.Path); err != nil {
		return errors.Join(fmt.Errorf("putting the new set in place: %w", err), os.Rename(f.beside("old"), f.Path))
	}
	return os.RemoveAll(f.beside("old"))
}

// copySet writes the files of a set into a new folder, without its repository. It returns what is left out.
func copySet(ctx context.Context, from fs.FS, to string) (left []string, err error) {
	if err := os.Mkdir(to, 0o755); err != nil { //nolint:gosec // as mkdir makes it
		return nil, err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	count, total := 0, int64(0)
	err = fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return badArchive(err)
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.Name() == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return root.MkdirAll(name, 0o755)
		case name == recordName:
			return nil
		case !entry.Type().IsRegular():
			left = append(left, name+": it is a link or a special file")
			return nil
		}
		n, err := copyFile(from, root, name, MaxBytes-total)
		count, total = count+1, total+n
		if err == nil && (count > MaxFiles || total > MaxBytes) {
			err = tooManyFiles(MaxBytes)
		}
		return err
	})
	return left, err
}

// copyFile copies a file, up to one byte more than most.
func copyFile(from fs.FS, to *os.Root, name string, most int64) (int64, error) {
	in, err := from.Open(name)
	if err != nil {
		return 0, badArchive(err)
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, fmt.Errorf("writing %s: %w", name, err)
	}
	n, err := io.Copy(out, io.LimitReader(in, most+1))
	if werr := out.Close(); werr != nil {
		return n, fmt.Errorf("writing %s: %w", name, errors.Join(err, werr))
	}
	if err != nil { // of an archive that ends early, or whose sum is wrong; or the disk is full
		return n, errs.Field("from", "%.200q cannot be copied: %v.", name, err).Because(err)
	}
	return n, nil
}

// digestOf is the SHA-256 of the names and texts of all files, without the record.
func digestOf(files fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == recordName {
			return err
		}
		if !entry.Type().IsRegular() {
			fmt.Fprintf(sum, "special %q\n", name)
			return nil
		}
		file, err := files.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		one := sha256.New()
		if _, err := io.Copy(one, file); err != nil {
			return err
		}
		fmt.Fprintf(sum, "%x %q\n", one.Sum(nil), name)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the set: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// read compiles the templates of a folder. Reasons name the files as they are below shown.
func read(ctx context.Context, folder, shown string) (usable []Known, refused []Refusal, err error) {
	o := templates.Options{Paths: []string{folder}, Roots: []string{folder}, IncludeIgnored: true,
		Allow: templates.AllowAll()}
	s, err := templates.Select(ctx, o, program.Options{})
	if err != nil {
		return nil, nil, err
	}
	inside := func(path string) string {
		if rel, err := filepath.Rel(folder, path); err == nil {
			return filepath.ToSlash(rel)
		}
		return path
	}
	why := map[string]string{}
	for _, p := range s.Programs {
		usable = append(usable, Known{p.ID, inside(p.Path), p.Digest})
	}
	for _, w := range s.Workflows {
		usable = append(usable, Known{w.ID, inside(w.Path), w.Digest})
	}
	for _, one := range slices.Concat(s.Refused, s.Unsupported) {
		text := one.Err.Error()
		if e, ok := errors.AsType[*errs.Error](one.Err); ok {
			text = e.Message
		}
		why[inside(one.Path)] = strings.ReplaceAll(text, folder, shown)
	}
	for _, skip := range s.Skipped {
		why[inside(skip.Path)] = inside(skip.Path) + ": " + string(skip.Reason)
	}
	for _, path := range slices.Sorted(maps.Keys(why)) {
		refused = append(refused, Refusal{path, why[path]})
	}
	return usable, refused, nil
}
