package model

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Mode is whose keys pay for models.
type Mode string

// The modes.
const (
	ModeServer Mode = "vedette" // the server's
	ModeBYOK   Mode = "byok"    // of the team or the user
)

// Owner is who owns a key.
type Owner string

// The owners. A user who is alone in a team has keys of their own, also after others join; in a larger team its admins
// manage the team's keys.
const (
	OwnerUser Owner = "user"
	OwnerTeam Owner = "team"
)

// Provider is a service for models.
type Provider = llm.Provider

// Key is a provider's key, as its managers see it.
type Key struct {
	ID          string
	Owner       Owner
	Provider    Provider
	DisplayName string
	BaseURL     string
	Location    string
	Model       string // meaning of "auto"; empty: the provider's default
	Embedding   string // the model for vectors of knowledge; empty: none
	Masked      string // beginning and end of the key
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// NewKey is a key to check and store.
type NewKey struct {
	Provider    Provider
	Key         string
	DisplayName string
	BaseURL     string
	Location    string
	Model       string
	Embedding   string
}

// Validation is the result of trying a key.
type Validation struct {
	Valid  bool
	Models []string // listed by the provider
	Error  string   // for people
	Code   string   // one of llm's Code constants
}

const (
	maxKey      = 20_000 // bytes
	maxName     = 128
	maxBaseURL  = 500
	maxModel    = 200
	validateFor = 20 * time.Second
)

// manager is the caller, if they may manage keys and see usage: alone in their team, with their own id as own, or its
// admin.
func (s *Models) manager(ctx context.Context) (c account.Caller, own string, err error) {
	if c, err = account.From(ctx); err != nil {
		return c, "", err
	}
	others, err := db.Value[int](ctx, s.db, `SELECT count(*) FROM member WHERE team_id = ? AND user_id <> ?`, c.TeamID,
		c.UserID)
	if err != nil {
		return c, "", err
	}
	if others == 0 {
		return c, c.UserID, nil
	}
	_, err = account.TeamAdmin(ctx)
	return c, "", err
}

func (n NewKey) check(s *Models) (NewKey, error) {
	if _, ok := llm.ServiceOf(n.Provider); !ok {
		return n, errs.New(errs.NotFound, "provider_not_found", "There is no such provider.")
	}
	if n.Key == "" || len(n.Key) > maxKey ||
		strings.ContainsFunc(n.Key, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
		return n, errs.Field("api_key", "api_key must have 1 to %d visible ASCII characters.", maxKey)
	}
	for _, f := range []struct {
		name, text string
		most       int
	}{{"display_name", n.DisplayName, maxName}, {"base_url", n.BaseURL, maxBaseURL}, {"model", n.Model, maxModel},
		{"embedding_model", n.Embedding, maxModel}, {"location", n.Location, maxName}} {
		if len(f.text) > f.most || strings.ContainsFunc(f.text, unicode.IsControl) || db.Clean(f.text) != f.text {
			return n, errs.Field(f.name, "%s must be text of at most %d bytes.", f.name, f.most)
		}
	}
	if n.Embedding != "" && !llm.Embeds(n.Provider) {
		return n, errs.Field("embedding_model", "%s has no embedding models.", n.Provider)
	}
	if n.BaseURL != "" {
		u, err := s.Guard.CheckURL(n.BaseURL)
		if err != nil {
			return n, errs.From(err).At("base_url")
		}
		n.BaseURL = u.String()
	}
	_, err := llm.Open(s.config(n))
	return n, err
}

func (s *Models) config(n NewKey) llm.Config {
	return llm.Config{Provider: n.Provider, BaseURL: n.BaseURL, Location: n.Location, Key: n.Key, HTTP: s.client,
		Deadline: userDeadline}
}

// Validate tries a key at no cost. A key that does not work is not an error; Invalid and NotFound say that it could
// not be tried.
func (s *Models) Validate(ctx context.Context, n NewKey) (Validation, error) {
	if _, _, err := s.manager(ctx); err != nil {
		return Validation{}, err
	}
	n, err := n.check(s)
	if err != nil {
		return Validation{}, err
	}
	return s.validate(ctx, n), nil
}

func (s *Models) validate(ctx context.Context, n NewKey) Validation {
	ctx, cancel := context.WithTimeout(ctx, validateFor)
	defer cancel()
	models, err := llm.Validate(ctx, s.config(n), n.Model)
	if err != nil {
		e := errs.From(err)
		return Validation{Error: e.Message, Code: e.Code}
	}
	return Validation{Valid: true, Models: models}
}

// SetKey tries a key and stores it, replacing one of the same owner and provider. Invalid: the provider rejects it or
// cannot be reached.
func (s *Models) SetKey(ctx context.Context, n NewKey) (Key, Validation, error) {
	c, own, err := s.manager(ctx)
	if err != nil {
		return Key{}, Validation{}, err
	}
	if n, err = n.check(s); err != nil {
		return Key{}, Validation{}, err
	}
	v := s.validate(ctx, n)
	if !v.Valid {
		return Key{}, v, errs.New(errs.Invalid, v.Code, "The key was not stored. %s", v.Error).At("api_key")
	}
	if service, _ := llm.ServiceOf(n.Provider); n.Model == "" && service.Default == "" && len(v.Models) == 0 {
		return Key{}, v, errs.Field("model", "model is required: the provider lists none.")
	}
	k := Key{ID: ids.New(), Owner: ownerOf(own), Provider: n.Provider, DisplayName: n.DisplayName, BaseURL: n.BaseURL,
		Location: n.Location, Model: n.Model, Embedding: n.Embedding, Masked: secret.Mask(n.Key)}
	err = s.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockMode(ctx, tx, c.TeamID, own); err != nil {
			return err
		}
		now := db.At(s.Now())
		created := now
		err := tx.QueryRow(ctx, `SELECT id, created_at FROM model_key WHERE team_id = ? AND user_id = ? AND provider = ?`,
			c.TeamID, own, n.Provider).Scan(&k.ID, &created)
		if err != nil && !db.IsNoRows(err) {
			return err
		}
		k.CreatedAt, k.UpdatedAt = created.Time, now.Time
		sealed, err := s.box.Seal([]byte(n.Key), k.ID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO model_key (id, team_id, user_id, provider, created_at, `+keyFields+`)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, user_id, provider) DO UPDATE SET `+
			eachColumn(keyFields, "$0 = excluded.$0"),
			k.ID, c.TeamID, own, n.Provider, created, n.DisplayName, n.BaseURL, n.Location, n.Model, n.Embedding,
			db.Doc(v.Models), sealed, now)
		return err
	})
	return k, v, err
}

func ownerOf(userID string) Owner {
	if userID != "" {
		return OwnerUser
	}
	return OwnerTeam
}

// lockMode locks the mode of an owner until the end of tx, so that no key disappears during a change of mode.
func lockMode(ctx context.Context, tx *db.Tx, teamID, userID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO model_mode (team_id, user_id, mode) VALUES (?, ?, ?) ON CONFLICT (team_id, user_id) DO UPDATE SET mode = model_mode.mode`,
		teamID, userID, ModeServer)
	return err
}

func countKeys(ctx context.Context, tx *db.Tx, teamID, userID string) (int, error) {
	return db.Value[int](ctx, tx, `SELECT count(*) FROM model_key WHERE team_id = ? AND user_id = ?`, teamID, userID)
}

const keyFields = `display_name, base_url, location, model, embedding_model, models, sealed, updated_at`

type storedKey struct {
	Key
	secret string
	listed []string
}

func (s *Models) keys(ctx context.Context, q db.Querier, teamID string, owners ...string) ([]storedKey, error) {
	var where db.Where
	where.And("team_id = ?", teamID)
	db.In(&where, "user_id", owners)
	return db.Select(ctx, q, func(row db.Row) (k storedKey, err error) {
		var sealed []byte
		var user string
		if err = row.Scan(&k.ID, &user, &k.Provider, db.Into(&k.CreatedAt), &k.DisplayName, &k.BaseURL, &k.Location, &k.Model,
			&k.Embedding, db.Into(&k.listed), &sealed, db.Into(&k.UpdatedAt)); err != nil {
			return k, err
		}
		plain, err := s.box.Open(sealed, k.ID)
		k.secret, k.Owner, k.Masked = string(plain), ownerOf(user), secret.Mask(string(plain))
		return k, err
	}, `SELECT id, user_id, provider, created_at, `+keyFields+` FROM model_key`+where.String()+
		` ORDER BY user_id DESC, id`, where.Args...)
}

// FindKeys are the keys that the caller manages, their own first, and whose keys pay for their tasks.
func (s *Models) FindKeys(ctx context.Context) ([]Key, Mode, error) {
	c, _, err := s.manager(ctx)
	if err != nil {
		return nil, "", err
	}
	stored, err := s.keys(ctx, s.db, c.TeamID, c.UserID, "")
	if err != nil {
		return nil, "", err
	}
	out := make([]Key, len(stored))
	for i, k := range stored {
		out[i] = k.Key
	}
	offers, err := s.offers(ctx, c.TeamID, c.UserID)
	if len(offers) > 0 && offers[0].byok {
		return out, ModeBYOK, err
	}
	return out, ModeServer, err
}

// activeKeys are the offers by an owner's keys, the oldest first; none unless the owner uses them.
func (s *Models) activeKeys(ctx context.Context, teamID, userID string) ([]offer, error) {
	mode, err := db.Value[Mode](ctx, s.db, `SELECT mode FROM model_mode WHERE team_id = ? AND user_id = ?`, teamID, userID)
	if db.IsNoRows(err) || err == nil && mode != ModeBYOK {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stored, err := s.keys(ctx, s.db, teamID, userID)
	if err != nil {
		return nil, err
	}
	out := make([]offer, len(stored))
	for i, k := range stored {
		o := offer{byok: true, auto: k.Model, names: k.listed, embedding: k.Embedding,
			config: s.config(NewKey{Provider: k.Provider, Key: k.secret, BaseURL: k.BaseURL, Location: k.Location})}
		if service, _ := llm.ServiceOf(k.Provider); k.BaseURL == "" || len(k.listed) == 0 {
			o.auto = cmp.Or(o.auto, service.Default)
		}
		if o.auto == "" && len(k.listed) > 0 {
			o.auto = k.listed[0]
		}
		out[i] = o
	}
	return out, nil
}

// Deleted is the result of deleting a key.
type Deleted struct {
	Remaining int  // keys of the same owner
	Switched  bool // the last one: the server's model is used again
}

// DeleteKey deletes the caller's own key of a provider, or else the team's. NotFound when there is none.
func (s *Models) DeleteKey(ctx context.Context, p Provider) (Deleted, error) {
	var out Deleted
	c, _, err := s.manager(ctx)
	if err != nil {
		return out, err
	}
	err = s.db.Tx(ctx, func(tx *db.Tx) error {
		for _, owner := range []string{c.UserID, ""} {
			if err := lockMode(ctx, tx, c.TeamID, owner); err != nil {
				return err
			}
			n, err := tx.Exec(ctx, `DELETE FROM model_key WHERE team_id = ? AND user_id = ? AND provider = ?`, c.TeamID, owner,
				db.Clean(string(p)))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if out.Remaining, err = countKeys(ctx, tx, c.TeamID, owner); err != nil || out.Remaining > 0 {
				return err
			}
			n, err = tx.Exec(ctx, `UPDATE model_mode SET mode = ? WHERE team_id = ? AND user_id = ? AND mode = ?`, ModeServer,
				c.TeamID, owner, ModeBYOK)
			out.Switched = n > 0
			return err
		}
		return errs.New(errs.NotFound, "provider_key_not_found", "There is no key of such a provider.")
	})
	return out, err
}

// SetMode chooses whose keys pay. Invalid: there are none.
func (s *Models) SetMode(ctx context.Context, m Mode) error {
	c, own, err := s.manager(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains([]Mode{ModeServer, ModeBYOK}, m) {
		return errs.Field("mode", "mode must be vedette or byok.")
	}
	return s.db.Tx(ctx, func(tx *db.Tx) error {
		owners := []string{own}
		if own == "" {
			owners = []string{c.UserID, ""} // their own keys, from before others joined
		}
		switched := false
		for _, owner := range owners {
			if err := lockMode(ctx, tx, c.TeamID, owner); err != nil {
				return err
			}
			n, err := countKeys(ctx, tx, c.TeamID, owner)
			if err != nil {
				return err
			}
			if m == ModeBYOK && n == 0 {
				continue
			}
			switched = true
			if _, err := tx.Exec(ctx, `UPDATE model_mode SET mode = ? WHERE team_id = ? AND user_id = ?`, m, c.TeamID,
				owner); err != nil {
				return err
			}
		}
		if !switched {
			return errs.New(errs.Invalid, "byok_needs_key", "There is no key to work with: add one first.").At("mode")
		}
		return nil
	})
}
