// Package skill stores skills: folders of know-how that agents load when they need it, in the open format with a file
// SKILL.md that other agents use, too.
//
// A skill has a name, a description by which a model chooses it, instructions, and further text files. It is its
// owner's or, shared by an admin, for all tasks of the team; some come with the server. Skills are written through the
// API, or imported from an archive or a git remote (import.go), where nothing is trusted: sizes and counts are
// bounded, names lead nowhere else, and git sees the network only through the guard and has nobody's credentials. The
// prompt of a task has names and descriptions alone; the tool load_skill brings the rest, as data (task.go), and what
// was loaded is written down with its version.
package skill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Text is what is written of a skill.
type Text struct {
	Name          string
	Description   string
	Instructions  string
	License       string
	Compatibility string
	Metadata      map[string]string
	Files         []File
}

// File is a further file of a skill, by its path in the skill's folder.
type File struct {
	Path    string
	Content []byte
	Size    int
}

// Skill is know-how for agents.
type Skill struct {
	ID      string
	TeamID  string
	OwnerID string
	Origin  sharing.Origin
	Text
	Shared    bool
	Enabled   bool
	Source    string // the URL that it was imported from, FromArchive, FromAPI, or FromServer
	Revision  string // the commit of a git remote
	Version   int    // from 1, plus 1 with each change of its text
	Hash      string // of its text and files
	Uses      int    // tasks of the team that loaded it
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Sources that are no URLs.
const (
	FromAPI     = "api"
	FromArchive = "archive"
	FromServer  = "server"
)

// Bounds of a skill.
const (
	maxName         = 64   // of the open format, in bytes
	maxDescription  = 1024 // of the open format, in characters
	maxCompatible   = 500
	maxLicense      = 200
	maxInstructions = 64 << 10 // bytes
	maxFiles        = 100
	maxFile         = 256 << 10 // bytes
	maxAll          = 2 << 20   // bytes of all files
	maxPath         = 256       // bytes
	maxMetadata     = 32
	maxSkills       = 200 // of a user in a team
)

// Skills is the service of skills.
type Skills struct {
	db      *db.DB
	guard   *netguard.Guard
	shipped []Skill
	slots   chan struct{} // of imports
	now     func() time.Time
}

const importsAtOnce = 2

// New makes the service. guard makes the dials of imports.
func New(d *db.DB, guard *netguard.Guard) *Skills {
	return &Skills{db: d, guard: guard, shipped: shipped(), slots: make(chan struct{}, importsAtOnce), now: time.Now}
}

func hashOf(t Text) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %q", t.Name, t.Description, t.Instructions, t.License, t.Compatibility)
	fmt.Fprintf(sum, " %q", t.Metadata)
	for _, f := range t.Files {
		fmt.Fprintf(sum, " %q %x", f.Path, sha256.Sum256(f.Content))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// check refuses a text and puts its files in order. Invalid names the field.
func (t *Text) check() error {
	t.Description = strings.TrimSpace(db.Clean(t.Description))
	t.Instructions = strings.TrimSpace(db.Clean(t.Instructions))
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	switch {
	case !isName(t.Name):
		return errs.Field(
			"name",
			"name must be 1 to %d lower-case letters and digits, in words joined by single hyphens.",
			maxName,
		)
	case t.Description == "" || utf8.RuneCountInString(t.Description) > maxDescription:
		return errs.Field(
			"description",
			"description must have 1 to %d characters: what the skill does and when to use it.",
			maxDescription,
		)
	case t.Instructions == "" || len(t.Instructions) > maxInstructions:
		return errs.Field("instructions", "instructions must have 1 to %d bytes.", maxInstructions)
	case len(t.License) > maxLicense:
		return errs.Field("license", "license must have at most %d bytes.", maxLicense)
	case len(t.Compatibility) > maxCompatible:
		return errs.Field("compatibility", "compatibility must have at most %d bytes.", maxCompatible)
	case len(t.Metadata) > maxMetadata:
		return errs.Field("metadata", "metadata must have at most %d fields.", maxMetadata)
	case len(t.Files) > maxFiles:
		return errs.Field("files", "files: at most %d.", maxFiles)
	}
	t.License, t.Compatibility = db.Clean(t.License), db.Clean(t.Compatibility)
	for key, value := range t.Metadata {
		if len(key) > maxName || len(value) > maxLicense {
			return errs.Field("metadata", "metadata: names have at most %d bytes, values %d.", maxName, maxLicense)
		}
	}
	return t.checkFiles()
}

func (t *Text) checkFiles() error {
	total := 0
	slices.SortFunc(t.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for i := range t.Files {
		f := &t.Files[i]
		f.Size = len(f.Content)
		total += f.Size
		switch {
		case !isPath(f.Path):
			return errs.Field("files", "files: %q is no path in the skill's folder.", errs.Clip(f.Path, 100))
		case strings.EqualFold(f.Path, fileName):
			return errs.Field("files", "files: %s is the skill itself.", fileName)
		case i > 0 && t.Files[i-1].Path == f.Path:
			return errs.Field("files", "files: %q is there twice.", errs.Clip(f.Path, 100))
		case f.Size > maxFile:
			return errs.Field("files", "files: %q has more than %d bytes.", errs.Clip(f.Path, 100), maxFile)
		case total > maxAll:
			return errs.Field("files", "files: they have more than %d bytes together.", maxAll)
		}
	}
	return nil
}

func isName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") &&
		!strings.Contains(name, "--") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// isPath reports whether a path is relative, in its shortest form, leads nowhere else and can be shown.
func isPath(p string) bool {
	return p != "" && len(p) <= maxPath && path.Clean(p) == p && !path.IsAbs(p) && p != "." && p != ".." &&
		!strings.HasPrefix(p, "../") && !strings.ContainsAny(p, "\\:\x00\r\n") && db.Clean(p) == p
}

// New skills, and changes.
type (
	// NewSkill describes a skill to create.
	NewSkill struct {
		Text
		Shared   bool
		Source   string
		Revision string
	}
	// Change changes a skill; nil fields stay.
	Change struct {
		Description, Instructions, License, Compatibility *string
		Metadata                                          *map[string]string
		Files                                             *[]File
		Shared, Enabled                                   *bool
	}
)

const columns = `s.id, s.team_id, s.user_id, s.name, s.description, s.license, s.compatibility, s.metadata, s.shared, s.enabled, s.source,
	s.revision, s.version, s.hash, s.created_at, s.updated_at,
	(SELECT count(DISTINCT u.task_id) FROM skill_use u WHERE u.skill_id = s.id AND u.team_id = s.team_id)`

const query = `SELECT ` + columns + `, s.instructions FROM skill s`

// visible are a user's skills and those that members share. Its arguments are the team and the user.
var visible = sharing.Visible("s")

func scanFor(userID string, further ...string) func(db.Row) (Skill, error) {
	return func(r db.Row) (s Skill, err error) {
		to := []any{
			&s.ID,
			&s.TeamID,
			&s.OwnerID,
			&s.Name,
			&s.Description,
			&s.License,
			&s.Compatibility,
			db.Into(&s.Metadata),
			&s.Shared,
			&s.Enabled,
			&s.Source,
			&s.Revision,
			&s.Version,
			&s.Hash,
			db.Into(&s.CreatedAt),
			db.Into(&s.UpdatedAt),
			&s.Uses,
		}
		if len(further) == 0 {
			to = append(to, &s.Instructions)
		}
		err = r.Scan(to...)
		s.Origin = sharing.Of(s.OwnerID, userID)
		return s, err
	}
}

// Create keeps a new skill of the caller's. Invalid names the field; Conflict: they have one with the name. Only an
// admin shares.
func (ss *Skills) Create(ctx context.Context, n NewSkill) (s Skill, err error) {
	c, err := creator(ctx, n.Shared)
	if err != nil {
		return s, err
	}
	if err := n.check(); err != nil {
		return s, err
	}
	err = ss.db.Tx(ctx, func(tx *db.Tx) error {
		s, err = ss.insert(ctx, tx, c, n)
		return err
	})
	return s, err
}

// creator is the caller, if they may make a skill that is shared or not.
func creator(ctx context.Context, shared bool) (account.Caller, error) {
	c, err := account.Writer(ctx)
	if err == nil && shared {
		_, err = account.TeamAdmin(ctx)
	}
	return c, err
}

func (ss *Skills) insert(ctx context.Context, tx *db.Tx, c account.Caller, n NewSkill) (Skill, error) {
	now := db.At(ss.now())
	s := Skill{
		ID:      ids.New(),
		TeamID:  c.TeamID,
		OwnerID: c.UserID,
		Origin:  sharing.Own,
		Text:    n.Text,
		Shared:  n.Shared,
		Enabled: true,
		Source: cmp.Or(
			n.Source,
			FromAPI,
		),
		Revision:  n.Revision,
		Version:   1,
		Hash:      hashOf(n.Text),
		CreatedAt: now.Time,
		UpdatedAt: now.Time,
	}
	count, err := db.Value[int](
		ctx,
		tx,
		`SELECT count(*) FROM skill WHERE team_id = ? AND user_id = ?`,
		c.TeamID,
		c.UserID,
	)
	if err != nil {
		return s, err
	}
	if count >= maxSkills {
		return s, errs.New(errs.Conflict, "too_many_skills", "There are %d skills; delete one first.", count)
	}
	_, err = tx.Exec(
		ctx,
		`INSERT INTO skill (id, team_id, user_id, name, description, instructions, license, compatibility, metadata,
		shared, enabled, source, revision, version, hash, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID,
		c.TeamID,
		c.UserID,
		s.Name,
		s.Description,
		s.Instructions,
		s.License,
		s.Compatibility,
		db.Doc(s.Metadata),
		s.Shared,
		s.Enabled,
		s.Source,
		s.Revision,
		s.Version,
		s.Hash,
		now,
		now,
	)
	if db.IsDuplicate(err) {
		return s, errs.New(errs.Conflict, "skill_exists", "You have a skill with this name.").At("name")
	}
	if err != nil {
		return s, err
	}
	return s, writeFiles(ctx, tx, s)
}

// writeFiles stores the files of a skill in the place of those that were there.
func writeFiles(ctx context.Context, tx *db.Tx, s Skill) error {
	if _, err := tx.Exec(ctx, `DELETE FROM skill_file WHERE skill_id = ? AND team_id = ?`, s.ID, s.TeamID); err != nil {
		return err
	}
	for _, f := range s.Files {
		if _, err := tx.Exec(
			ctx,
			`INSERT INTO skill_file (skill_id, team_id, path, content) VALUES (?, ?, ?, ?)`,
			s.ID,
			s.TeamID,
			f.Path,
			append([]byte{}, f.Content...),
		); err != nil {
			return err
		}
	}
	return nil
}

// Filter picks skills of a list; empty fields pick all.
type Filter struct {
	Origin sharing.Origin
	Search string // a text in the name or the description
}

// FindAll lists the skills of the caller, those of the team and those that come with the server, each by name, without
// instructions and files.
func (ss *Skills) FindAll(ctx context.Context, f Filter) ([]Skill, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	all, err := ss.all(ctx, c.TeamID, c.UserID)
	search := strings.ToLower(f.Search)
	return slices.DeleteFunc(all, func(s Skill) bool {
		return f.Origin != "" && s.Origin != f.Origin || !strings.Contains(s.Name+"\n"+strings.ToLower(s.Description), search)
	}), err
}

// all are the skills of a user, of their team and of the server, in this order.
func (ss *Skills) all(ctx context.Context, teamID, userID string) ([]Skill, error) {
	all, err := db.Select(ctx, ss.db, scanFor(userID, "none"), `SELECT `+columns+` FROM skill s`+visible+
		` ORDER BY CASE WHEN s.user_id = ? THEN 0 ELSE 1 END, s.name, s.id`, teamID, userID, userID)
	if err != nil {
		return nil, err
	}
	for _, s := range ss.shipped {
		if s, err = ss.ofTeam(ctx, teamID, s); err != nil {
			return nil, err
		}
		s.Instructions = ""
		all = append(all, s)
	}
	return all, nil
}

// ofTeam is a shipped skill as a team has it.
func (ss *Skills) ofTeam(ctx context.Context, teamID string, s Skill) (Skill, error) {
	off := 0
	err := ss.db.QueryRow(ctx, `SELECT (SELECT count(*) FROM skill_switch WHERE team_id = ? AND name = ?),
		(SELECT count(DISTINCT task_id) FROM skill_use WHERE team_id = ? AND skill_id = ?)`, teamID, s.Name, teamID, s.ID).
		Scan(&off, &s.Uses)
	s.Enabled = off == 0
	return s, err
}

// Find finds a skill that the caller may use, with its instructions and the paths of its files.
func (ss *Skills) Find(ctx context.Context, id string) (Skill, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Skill{}, err
	}
	return ss.find(ctx, ss.db, c.TeamID, c.UserID, id)
}

func (ss *Skills) find(ctx context.Context, q db.Querier, teamID, userID, id string) (Skill, error) {
	if i := slices.IndexFunc(ss.shipped, func(s Skill) bool { return s.ID == id }); i >= 0 {
		return ss.ofTeam(ctx, teamID, ss.shipped[i])
	}
	s, err := scanFor(userID)(q.QueryRow(ctx, query+visible+` AND s.id = ?`, teamID, userID, db.Clean(id)))
	if err != nil {
		return s, db.OrMissing(err, "skill")
	}
	s.Files, err = db.Select(ctx, q, func(r db.Row) (f File, err error) { return f, r.Scan(&f.Path, &f.Size) },
		`SELECT path, length(content) FROM skill_file WHERE skill_id = ? AND team_id = ? ORDER BY path`, s.ID, s.TeamID)
	return s, err
}

// Content is a file of a skill that the caller may use.
func (ss *Skills) Content(ctx context.Context, id, path string) ([]byte, error) {
	s, err := ss.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	return ss.content(ctx, s, path)
}

func (ss *Skills) content(ctx context.Context, s Skill, path string) ([]byte, error) {
	content, err := db.Value[[]byte](
		ctx,
		ss.db,
		`SELECT content FROM skill_file WHERE skill_id = ? AND team_id = ? AND path = ?`,
		s.ID,
		s.TeamID,
		db.Clean(path),
	)
	return content, db.OrMissing(err, "skill_file")
}
