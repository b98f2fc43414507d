package scans

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// inventoryTargets are the targets that a scan takes from the inventory, as that is now:
// of the enumerations and groups that it names, or of all assets.
func (s area) inventoryTargets(ctx context.Context, b ScanRequest) (targets []string, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	var f asset.Filter
	if b.AssetFilters != nil {
		if f, err = asset.Filters(*b.AssetFilters).Parse(time.Now()); err != nil {
			return nil, err
		}
	}
	var picks []asset.Filter
	param := "assets"
	for i, id := range slices.Concat(b.Assets, refIDs(b.EnumerationIDs)) {
		if i == len(b.Assets) {
			param = "enumeration_ids"
		}
		narrow, err := s.Assets.Of(ctx, id)
		if errs.Is(err, errs.NotFound) {
			return nil, errs.Field(param, "%s: there is no enumeration and no group %.60q.", param, id)
		}
		if err != nil {
			return nil, err
		}
		picks = append(picks, narrow(f))
	}
	if b.ScanAllAssets || len(picks) == 0 && b.AssetFilters != nil {
		picks = []asset.Filter{f}
	}
	seen := map[string]bool{}
	for _, pick := range picks {
		for target, err := range s.Assets.Targets(ctx, c.TeamID, asset.Selection{Filter: pick}) {
			if err != nil {
				return nil, err
			}
			if seen[target] {
				continue
			}
			seen[target] = true
			if targets = append(targets, target); len(targets) > scan.MaxTargets {
				return nil, errs.Field("asset_filters", "The inventory has more than %d targets: narrow it with asset_filters.", scan.MaxTargets)
			}
		}
	}
	if len(picks) > 0 && len(targets)+len(b.Targets) == 0 {
		return nil, errs.Field(askedBy(b), "%s: there are no assets.", askedBy(b))
	}
	return targets, nil
}

func refIDs(refs []EnumerationRef) (ids []string) {
	for _, r := range refs {
		ids = append(ids, r.ID)
	}
	return ids
}

// askedBy is the field with which a request asks for assets.
func askedBy(b ScanRequest) string {
	switch {
	case len(b.Assets) > 0:
		return "assets"
	case len(b.EnumerationIDs) > 0:
		return "enumeration_ids"
	case b.ScanAllAssets:
		return "scan_all_assets"
	}
	return "asset_filters"
}
