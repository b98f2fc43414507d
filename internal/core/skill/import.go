package skill

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Bounds of an import.
const (
	maxUpload  = 8 << 20  // bytes of an archive that is sent
	maxFetched = 64 << 20 // bytes of a remote's
	maxFound   = 50       // skills
	maxEntries = 20_000   // files and folders that are looked at
	maxDepth   = 10       // folders
)

// Imported is what an import came to.
type Imported struct {
	Skills []Found
	Left   []string // what was left out, and why
}

// Found is a skill of an import.
type Found struct {
	Skill
	Result string // created, updated or unchanged
}

// ImportArchive makes skills of the caller's from a zip, tar or tar.gz: each folder with a SKILL.md is one. A skill
// that the caller has under the name is changed. Invalid: it cannot be read, or has none.
func (ss *Skills) ImportArchive(ctx context.Context, archive io.Reader, shared bool) (Imported, error) {
	if _, err := creator(ctx, shared); err != nil {
		return Imported{}, err
	}
	file, err := os.CreateTemp("", "vedette-skills-*")
	if err != nil {
		return Imported{}, err
	}
	defer func() { _ = errors.Join(file.Close(), os.Remove(file.Name())) }()
	n, err := io.Copy(file, io.LimitReader(archive, maxUpload+1))
	switch {
	case err != nil:
		return Imported{}, errs.Field("body", "The archive could not be read: %v.", err).Because(err)
	case n > maxUpload:
		return Imported{}, errs.Field("body", "The archive has more than %d bytes.", maxUpload)
	case n == 0:
		return Imported{}, errs.Field("body", "The body is empty: send a zip, tar or tar.gz.")
	}
	return ss.bring(ctx, update.Source{From: file.Name(), Limit: maxUpload}, shared, FromArchive, "body")
}

// ImportURL makes skills of the caller's from an https or http URL: of an archive, or of a git remote, of which ref is
// a branch, tag or commit. Dials are the guard's, and git has none of the server's credentials.
func (ss *Skills) ImportURL(ctx context.Context, from, ref string, shared bool) (Imported, error) {
	if _, err := creator(ctx, shared); err != nil {
		return Imported{}, err
	}
	plain := strings.TrimPrefix(from, "git+")
	u, err := url.Parse(plain)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Imported{}, errs.Field("url", "url must be an https or http URL of an archive or of a git remote.")
	}
	if u.User != nil {
		return Imported{}, errs.Field("url", "url holds credentials, which would be stored and shown.")
	}
	isArchive := slices.ContainsFunc([]string{".zip", ".tar", ".tar.gz", ".tgz", ".skill"},
		func(end string) bool { return strings.HasSuffix(strings.ToLower(u.Path), end) })
	s := update.Source{From: plain, Ref: ref, Limit: maxFetched, Anonymous: true}
	if !isArchive {
		s.From = "git+" + plain
	} else if ref != "" {
		return Imported{}, errs.Field("ref", "ref is for git remotes, and url names an archive.")
	}
	return ss.bring(ctx, s, shared, plain, "url")
}

// bring opens a source, reads its skills and stores them.
func (ss *Skills) bring(
	ctx context.Context,
	s update.Source,
	shared bool,
	source, field string,
) (out Imported, err error) {
	select {
	case ss.slots <- struct{}{}:
		defer func() { <-ss.slots }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	opened, err := update.Open(ctx, s, ss.guard)
	if err != nil {
		return out, ofField(err, field)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	texts, left, err := read(ctx, opened.FS)
	if err != nil {
		return out, errs.Field(field, "%s: %s", field, errs.Clip(err.Error(), 300))
	}
	out.Left = slices.Concat(left, opened.Left[:min(len(opened.Left), maxFound)])
	if len(texts) == 0 {
		why := ""
		if len(out.Left) > 0 {
			why = " (" + errs.Clip(out.Left[0], 300) + ")"
		}
		return out, errs.Field(field, "%s: there is no folder with a %s that can be used%s.", field, fileName, why)
	}
	err = ss.db.Tx(ctx, func(tx *db.Tx) error {
		for _, t := range texts {
			found, err := ss.merge(ctx, tx, NewSkill{Text: t, Shared: shared, Source: source, Revision: opened.Commit})
			if err != nil {
				return err
			}
			out.Skills = append(out.Skills, found)
		}
		return nil
	})
	return out, err
}

// ofField says of an error of package update which field of ours it is about. What others do wrong is no fault of this
// server.
func ofField(err error, field string) error {
	e := errs.From(err)
	switch {
	case errors.As(err, new(*netguard.Denied)), errs.Is(e.Unwrap(), errs.Forbidden), errs.Is(e.Unwrap(), errs.Invalid):
		return errs.Field(field, "%s: %s", field, e.Message)
	case e.Kind == errs.Unavailable:
		return errs.New(errs.FailedDependency, "source_unavailable", "%s", e.Message).At(field)
	case e.Kind == errs.Invalid && e.Param == "from":
		return errs.Field(field, "%s", field+strings.TrimPrefix(e.Message, "from"))
	}
	return err
}

// read reads the skills of a set of files.
func read(ctx context.Context, set fs.FS) (texts []Text, left []string, err error) {
	entries := 0
	err = fs.WalkDir(set, ".", func(name string, entry fs.DirEntry, err error) error {
		entries++
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entries > maxEntries:
			return errors.New("it has too many files")
		case entry.IsDir() && (strings.Count(name, "/") >= maxDepth ||
			slices.Contains([]string{".git", "node_modules"}, entry.Name())):
			return fs.SkipDir
		case entry.IsDir() || entry.Name() != fileName || !entry.Type().IsRegular():
			return nil
		case len(texts) == maxFound:
			left = append(left, errs.Clip(name, 200)+": there are more than 50 skills")
			return fs.SkipAll
		}
		t, why, err := readOne(set, path.Dir(name))
		if err == nil && slices.ContainsFunc(texts, func(other Text) bool { return other.Name == t.Name }) {
			err = errors.New("there is another skill with its name")
		}
		if err != nil {
			left = append(left, errs.Clip(name, 200)+": "+errs.Clip(plain(err), 300))
			return nil
		}
		left, texts = append(left, why...), append(texts, t)
		return nil
	})
	return texts, left, err
}

func plain(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// readOne reads the skill in a folder. Folders of other skills in it are theirs.
func readOne(set fs.FS, folder string) (t Text, left []string, err error) {
	text, err := readFile(set, path.Join(folder, fileName), maxInstructions+maxDescription*8)
	if err != nil {
		return t, nil, err
	}
	t, ignored, err := Parse(string(text))
	if err != nil {
		return t, nil, err
	}
	if len(ignored) > 0 {
		left = append(left, t.Name+": the fields "+strings.Join(ignored[:min(len(ignored), 10)], ", ")+" have no effect")
	}
	total := 0
	err = fs.WalkDir(set, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside := strings.TrimPrefix(name, folder+"/")
		if folder == "." {
			inside = name
		}
		if entry.IsDir() {
			if name != folder && (strings.HasPrefix(entry.Name(), ".") || hasSkill(set, name)) {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case inside == fileName:
			return nil
		case !entry.Type().IsRegular():
			left = append(left, t.Name+": "+errs.Clip(inside, 100)+" is a link or a special file")
			return nil
		case !isPath(inside):
			left = append(left, t.Name+": "+errs.Clip(inside, 100)+" has a name that is not taken")
			return nil
		case len(t.Files) == maxFiles:
			return errors.New("it has more than 100 files")
		}
		content, err := readFile(set, name, maxFile)
		if total += len(content); err == nil && total > maxAll {
			err = errors.New("its files have more than 2 MiB together")
		}
		t.Files = append(t.Files, File{Path: inside, Content: content})
		return err
	})
	if err == nil {
		err = t.check()
	}
	return t, left, err
}

func hasSkill(set fs.FS, folder string) bool {
	_, err := fs.Stat(set, path.Join(folder, fileName))
	return err == nil
}

func readFile(set fs.FS, name string, most int64) ([]byte, error) {
	file, err := set.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = errors.New(errs.Clip(path.Base(name), 100) + " is too large")
	}
	return content, err
}

// merge creates a skill of the caller's, or changes the one that has its name.
func (ss *Skills) merge(ctx context.Context, tx *db.Tx, n NewSkill) (Found, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Found{}, err
	}
	id, err := db.Value[string](
		ctx,
		tx,
		`SELECT id FROM skill WHERE team_id = ? AND user_id = ? AND name = ?`,
		c.TeamID,
		c.UserID,
		n.Name,
	)
	if db.IsNoRows(err) {
		s, err := ss.insert(ctx, tx, c, n)
		return Found{s, "created"}, err
	}
	if err != nil {
		return Found{}, err
	}
	s, err := ss.own(ctx, tx, c, id)
	if err != nil {
		return Found{}, err
	}
	before := s.Hash
	s.Text, s.Source, s.Revision = n.Text, n.Source, n.Revision
	s.Shared = s.Shared || n.Shared
	err = ss.store(ctx, tx, &s)
	if s.Hash == before {
		return Found{s, "unchanged"}, err
	}
	return Found{s, "updated"}, err
}
