// Package toolkit stores the tools that people write for their tasks as programs, in TypeScript, JavaScript or Python,
// and runs them.
//
// A tool is a module with a function run, which gets the input and returns the output; both are JSON documents that fit
// the tool's schemas. A toolkit is what tools share: their language, code that is run before each (init_code), and the
// names of the secrets that are in their environment. A tool belongs to the user who wrote it or, shared, to the team's
// tasks, and always gets its owner's secrets. Package isolate runs it: it reaches what the caller dials, and nothing of
// this machine, but the packages that were installed for it (packages.go).
package toolkit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/provision"
)

// Config is what the service needs.
type Config struct {
	Secrets    *secret.Secrets
	Exclusions *exclusion.Exclusions
	Reserved   []string       // names of tools that every task has
	Deny       []netip.Prefix // networks that no tool reaches
	AtOnce     int            // programs that run at the same time; 0: 4
	Now        func() time.Time

	Folders               *provision.Folders // of packages
	NPMRegistry, PipIndex string             // addresses; "": those of npm and pip
}

// Toolkits keeps the toolkits and tools of users.
type Toolkits struct {
	Config
	db    *db.DB
	slots chan struct{}
	check func(ctx context.Context) error // whether programs can be run here

	installing chan struct{}
	background sync.WaitGroup
	running    context.Context //nolint:containedctx // ends with the service
	end        context.CancelFunc
}

// New makes the service; close it.
func New(d *db.DB, c Config) *Toolkits {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Toolkits{Config: c, db: d, slots: make(chan struct{}, cmp.Or(c.AtOnce, 4)), check: isolate.Check,
		installing: make(chan struct{}, maxInstalling)}
	s.running, s.end = context.WithCancel(context.Background())
	return s
}

// Language is what the tools of a toolkit are written in.
type Language string

// Languages of tools.
const (
	TypeScript Language = "typescript"
	JavaScript Language = "javascript"
	Python     Language = "python"
)

// Status is whether the tools of a toolkit can be run here.
type Status string

// Statuses of a toolkit (agent API, Dynamic Tools).
const (
	NotStarted Status = "not_started" // its packages are to be installed
	Installing Status = "installing"
	Installed  Status = "installed"
	Failed     Status = "failed"
)

// Global is the toolkit of tools that name none. It is made with the first of them.
const Global = "global"

// Text is what the owner of a toolkit writes.
type Text struct {
	Name        string
	Description string
	Language    Language

	// Dependencies are packages of npm or PyPI, and which version of each.
	Dependencies map[string]string

	EnvVars  []string // names of secrets of the owner's
	InitCode string
	Pinned   bool
	Tags     []string
}

// Toolkit is what some tools share.
type Toolkit struct {
	ID        string
	ToolkitID string
	OwnerID   string
	Text
	Status    Status
	Fault     string    // why it has Failed
	StatusAt  time.Time // when the status was set; zero: not since packages are installed
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Hash tells versions of a toolkit apart.
func (k Toolkit) Hash() string {
	doc, _ := json.Marshal(k.Text) //nolint:errchkjson // texts
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:16])
}

// Change changes a toolkit; nil fields stay.
type Change struct {
	Name, Description, InitCode *string
	EnvVars, Tags               *[]string
	Dependencies                map[string]string // nil stays
	Pinned                      *bool
}

// Bounds.
const (
	maxToolkits = 100
	maxTools    = 500
	maxName     = 128  // characters
	maxText     = 2000 // characters
	maxTags     = 50
	maxEnv      = 50
	maxCode     = 256 << 10 // bytes
)

var (
	errNoToolkit = errs.Missing("toolkit")
	toolkitID    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	envName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// Create creates a toolkit of the caller's. Invalid names the field; Conflict: they have one with that id.
func (s *Toolkits) Create(ctx context.Context, id string, text Text) (Toolkit, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Toolkit{}, err
	}
	text.Language = cmp.Or(text.Language, TypeScript)
	switch {
	case !toolkitID.MatchString(id):
		return Toolkit{}, errs.Field("toolkit_id", "toolkit_id must be small letters, digits and hyphens, begin with a letter, and have at most 63 characters.")
	case id == Global:
		return Toolkit{}, errs.Field("toolkit_id", "toolkit_id: %s is the toolkit of tools that name none.", Global)
	}
	if err := text.check(); err != nil {
		return Toolkit{}, err
	}
	now := db.At(s.Now()).Time
	k := Toolkit{ID: ids.New(), ToolkitID: id, OwnerID: c.UserID, Text: text, CreatedAt: now, UpdatedAt: now}
	k.Status, k.Fault = s.status(ctx, k)
	return k, s.db.Tx(ctx, func(tx *db.Tx) error { return s.insert(ctx, tx, c.TeamID, k) })
}

func (s *Toolkits) insert(ctx context.Context, tx *db.Tx, teamID string, k Toolkit) error {
	count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM toolkit WHERE team_id = ? AND user_id = ?`, teamID, k.OwnerID)
	if err != nil {
		return err
	}
	if count >= maxToolkits {
		return errs.New(errs.Conflict, "too_many_toolkits", "There are %d already; delete one first.", count)
	}
	_, err = tx.Exec(ctx, `INSERT INTO toolkit (team_id, `+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append([]any{teamID}, k.values()...)...)
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "toolkit_id_taken", "You have a toolkit %s already.", k.ToolkitID).At("toolkit_id")
	}
	return err
}

const columns = `id, user_id, toolkit_id, name, description, language, env_vars, init_code, pinned, tags, status, fault, created_at, updated_at, dependencies, status_at`

func (k Toolkit) values() []any {
	return []any{k.ID, k.OwnerID, k.ToolkitID, k.Name, k.Description, k.Language, db.Doc(k.EnvVars), k.InitCode, k.Pinned,
		db.Doc(k.Tags), k.Status, k.Fault, db.At(k.CreatedAt), db.At(k.UpdatedAt), db.Doc(k.Dependencies),
		db.At(k.StatusAt)}
}

func scan(r db.Row) (k Toolkit, err error) {
	return k, r.Scan(&k.ID, &k.OwnerID, &k.ToolkitID, &k.Name, &k.Description, &k.Language, db.Into(&k.EnvVars),
		&k.InitCode,
		&k.Pinned, db.Into(&k.Tags), &k.Status, &k.Fault, db.Into(&k.CreatedAt), db.Into(&k.UpdatedAt),
		db.Into(&k.Dependencies), db.Into(&k.StatusAt))
}

// check checks a text and puts it in order.
func (t *Text) check() error {
	if err := checkText("name", t.Name, 1, maxName); err != nil {
		return err
	}
	if err := checkText("description", t.Description, 0, maxText); err != nil {
		return err
	}
	if !slices.Contains([]Language{TypeScript, JavaScript, Python}, t.Language) {
		return errs.Field("language", "language must be typescript, javascript or python.")
	}
	if len(t.EnvVars) > maxEnv {
		return errs.Field("env_vars", "env_vars: at most %d.", maxEnv)
	}
	for _, name := range t.EnvVars {
		if !envName.MatchString(name) {
			return errs.Field("env_vars", "env_vars: %q is no name of a secret.", errs.Clip(name, 100))
		}
	}
	if len(t.Tags) > maxTags {
		return errs.Field("tags", "tags: at most %d.", maxTags)
	}
	for _, tag := range t.Tags {
		if err := checkText("tags", tag, 1, 64); err != nil {
			return err
		}
	}
	t.EnvVars, t.Tags = unique(t.EnvVars), unique(t.Tags)
	if t.Dependencies == nil {
		t.Dependencies = map[string]string{}
	}
	if err := checkPackages(t.Language, t.Dependencies); err != nil {
		return err
	}
	if err := checkCode("init_code", t.InitCode); err != nil {
		return err
	}
	if t.InitCode == "" {
		return nil
	}
	_, err := compile("init_code", t.Language, t.InitCode, false)
	return err
}

func unique(all []string) []string {
	out := []string{}
	for _, one := range all {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

func checkText(field, text string, least, most int) error {
	switch n := len([]rune(text)); {
	case db.Clean(text) != text:
		return errs.Field(field, "%s must be text.", field)
	case n < least || strings.TrimSpace(text) == "" && least > 0:
		return errs.Field(field, "%s is missing.", field)
	case n > most:
		return errs.Field(field, "%s is longer than %d characters.", field, most)
	}
	return nil
}

func checkCode(field, code string) error {
	switch {
	case len(code) > maxCode:
		return errs.Field(field, "%s is longer than %d bytes.", field, maxCode)
	case db.Clean(code) != code:
		return errs.Field(field, "%s must be text.", field)
	}
	return nil
}

// List lists the caller's toolkits by id.
func (s *Toolkits) List(ctx context.Context) ([]Toolkit, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	all, err := db.Select(ctx, s.db, scan, `SELECT `+columns+` FROM toolkit WHERE team_id = ? AND user_id = ?`, c.TeamID, c.UserID)
	for i := range all {
		all[i].aged(s.Now())
	}
	slices.SortFunc(all, func(a, b Toolkit) int { return strings.Compare(a.ToolkitID, b.ToolkitID) })
	return all, err
}

// Find finds a toolkit of the caller's.
func (s *Toolkits) Find(ctx context.Context, id string) (Toolkit, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Toolkit{}, err
	}
	return s.find(ctx, s.db, c, id)
}

func (s *Toolkits) find(ctx context.Context, q db.Querier, c account.Caller, id string) (Toolkit, error) {
	return s.by(ctx, q, c, "id", id)
}

// by finds a toolkit of the caller's by its id, or by what they call it.
func (s *Toolkits) by(ctx context.Context, q db.Querier, c account.Caller, column, value string) (Toolkit, error) {
	k, err := scan(q.QueryRow(ctx, `SELECT `+columns+` FROM toolkit WHERE team_id = ? AND user_id = ? AND `+column+` = ?`,
		c.TeamID, c.UserID, db.Clean(value)))
	if db.IsNoRows(err) {
		err = errNoToolkit
	}
	k.aged(s.Now())
	return k, err
}

// Update changes a toolkit of the caller's.
func (s *Toolkits) Update(ctx context.Context, id string, change Change) (Toolkit, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Toolkit{}, err
	}
	k, err := s.find(ctx, s.db, c, id)
	if err != nil {
		return Toolkit{}, err
	}
	set(&k.Name, change.Name)
	set(&k.Description, change.Description)
	set(&k.InitCode, change.InitCode)
	set(&k.EnvVars, change.EnvVars)
	set(&k.Tags, change.Tags)
	set(&k.Pinned, change.Pinned)
	others := change.Dependencies != nil && !maps.Equal(k.Dependencies, change.Dependencies)
	if others {
		k.Dependencies = change.Dependencies
	}
	if err := k.check(); err != nil {
		return Toolkit{}, err
	}
	if others {
		k.Status, k.Fault = s.status(ctx, k)
	}
	k.UpdatedAt = db.At(s.Now()).Time
	err = db.ExecOr(ctx, s.db, errNoToolkit, `UPDATE toolkit SET name = ?, description = ?, env_vars = ?, init_code = ?, pinned = ?,
		tags = ?, updated_at = ?, dependencies = ?, status = ?, fault = ? WHERE id = ? AND team_id = ?`, k.Name, k.Description,
		db.Doc(k.EnvVars), k.InitCode, k.Pinned, db.Doc(k.Tags), db.At(k.UpdatedAt), db.Doc(k.Dependencies), k.Status,
		k.Fault, k.ID, c.TeamID)
	return k, err
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// Delete deletes a toolkit of the caller's with its tools.
func (s *Toolkits) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, s.db, errNoToolkit, `DELETE FROM toolkit WHERE team_id = ? AND user_id = ? AND id = ?`, c.TeamID,
		c.UserID, db.Clean(id))
}

// Install installs the packages of a toolkit of the caller's, which goes on after the answer, and looks again whether
// its tools can be run here. Unavailable: too many installations run.
func (s *Toolkits) Install(ctx context.Context, id string) (Toolkit, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Toolkit{}, err
	}
	k, err := s.find(ctx, s.db, c, id)
	if err != nil {
		return Toolkit{}, err
	}
	status, fault, err := s.begin(ctx, k)
	if err != nil || status == Installing {
		k.Status, k.Fault = Installing, ""
		return k, err
	}
	k.Status, k.Fault = status, fault
	return k, s.setStatus(ctx, k, status, fault)
}
