package file

import (
	"context"
	"encoding/base64"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Filter picks files (agent API, GET /files).
type Filter struct {
	Directory string   // those in it and below
	Search    string   // in the key, whatever the case of ASCII letters
	Keys      []string // empty: any
	Exts      []string // without dots; empty: any
	ProjectID string   // empty: any
	ChatID    string   // empty: any
	SortBy    string   // one of Sorts
	Desc      bool
	Cursor    string // Page.Next of the page before
	Limit     int
}

// Sorts are the orders of a list.
var Sorts = []string{"last_modified", "base_name", "size", "key"}

// Page is a page of files.
type Page struct {
	Files []File
	Next  string // empty: this is the last
	Total int    // that the filter picks, on every page
}

// FindAll lists files of the caller's, or all of a project that they see.
func (fs *Files) FindAll(ctx context.Context, f Filter) (p Page, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return p, err
	}
	all := f.where(fs.db, c)
	column, order, than := "modified_at", "ASC", ">"
	if f.SortBy != "" && f.SortBy != "last_modified" {
		if !slices.Contains(Sorts, f.SortBy) {
			return p, errs.Field("sort_by", "sort_by must be one of %s.", strings.Join(Sorts, ", "))
		}
		column = f.SortBy
	}
	if f.Desc {
		order, than = "DESC", "<"
	}
	part := all
	if f.Cursor != "" {
		value, key, err := readCursor(f.Cursor, column)
		if err != nil {
			return p, err
		}
		part.And("("+column+", key) "+than+" (?, ?)", value, key)
	}
	err = fs.db.Snapshot(ctx, func(q db.Querier) error {
		if p.Total, err = db.Value[int](ctx, q, `SELECT count(*) FROM file`+all.String(), all.Args...); err != nil {
			return err
		}
		p.Files, err = db.Select(ctx, q, scan,
			query+part.String()+` ORDER BY `+column+" "+order+`, key `+order+` LIMIT ?`, append(part.Args, f.Limit+1)...)
		return err
	})
	if err != nil {
		return p, err
	}
	if len(p.Files) > f.Limit {
		p.Files = p.Files[:f.Limit]
		p.Next = cursorOf(p.Files[f.Limit-1], column)
	}
	return p, nil
}

func (f Filter) where(d *db.DB, c account.Caller) (w db.Where) {
	w.And("team_id = ?", c.TeamID)
	if f.ProjectID == "" {
		w.And("user_id = ?", c.UserID)
	} else {
		w.And("(user_id = ? OR "+project.Sees("project_id")+")", c.UserID, c.UserID)
	}
	if dir := strings.Trim(f.Directory, "/"); dir != "" {
		w.And("substr(key, 1, ?) = ?", len([]rune(dir))+1, db.Clean(dir)+"/")
	}
	if f.Search != "" {
		cond, arg := d.Dialect().Contains("key", f.Search)
		w.And(cond, arg)
	}
	if len(f.Keys) > 0 {
		db.In(&w, "key", f.Keys)
	}
	if len(f.Exts) > 0 {
		db.In(&w, "ext", f.Exts)
	}
	db.Equal(&w, "project_id", f.ProjectID)
	db.Equal(&w, "chat_id", f.ChatID)
	return w
}

// cursorOf is a file's position in an order: the value it is ordered by, and its key.
func cursorOf(f File, column string) string {
	value := f.Key
	switch column {
	case "modified_at":
		value = strconv.FormatInt(f.LastModified.UnixMicro(), 10)
	case "size":
		value = strconv.FormatInt(f.Size, 10)
	case "base_name":
		value = f.BaseName
	}
	return base64.RawURLEncoding.EncodeToString([]byte(value + "\x00" + f.Key)) // neither can hold a NUL
}

func readCursor(cursor, column string) (value any, key string, err error) {
	refusal := errs.Field("cursor", "cursor must be next_cursor of the page before, in the same order.")
	doc, err := base64.RawURLEncoding.DecodeString(cursor)
	text, key, ok := strings.Cut(string(doc), "\x00")
	if err != nil || !ok || key == "" {
		return nil, "", refusal
	}
	if column != "modified_at" && column != "size" {
		return db.Clean(text), db.Clean(key), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, "", refusal
	}
	return n, db.Clean(key), nil
}

// Open opens a file that the caller sees, their own first. Close it after use.
func (fs *Files) Open(ctx context.Context, key string) (File, io.ReadCloser, error) {
	c, err := account.From(ctx)
	if err != nil {
		return File{}, nil, err
	}
	f, err := fs.seen(ctx, fs.db, c, key)
	if err != nil {
		return File{}, nil, err
	}
	content, err := fs.content(f)
	return f, content, err
}

// Check fails with Invalid, naming the field, when one of keys is no file of the caller's.
func (fs *Files) Check(ctx context.Context, field string, keys []string) error {
	c, err := account.From(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := fs.seen(ctx, fs.db, c, key); errs.Is(err, errs.NotFound) {
			return errs.Field(field, "%s: you have no file with the key %q.", field, errs.Clip(key, 100))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// ForTask are the files of a user with these keys; missing are the keys without a file.
func (fs *Files) ForTask(
	ctx context.Context, teamID, userID string, keys []string,
) (found []File, missing []string, err error) {
	for _, key := range keys {
		f, err := fs.seen(ctx, fs.db, account.Caller{TeamID: teamID, UserID: userID}, key)
		switch {
		case errs.Is(err, errs.NotFound):
			missing = append(missing, key)
		case err != nil:
			return nil, nil, err
		case !slices.ContainsFunc(found, func(other File) bool { return other.Key == key }):
			found = append(found, f)
		}
	}
	return found, missing, nil
}

// Read reads up to n bytes of a file from offset on.
func (fs *Files) Read(f File, offset int64, n int) ([]byte, error) {
	content, err := fs.content(f)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	if _, err := content.Seek(saltSize+offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(content, int64(n)))
}

func (fs *Files) content(f File) (io.ReadSeekCloser, error) {
	d, err := blob.ParseDigest(f.digest)
	if err != nil {
		return nil, err
	}
	content, _, err := fs.blobs.Get(d)
	if err != nil {
		return nil, err
	}
	if _, err := content.Seek(saltSize, io.SeekStart); err != nil {
		content.Close()
		return nil, err
	}
	return content, nil
}

func (fs *Files) find(ctx context.Context, q db.Querier, c account.Caller, key string) (File, error) {
	f, err := scan(q.QueryRow(ctx, query+` WHERE team_id = ? AND user_id = ? AND key = ?`, c.TeamID, c.UserID,
		db.Clean(key)))
	return f, db.OrMissing(err, "file")
}

// seen is a file of a user's, or of a project that they see; the oldest where several have the key.
func (fs *Files) seen(ctx context.Context, q db.Querier, c account.Caller, key string) (File, error) {
	f, err := scan(q.QueryRow(ctx, query+` WHERE team_id = ? AND key = ? AND (user_id = ? OR `+project.Sees("project_id")+`)
		ORDER BY CASE WHEN user_id = ? THEN 0 ELSE 1 END, modified_at, digest LIMIT 1`, c.TeamID, db.Clean(key), c.UserID, c.UserID,
		c.UserID))
	return f, db.OrMissing(err, "file")
}

const query = `SELECT key, base_name, ext, mime, size, etag, digest, project_id, chat_id, modified_at FROM file`

func scan(r db.Row) (f File, err error) {
	err = r.Scan(&f.Key, &f.BaseName, &f.Ext, &f.MIME, &f.Size, &f.ETag, &f.digest, &f.ProjectID, &f.ChatID,
		db.Into(&f.LastModified))
	return f, err
}
