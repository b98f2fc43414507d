package jobs

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Source is the templates that scans choose from: those of a catalogue, as far as the
// team's configurations leave them in.
func Source(c *catalog.Catalog, settings *setting.Settings) scan.Source {
	return scan.Source{
		Settings: settingsOf(settings),
		Catalogue: func(ctx context.Context, teamID string) ([]scan.Template, error) {
			known, err := c.ForScan(ctx, teamID)
			out := make([]scan.Template, len(known))
			for i, k := range known {
				out[i] = chosen(k)
			}
			return out, err
		},
		Shared: func(ctx context.Context, teamID, id string) (scan.Template, error) {
			k, err := c.SharedForScan(ctx, teamID, id)
			return chosen(k), err
		},
		Compile: func(name string, contents []byte) (scan.Template, error) {
			p, err := compile(name, contents)
			if err != nil {
				return scan.Template{}, err
			}
			return scan.Template{ID: p.ID, Path: p.Path, Tags: p.Info.Tags, Severity: string(p.Info.Severity), Requests: p.Requests()}, nil
		},
	}
}

func chosen(k catalog.Known) scan.Template {
	return scan.Template{ID: k.ID, WrittenID: k.WrittenID, Path: k.Path, Tags: k.Tags, Severity: k.Severity, Type: k.Type, Requests: k.Requests, Named: k.Named}
}

// Judge is the engine's word on a template (catalog.Judge).
func Judge(path string, text []byte, file func(name string) ([]byte, error)) (*syntax.Template, int, error) {
	t, p, err := read(path, text, file)
	switch e := errs.From(err); {
	case err == nil:
		return t, p.Requests(), nil
	case e.Code == syntax.CodeUnsupported:
		return t, 0, err
	default:
		return nil, 0, err
	}
}

// notOnServers are what a server runs of no template, whoever wrote it: programs of its
// own machine, its own files, and lists of further templates.
var notOnServers = []string{"code", "file", "workflow"}

// read reads and compiles a template with the files that it names.
func read(path string, text []byte, file func(name string) ([]byte, error)) (*syntax.Template, *program.Program, error) {
	t, err := syntax.Parse(path, text)
	if err == nil {
		err = fill(t, file)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range append(t.Protocols, t.Type()) {
		if slices.Contains(notOnServers, kind) {
			return t, nil, syntax.Unsupported(path, 1, kind)
		}
	}
	p, err := program.Compile(t)
	return t, p, err
}

// maxName is how long the name of a file may be; a longer line is a script.
const maxName = 255

// fill puts the texts of files in the place of their names.
func fill(t *syntax.Template, file func(name string) ([]byte, error)) error {
	for _, set := range t.PayloadSets() {
		for i := range set.Payloads {
			p := &set.Payloads[i]
			if p.File == "" {
				continue
			}
			text, err := file(p.File)
			if err != nil {
				return syntax.Fault(t.Path, p.Line, 0, "payloads."+p.Name, "%v", err)
			}
			p.Values = nil
			for line := range strings.SplitSeq(string(text), "\n") {
				if line = strings.TrimSuffix(line, "\r"); line != "" {
					p.Values = append(p.Values, line)
				}
			}
		}
	}
	script := func(source *string) error {
		name := strings.TrimSpace(*source)
		if len(name) > maxName || strings.Contains(name, "\n") || !strings.HasSuffix(name, ".js") {
			return nil
		}
		text, err := file(name)
		if err == nil {
			*source = string(text)
		}
		return err
	}
	if err := script(&t.Flow); err != nil {
		return syntax.Fault(t.Path, 1, 0, "flow", "%v", err)
	}
	for i := range t.JavaScript {
		if err := script(&t.JavaScript[i].Code); err != nil {
			return syntax.Fault(t.Path, t.JavaScript[i].Line, 0, "javascript.code", "%v", err)
		}
	}
	return nil
}

func compile(name string, text []byte) (*program.Program, error) {
	_, p, err := read(name, text, catalog.Text{}.File)
	return p, err
}

// maxCompiled is how many programs are kept: more than the largest public set has.
const maxCompiled = 20_000

// programs compiles the templates of a catalogue, each text once.
type programs struct {
	catalog *catalog.Catalog

	mu   sync.Mutex
	made map[string]made // by path and digest
}

// made is a program, or why there is none.
type made struct {
	*program.Program
	err error
}

// find gives the programs of templates that a team may scan with, by the ids that were
// asked for. What is gone is not in the answer; what does not compile says why.
func (ps *programs) find(ctx context.Context, teamID string, ids []string) (map[string]made, error) {
	texts, err := ps.catalog.Texts(ctx, teamID, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]made, len(texts))
	for id, t := range texts {
		out[id] = ps.one(t)
	}
	return out, nil
}

func (ps *programs) one(t catalog.Text) made {
	key := t.Path + "\x00" + t.Digest
	ps.mu.Lock()
	m, ok := ps.made[key]
	ps.mu.Unlock()
	if ok {
		return m
	}
	_, m.Program, m.err = read(t.Path, t.Data, t.File)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.made) >= maxCompiled {
		clear(ps.made)
	}
	ps.made[key] = m
	return m
}
