package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/engine/templates/starter"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"golang.org/x/sync/errgroup"
)

// Report is what an import did.
type Report struct {
	Set       string
	Tag       string  // the release
	Digest    string  // of the set, hex; the same for a folder and for its zip
	Total     int     // templates in the set now
	New       int     // that it did not have before
	Updated   int     // whose text is another
	Removed   int     // that it has no longer
	Unchanged bool    // it had this set already: nothing was written
	Refused   []error // why files that look like templates were left out, by path
	Changes   update.Changes
}

// Import replaces the public or early set in one transaction. Templates it had before keep their creation time
// and first release. Invalid for a set without a well-formed template.
func (c *Catalog) Import(ctx context.Context, s Source) (Report, error) {
	set := PublicSet
	if s.Early {
		set = EarlySet
	}
	if s.From == "" {
		written, err := db.Value[string](ctx, c.db, `SELECT source FROM template_scope WHERE scope = ?`, set)
		if err != nil && !db.IsNoRows(err) {
			return Report{}, err
		}
		from, ref, _ := strings.Cut(written, refMark)
		s.From, s.Ref = from, cmp.Or(s.Ref, ref)
		if s.From == "" {
			return Report{}, errs.Field("from", "from is required: say where the templates are. The next time it is known.")
		}
	}
	o, err := update.Open(ctx, s.Source, c.Guard)
	if err != nil {
		return Report{}, err
	}
	source := s.From
	if s.Ref != "" {
		source += refMark + s.Ref
	}
	report, err := c.importFS(ctx, set, source, o.Tag, o.FS)
	for _, left := range o.Left {
		name, why, _ := strings.Cut(left, ": ")
		report.Refused = append(report.Refused, leftOut(name, why))
	}
	return report, errors.Join(err, o.Close())
}

// refMark is between a git remote and its branch, tag or commit where a source is stored.
const refMark = "#"

// ImportStarter imports the binary's starter set, unless the database has it already.
func (c *Catalog) ImportStarter(ctx context.Context) (Report, error) {
	return c.importFS(ctx, StarterSet, "builtin", "builtin", starter.FS())
}

func (c *Catalog) importFS(ctx context.Context, set, source, tag string, files fs.FS) (Report, error) {
	report := Report{Set: set, Tag: tag, Changes: update.Compare(nil, nil, nil)}
	found, err := collect(ctx, files)
	if err != nil {
		return report, err
	}
	report.Digest = found.digest
	var digest, known string
	err = c.db.QueryRow(ctx, `SELECT digest, release_tag FROM template_scope WHERE scope = ?`, set).Scan(&digest, &known)
	if err != nil && !db.IsNoRows(err) {
		return report, err
	}
	if digest == report.Digest && (tag == "" || tag == known) {
		report.Unchanged, report.Tag = true, known
		return report, c.db.QueryRow(ctx, `SELECT count(*) FROM template WHERE scope = ?`, set).Scan(&report.Total)
	}
	r := reader{source: files, files: map[string][]byte{}}
	rows, wrong, err := r.compileAll(ctx, found.texts)
	if err != nil {
		return report, err
	}
	report.Refused, report.Total = slices.Concat(found.refused, wrong), len(rows)
	if len(rows) == 0 {
		return report, errs.New(errs.Invalid, "no_templates", "%s has no template that is well-formed. The old set stays.",
			source).At("from").Because(errors.Join(report.Refused...))
	}
	additions := newAdditions(files)
	err = c.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.lock(ctx, tx, set); err != nil {
			return err
		}
		if err := c.replace(ctx, tx, set, rows, additions, &report); err != nil {
			return err
		}
		if err := replaceFiles(ctx, tx, set, r.files); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE template_scope SET digest = ?, source = ?, release_tag = ? WHERE scope = ?`,
			report.Digest, db.Clean(source), db.Clean(tag), set)
		return err
	})
	return report, err
}

// newAdditions are the paths that a release lists as new; nil when it has no such list.
func newAdditions(files fs.FS) map[string]bool {
	list, err := readBounded(files, ".new-additions", 1<<20)
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for line := range bytes.Lines(list) {
		out[strings.TrimSpace(string(line))] = true
	}
	return out
}

// row is a template on its way into the database.
type row struct {
	Template
	userID   string
	requests int
	files    map[string]string // the names that it uses for files → their paths in the set
}

type reader struct {
	source fs.FS

	mu    sync.Mutex
	total int               // bytes of named
	files map[string][]byte // path → text of the files that templates name
}

// compileAll compiles texts in parallel; of templates with the same id the first is used.
func (r *reader) compileAll(ctx context.Context, texts []text) (rows []row, refused []error, err error) {
	read, failed := make([]row, len(texts)), make([]error, len(texts))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range texts {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			read[i], failed[i] = r.compile(t)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	seen := map[string]string{}
	for i, one := range read {
		if failed[i] == nil && seen[one.ID] != "" {
			failed[i] = syntax.Fault(one.Path, 1, 0, "id", "%s has this id already", seen[one.ID])
		}
		if failed[i] != nil {
			refused = append(refused, failed[i])
			continue
		}
		seen[one.ID] = one.Path
		rows = append(rows, one)
	}
	return rows, refused, nil
}

func (r *reader) compile(t text) (row, error) {
	out := row{files: map[string]string{}}
	parsed, program, err := templates.CompileSigned(t.path, t.data, func(name string) ([]byte, error) {
		at, text, err := r.file(t.path, name)
		if err == nil {
			out.files[name] = at
		}
		return text, err
	})
	if err != nil && parsed == nil { // find that only this build cannot run is kept and shown
		return out, err
	}
	if program != nil {
		out.requests = program.Requests()
	}
	out.Template = Template{ID: parsed.ID, WrittenID: parsed.ID, Path: t.path, Type: parsed.Type(), Info: parsed.Info,
		Raw: t.data, Digest: parsed.Digest}
	return out, nil
}

// file finds a file that a template names, relative to its folder, a folder above it, or the top of the set.
func (r *reader) file(template, name string) (at string, text []byte, err error) {
	for base := path.Dir(template); ; base = path.Dir(base) {
		for _, at := range []string{path.Join(base, name), path.Clean(name)} {
			if !fs.ValidPath(at) || at == "." {
				continue
			}
			if text, err := r.read(at); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return at, text, err
			}
		}
		if base == "." || base == "/" {
			return "", nil, fmt.Errorf("there is no file %.200s that the template may read", name)
		}
	}
}

func (r *reader) read(at string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text, ok := r.files[at]; ok {
		return text, nil
	}
	info, err := fs.Stat(r.source, at)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	text, err := readBounded(r.source, at, syntax.MaxBytes)
	if r.total += len(text); err == nil && r.total > update.MaxBytes {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	r.files[at] = text
	return text, nil
}

// replace makes the templates of a set those of rows, and counts what that changes.
func (c *Catalog) replace(
	ctx context.Context, tx *db.Tx, set string, rows []row, additions map[string]bool, report *Report,
) error {
	now := db.At(c.Now()).Time
	old, err := storedTemplates(ctx, tx, set)
	if err != nil {
		return err
	}
	report.Changes = changes(old, rows, report.Refused)
	first := len(old) == 0
	var changed []row
	var removed []string
	for i := range rows {
		one := &rows[i]
		was, ok := old[one.ID]
		delete(old, one.ID)
		one.Scope, one.ReleaseTag, one.CreatedAt, one.UpdatedAt = set, db.Clean(report.Tag), now, now
		switch {
		case !ok:
			report.New++
			one.IsNew = additions == nil && !first
		case was.Digest == one.Digest && was.Path == one.Path:
			one.UpdatedAt = was.UpdatedAt
		default:
			report.Updated++
		}
		if ok {
			one.ReleaseTag, one.CreatedAt = was.ReleaseTag, was.CreatedAt
		}
		one.IsNew = one.IsNew || additions[one.Path]
		if !ok || one.UpdatedAt.Equal(now) || one.IsNew || was.IsNew {
			changed = append(changed, *one)
			if ok {
				removed = append(removed, one.ID) // and inserted again below
			}
		}
	}
	report.Removed = len(old)
	removed = append(removed, slices.Collect(maps.Keys(old))...)
	for part := range slices.Chunk(removed, 500) {
		var w db.Where
		w.And("scope = ?", set)
		db.In(&w, "id", part)
		if _, err := tx.Exec(ctx, `DELETE FROM template`+w.String(), w.Args...); err != nil {
			return err
		}
	}
	return insert(ctx, tx, changed)
}

// changes are what an import changes; refused are the faults of the new set.
func changes(old map[string]Template, rows []row, refused []error) update.Changes {
	before, after := make([]update.Known, 0, len(old)), make([]update.Known, 0, len(rows))
	for _, t := range old {
		before = append(before, update.Known{ID: t.ID, Path: t.Path, Digest: t.Digest})
	}
	for _, t := range rows {
		after = append(after, update.Known{ID: t.ID, Path: t.Path, Digest: t.Digest})
	}
	why := map[string]string{}
	for _, err := range refused {
		if e, ok := errors.AsType[*errs.Error](err); ok {
			why[e.Extra["file"]] = e.Message
		}
	}
	return update.Compare(before, after, why)
}

// storedTemplates are the templates of a set by id, with the fields that replace compares.
func storedTemplates(ctx context.Context, tx *db.Tx, set string) (map[string]Template, error) {
	out := map[string]Template{}
	_, err := db.Select(ctx, tx, func(r db.Row) (t Template, err error) {
		err = r.Scan(&t.ID, &t.Path, &t.Digest, &t.ReleaseTag, &t.IsNew, db.Into(&t.CreatedAt), db.Into(&t.UpdatedAt))
		out[t.ID] = t
		return t, err
	}, `SELECT id, path, digest, release_tag, is_new, created_at, updated_at FROM template WHERE scope = ?`, set)
	return out, err
}

func insert(ctx context.Context, tx *db.Tx, rows []row) error {
	values, searches := make([][]any, len(rows)), make([][]any, len(rows))
	for i, r := range rows {
		values[i] = []any{
			r.Scope, r.ID, r.WrittenID, r.userID, db.Clean(r.Path), db.Clean(r.Info.Name), r.Type, db.Doc(r.Info), r.Prompt,
			r.Model, r.Digest, r.ReleaseTag, r.IsNew,
			r.requests, db.Doc(r.files), db.At(r.CreatedAt), db.At(r.UpdatedAt), r.Raw,
		}
		searches[i] = searchRow(r)
	}
	err := tx.Insert(ctx, `template (scope, id, written_id, user_id, path, name, type, info, prompt, model, digest, release_tag,
		is_new, requests, files, created_at, updated_at, raw)`, values)
	if err != nil {
		return err
	}
	return tx.Insert(ctx, searchTable, searches)
}

// replaceFiles makes the files of a set those that its templates name.
func replaceFiles(ctx context.Context, tx *db.Tx, set string, files map[string][]byte) error {
	if _, err := tx.Exec(ctx, `DELETE FROM template_file WHERE scope = ?`, set); err != nil {
		return err
	}
	rows := make([][]any, 0, len(files))
	for _, at := range slices.Sorted(maps.Keys(files)) {
		rows = append(rows, []any{set, db.Clean(at), files[at]})
	}
	return tx.Insert(ctx, `template_file (scope, path, text)`, rows)
}
