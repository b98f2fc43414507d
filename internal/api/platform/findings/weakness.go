package findings

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

// OccurrenceList is a page of the sightings of a weakness.
type OccurrenceList struct {
	wire.Listing
	Data []Occurrence `json:"data" doc:"The earliest first."`
}

// Occurrence is a sighting of a weakness.
type Occurrence struct {
	VulnID       string     `json:"vuln_id" doc:"The sighting; GET /v1/scans/vuln/{vuln_id} has its evidence."`
	VulnHash     string     `json:"vuln_hash" doc:"What was seen where."`
	Source       string     `json:"source" enum:"scan,task" doc:"What saw it."`
	ScanID       string     `json:"scan_id,omitempty" doc:"The scan."`
	TaskID       string     `json:"task_id,omitempty" doc:"The task."`
	TemplateID   string     `json:"template_id"`
	MatchedAt    string     `json:"matched_at,omitempty" doc:"Where it was seen."`
	FirstSeenAt  time.Time  `json:"first_seen_at" doc:"When this scan or task stored it."`
	LastSeenAt   time.Time  `json:"last_seen_at" doc:"When it was seen last."`
	Rule         string     `json:"rule" enum:"same_check,joined,split,older_hash,cve,class,route,site,address" doc:"Why it is a sighting of this weakness."`
	Confidence   float64    `json:"confidence" minimum:"0" maximum:"1" doc:"How sure that is."`
	Equal        string     `json:"equal" doc:"What is equal by the rule, in words."`
	DecidedBy    string     `json:"decided_by,omitempty" doc:"Who joined it or split it off."`
	RecognizedAt *time.Time `json:"recognized_at,omitempty" doc:"When the rule or the person made it part of the weakness."`
}

func occurrenceOf(o finding.Occurrence) Occurrence {
	out := Occurrence{
		VulnID: o.ID, VulnHash: o.Hash, Source: "scan", ScanID: o.ScanID, TemplateID: o.TemplateID,
		MatchedAt: o.Event.MatchedAt, FirstSeenAt: o.CreatedAt, LastSeenAt: o.SeenAt, Rule: string(o.Rule),
		Confidence: float64(o.Rule.Confidence()) / 100, Equal: o.Rule.Equal(), DecidedBy: o.Actor,
	}
	if o.IsTask {
		out.Source, out.TaskID, out.ScanID = "task", o.ScanID, ""
	}
	if !o.At.IsZero() {
		out.RecognizedAt = &o.At
	}
	return out
}

// VulnJoin names findings that are one weakness.
type VulnJoin struct {
	IDs []string `json:"vuln_ids" minItems:"2" maxItems:"100" doc:"The findings; the first one's status and labels stay."`
}

func (s area) weaknesses() {
	seen := wire.Op("list-occurrences", "GET /v1/scans/vuln/{vuln_id}/occurrences", vulnTag,
		"All sightings of the same weakness, by scans and tasks, and why they are the same", 404)
	rest.Handle(s.API, seen, func(ctx context.Context, in *struct {
		wire.VulnPath
		wire.Window
	}) (*OccurrenceList, error) {
		found, total, err := s.Findings.Occurrences(ctx, in.ID, in.Page())
		if err != nil {
			return nil, err
		}
		return &OccurrenceList{wire.ListOf(in.Window, len(found), total, "Sightings."), rest.Each(found, occurrenceOf)}, nil
	})
	joined := wire.Op("join-vulnerabilities", "POST /v1/scans/vulns/join", vulnTag, "Make findings one weakness", 404)
	joined.Description = "The first one's status and labels hold for all of them from now on, and for all later sightings. " +
		"Nothing is deleted; POST /v1/scans/vulns/undo takes it back, with the change_id of the timeline."
	rest.Handle(s.API, joined, func(ctx context.Context, in *struct{ Body VulnJoin }) (*wire.Message, error) {
		n, err := s.Findings.Join(ctx, in.Body.IDs)
		return wire.Messagef("%d findings became part of the first.", n), err
	})
	split := wire.Op("split-vulnerability", "POST /v1/scans/vuln/{vuln_id}/split", vulnTag,
		"Make a sighting a weakness of its own", 404, 409)
	split.Description = "It is about all sightings with its vuln_hash, those to come included. It keeps its status. " +
		"POST /v1/scans/vulns/undo takes it back. " +
		"409: all sightings of the weakness have the same vuln_hash."
	rest.Handle(s.API, split, func(ctx context.Context, in *wire.VulnPath) (*wire.Message, error) {
		n, err := s.Findings.Split(ctx, in.ID)
		return wire.Messagef("%d sightings are a finding of their own now.", n), err
	})
}
