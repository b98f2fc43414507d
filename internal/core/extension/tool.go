package extension

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/httptool"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Tool is an HTTP request that a model can send.
type Tool struct {
	ID      string
	OwnerID string
	NewTool
	Enabled   bool
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Request is an HTTP request with placeholders for arguments and secrets.
type Request = httptool.Template

// ToolText is what the owner writes.
type ToolText struct {
	Name        string
	Description string
	WhenToUse   string
	InputSchema json.RawMessage // JSON Schema of an object with the arguments of the request
	Timeout     time.Duration   // of one call
	Request     Request
}

// NewTool is a tool to create.
type NewTool struct {
	ToolText
	Shared  bool
	Trusted bool // a changing request needs no approval
}

// ToolChange changes a tool; nil fields stay.
type ToolChange struct {
	Name, Description, WhenToUse *string
	InputSchema                  *json.RawMessage
	Timeout                      *time.Duration
	Method, URL, ResponsePath    *string
	Headers, Query               *map[string]string
	Body                         *json.RawMessage
	Enabled, Shared, Trusted     *bool
}

// Bounds of a tool (agent API, Dynamic Tools).
const (
	leastTimeout = time.Second
	usualTimeout = 30 * time.Second
	maxText      = 2000 // characters of a text
	maxDocument  = 32 << 10
)

var errNoTool = errs.New(errs.NotFound, "tool_not_found", "There is no such tool.")

// CreateTool creates a tool. Invalid names the field; Conflict: the caller or every task has the name already.
func (s *Extensions) CreateTool(ctx context.Context, n NewTool) (Tool, error) {
	c, err := checkCreator(ctx, n.Shared)
	if err != nil {
		return Tool{}, err
	}
	now := db.At(s.Now())
	made := Tool{ID: ids.New(), OwnerID: c.UserID, NewTool: n, Enabled: true, CreatedAt: now.Time, UpdatedAt: now.Time}
	if err := s.checkTool(&made.ToolText); err != nil {
		return Tool{}, err
	}
	return made, s.insert(ctx, c, "http_tool", toolColumns, maxTools, append(made.values(), now))
}

const toolColumns = `id, user_id, name, description, when_to_use, input_schema, request, timeout_ms, enabled, shared, trusted, updated_at, created_at`

func (t *Tool) values() []any {
	return []any{
		t.ID, t.OwnerID, t.Name, t.Description, t.WhenToUse, string(t.InputSchema), db.Doc(t.Request),
		t.Timeout.Milliseconds(),
		t.Enabled, t.Shared, t.Trusted, db.At(t.UpdatedAt),
	}
}

func scanTool(r db.Row) (t Tool, err error) {
	var schema string
	var millis int64
	err = r.Scan(&t.ID, &t.OwnerID, &t.Name, &t.Description, &t.WhenToUse, &schema, db.Into(&t.Request), &millis,
		&t.Enabled, &t.Shared,
		&t.Trusted, db.Into(&t.UpdatedAt), db.Into(&t.CreatedAt))
	t.InputSchema, t.Timeout = json.RawMessage(schema), time.Duration(millis)*time.Millisecond
	return t, err
}

func (s *Extensions) checkTool(t *ToolText) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`).MatchString(t.Name) {
		return errs.Field("name", "name must be small letters, digits, underscores and hyphens, begin with a letter, and have at most 64 characters.")
	}
	if slices.Contains(s.Reserved, t.Name) {
		return errs.New(errs.Conflict, "name_taken", "Every task has a tool named %s.", t.Name).At("name")
	}
	if err := checkText("description", t.Description, 1, maxText); err != nil {
		return err
	}
	if err := checkText("when_to_use", t.WhenToUse, 0, maxText); err != nil {
		return err
	}
	t.Timeout = cmp.Or(t.Timeout, usualTimeout)
	if t.Timeout < leastTimeout || t.Timeout > MaxTimeout {
		return errs.Field("timeout", "timeout must be between %d and %d ms.", leastTimeout.Milliseconds(),
			MaxTimeout.Milliseconds())
	}
	return s.checkRequest(t)
}

func (s *Extensions) checkRequest(t *ToolText) error {
	for field, n := range map[string]int{"input_schema": len(t.InputSchema), "body": len(t.Request.Body),
		"url": len(t.Request.URL) * maxDocument / maxURL} {
		if n > maxDocument {
			return errs.Field(field, "%s is too long.", field)
		}
	}
	for field, values := range map[string]map[string]string{"headers": t.Request.Headers, "query": t.Request.Query} {
		total := 0
		for name, value := range values {
			total += len(name) + len(value)
			if db.Clean(name) != name || db.Clean(value) != value {
				return errs.Field(field, "%s must be text.", field)
			}
		}
		if total > maxDocument {
			return errs.Field(field, "%s is too long.", field)
		}
	}
	compiled, err := httptool.Compile(t.Request)
	if err != nil {
		return err
	}
	if _, err := s.Guard.CheckURL(compiled.Sample()); err != nil {
		return errs.From(err).At("url")
	}
	properties, err := propertiesOf(t)
	if err != nil {
		return err
	}
	for _, name := range compiled.Params() {
		if !slices.Contains(properties, name) {
			return errs.Field("input_schema", "input_schema: {{%s}} stands in the request, and is no property of the schema.",
				name)
		}
	}
	return nil
}

// propertiesOf checks the schema of the arguments (default: none) and returns their names.
func propertiesOf(t *ToolText) (names []string, err error) {
	if raw := bytes.TrimSpace(t.InputSchema); len(raw) == 0 || string(raw) == "null" {
		t.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var doc struct {
		Type       any            `json:"type"`
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(t.InputSchema, &doc); err != nil || doc.Type != "object" {
		return nil, errs.Field("input_schema", `input_schema must be a JSON Schema with "type": "object" and "properties".`)
	}
	if err := loop.CheckSchema(t.InputSchema); err != nil {
		return nil, errs.Field("input_schema", "input_schema: %s", errs.Clip(err.Error(), 300))
	}
	return slices.Collect(maps.Keys(doc.Properties)), nil
}

// Tools lists what the caller may see, their own first, by name.
func (s *Extensions) Tools(ctx context.Context) ([]Tool, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return list(ctx, s.db, `SELECT `+toolColumns+` FROM http_tool`+visible, c.TeamID, c.UserID, scanTool)
}

func (t Tool) order() (owner, name string) { return t.OwnerID, t.Name + t.ID }

// Tool finds one that the caller may see.
func (s *Extensions) Tool(ctx context.Context, id string) (Tool, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Tool{}, err
	}
	return find(ctx, s.db, `SELECT `+toolColumns+` FROM http_tool`, c, id, scanTool, errNoTool)
}

// UpdateTool changes a tool of the caller's.
func (s *Extensions) UpdateTool(ctx context.Context, id string, change ToolChange) (Tool, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Tool{}, err
	}
	t, err := s.Tool(ctx, id)
	if err != nil {
		return Tool{}, err
	}
	if err := checkOwner(ctx, t.OwnerID); err != nil {
		return Tool{}, err
	}
	set(&t.Name, change.Name)
	set(&t.Description, change.Description)
	set(&t.WhenToUse, change.WhenToUse)
	set(&t.InputSchema, change.InputSchema)
	set(&t.Timeout, change.Timeout)
	set(&t.Request.Method, change.Method)
	set(&t.Request.URL, change.URL)
	set(&t.Request.ResponsePath, change.ResponsePath)
	set(&t.Request.Headers, change.Headers)
	set(&t.Request.Query, change.Query)
	set(&t.Request.Body, change.Body)
	set(&t.Enabled, change.Enabled)
	set(&t.Shared, change.Shared)
	set(&t.Trusted, change.Trusted)
	if _, err := checkCreator(ctx, t.Shared); err != nil {
		return Tool{}, err
	}
	if err := s.checkTool(&t.ToolText); err != nil {
		return Tool{}, err
	}
	t.UpdatedAt = db.At(s.Now()).Time
	_, err = s.db.Exec(ctx, `UPDATE http_tool SET name = ?, description = ?, when_to_use = ?, input_schema = ?, request = ?, timeout_ms = ?, enabled = ?, shared = ?, trusted = ?,
		updated_at = ? WHERE id = ? AND team_id = ?`, append(t.values()[2:], t.ID, c.TeamID)...)
	return t, nameTaken(err)
}

// DeleteTool deletes a tool of the caller's or, for an admin, a shared one.
func (s *Extensions) DeleteTool(ctx context.Context, id string) error {
	return s.remove(ctx, "http_tool", id, errNoTool)
}
