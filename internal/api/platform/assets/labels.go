package assets

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/label"
)

// AssetLabels are labels for one asset.
type AssetLabels struct {
	Labels []string `json:"labels" maxItems:"100"`
}

// BulkLabels are labels for many assets.
type BulkLabels struct {
	Filters AssetFilters `json:"filters" doc:"Filters; empty: all assets."`
	Labels  []string     `json:"labels" maxItems:"100"`
}

// AssetCount says how many assets something was done to.
type AssetCount struct {
	Message    string `json:"message"`
	AssetCount int    `json:"asset_count" doc:"Number of matching assets."`
	Async      bool   `json:"async" doc:"Whether it continues in the background."`
}

// LabelMode says what new labels do to the old ones.
type LabelMode struct {
	Type string `query:"update_type" enum:"append,replace,delete" default:"append" doc:"append adds, replace sets, delete removes."`
}

// GroupPath names a group.
type GroupPath struct {
	ID string `path:"group_id" doc:"The group's id."`
}

// GroupRequest is a filter to save.
type GroupRequest struct {
	Filters AssetFilters `json:"filters"`
	Name    string       `json:"name,omitempty" maxLength:"200"`
}

// GroupPatch changes a group.
type GroupPatch struct {
	Filters AssetFilters `json:"filters,omitzero"`
	Name    string       `json:"name,omitempty" maxLength:"200" doc:"New name; empty keeps the old one."`
}

func (s area) assetLabels() {
	const one, groups = "/v1/asset/{asset_id}/labels", "/v1/asset/enumerate/group"
	rest.Handle(s.API, wire.Op("label-assets", "PATCH /v1/asset/labels", assetTag, "Label all assets that match a filter"),
		func(ctx context.Context, in *struct {
			LabelMode
			Body BulkLabels
		}) (*AssetCount, error) {
			n, later, err := s.Assets.LabelAll(ctx, asset.Filters(in.Body.Filters), label.Mode(in.Type), in.Body.Labels)
			words := "The labels are changed."
			if later {
				words = "The labels are being changed."
			}
			return &AssetCount{words, n, later}, err
		})
	set := func(ctx context.Context, id int64, mode label.Mode, labels []string) (*wire.Message, error) {
		return wire.Messagef("The labels are changed."), s.Assets.SetLabels(ctx, id, mode, labels)
	}
	rest.Handle(s.API, wire.Op("add-asset-labels", "POST "+one, assetTag, "Add labels to an asset", 404),
		func(ctx context.Context, in *struct {
			AssetPath
			Body AssetLabels
		}) (*wire.Message, error) {
			return set(ctx, in.ID, label.Append, in.Body.Labels)
		})
	rest.Handle(s.API, wire.Op("update-asset-labels", "PATCH "+one, assetTag, "Change the labels of an asset", 404),
		func(ctx context.Context, in *struct {
			AssetPath
			LabelMode
			Body AssetLabels
		}) (*wire.Message, error) {
			return set(ctx, in.ID, label.Mode(in.Type), in.Body.Labels)
		})
	rest.Handle(s.API, wire.Op("delete-asset-labels", "DELETE "+one, assetTag, "Remove all labels of an asset", 404),
		func(ctx context.Context, in *AssetPath) (*wire.Message, error) {
			return set(ctx, in.ID, label.Replace, nil)
		})

	rest.Handle(s.API, wire.Op("create-group", "POST "+groups, assetTag,
		"Save a filter as a group, listed with the enumerations", 409),
		func(ctx context.Context, in *struct{ Body GroupRequest }) (*wire.Made, error) {
			id, err := s.Enumerations.CreateGroup(ctx, in.Body.Name, asset.Filters(in.Body.Filters))
			return wire.Created(id, "The group is made."), err
		})
	wire.Act(s.API, wire.Op("update-group", "PATCH "+groups+"/{group_id}", assetTag,
		"Change the filter or the name of a group", 404), "The group is changed.",
		func(ctx context.Context, in *struct {
			GroupPath
			wire.UpdateMode
			Body GroupPatch
		}) error {
			return s.Enumerations.UpdateGroup(ctx, in.ID, in.Body.Name, asset.Filters(in.Body.Filters), in.Type == "replace")
		})
	wire.Act(s.API, wire.Op("delete-group", "DELETE "+groups+"/{group_id}", assetTag, "Delete a group; the assets stay",
		404), "The group is deleted.",
		func(ctx context.Context, in *GroupPath) error { return s.Enumerations.DeleteGroup(ctx, in.ID) })
}
