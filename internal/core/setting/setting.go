// Package setting stores the configurations of a team (specification, Scan configuration).
//
// A configuration is a YAML text of one of six types, parsed by the package that uses the type (kinds.go). It is sealed
// and shown with its secrets masked; a client that sends the masked text back keeps the secrets.
package setting

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Type is the purpose of a configuration.
type Type string

// The six types of the specification.
const (
	Scan      Type = "scan"
	Reporting Type = "reporting"
	Template  Type = "template"
	Alerting  Type = "alerting"
	Cloudlist Type = "cloudlist"
	Subfinder Type = "subfinder"
)

// Types are all types, in the order of the specification.
var Types = []Type{Scan, Reporting, Template, Alerting, Cloudlist, Subfinder}

const (
	maxText    = 1 << 20 // bytes of a configuration
	maxName    = 200     // characters of its name
	maxConfigs = 1000    // configurations of a team
)

// Config is a configuration as its team sees it.
type Config struct {
	ID        string
	Type      Type
	Name      string
	Text      string // secrets masked; in base64 when it came so
	Provider  string
	Global    bool // applied to every scan that does not opt out
	ReadOnly  bool // the caller cannot change it
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewConfig describes a configuration to create. Text is YAML, plain or in base64.
type NewConfig struct {
	Type   Type
	Name   string
	Text   string
	Global bool
}

// Update changes a configuration; nil leaves a field as it is, and a masked secret in Text stays.
type Update struct {
	Name   *string
	Text   *string
	Global *bool
}

// Filter picks configurations; an empty field picks all.
type Filter struct {
	Type   string // not necessarily one of Types
	Search string // a part of the name
}

// Applied is a configuration with its secrets, for internal use.
type Applied struct {
	ID       string
	Type     Type
	Name     string
	Provider string
	Text     []byte
}

// Settings is the service of configurations.
type Settings struct {
	db    *db.DB
	box   *seal.Box
	guard *netguard.Guard
	kinds map[Type]kind
	now   func() time.Time
}

// New makes the service. Every dial of a verification, and to a proxy, goes through the guard; nil: that of the public
// internet.
func New(d *db.DB, box *seal.Box, guard *netguard.Guard) *Settings {
	if guard == nil {
		guard = &netguard.Guard{}
	}
	return &Settings{db: d, box: box, guard: guard, kinds: kindsOf(guard), now: time.Now}
}

var errNotFound = errs.New(errs.NotFound, "config_not_found", "There is no such configuration.")

// Create checks and stores a configuration. Invalid names the field.
func (s *Settings) Create(ctx context.Context, n NewConfig) (Config, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Config{}, err
	}
	if err := checkType(n.Type); err != nil {
		return Config{}, err
	}
	if err := checkName(n.Name); err != nil {
		return Config{}, err
	}
	doc, err := readUnmasked(n.Text)
	if err != nil {
		return Config{}, err
	}
	provider, err := s.check(n.Type, doc)
	if err != nil {
		return Config{}, err
	}
	now := db.At(s.now())
	out := Config{
		ID: ids.New(), Type: n.Type, Name: n.Name, Text: doc.masked(n.Type), Provider: provider, Global: n.Global,
		CreatedAt: now.Time, UpdatedAt: now.Time,
	}
	sealed, err := s.box.Seal(doc.text, out.ID)
	if err != nil {
		return Config{}, err
	}
	return out, s.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT COUNT(*) FROM setting WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		if count >= maxConfigs {
			return errs.New(errs.Forbidden, "too_many_configs", "A team can keep %d configurations.", maxConfigs)
		}
		_, err = tx.Exec(ctx, `INSERT INTO setting (id, team_id, type, name, provider, sealed, encoded, global, created_at,
			updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			out.ID, c.TeamID, out.Type, out.Name, provider, sealed, doc.encoded, out.Global, now, now)
		return err
	})
}

func checkType(t Type) error {
	if slices.Contains(Types, t) {
		return nil
	}
	names := make([]string, len(Types))
	for i, t := range Types {
		names[i] = string(t)
	}
	return errs.Field("config_type", "config_type must be one of %s.", strings.Join(names, ", "))
}

func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errs.Field("name", "name is required.")
	case len([]rune(name)) > maxName || strings.ContainsRune(name, 0):
		return errs.Field("name", "name must be text of at most %d characters.", maxName)
	}
	return nil
}

func (s *Settings) check(t Type, doc document) (provider string, err error) {
	if provider, err = s.kinds[t].check(doc.text); err != nil {
		return "", errs.Field("config", "config is no %s configuration: %v.", t, err).Because(err)
	}
	return provider, nil
}

const query = `SELECT id, type, name, provider, sealed, encoded, global, created_at, updated_at FROM setting`

// Find is a page of the team's configurations, oldest first.
func (s *Settings) Find(ctx context.Context, f Filter, w page.Window) ([]Config, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	if f.Type != "" {
		where.And("type = ?", db.Clean(f.Type))
	}
	if f.Search != "" {
		where.And(s.db.Dialect().Contains("name", f.Search))
	}
	scan := func(row db.Row) (Config, error) {
		config, _, err := s.scan(row, c)
		return config, err
	}
	return db.Select(ctx, s.db, scan, query+where.String()+` ORDER BY id LIMIT ? OFFSET ?`,
		append(where.Args, w.Limit, w.Offset)...)
}

// Names are the names of the team's configurations with these ids, if they exist.
func (s *Settings) Names(ctx context.Context, ids []string) (map[string]string, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	db.In(&where, "id", ids)
	scan := func(row db.Row) (pair [2]string, err error) { return pair, row.Scan(&pair[0], &pair[1]) }
	pairs, err := db.Select(ctx, s.db, scan, `SELECT id, name FROM setting`+where.String(), where.Args...)
	names := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		names[pair[0]] = pair[1]
	}
	return names, err
}

// ByID is a configuration of the team.
func (s *Settings) ByID(ctx context.Context, id string) (Config, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Config{}, err
	}
	config, _, err := s.byID(ctx, s.db, c, id, "")
	return config, err
}

func (s *Settings) byID(
	ctx context.Context, q db.Querier, c account.Caller, id, lock string,
) (Config, document, error) {
	row := q.QueryRow(ctx, query+` WHERE id = ? AND team_id = ?`+lock, db.Clean(id), c.TeamID)
	config, doc, err := s.scan(row, c)
	if db.IsNoRows(err) {
		err = errNotFound
	}
	return config, doc, err
}

func (s *Settings) scan(row db.Row, c account.Caller) (config Config, doc document, err error) {
	var sealed []byte
	var encoded bool
	err = row.Scan(&config.ID, &config.Type, &config.Name, &config.Provider, &sealed, &encoded, &config.Global,
		db.Into(&config.CreatedAt), db.Into(&config.UpdatedAt))
	if err != nil {
		return config, doc, err
	}
	text, err := s.box.Open(sealed, config.ID)
	if err != nil {
		return config, doc, err
	}
	if doc, err = parse(text); err != nil {
		return config, doc, err
	}
	doc.encoded = encoded
	config.Text, config.ReadOnly = doc.masked(config.Type), c.Role.ReadsOnly()
	return config, doc, nil
}

// Update changes a configuration. Invalid for what Create would refuse.
func (s *Settings) Update(ctx context.Context, id string, up Update) (Config, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Config{}, err
	}
	if up.Name != nil {
		if err := checkName(*up.Name); err != nil {
			return Config{}, err
		}
	}
	var out Config
	err = s.db.Tx(ctx, func(tx *db.Tx) error {
		config, doc, err := s.byID(ctx, tx, c, id, tx.Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if up.Text != nil {
			if doc, err = s.replace(config.Type, doc, *up.Text, &config); err != nil {
				return err
			}
		}
		if up.Name != nil {
			config.Name = *up.Name
		}
		if up.Global != nil {
			config.Global = *up.Global
		}
		sealed, err := s.box.Seal(doc.text, config.ID)
		if err != nil {
			return err
		}
		now := db.At(s.now())
		config.Text, config.UpdatedAt = doc.masked(config.Type), now.Time
		out = config
		_, err = tx.Exec(ctx, `UPDATE setting SET name = ?, provider = ?, sealed = ?, encoded = ?, global = ?, updated_at = ?
			WHERE id = ?`, config.Name, config.Provider, sealed, doc.encoded, config.Global, now, config.ID)
		return err
	})
	return out, err
}

func (s *Settings) replace(t Type, old document, text string, config *Config) (document, error) {
	doc, err := read(text)
	if err != nil {
		return doc, err
	}
	if doc, err = doc.keeping(old); err != nil {
		return doc, err
	}
	if doc.hasMask() {
		return doc, errs.Field("config", "config has %s where no secret was kept for it;"+
			" when the address changes to which a secret is sent, enter the secret again.", Mask)
	}
	config.Provider, err = s.check(t, doc)
	return doc, err
}

// Delete removes a configuration.
func (s *Settings) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, s.db, errNotFound, `DELETE FROM setting WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
}

// OfAnyTeam is a reporting configuration by its id alone, with its secrets and its team, for a webhook that is to prove
// that it knows one of them. ok is false when there is none.
func (s *Settings) OfAnyTeam(ctx context.Context, id string) (teamID string, a Applied, ok bool, err error) {
	var sealed []byte
	err = s.db.QueryRow(ctx, `SELECT team_id, id, type, name, provider, sealed FROM setting WHERE id = ? AND type = ?`,
		db.Clean(id), Reporting).Scan(&teamID, &a.ID, &a.Type, &a.Name, &a.Provider, &sealed)
	if db.IsNoRows(err) {
		return "", a, false, nil
	}
	if err != nil {
		return "", a, false, err
	}
	a.Text, err = s.box.Open(sealed, a.ID)
	return teamID, a, err == nil, err
}

// Apply returns the team's configurations of a type with their secrets: those of ids and, when global is set,
// those that apply to everything. An unknown id is Invalid with param, or (param empty) skipped. q is a
// transaction to read in; nil: none.
func (s *Settings) Apply(
	ctx context.Context, q db.Querier, teamID string, t Type, ids []string, global bool, param string,
) ([]Applied, error) {
	return s.ApplyAny(ctx, q, teamID, []Type{t}, ids, global, param)
}

// ApplyAny is Apply for ids of several types. Those that apply to everything are of the first.
func (s *Settings) ApplyAny(
	ctx context.Context, q db.Querier, teamID string, types []Type, ids []string, global bool, param string,
) ([]Applied, error) {
	if len(ids) == 0 && !global {
		return nil, nil
	}
	if q == nil {
		q = s.db
	}
	var w db.Where
	w.And("team_id = ?", teamID)
	db.In(&w, "type", types)
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	scan := func(row db.Row) (Applied, error) {
		var a Applied
		var sealed []byte
		var everywhere bool
		err := row.Scan(&a.ID, &a.Type, &a.Name, &a.Provider, &sealed, &everywhere)
		if wanted := missing[a.ID] || global && everywhere && a.Type == types[0]; err != nil || !wanted {
			return Applied{}, err
		}
		delete(missing, a.ID)
		a.Text, err = s.box.Open(sealed, a.ID)
		return a, err
	}
	out, err := db.Select(ctx, q, scan, `SELECT id, type, name, provider, sealed, global FROM setting`+w.String()+
		` ORDER BY id`, w.Args...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if missing[id] && param != "" {
			return nil, errs.Field(param, "%s names a %s configuration that does not exist.", param, types[0])
		}
	}
	return slices.DeleteFunc(out, func(a Applied) bool { return a.ID == "" }), nil
}
