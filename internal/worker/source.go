package worker

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/scan"
)

// Source is the templates that scans choose from, the same that Register is given.
func Source(templates []*syntax.Template) (scan.Source, error) {
	all := make([]scan.Template, 0, len(templates))
	for _, t := range templates {
		p, err := program.Compile(t)
		if err != nil {
			return scan.Source{}, fmt.Errorf("template %s: %w", t.ID, err)
		}
		all = append(all, entryOf(p))
	}
	return scan.Source{
		Catalogue: func(context.Context, string) ([]scan.Template, error) { return all, nil },
		Compile: func(name string, contents []byte) (scan.Template, error) {
			p, err := compile(name, contents)
			if err != nil {
				return scan.Template{}, err
			}
			return entryOf(p), nil
		},
	}, nil
}

func entryOf(p *program.Program) scan.Template {
	return scan.Template{ID: p.ID, Path: p.Path, Tags: p.Info.Tags, Severity: string(p.Info.Severity), Type: "http", Requests: p.Requests()}
}
