package enumeration

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Rename gives an enumeration of the caller's team another name.
func (es *Enumerations) Rename(ctx context.Context, id, name string) error {
	e, err := es.own(ctx, id)
	if err != nil {
		return err
	}
	if name, err = run.CheckName(name); err != nil {
		return err
	}
	return es.db.Tx(ctx, func(tx *db.Tx) error { return es.rename(ctx, tx, e, name) })
}

func (es *Enumerations) rename(ctx context.Context, tx *db.Tx, e Enumeration, name string) error {
	n, err := tx.Exec(ctx, `UPDATE enumeration SET name = ?, updated_at = ? WHERE id = ? AND status <> ?`,
		name, db.At(es.now()), e.ID, run.Deleted)
	if err != nil || n == 0 { // it was deleted meanwhile
		return err
	}
	return es.assets.Register(ctx, tx,
		asset.Enumeration{ID: e.ID, TeamID: e.TeamID, Name: name, SourceType: string(e.Type)})
}

// ConfigUpdate is a change of a configuration; nil fields stay as they are.
type ConfigUpdate struct {
	Name               *string
	RootDomains        []string
	Inputs             []string
	Steps              []discover.Step
	Ports              *string
	FollowRedirect     *bool
	AlertConfigIDs     []string
	SubfinderConfigIDs []string
	Exclusions         []string
	AutomaticScans     *bool
	Proxy              *string // URL of a SOCKS5 proxy; the one that was shown, with its mask, keeps it; empty: none
}

// UpdateConfig changes the configuration of the next runs of an enumeration of the caller's team. It adds to lists or
// replaces them.
func (es *Enumerations) UpdateConfig(ctx context.Context, id string, up ConfigUpdate, replace bool) error {
	e, err := es.own(ctx, id)
	if err != nil {
		return err
	}
	c, name := e.Config, e.Name
	run.Update(&c.RootDomains, up.RootDomains, replace)
	run.Update(&c.Inputs, up.Inputs, replace)
	run.Update(&c.Steps, up.Steps, replace)
	run.Update(&c.AlertConfigIDs, up.AlertConfigIDs, replace)
	run.Update(&c.SubfinderConfigIDs, up.SubfinderConfigIDs, replace)
	run.Update(&c.Exclusions, up.Exclusions, replace)
	if up.Ports != nil {
		c.Ports = *up.Ports
	}
	if up.FollowRedirect != nil {
		c.FollowRedirect = up.FollowRedirect
	}
	if up.AutomaticScans != nil {
		c.AutomaticScans = *up.AutomaticScans
	}
	if up.Proxy != nil {
		if c.Proxy, err = es.settings.SealProxy(e.TeamID, *up.Proxy, c.Proxy); err != nil {
			return err
		}
	}
	if up.Name != nil {
		if name, err = run.CheckName(*up.Name); err != nil {
			return err
		}
	}
	covers, err := es.checkConfig(ctx, e.TeamID, c)
	if err != nil {
		return err
	}
	internal := covers.internal() && e.Type != Cloud
	return es.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE enumeration SET is_internal = ?, updated_at = ? WHERE id = ?`,
			internal, db.At(es.now()), id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE enumeration_config SET config = ?, inputs = ?, input = ? WHERE enumeration_id = ?`,
			db.Doc(c), db.Doc(c.Inputs), len(c.Inputs), id); err != nil {
			return err
		}
		if name == e.Name {
			return nil
		}
		return es.rename(ctx, tx, e, name)
	})
}
