// Package file stores the files that users upload for their tasks. Each is visible to its owner, and, where it
// belongs to
// a project, to those who see the project.
package file

import (
	"bytes"
	"context"

	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// The limits of a user's files in a team.
const (
	MaxSize  = 32 << 20 // bytes of one
	maxTotal = 1 << 30  // bytes of all
	maxFiles = 10_000
	maxKey   = 512 // bytes
	maxName  = 255 // bytes of each part of a key
)

// File describes a file (agent API, Files).
type File struct {
	Key          string // directory and name, as its owner chose them: specs/api.yaml
	BaseName     string
	Ext          string // in lower case, without the dot; empty: none
	MIME         string // guessed from its beginning
	Size         int64  // bytes
	ETag         string // SHA-256 of its content, in hexadecimal
	ProjectID    string // empty: none
	ChatID       string // the task it belongs to, as its owner said; empty: none
	LastModified time.Time

	digest string // of its blob
}

// NewFile is a file to store.
type NewFile struct {
	Key       string
	ProjectID string
	ChatID    string
	Content   io.Reader
}

// Files is the service of files.
type Files struct {
	db    *db.DB
	blobs *blob.Store
	now   func() time.Time
}

// New makes the service. The blob store is its own.
func New(d *db.DB, blobs *blob.Store) *Files { return &Files{db: d, blobs: blobs, now: time.Now} }

// Create stores a new file of the caller's: when it returns without an error the bytes are on disk. Invalid
// names the field; an existing key is a Conflict, and a file, or all files together, can be TooLarge.
func (fs *Files) Create(ctx context.Context, n NewFile) (File, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return File{}, err
	}
	if err := checkKey("key", n.Key); err != nil {
		return File{}, err
	}
	if err := fs.db.CheckRoom(); err != nil {
		return File{}, err
	}
	f, err := fs.storeContent(ctx, n)
	if err != nil {
		return File{}, err
	}
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := project.Check(ctx, tx, c.TeamID, c.UserID, f.ProjectID); err != nil {
			return err
		}
		if err := checkTotal(ctx, tx, c, f.Size, 1); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO file (team_id, user_id, key, base_name, ext, mime, size, etag, digest, project_id,
			chat_id, modified_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, c.TeamID, c.UserID, f.Key, f.BaseName, f.Ext,
			f.MIME, f.Size, f.ETag, f.digest, f.ProjectID, f.ChatID, db.At(f.LastModified))
		return err
	})
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "file_exists", "There is a file with this key; PUT replaces it.").At("key")
	}
	if err != nil {
		return File{}, errors.Join(err, fs.deleteBlob(f.digest))
	}
	return f, nil
}

// Replace gives a file of the caller's new content.
func (fs *Files) Replace(ctx context.Context, key string, content io.Reader) (File, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return File{}, err
	}
	if _, err := fs.find(ctx, fs.db, c, key); err != nil { // before all of the content is read
		return File{}, err
	}
	f, err := fs.storeContent(ctx, NewFile{Key: key, Content: content})
	if err != nil {
		return File{}, err
	}
	var old File
	err = fs.db.Tx(ctx, func(tx *db.Tx) error {
		if old, err = fs.find(ctx, tx, c, key); err != nil {
			return err
		}
		if err := checkTotal(ctx, tx, c, f.Size-old.Size, 0); err != nil {
			return err
		}
		changed := errs.New(errs.Conflict, "file_changed",
			"The file was changed by another request at the same time.").At("key")
		return db.ExecOr(ctx, tx, changed, `UPDATE file SET mime = ?, size = ?, etag = ?, digest = ?, modified_at = ?
			WHERE team_id = ? AND user_id = ? AND key = ? AND digest = ?`,
			f.MIME, f.Size, f.ETag, f.digest, db.At(f.LastModified), c.TeamID, c.UserID, key, old.digest)
	})
	if err != nil {
		return File{}, errors.Join(err, fs.deleteBlob(f.digest))
	}
	f.ProjectID, f.ChatID = old.ProjectID, old.ChatID
	return f, fs.deleteBlob(old.digest)
}

// Delete deletes a file of the caller's.
func (fs *Files) Delete(ctx context.Context, key string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	var digest string
	err = fs.db.Tx(ctx, func(tx *db.Tx) (err error) {
		digest, err = db.Value[string](ctx, tx, `DELETE FROM file WHERE team_id = ? AND user_id = ? AND key = ?
			RETURNING digest`, c.TeamID, c.UserID, db.Clean(key))
		return err
	})
	if err != nil {
		return db.OrMissing(err, "file")
	}
	return fs.deleteBlob(digest)
}

// checkTotal refuses a change that adds too many bytes or files to those of a user.
func checkTotal(ctx context.Context, tx *db.Tx, c account.Caller, size int64, files int) error {
	var total int64
	var count int
	err := tx.QueryRow(ctx, `SELECT coalesce(sum(size), 0), count(*) FROM file WHERE team_id = ? AND user_id = ?`,
		c.TeamID, c.UserID).Scan(&total, &count)
	if err == nil && (count+files > maxFiles || total+size > maxTotal) {
		err = errs.New(errs.TooLarge, "files_full",
			"All files of a user may be %d, and have %d bytes together; delete some first.", maxFiles, maxTotal)
	}
	return err
}

// storeContent stores a file's content. Each file has its own blob, which begins with a salt, so that equal files of
// two people can be deleted one by one.
func (fs *Files) storeContent(ctx context.Context, n NewFile) (File, error) {
	sum, head := sha256.New(), &beginning{}
	content := io.TeeReader(&bounded{r: n.Content, left: MaxSize}, io.MultiWriter(sum, head))
	digest, size, err := fs.blobs.Put(ctx, io.MultiReader(bytes.NewReader(ids.Secret(saltSize)), content))
	return File{
		Key: n.Key, BaseName: path.Base(n.Key), Ext: extOf(n.Key), MIME: http.DetectContentType(head.text),
		Size: size - saltSize, ETag: hex.EncodeToString(sum.Sum(nil)), ProjectID: n.ProjectID, ChatID: n.ChatID,
		LastModified: db.At(fs.now()).Time, digest: digest.String(),
	}, err
}

const saltSize = 16

func (fs *Files) deleteBlob(digest string) error {
	d, err := blob.ParseDigest(digest)
	if err != nil {
		return err
	}
	return fs.blobs.Delete(d)
}

type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errs.New(errs.TooLarge, "file_too_large", "A file may have %d bytes.", MaxSize)
	}
	return n, err
}

// beginning keeps what http.DetectContentType reads.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 512-len(b.text))]...)
	return len(p), nil
}

func extOf(key string) string {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(key), "."))
	if len(ext) > 32 {
		return ""
	}
	return ext
}

// checkKey checks a key: names between slashes that any file system accepts and without invisible characters.
func checkKey(field, key string) error {
	if key == "" || len(key) > maxKey || !utf8.ValidString(key) {
		return errs.Field(field, "%s must have 1 to %d bytes of UTF-8.", field, maxKey)
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "" || part == "." || part == ".." || len(part) > maxName:
			return errs.Field(field,
				"%s must be names between slashes, none of them empty, . or .., and none with more than %d bytes.", field, maxName)
		case strings.TrimSpace(part) != part || strings.ContainsFunc(part, isForbidden):
			return errs.Field(field, "%s must not have control characters, invisible ones, backslashes, quotation marks"+
				" or blanks at the ends of a name.", field)
		}
	}
	return nil
}

func isForbidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\\' || r == '"' || r == utf8.RuneError
}
