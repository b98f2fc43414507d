package toolkit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// ToolText is what the owner of a tool writes.
type ToolText struct {
	ToolID       string // what models call it
	Description  string
	WhenToUse    string
	Code         string
	InputSchema  json.RawMessage // JSON Schema of an object
	OutputSchema json.RawMessage // JSON Schema; nil: anything
	Timeout      time.Duration   // of one call
	Enabled      bool
	Shared       bool
}

// Tool is a program that tasks may run.
type Tool struct {
	ID      string
	OwnerID string
	Toolkit string // the id of its toolkit
	ToolText
	CreatedAt time.Time
	UpdatedAt time.Time

	compiled string
}

// ToolChange changes a tool; nil fields stay.
type ToolChange struct {
	Description, WhenToUse, Code *string
	InputSchema, OutputSchema    *json.RawMessage
	Timeout                      *time.Duration
	Enabled, Shared              *bool
}

// Bounds of a tool (agent API, Dynamic Tools).
const (
	leastTimeout = time.Second
	usualTimeout = 30 * time.Second
	mostTimeout  = 5 * time.Minute
	maxSchema    = 32 << 10 // bytes
)

var (
	errNoTool = errs.New(errs.NotFound, "tool_not_found", "There is no such tool.")
	toolID    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,127}$`)
)

// CreateTool creates a tool of the caller's in a toolkit of theirs; "": Global, which is made when it is not there. Only
// an admin shares: the tool is offered to all tasks of the team. Invalid names the field; Conflict: the name is taken.
func (s *Toolkits) CreateTool(ctx context.Context, toolkit string, text ToolText) (Tool, error) {
	c, err := creator(ctx, text.Shared)
	if err != nil {
		return Tool{}, err
	}
	now := db.At(s.Now()).Time
	t := Tool{ID: ids.New(), OwnerID: c.UserID, ToolText: text, CreatedAt: now, UpdatedAt: now}
	t.Enabled = true
	kit, err := s.by(ctx, s.db, c, "toolkit_id", cmp.Or(toolkit, Global))
	made := errors.Is(err, errNoToolkit) && (toolkit == "" || toolkit == Global)
	if made {
		kit, err = Toolkit{ID: ids.New(), ToolkitID: Global, OwnerID: c.UserID, CreatedAt: now, UpdatedAt: now,
			Text: Text{Name: "Tools without a toolkit", Language: TypeScript, EnvVars: []string{}, Tags: []string{}, Dependencies: map[string]string{}}}, nil
		kit.Status, kit.Fault = s.status(ctx, kit)
	}
	if err != nil {
		return Tool{}, errs.From(err).At("toolkit_id")
	}
	t.Toolkit = kit.ID
	if err := s.checkTool(&t, kit); err != nil {
		return Tool{}, err
	}
	return t, s.db.Tx(ctx, func(tx *db.Tx) error {
		if made {
			if err := s.insert(ctx, tx, c.TeamID, kit); err != nil {
				return err
			}
		}
		return insertTool(ctx, tx, c, t)
	})
}

func insertTool(ctx context.Context, tx *db.Tx, c account.Caller, t Tool) error {
	count, err := db.Value[int](
		ctx,
		tx,
		`SELECT count(*) FROM program_tool WHERE team_id = ? AND user_id = ?`,
		c.TeamID,
		c.UserID,
	)
	if err != nil {
		return err
	}
	if count >= maxTools {
		return errs.New(errs.Conflict, "too_many_tools", "There are %d already; delete one first.", count)
	}
	_, err = tx.Exec(ctx, `INSERT INTO program_tool (team_id, `+toolColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, append([]any{c.TeamID}, t.values()...)...)
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "name_taken", "You have a tool named %s already.", t.ToolID).At("tool_id")
	}
	return err
}

// creator is the caller, if they may make a tool that is shared or not.
func creator(ctx context.Context, shared bool) (account.Caller, error) {
	if shared {
		return account.TeamAdmin(ctx)
	}
	return account.Writer(ctx)
}

const toolColumns = `id, user_id, toolkit, tool_id, description, when_to_use, code, compiled, input_schema, output_schema, timeout_ms, enabled, shared, created_at, updated_at`

func (t Tool) values() []any {
	return []any{
		t.ID,
		t.OwnerID,
		t.Toolkit,
		t.ToolID,
		t.Description,
		t.WhenToUse,
		t.Code,
		t.compiled,
		string(t.InputSchema),
		string(t.OutputSchema),
		t.Timeout.Milliseconds(),
		t.Enabled,
		t.Shared,
		db.At(t.CreatedAt),
		db.At(t.UpdatedAt),
	}
}

func scanTool(r db.Row) (t Tool, err error) {
	var in, out string
	var millis int64
	err = r.Scan(
		&t.ID,
		&t.OwnerID,
		&t.Toolkit,
		&t.ToolID,
		&t.Description,
		&t.WhenToUse,
		&t.Code,
		&t.compiled,
		&in,
		&out,
		&millis,
		&t.Enabled,
		&t.Shared,
		db.Into(&t.CreatedAt),
		db.Into(&t.UpdatedAt),
	)
	t.InputSchema, t.Timeout = json.RawMessage(in), time.Duration(millis)*time.Millisecond
	if out != "" {
		t.OutputSchema = json.RawMessage(out)
	}
	return t, err
}

// checkTool checks a tool and compiles it.
func (s *Toolkits) checkTool(t *Tool, kit Toolkit) (err error) {
	if !toolID.MatchString(t.ToolID) {
		return errs.Field(
			"tool_id",
			"tool_id must be small letters, digits, underscores and hyphens, begin with a letter, and have at most 128 characters.",
		)
	}
	if slices.Contains(s.Reserved, t.ToolID) {
		return errs.New(errs.Conflict, "name_taken", "Every task has a tool named %s.", t.ToolID).At("tool_id")
	}
	if err := checkText("description", t.Description, 1, maxText); err != nil {
		return err
	}
	if err := checkText("when_to_use", t.WhenToUse, 0, maxText); err != nil {
		return err
	}
	t.Timeout = cmp.Or(t.Timeout, usualTimeout)
	if t.Timeout < leastTimeout || t.Timeout > mostTimeout {
		return errs.Field(
			"timeout",
			"timeout must be between %d and %d ms.",
			leastTimeout.Milliseconds(),
			mostTimeout.Milliseconds(),
		)
	}
	if isNone(t.InputSchema) {
		t.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if isNone(t.OutputSchema) {
		t.OutputSchema = nil
	}
	var in struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(t.InputSchema, &in); err != nil || in.Type != "object" {
		return errs.Field("input_schema", `input_schema must be a JSON Schema with "type": "object".`)
	}
	for field, schema := range map[string]json.RawMessage{"input_schema": t.InputSchema, "output_schema": t.OutputSchema} {
		if len(schema) > maxSchema {
			return errs.Field(field, "%s is longer than %d bytes.", field, maxSchema)
		}
		if err := loop.CheckSchema(schema); err != nil {
			return errs.Field(field, "%s: %s", field, errs.Clip(err.Error(), 300))
		}
	}
	if err := checkText("code", t.Code, 1, maxCode); err != nil {
		return err
	}
	if err := checkCode("code", t.Code); err != nil {
		return err
	}
	t.compiled, err = compile("code", kit.Language, t.Code, true)
	return err
}

func isNone(doc json.RawMessage) bool {
	doc = bytes.TrimSpace(doc)
	return len(doc) == 0 || string(doc) == "null"
}

const visible = ` WHERE team_id = ? AND (user_id = ? OR shared)`

// Tools lists the tools that the caller may see, their own first, by name.
func (s *Toolkits) Tools(ctx context.Context) ([]Tool, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return s.tools(ctx, c.TeamID, c.UserID, "")
}

func (s *Toolkits) tools(ctx context.Context, teamID, userID, further string) ([]Tool, error) {
	all, err := db.Select(ctx, s.db, scanTool, `SELECT `+toolColumns+` FROM program_tool`+visible+further, teamID, userID)
	slices.SortFunc(all, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(btoi(a.OwnerID != userID), btoi(b.OwnerID != userID)), strings.Compare(a.ToolID, b.ToolID),
			strings.Compare(a.ID, b.ID))
	})
	return all, err
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Tool finds a tool that the caller may see.
func (s *Toolkits) Tool(ctx context.Context, id string) (Tool, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Tool{}, err
	}
	t, err := scanTool(
		s.db.QueryRow(
			ctx,
			`SELECT `+toolColumns+` FROM program_tool`+visible+` AND id = ?`,
			c.TeamID,
			c.UserID,
			db.Clean(id),
		),
	)
	if db.IsNoRows(err) {
		err = errNoTool
	}
	return t, err
}

// UpdateTool changes a tool of the caller's.
func (s *Toolkits) UpdateTool(ctx context.Context, id string, change ToolChange) (Tool, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Tool{}, err
	}
	t, err := s.Tool(ctx, id)
	if err != nil {
		return Tool{}, err
	}
	if t.OwnerID != c.UserID {
		return Tool{}, errs.New(errs.Forbidden, "not_the_owner", "Only its owner can change this.")
	}
	set(&t.Description, change.Description)
	set(&t.WhenToUse, change.WhenToUse)
	set(&t.Code, change.Code)
	set(&t.InputSchema, change.InputSchema)
	set(&t.OutputSchema, change.OutputSchema)
	set(&t.Timeout, change.Timeout)
	set(&t.Enabled, change.Enabled)
	set(&t.Shared, change.Shared)
	if _, err := creator(ctx, t.Shared); err != nil {
		return Tool{}, err
	}
	kit, err := s.find(ctx, s.db, c, t.Toolkit)
	if err != nil {
		return Tool{}, err
	}
	if err := s.checkTool(&t, kit); err != nil {
		return Tool{}, err
	}
	t.UpdatedAt = db.At(s.Now()).Time
	err = db.ExecOr(
		ctx,
		s.db,
		errNoTool,
		`UPDATE program_tool SET description = ?, when_to_use = ?, code = ?, compiled = ?,
		input_schema = ?, output_schema = ?, timeout_ms = ?, enabled = ?, shared = ?, updated_at = ? WHERE id = ? AND team_id = ? AND user_id = ?`,
		t.Description,
		t.WhenToUse,
		t.Code,
		t.compiled,
		string(t.InputSchema),
		string(t.OutputSchema),
		t.Timeout.Milliseconds(),
		t.Enabled,
		t.Shared,
		db.At(t.UpdatedAt),
		t.ID,
		c.TeamID,
		c.UserID,
	)
	return t, err
}

// DeleteTool deletes a tool of the caller's or, for an admin, a shared one.
func (s *Toolkits) DeleteTool(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(
		ctx,
		s.db,
		errNoTool,
		`DELETE FROM program_tool WHERE id = ? AND team_id = ? AND (user_id = ? OR shared AND ?)`,
		db.Clean(id),
		c.TeamID,
		c.UserID,
		c.Role == account.Admin,
	)
}
