package jobs

import (
	"context"
	"errors"
	"fmt"
	"github.com/vedette-sec/vedette/internal/core/scan/target"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// scanNewAssets makes the scan of a run's new assets that the enumeration wants: for the user who made the
// enumeration, with its exclusions, alerts and agents, and the recommended templates. Each run has one scan, however
// often its job runs.
func (w worker) scanNewAssets(ctx context.Context, a enumeration.ScanArgs) error {
	e, ok, err := w.Enumerations.FindUnscanned(ctx, a)
	if err != nil || !ok {
		return err
	}
	targets, left, err := w.newTargets(ctx, e, a.Run)
	if err != nil || len(targets) == 0 {
		return err
	}
	detail := fmt.Sprintf("What this run saw first is scanned; targets: %d.", len(targets))
	if left > 0 {
		detail += fmt.Sprintf(" Left out, since a scan has at most %[2]d: %[1]d.", left, target.Max)
	}
	c := e.Config
	ctx = account.WithCaller(ctx, account.Caller{UserID: e.UserID, TeamID: e.TeamID, Role: account.Member})
	_, err = w.Scans.Create(ctx, scan.NewScan{
		Name:      fmt.Sprintf("%s, new in run %d", strings.ToValidUTF8(e.Name[:min(len(e.Name), 170)], ""), a.Run),
		Automatic: true, Proxy: c.Proxy.String(),
		Config: scan.Config{
			Targets: targets, Recommended: true, Exclusions: c.Exclusions, Proxy: c.Proxy,
			AlertConfigIDs: c.AlertConfigIDs, NoGlobalAlerts: c.NoGlobalAlerts,
			AgentID: c.AgentID, AgentTags: c.AgentTags, AgentNetworks: c.AgentNetworks, AgentBehavior: c.AgentBehavior,
		},
		With: func(ctx context.Context, tx *db.Tx, id string) error {
			return w.Enumerations.NoteScan(ctx, tx, a, id, detail)
		},
	})
	switch refused := errs.From(err); {
	case errors.Is(err, enumeration.ErrLate):
		return nil
	case refused != nil && refused.Kind == errs.Invalid: // such as a configuration that was deleted
		return w.Enumerations.NoteNoScan(ctx, a, "No scan was made: "+refused.Message)
	}
	return err
}

// newTargets are targets for the assets that a run found first, and the number of those beyond the limit of a scan.
func (w worker) newTargets(
	ctx context.Context, e enumeration.Enumeration, run int64,
) (targets []string, left int, err error) {
	seen := map[string]bool{}
	first := asset.Selection{Filter: asset.Filter{Enumerations: []string{e.ID}, FirstRun: run}}
	for text, err := range w.Assets.Targets(ctx, e.TeamID, first) {
		switch {
		case err != nil:
			return nil, 0, err
		case seen[text] || !target.Takes(text):
			continue
		case len(targets) == target.Max:
			left++
		default:
			targets = append(targets, text)
		}
		seen[text] = true
	}
	return targets, left, nil
}
