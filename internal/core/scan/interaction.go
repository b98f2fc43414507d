package scan

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// expectInteractions gives a chunk's job the names of its team, and remembers its requests.
func (c *Chunk) expectInteractions(ctx context.Context, job *child.Job, stop context.CancelCauseFunc) {
	service := c.scans.Interactions
	if service == nil {
		return
	}
	names, err := service.Names(ctx, c.TeamID)
	if err != nil { // the rest of the chunk can be tested
		c.scans.logger.WarnContext(ctx, "a scan goes on without the out-of-band server", "scan", c.ID, "error", err)
		return
	}
	job.Names = names
	job.OnPending = func(_ int, p *engine.Pending) {
		if err := service.Remember(context.WithoutCancel(ctx), interaction.Request{
			TeamID: c.TeamID, ScanID: c.ID, Run: c.Run, TemplateID: p.Event.TemplateID, Pending: p,
		}); err != nil {
			stop(fmt.Errorf("remembering a request: %w", err))
		}
	}
}

// Judge judges an interaction with a request of a scan, by its template as it is now, and stores what that shows.
func (ss *Scans) Judge(ctx context.Context, a interaction.JudgeArgs, engines *child.Pool) error {
	if ss.Interactions == nil {
		return nil
	}
	r, ok, err := ss.Interactions.Request(ctx, a)
	if err != nil || !ok {
		return err
	}
	config, err := ss.config(ctx, ss.db, r.ScanID)
	if err != nil {
		return err
	}
	c := &Chunk{
		Lease: &run.Lease{Ref: run.Ref{ID: r.ScanID, Run: r.Run}, TeamID: r.TeamID}, Targets: []string{r.Pending.Target},
		Templates: []string{r.TemplateID}, Config: config, scans: ss,
	}
	texts, sources, _, err := c.texts(ctx, NewCells(c.Targets, c.Templates))
	if err != nil || len(texts) == 0 { // deleted meanwhile, or set aside
		return err
	}
	var seen []finding.Sighting
	result, err := engines.Run(ctx, child.Job{
		Templates: texts, Judge: &child.Judge{Pending: r.Pending, Interaction: a.Interaction},
		OnEvent: func(_ int, e engine.Event) {
			one := sources[0]
			one.Event, one.Target = e, e.Target
			seen = append(seen, one)
		},
	})
	if err != nil {
		return ofEngine(err)
	}
	if len(result.Ended) > 0 {
		return ss.SetAside(ctx, r.TeamID, texts[0], result.Ended[0].Why)
	}
	if len(seen) == 0 {
		return nil
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := ss.findings.Add(ctx, tx, finding.Origin{TeamID: r.TeamID, ScanID: r.ScanID, Run: r.Run}, seen)
		return err
	})
}
