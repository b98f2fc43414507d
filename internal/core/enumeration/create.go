package enumeration

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// NewEnumeration is what an enumeration is made from.
type NewEnumeration struct {
	Name   string // empty: its first domain or input
	Config Config
	Proxy  string // URL of a SOCKS5 proxy, through which targets are dialled; empty: none
}

// BeginArgs is the job that cuts a run into chunks.
type BeginArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
}

// Kind implements queue.Args.
func (BeginArgs) Kind() string { return "enumeration.begin" }

// Create writes an enumeration and launches it in the same transaction.
func (es *Enumerations) Create(ctx context.Context, n NewEnumeration) (Enumeration, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Enumeration{}, err
	}
	covers, err := es.checkConfig(ctx, c.TeamID, n.Config)
	if err != nil {
		return Enumeration{}, err
	}
	if n.Config.Proxy, err = es.settings.SealProxy(c.TeamID, n.Proxy, nil); err != nil {
		return Enumeration{}, err
	}
	name, err := run.CheckName(cmp.Or(strings.TrimSpace(n.Name), n.Config.title()))
	if err != nil {
		return Enumeration{}, err
	}
	e := Enumeration{
		ID: run.NewID(es.now()), TeamID: c.TeamID, UserID: c.UserID, Name: name, Type: Discovery, Status: Scheduled,
		Config: n.Config, IsInternal: covers.internal(),
	}
	if len(n.Config.CloudConfigIDs) > 0 {
		e.Type, e.IsInternal = Cloud, false
	}
	err = es.db.Tx(ctx, func(tx *db.Tx) error {
		if err := es.insert(ctx, tx, e); err != nil {
			return err
		}
		return es.runs().Launch(ctx, tx, e.ID)
	})
	if err != nil {
		return Enumeration{}, err
	}
	return es.Find(ctx, e.ID)
}

// checkConfig refuses a configuration that could not be run.
func (es *Enumerations) checkConfig(ctx context.Context, teamID string, c Config) (Coverage, error) {
	covers, err := c.check()
	if err != nil {
		return covers, err
	}
	if _, err := hostpattern.Parse(c.Exclusions); err != nil {
		return covers, errs.From(err).At("exclusions")
	}
	return covers, es.checkSettings(ctx, teamID, c)
}

// title is the name of an enumeration that was given none.
func (c Config) title() string {
	first := slices.Concat(c.RootDomains, c.Inputs, []string{"cloud"})[0]
	return strings.ToValidUTF8(first[:min(len(first), run.MaxName/2)], "")
}

func (es *Enumerations) insert(ctx context.Context, tx *db.Tx, e Enumeration) error {
	now := db.At(es.now())
	if _, err := tx.Exec(ctx, `INSERT INTO enumeration
		(id, team_id, user_id, name, enum_type, status, is_internal, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.TeamID, e.UserID, e.Name, e.Type, e.Status, e.IsInternal, now, now); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO enumeration_config (enumeration_id, config, inputs, input) VALUES (?, ?, ?, ?)`,
		e.ID, db.Doc(e.Config), db.Doc(e.Config.Inputs), len(e.Config.Inputs)); err != nil {
		return err
	}
	return es.assets.Register(ctx, tx,
		asset.Enumeration{ID: e.ID, TeamID: e.TeamID, Name: e.Name, SourceType: string(e.Type)})
}

// runs are the runs of enumerations.
func (es *Enumerations) runs() run.Runs {
	return run.Runs{
		DB: es.db, Queue: es.queue, Now: es.now, Kind: "enumeration", Ended: es.ended,
		Hint:  "; its events tell of a proxy that does not work",
		Plan:  func(r run.Ref) queue.Args { return BeginArgs{r.ID, r.Run} },
		Work:  func(r run.Ref, chunk int) queue.Args { return ChunkArgs{r.ID, r.Run, chunk} },
		Alert: func(r run.Ref, status Status) queue.Args { return AlertArgs{r.ID, r.Run, status} },
	}
}

// ended completes the inventory at the end of a run, and inserts the jobs that follow.
func (es *Enumerations) ended(ctx context.Context, tx *db.Tx, r run.Ref, teamID string, o run.Outcome) error {
	covered := o.Status == Finished && o.Why == ""
	ended := asset.End{TeamID: teamID, EnumerationID: r.ID, Run: r.Run, At: db.At(es.now()).Time, Covered: covered}
	if err := es.policies.EndRun(ctx, tx, ended); err != nil {
		return err
	}
	if o.Status == Finished {
		if err := es.checkSources(ctx, tx, r.ID, r.Run); err != nil {
			return err
		}
		if err := es.queueScan(ctx, tx, teamID, r); err != nil {
			return err
		}
	}
	_, err := es.queue.Insert(ctx, tx, teamID, TidyArgs{r.ID, r.Run})
	return err
}

// own is an enumeration of the caller's team, for a caller who may change it.
func (es *Enumerations) own(ctx context.Context, id string) (Enumeration, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Enumeration{}, err
	}
	return es.Find(ctx, id)
}

// Schedules are the schedules of enumerations.
func (es *Enumerations) Schedules() schedule.Schedules {
	check := func(ctx context.Context, id string) error {
		_, err := es.own(ctx, id)
		return err
	}
	return schedule.Schedules{
		DB: es.db, Noun: "enumeration", Check: check, Launch: es.runs().Launch, Logger: es.logger, Now: es.now,
	}
}

// Rescan runs an enumeration of the caller's team again. It fails with a Conflict while that is active.
func (es *Enumerations) Rescan(ctx context.Context, id string) (Enumeration, error) {
	e, err := es.own(ctx, id)
	if err != nil {
		return e, err
	}
	return e, es.db.Tx(ctx, func(tx *db.Tx) error { return es.runs().Launch(ctx, tx, id) })
}

// Stop ends an active enumeration and keeps its assets. It fails with a Conflict when that is not active.
func (es *Enumerations) Stop(ctx context.Context, id string) error {
	if _, err := es.own(ctx, id); err != nil {
		return err
	}
	return es.runs().Stop(ctx, id)
}

// GiveUpBegin fails an enumeration that could not be planned, in the transaction that ends its job.
func (es *Enumerations) GiveUpBegin(ctx context.Context, tx *db.Tx, a BeginArgs) error {
	return es.runs().GiveUpPlan(ctx, tx, run.Ref{ID: a.EnumerationID, Run: a.Run})
}
