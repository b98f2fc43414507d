package findings

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/cvss"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// SeverityMapping is a team's own severity.
type SeverityMapping struct {
	ID               int64     `json:"id" doc:"Number within the team."`
	TemplateID       string    `json:"template_id"`
	OriginalSeverity string    `json:"original_severity" doc:"The template's severity, if known."`
	CustomSeverity   string    `json:"custom_severity" doc:"The severity in your team."`
	VulnID           string    `json:"vuln_id,omitempty" doc:"The one vulnerability it is about; absent: all of the template."`
	Reason           string    `json:"reason,omitempty" doc:"Why; absent: none was given."`
	CVSSVector       string    `json:"cvss_vector,omitempty" doc:"The vector whose score says the severity; absent: none."`
	CVSSScore        *float64  `json:"cvss_score,omitempty" doc:"The score of cvss_vector, with all metrics that it has."`
	CreatedAt        time.Time `json:"created_at"`
	UpdatedAt        time.Time `json:"updated_at"`
}

// SeverityMappings are those of a team.
type SeverityMappings struct {
	Mappings []SeverityMapping `json:"custom_severity_mappings" doc:"The oldest first."`
}

// SeverityRequest says which severity something has.
type SeverityRequest struct {
	TemplateID     string `json:"template_id" minLength:"1" maxLength:"256" doc:"The template's id, such as CVE-2024-0001."`
	CustomSeverity string `json:"custom_severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"The severity of its findings. With cvss_vector it may be left out."`
	VulnID         string `json:"vuln_id,omitempty" maxLength:"64" doc:"One vulnerability of the template; without it all, those to come included."`
	Reason         string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the mapping and for the timelines of the findings."`
	CVSSVector     string `json:"cvss_vector,omitempty" maxLength:"512" doc:"A vector of CVSS 3.0, 3.1 or 4.0, whose score says the severity: that with all metrics it has, those of threat and environment too."`
}

// SeverityAddition says which severity findings have: those of a template, one of them, or those of a filter.
type SeverityAddition struct {
	TemplateID string         `json:"template_id,omitempty" maxLength:"256" doc:"The template's id, such as CVE-2024-0001; or filter."`
	Filter     *VulnSelection `json:"filter,omitempty" doc:"Each finding that a list shows with these filters, on all of its pages, by a mapping of its own; instead of template_id and vuln_id."`

	CustomSeverity string `json:"custom_severity,omitempty" enum:"critical,high,medium,low,info,unknown" doc:"The severity of its findings. With cvss_vector it may be left out."`
	VulnID         string `json:"vuln_id,omitempty" maxLength:"64" doc:"One vulnerability of the template; without it all, those to come included."`
	Reason         string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the mapping and for the timelines of the findings."`
	CVSSVector     string `json:"cvss_vector,omitempty" maxLength:"512" doc:"A vector of CVSS 3.0, 3.1 or 4.0, whose score says the severity: that with all metrics it has, those of threat and environment too."`
}

// overrideAll gives each finding of the filter a mapping.
func (s area) overrideAll(ctx context.Context, b SeverityAddition) (*SeverityMade, error) {
	if b.TemplateID != "" || b.VulnID != "" {
		return nil, errs.Field("filter", "filter stands for itself: leave out template_id and vuln_id.")
	}
	f, err := VulnFilter{Filter: b.Filter}.picked(nil)
	if err != nil {
		return nil, err
	}
	operation := ids.New()
	n, err := s.Works.Rate(ctx, f, finding.Override{Custom: b.CustomSeverity, Reason: b.Reason, Vector: b.CVSSVector},
		operation)
	made := &SeverityMade{Message: fmt.Sprintf("The severity of %d findings is changed.", n), Changed: &n}
	if n > 0 {
		made.ChangeID = operation
	}
	return made, err
}

func (r SeverityRequest) override() finding.Override {
	return finding.Override{TemplateID: r.TemplateID, FindingID: r.VulnID, Custom: r.CustomSeverity, Reason: r.Reason,
		Vector: r.CVSSVector}
}

func mapping(o finding.Override) SeverityMapping {
	m := SeverityMapping{o.ID, o.TemplateID, o.Original, o.Custom, o.FindingID, o.Reason, o.Vector, nil, o.CreatedAt,
		o.UpdatedAt}
	if v, err := cvss.Parse(o.Vector); err == nil {
		m.CVSSScore = &v.Score
	}
	return m
}

// SeverityMade is the answer about a new mapping.
type SeverityMade struct {
	ID       int64  `json:"id,omitempty" doc:"Number within the team; absent with filter, which makes many."`
	Message  string `json:"message"`
	Changed  *int   `json:"changed,omitempty" doc:"With filter: number of findings that had another severity, those of all sightings counted."`
	ChangeID string `json:"change_id,omitempty" doc:"With filter: what POST /v1/scans/vulns/undo takes back; absent when nothing has changed."`
}

// SeverityDeletion names mappings to delete.
type SeverityDeletion struct {
	IDs []int64 `json:"ids" minItems:"1" maxItems:"1000" doc:"The mappings."`
}

func (s area) severities() {
	const path, tag = "/v1/scans/config/severity", "Severities"
	rest.Handle(s.API, wire.Op("list-severity-mappings", "GET "+path, tag, "Your team's custom severities"),
		func(ctx context.Context, _ *struct{}) (*SeverityMappings, error) {
			found, err := s.Findings.Overrides(ctx)
			return &SeverityMappings{rest.Each(found, mapping)}, err
		})
	add := wire.Op("add-severity-mapping", "POST "+path, tag,
		"Set the severity of a template's findings, existing and new, or of those of a filter")
	add.Description = "A template that has a mapping already gets the new severity under the same id. " +
		"A mapping with vuln_id takes precedence over one without. Findings that come to match a filter later are not changed."
	rest.Handle(s.API, add, func(ctx context.Context, in *struct{ Body SeverityAddition }) (*SeverityMade, error) {
		b := in.Body
		if b.Filter != nil {
			return s.overrideAll(ctx, b)
		}
		o, err := s.known(ctx, finding.Override{TemplateID: b.TemplateID, FindingID: b.VulnID, Custom: b.CustomSeverity,
			Reason: b.Reason, Vector: b.CVSSVector})
		if err != nil {
			return nil, err
		}
		id, err := s.Findings.Override(ctx, o)
		return &SeverityMade{ID: id, Message: "The severity mapping is made."}, err
	})
	wire.Act(s.API, wire.Op("delete-severity-mappings", "DELETE "+path, tag,
		"Delete severity mappings; findings get their template's severity back", 404, 413, 415),
		"The severity mappings are deleted.",
		func(ctx context.Context, in *struct{ Body SeverityDeletion }) error {
			return s.Findings.DeleteOverrides(ctx, in.Body.IDs)
		})
	rest.Handle(s.API, wire.Op("update-severity-mapping", "PATCH /v1/scans/config/{mapping_id}/severity", tag,
		"Change a severity mapping", 404, 409),
		func(ctx context.Context, in *struct {
			ID   int64 `path:"mapping_id" minimum:"1" doc:"The mapping's id."`
			Body SeverityRequest
		}) (*wire.Message, error) {
			o, err := s.known(ctx, in.Body.override())
			if err != nil {
				return nil, err
			}
			return wire.Messagef("The severity mapping is changed."), s.Findings.ChangeOverride(ctx, in.ID, o)
		})
}

// known adds the severity of an override's template. Uploaded findings may have templates that the catalogue
// does not have.
func (s area) known(ctx context.Context, o finding.Override) (finding.Override, error) {
	t, err := s.Catalog.PublicByID(ctx, o.TemplateID)
	if errs.Is(err, errs.NotFound) {
		t, err = s.Catalog.OwnByID(ctx, o.TemplateID)
	}
	if errs.Is(err, errs.NotFound) {
		return o, nil
	}
	o.Original = string(t.Info.Severity)
	return o, err
}
