package scan

import (
	"context"
	"github.com/vedette-sec/vedette/internal/core/scan/target"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Inventory says which assets are targets of a scan. Each run looks them up at its start.
type Inventory struct {
	AssetLists     []string       `json:"assets_lists,omitempty"`    // enumerations and groups
	EnumerationIDs []string       `json:"enumeration_ids,omitempty"` // of groups, too
	AllAssets      bool           `json:"scan_all_assets,omitempty"`
	AssetFilters   *asset.Filters `json:"asset_filters,omitempty"` // narrow the others; alone: all assets that match
}

// field is the field of a request that names assets, or "" when none does.
func (in Inventory) field() string {
	switch {
	case len(in.AssetLists) > 0:
		return "assets"
	case len(in.EnumerationIDs) > 0:
		return "enumeration_ids"
	case in.AllAssets:
		return "scan_all_assets"
	case in.AssetFilters != nil:
		return "asset_filters"
	}
	return ""
}

// maxSources is how many enumerations and groups a scan takes targets from.
const maxSources = 1000

// picks are the filters that together choose the assets. The error is Invalid and names the field: the team has no such
// enumeration or group, or a filter cannot be read.
func (ss *Scans) picks(ctx context.Context, teamID string, in Inventory) (picks []asset.Filter, err error) {
	var f asset.Filter
	if in.AssetFilters != nil {
		// Time ranges count from now, at each run anew.
		if f, err = in.AssetFilters.Parse(ss.now().Truncate(time.Minute)); err != nil {
			return nil, err
		}
	}
	for _, source := range []struct {
		param string
		ids   []string
	}{{"assets", in.AssetLists}, {"enumeration_ids", in.EnumerationIDs}} {
		if len(source.ids) > maxSources {
			return nil, errs.Field(source.param, "%s must be at most %d.", source.param, maxSources)
		}
		for _, id := range source.ids {
			narrow, err := ss.assets.Narrow(ctx, teamID, id)
			if errs.Is(err, errs.NotFound) {
				return nil, errs.Field(source.param, "%s: there is no enumeration and no group %.60q.", source.param, id)
			}
			if err != nil {
				return nil, err
			}
			picks = append(picks, narrow(f))
		}
	}
	if in.AllAssets || len(picks) == 0 && in.AssetFilters != nil {
		picks = []asset.Filter{f}
	}
	return picks, nil
}

// targets are the targets of a configuration as they are now: those that it names and those of the inventory. Assets
// that cannot be targets are left out. The error is Invalid when there are too many, or when the inventory was asked
// for, has nothing, and nothing else is named.
func (ss *Scans) targets(ctx context.Context, teamID string, c Config) ([]string, error) {
	picks, err := ss.picks(ctx, teamID, c.Inventory)
	if err != nil || len(picks) == 0 {
		return c.Targets, err
	}
	targets, known := slices.Clone(c.Targets), map[string]bool{}
	for _, pick := range picks {
		for text, err := range ss.assets.Targets(ctx, teamID, asset.Selection{Filter: pick}) {
			if err != nil {
				return nil, err
			}
			if known[text] {
				continue
			}
			known[text] = true
			if !target.Takes(text) {
				continue
			}
			if targets = append(targets, text); len(targets) > target.Max {
				return nil, errs.Field("asset_filters", "The inventory has more than %d targets: narrow it with asset_filters.",
					target.Max)
			}
		}
	}
	if len(targets) == 0 {
		field := c.field()
		return nil, errs.Field(field, "%s: the inventory has no assets to test.", field)
	}
	return targets, target.Check(targets)
}
