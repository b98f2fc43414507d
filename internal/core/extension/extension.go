// Package extension stores the tools that users add for their tasks: tools of MCP servers (Model Context Protocol) and
// HTTP requests. They are their owner's or, shared, the team's, and always use the owner's secrets.
package extension

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Config is what the service needs.
type Config struct {
	Guard     *netguard.Guard // decides what may be dialled
	Secrets   *secret.Secrets
	Reserved  []string         // of tools that every task has
	PublicURL string           // of this server, to which browsers return; "": there is none
	Now       func() time.Time // default time.Now
}

// Extensions keeps the HTTP tools and MCP servers of users.
type Extensions struct {
	Config
	db     *db.DB
	box    *seal.Box
	client *http.Client

	programs turns
	renewing sync.Map // by server, a *sync.Mutex for its authorization
}

// MaxTimeout bounds one call of a tool.
const MaxTimeout = 5 * time.Minute

// Bounds for a user in a team.
const (
	maxServers = 500
	maxTools   = 1000
)

// New makes the service.
func New(d *db.DB, box *seal.Box, c Config) *Extensions {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Guard == nil {
		c.Guard = &netguard.Guard{}
	}
	return &Extensions{Config: c, db: d, box: box, client: c.Guard.Client(MaxTimeout),
		programs: turns{all: make(chan struct{}, maxPrograms), teams: map[string]chan struct{}{}}}
}

// visible selects what a user may see: their own, and what is shared.
const visible = ` WHERE team_id = ? AND (user_id = ? OR shared)`

// checkCreator is the caller, if they may create. Only an admin shares, because shared tools are offered to all tasks.
func checkCreator(ctx context.Context, shared bool) (account.Caller, error) {
	if shared {
		return account.TeamAdmin(ctx)
	}
	return account.Writer(ctx)
}

// checkOwner refuses to change what another user owns: its secrets could be sent elsewhere.
func checkOwner(ctx context.Context, ownerID string) error {
	c, err := account.Writer(ctx)
	if err == nil && c.UserID != ownerID {
		err = errs.New(errs.Forbidden, "not_the_owner", "Only its owner can change this.")
	}
	return err
}

// insert stores a row of the caller's. Conflict: they have most rows already, or one with the same name.
func (s *Extensions) insert(
	ctx context.Context, c account.Caller, table, columns string, most int, values []any,
) error {
	return nameTaken(s.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM `+table+` WHERE team_id = ? AND user_id = ?`, c.TeamID,
			c.UserID)
		if err != nil {
			return err
		}
		if count >= most {
			return errs.New(errs.Conflict, "too_many_tools", "There are %d already; delete one first.", count)
		}
		_, err = tx.Exec(ctx, `INSERT INTO `+table+` (team_id, `+columns+`) VALUES (?`+strings.Repeat(", ?", len(values))+`)`,
			append([]any{c.TeamID}, values...)...)
		return err
	}))
}

func find[T any](
	ctx context.Context, d *db.DB, query string, c account.Caller, id string, scan func(db.Row) (T, error), missing error,
) (found T, err error) {
	if !ids.IsUUID(id) {
		return found, missing
	}
	found, err = scan(d.QueryRow(ctx, query+visible+` AND id = ?`, c.TeamID, c.UserID, id))
	if db.IsNoRows(err) {
		err = missing
	}
	return found, err
}

// remove deletes a row of the caller's or, for an admin, a shared one.
func (s *Extensions) remove(ctx context.Context, table, id string, missing error) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if !ids.IsUUID(id) {
		return missing
	}
	return db.ExecOr(ctx, s.db, missing,
		`DELETE FROM `+table+` WHERE id = ? AND team_id = ? AND (user_id = ? OR shared AND ?)`,
		id, c.TeamID, c.UserID, c.Role == account.Admin)
}

// list reads rows, the user's own first, then by name: databases sort names differently.
func list[T interface{ order() (owner, name string) }](
	ctx context.Context, d *db.DB, query, teamID, userID string, scan func(db.Row) (T, error),
) ([]T, error) {
	found, err := db.Select(ctx, d, scan, query, teamID, userID)
	slices.SortFunc(found, func(a, b T) int {
		ownerA, nameA := a.order()
		ownerB, nameB := b.order()
		switch {
		case (ownerA == userID) == (ownerB == userID):
			return strings.Compare(nameA, nameB)
		case ownerA == userID:
			return -1
		}
		return 1
	})
	return found, err
}

// checkText checks a text for people and models.
func checkText(field, text string, least, most int) error {
	if n := len([]rune(strings.TrimSpace(text))); n < least || len([]rune(text)) > most {
		return errs.Field(field, "%s must have %d to %d characters.", field, least, most)
	}
	if db.Clean(text) != text || strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && r != '\r' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	}) {
		return errs.Field(field, "%s must have no invisible characters.", field)
	}
	return nil
}

// secretsOf returns the named secrets of a user, and which are missing.
func (s *Extensions) secretsOf(
	ctx context.Context, teamID, userID string, names []string,
) (values map[string]string, missing []string, err error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	all, missing, err := s.Secrets.ForTask(ctx, teamID, userID, "", names)
	values = map[string]string{}
	for name, value := range all {
		if slices.Contains(names, name) {
			values[name] = value
		}
	}
	return values, missing, err
}
