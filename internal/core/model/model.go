// Package model has the language models that a team may use, and their prices: the server's, and those of keys of the
// team or a user (BYOK). It records usage and reserves money before each call.
package model

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// Server is the operator's model.
type Server struct {
	llm.Config
	Model string // meaning of "auto"; empty: the provider's default
	// Price is that of Model, and of models that are not in the catalogue.
	Price  *llm.Price
	Window int         // tokens of a conversation with Model; 0: the catalogue's, or a default
	Script *llm.Script // replaces the provider, for tests
}

// Config is the operator's.
type Config struct {
	Server *Server // may be nil
	// Embedding is the operator's embedding model; nil: none.
	Embedding *Embedding
	// Guard checks the addresses that users name.
	Guard *netguard.Guard
	// TeamCap bounds what one team spends on the server's models, in millionths of a US dollar; 0: no bound.
	TeamCap int64
	Now     func() time.Time // default time.Now
}

// Models keeps provider keys and opens the model of a task.
type Models struct {
	Config
	db       *db.DB
	box      *seal.Box
	accounts *account.Accounts
	client   *http.Client // for addresses of users
}

// userDeadline bounds a call with a user's key.
const userDeadline = 10 * time.Minute

// New makes the service.
func New(d *db.DB, box *seal.Box, accounts *account.Accounts, c Config) *Models {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Guard == nil {
		c.Guard = &netguard.Guard{}
	}
	return &Models{Config: c, db: d, box: box, accounts: accounts, client: c.Guard.Client(userDeadline)}
}

// Names of models with a meaning of their own.
const (
	Auto    = "auto"    // the payer's default
	Builtin = "builtin" // the planner without a model
)

// ErrBuiltin says that there is no model: the built-in planner works.
var ErrBuiltin = errors.New("no language model is configured")

// Chosen is the model of a task.
type Chosen struct {
	llm.Model
	Name     string // for Request.Model, never "auto"
	Provider Provider
	Price    llm.Price
	Priced   bool // Price is known; else it is 0
	Window   int  // tokens of a conversation
	Output   int  // tokens of an answer; 0: unknown
	BYOK     bool // the team or the user pays the provider
}

// Resolve chooses the model of a user's task: by their own keys, else by the team's, else the server's. want is "auto"
// (or empty), an ID of llm.Catalogue, or a provider's name of a model. It fails with ErrBuiltin when there is no model
// or want is "builtin", and with Invalid, model_not_available, when the keys do not offer it.
func (s *Models) Resolve(ctx context.Context, teamID, userID, want string) (Chosen, error) {
	if want == Builtin {
		return Chosen{}, ErrBuiltin
	}
	offers, err := s.offers(ctx, teamID, userID)
	if err != nil {
		return Chosen{}, err
	}
	if len(offers) == 0 {
		return Chosen{}, ErrBuiltin
	}
	want = cmp.Or(want, Auto)
	for _, o := range offers {
		if chosen, ok, err := s.choose(o, want); ok || err != nil {
			return chosen, err
		}
	}
	return Chosen{}, errs.New(errs.Invalid, "model_not_available", "No configured provider has the model %.100q.",
		want).At("model")
}

// offer is access to a provider.
type offer struct {
	config llm.Config
	auto   string   // meaning of "auto"
	names  []string // more models, listed by the provider
	byok   bool
	price  *llm.Price // of auto and models outside of the catalogue
	window int        // of auto
	script *llm.Script
	fixed  bool // only auto is offered

	embedding string // the model for vectors; empty: none
}

// offers are the user's keys, or the team's, or the server's model.
func (s *Models) offers(ctx context.Context, teamID, userID string) ([]offer, error) {
	for _, owner := range []string{userID, ""} {
		keys, err := s.activeKeys(ctx, teamID, owner)
		if err != nil {
			return nil, err
		}
		if len(keys) > 0 {
			return keys, nil
		}
	}
	if s.Server == nil {
		return nil, nil
	}
	o := offer{config: s.Server.Config, auto: s.Server.Model, price: s.Server.Price, window: s.Server.Window,
		script: s.Server.Script}
	if service, ok := llm.ServiceOf(o.config.Provider); ok {
		o.auto = cmp.Or(o.auto, service.Default)
	}
	o.fixed = o.script != nil || o.config.BaseURL != ""
	return []offer{o}, nil
}

// has returns the name of an offered model.
func (o offer) has(want string) (name string, ok bool) {
	if want == Auto {
		return o.auto, o.auto != ""
	}
	if want == o.auto {
		return want, true
	}
	if o.fixed {
		return "", false
	}
	if known, ok := llm.Lookup(o.config.Provider, want); ok {
		return known.ID, true
	}
	return want, slices.Contains(o.names, want)
}

func (s *Models) choose(o offer, want string) (Chosen, bool, error) {
	name, ok := o.has(want)
	if !ok {
		return Chosen{}, false, nil
	}
	c := o.facts(name)
	if o.script != nil {
		c.Model = *o.script
		return c, true, nil
	}
	var err error
	c.Model, err = llm.Open(o.config)
	return c, err == nil, err
}

// defaultWindow is for unknown models, as of small servers.
const defaultWindow = 32_000

func (o offer) facts(name string) Chosen {
	c := Chosen{Name: name, Provider: o.config.Provider, BYOK: o.byok, Window: defaultWindow}
	known, ok := llm.Lookup(c.Provider, name)
	if ok {
		c.Name, c.Window, c.Output, c.Price, c.Priced = known.ID, known.Window, known.MaxOutput, known.Price, true
	}
	if o.price != nil && (!ok || name == o.auto) {
		c.Price, c.Priced = *o.price, true
	}
	if o.window > 0 && name == o.auto {
		c.Window = o.window
	}
	return c
}

// Offered is a model that the caller may use.
type Offered struct {
	ID       string
	Title    string // for people
	Provider Provider
	WireName string // at the provider
	Chosen   Chosen // without a Model
	Default  bool   // meaning of "auto"
}

// Find lists the models for the caller's tasks, the default first, and whose keys pay. None: the built-in planner
// works.
func (s *Models) Find(ctx context.Context) ([]Offered, Mode, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, "", err
	}
	offers, err := s.offers(ctx, c.TeamID, c.UserID)
	if err != nil {
		return nil, "", err
	}
	out, mode := []Offered{}, ModeServer
	seen := map[string]bool{}
	add := func(o offer, name string, first bool) {
		if name == "" || seen[name] {
			return
		}
		m := Offered{ID: name, Title: name, Provider: o.config.Provider, WireName: name, Chosen: o.facts(name),
			Default: first}
		if known, ok := llm.Lookup(m.Provider, name); ok {
			m.ID, m.Title, m.WireName = known.ID, known.Name, known.Names[m.Provider]
		}
		if !seen[m.ID] {
			out = append(out, m)
		}
		seen[name], seen[m.ID], seen[m.WireName] = true, true, true
	}
	for i, o := range offers {
		if o.byok {
			mode = ModeBYOK
		}
		add(o, o.auto, i == 0)
		if o.fixed {
			continue
		}
		for _, known := range llm.Catalogue() {
			if _, ok := known.Names[o.config.Provider]; ok {
				add(o, known.ID, false)
			}
		}
		for _, name := range o.names {
			add(o, name, false)
		}
	}
	return out, mode, nil
}
