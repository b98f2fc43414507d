package work

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/override"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const batch = 250 // findings that are read at a time

// Rate gives each of the findings that a filter picks, the others of their weaknesses included, another severity, by an
// override of its own in place of one that it has, and returns how many had another. o needs Custom or Vector. By
// operation all of it is undone. More findings than a team may have overrides are refused.
func (ws *Works) Rate(
	ctx context.Context, f finding.Filter, o finding.Override, operation string,
) (changed int, err error) {
	if err := o.CheckRating(); err != nil {
		return 0, err
	}
	c, picked, err := ws.findings.PickWritable(ctx, "filter", f)
	if err != nil {
		return 0, err
	}
	return changed, ws.db.Tx(ctx, func(tx *db.Tx) error {
		changed = 0
		if err := ws.findings.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		overrides, err := ws.overrides(ctx, tx, c.TeamID, picked, o)
		if err != nil {
			return err
		}
		for _, template := range slices.Sorted(maps.Keys(overrides)) {
			if err := override.Replace(ctx, tx, c.TeamID, template, overrides[template], db.At(time.Now())); err != nil {
				return err
			}
			n, err := ws.findings.ApplyOverrides(ctx, tx, c, template, operation, &o)
			if changed += n; err != nil {
				return err
			}
		}
		return nil
	})
}

// overrides are overrides like o for findings and the others of their weaknesses, by template: one for each hash.
func (ws *Works) overrides(
	ctx context.Context, tx *db.Tx, teamID string, picked []int64, o finding.Override,
) (map[string][]finding.Override, error) {
	all, err := finding.WithSiblings(ctx, tx, teamID, picked)
	if err != nil {
		return nil, err
	}
	out, seen := map[string][]finding.Override{}, map[[2]string]bool{}
	for part := range slices.Chunk(all, batch) {
		found, err := ws.findings.Load(ctx, tx, teamID, part)
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			if key := [2]string{x.TemplateID, override.OfHash(x.ID)}; !seen[key] {
				seen[key] = true
				o.TemplateID, o.FindingID, o.Original = x.TemplateID, x.ID, finding.TemplateSeverity(x.Event)
				out[x.TemplateID] = append(out[x.TemplateID], o)
			}
		}
		if len(seen) > override.Max {
			return nil, errs.New(errs.Invalid, "too_many_severity_mappings",
				"The filter picks more findings than the %d severity mappings that a team may have: narrow it.", override.Max)
		}
	}
	return out, nil
}
