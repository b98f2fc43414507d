package scan

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/exclusion"
)

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
