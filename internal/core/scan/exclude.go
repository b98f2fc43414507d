package scan

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/exclusion"
)

// Excluded are patterns of hosts that are neither reached nor named to a server: of the scan and of its team's rules.
func (c *Chunk) Excluded(ctx context.Context) ([]string, error) {
	rules, err := c.scans.excluded(ctx, c.TeamID, c.ID)
	return slices.Concat(c.Config.Exclusions, rules.targets), err
}

// ExcludedFrom is Excluded of a finding's scan, without what that scan itself excludes.
func (ss *Scans) ExcludedFrom(ctx context.Context, teamID, scanID string) ([]string, error) {
	rules, err := ss.excluded(ctx, teamID, scanID)
	return rules.targets, err
}

// excluded are the targets and templates that a team's rules exclude from a scan.
type excluded struct {
	targets   []string // patterns
	templates map[string]bool
}

func (ss *Scans) excluded(ctx context.Context, teamID, scanID string) (excluded, error) {
	out := excluded{templates: map[string]bool{}}
	rules, err := exclusion.New(ss.db).Of(ctx, teamID)
	for _, x := range rules {
		switch {
		case x.ScanID != "" && x.ScanID != scanID:
		case x.Type == exclusion.Target:
			out.targets = append(out.targets, x.Value)
		case x.Type == exclusion.Template:
			out.templates[x.Value] = true
		}
	}
	return out, err
}
