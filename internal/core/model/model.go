// Package model knows which language models a team may use, and what they cost: the
// server's own, and those whose keys a team or a person brought (BYOK). It keeps what
// tasks used of them, and sets money aside before each call.
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

// Server is the operator's own model.
type Server struct {
	llm.Config
	Model string // what "auto" means; empty: the provider's default
	// Price of a model that is not in the catalogue, and of Model in any case; nil: none.
	Price  *llm.Price
	Window int         // tokens that Model's conversation may have; 0: the catalogue's, or a careful guess
	Script *llm.Script // answers in the place of a provider, for tests
}

// Config is what the operator says about models.
type Config struct {
	Server *Server // nil: there is none
	// Guard makes the calls to what users name.
	Guard *netguard.Guard
	// TeamCap is what one team may spend of the server's models in all, in millionths of
	// a US dollar; 0: no bound.
	TeamCap int64
	Now     func() time.Time // time.Now when nil
}

// Models keeps the provider keys of users and opens the language model of a task.
type Models struct {
	Config
	db       *db.DB
	box      *seal.Box
	accounts *account.Accounts
	client   *http.Client // for what users name
}

// userDeadline bounds a call of a model whose address or key a user named.
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

// The words for a model that stand for something else.
const (
	Auto    = "auto"    // the default of whoever pays
	Builtin = "builtin" // the planner that needs no model
)

// ErrBuiltin says that there is no model to call: the built-in planner does the work.
var ErrBuiltin = errors.New("no language model is configured")

// Chosen is the model that works for a task.
type Chosen struct {
	llm.Model
	Name     string // for Request.Model; never "auto"
	Provider Provider
	Price    llm.Price
	Priced   bool // Price is known; else it is zero, and so is what is reserved
	Window   int  // tokens of a conversation with its answer
	Output   int  // tokens of an answer; 0: not known
	BYOK     bool // the team, or the user, pays the provider themselves
}

// Resolve picks the model for a user's task in a team: from the keys of their own when
// they work with those, else from the team's, else the server's. want is "auto" (or
// empty), an ID of llm.Catalogue, or a provider's own name for a model. It fails with
// ErrBuiltin when there is nothing to call or want is "builtin", and with Invalid,
// model_not_available, when those keys do not reach that model.
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
	return Chosen{}, errs.New(errs.Invalid, "model_not_available", "No configured provider has the model %.100q.", want).At("model")
}

// offer is a way to a provider.
type offer struct {
	config llm.Config
	auto   string   // what "auto" means
	names  []string // further models, as the provider listed them
	byok   bool
	price  *llm.Price // of auto, and of what is not in the catalogue
	window int        // of auto
	script *llm.Script
	fixed  bool // there is no model but auto
}

// offers are the ways that lead to a model: the user's own keys, or the team's, or the
// server's model.
func (s *Models) offers(ctx context.Context, teamID, userID string) ([]offer, error) {
	for _, owner := range []string{userID, ""} {
		keys, err := s.inForce(ctx, teamID, owner)
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
	o := offer{config: s.Server.Config, auto: s.Server.Model, price: s.Server.Price, window: s.Server.Window, script: s.Server.Script}
	if service, ok := llm.ServiceOf(o.config.Provider); ok {
		o.auto = cmp.Or(o.auto, service.Default)
	}
	o.fixed = o.script != nil || o.config.BaseURL != ""
	return []offer{o}, nil
}

// has gives the name under which an offer has a model.
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
		c.Model = llm.Scripted(*o.script)
		return c, true, nil
	}
	var err error
	c.Model, err = llm.Open(o.config)
	return c, err == nil, err
}

// defaultWindow is assumed of a model of which nothing is known: small servers have no
// more.
const defaultWindow = 32_000

// facts are what is known of a model without calling it.
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

// Offered is one model that the caller may name.
type Offered struct {
	ID       string
	Title    string // for people
	Provider Provider
	WireName string // what the provider calls it
	Chosen   Chosen // its facts, without a model to call
	Default  bool   // what "auto" means
}

// Find lists the models that the caller's tasks may use, the default first, and by whose
// keys. None: the built-in planner does the work.
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
		m := Offered{ID: name, Title: name, Provider: o.config.Provider, WireName: name, Chosen: o.facts(name), Default: first}
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
