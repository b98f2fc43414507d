package scans

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/schedule"
)

func (s area) schedules() {
	const path = "/v1/scans/schedule"
	rest.Handle(s.API, wire.Op("list-scan-schedules", "GET "+path, scanTag,
		"The schedules of your team's scans, by next run"),
		func(ctx context.Context, _ *struct{}) (*ScheduleList, error) {
			found, err := s.Scans.Schedules().FindAll(ctx)
			return &ScheduleList{"Schedules.", rest.Each(found, scheduleOf)}, err
		})
	rest.Handle(s.API, wire.Op("set-scan-schedule", "POST "+path, scanTag, "Set the schedule of a scan", 404, 409),
		func(ctx context.Context, in *struct{ Body ScheduleRequest }) (*wire.Message, error) {
			set, err := s.Scans.Schedules().Set(ctx, schedule.Schedule{Subject: in.Body.ScanID, Rule: in.Body.Rule()})
			return wire.Messagef("The scan is launched next at %s.", set.NextRun.Format(time.RFC3339)), err
		})
	wire.Act(s.API, wire.Op("delete-scan-schedule", "DELETE "+path, scanTag, "Delete the schedule of a scan", 404),
		"The schedule is deleted.",
		func(ctx context.Context, in *struct {
			ID string `query:"scan_id" required:"true" doc:"The scan."`
		}) error {
			return s.Scans.Schedules().Drop(ctx, in.ID)
		})
}

// ExclusionList is the rules of a team.
type ExclusionList struct {
	Data []Exclusion `json:"data" doc:"The rules, the oldest first."`
}

// Exclusion excludes a target or a template from runs.
type Exclusion struct {
	ID            int64     `json:"id"`
	Value         string    `json:"value" doc:"The excluded value."`
	Type          string    `json:"exclude_type" enum:"scan_target,template,enumeration_target"`
	ScanID        string    `json:"scan_id,omitempty" doc:"Only for this scan; absent: for all."`
	EnumerationID string    `json:"enumeration_id,omitempty" doc:"Only for this enumeration; absent: for all."`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at" doc:"As created_at: rules do not change."`
}

// ExclusionRequest is rules to be added.
type ExclusionRequest struct {
	Values         []string `json:"values" minItems:"1" maxItems:"1000" doc:"Hosts with *, addresses and ranges; or ids of templates."`
	Type           string   `json:"exclude_type" enum:"scan_target,template,enumeration_target"`
	ScanIDs        []string `json:"scan_ids,omitempty" maxItems:"100"`
	EnumerationIDs []string `json:"enumeration_ids,omitempty" maxItems:"100" doc:"Only for these enumerations."`
}

// ExclusionDeletion names rules to delete.
type ExclusionDeletion struct {
	IDs []int64 `json:"ids" minItems:"1" maxItems:"1000" doc:"The rules."`
}

func (s area) exclusions() {
	const path, tag = "/v1/scans/config/exclude", "Exclusions"
	rest.Handle(s.API, wire.Op("list-exclusions", "GET "+path, tag, "Your team's exclusions"),
		func(ctx context.Context, _ *struct{}) (*ExclusionList, error) {
			found, err := s.Exclusions.FindAll(ctx)
			return &ExclusionList{rest.Each(found, func(x exclusion.Rule) Exclusion {
				return Exclusion{x.ID, x.Value, string(x.Type), x.ScanID, x.EnumerationID, x.CreatedAt, x.CreatedAt}
			})}, err
		})
	rest.Handle(s.API, wire.Op("add-exclusions", "POST "+path, tag, "Exclude targets or templates from later runs", 404),
		func(ctx context.Context, in *struct{ Body ExclusionRequest }) (*wire.Message, error) {
			b := in.Body
			for _, id := range b.ScanIDs {
				if _, err := s.Scans.Find(ctx, id); err != nil {
					return nil, err
				}
			}
			for _, id := range b.EnumerationIDs {
				if _, err := s.Enumerations.Find(ctx, id); err != nil {
					return nil, err
				}
			}
			return wire.Messagef("The exclusions are added."),
				s.Exclusions.Add(ctx, exclusion.Type(b.Type), b.Values, b.ScanIDs, b.EnumerationIDs)
		})
	wire.Act(s.API, wire.Op("delete-exclusions", "DELETE "+path, tag, "Delete exclusions, for later runs", 404, 413, 415),
		"The exclusions are deleted.",
		func(ctx context.Context, in *struct{ Body ExclusionDeletion }) error {
			return s.Exclusions.Delete(ctx, in.Body.IDs)
		})
}
