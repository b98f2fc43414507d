package scan

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/turn"
)

// neverRecommended are tags of templates that are not in the recommended set.
var neverRecommended = []string{"tech", "dos", "fuzz", "creds-stuffing", "token-spray", "osint"}

// recommended reports whether a template is in the recommended set: of any severity but info, and not noisy.
func recommended(t catalog.ScanTemplate) bool {
	return !t.Named && t.Severity != "info" &&
		!slices.ContainsFunc(t.Tags, func(tag string) bool { return slices.Contains(neverRecommended, tag) })
}

// choose finds the templates that a scan names by id, path, folder or tag, by the last part of a URL, or as template
// sets, those that came with it, and the sets recommended (the default) and all, without those that its
// configurations leave out. The error names the first unknown template or configuration.
func (ss *Scans) choose(ctx context.Context, teamID string, c Config) ([]catalog.ScanTemplate, error) {
	known, err := ss.catalog.ForScan(ctx, teamID)
	if err != nil {
		return nil, err
	}
	if err := ss.checkSettings(ctx, teamID, c); err != nil {
		return nil, err
	}
	configured, err := ss.Options(ctx, teamID, c)
	if err != nil {
		return nil, err
	}
	if c.Type == Web {
		return webTest(c)
	}
	chosen := map[string]catalog.ScanTemplate{}
	take := func(ok func(catalog.ScanTemplate) bool) (found bool) {
		for _, t := range known {
			if ok(t) {
				chosen[t.ID], found = t, true
			}
		}
		return found
	}
	named := slices.Concat(c.Templates, c.EarlyTemplates)
	for _, u := range c.TemplateURLs {
		named = append(named, strings.TrimSuffix(path.Base(u), ".yaml"))
	}
	for _, name := range named {
		exact := func(t catalog.ScanTemplate) bool { return t.Is(name) || t.Path == name }
		grouped := func(t catalog.ScanTemplate) bool {
			return inFolder(t, name) || slices.Contains(t.Tags, strings.ToLower(name))
		}
		if !take(exact) && !take(grouped) {
			shared, err := ss.catalog.SharedForScan(ctx, teamID, name)
			if errs.Is(err, errs.NotFound) {
				err = errs.Field("templates", "templates: there is no template, folder or tag %.80q.", name)
			}
			if err != nil {
				return nil, err
			}
			chosen[shared.ID] = shared
		}
	}
	if err := addInline(chosen, c.Inline); err != nil {
		return nil, err
	}
	if configured.HasSets() {
		take(func(t catalog.ScanTemplate) bool { return configured.InSet(forOptions(t)) })
	}
	switch {
	case c.All:
		take(func(t catalog.ScanTemplate) bool { return !t.Named })
	case c.Recommended || len(named) == 0 && len(c.Inline) == 0 && !configured.HasSets():
		take(recommended)
	}
	out := make([]catalog.ScanTemplate, 0, len(chosen))
	for _, t := range chosen {
		if configured.Keeps(forOptions(t)) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b catalog.ScanTemplate) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// webTest is what stands for the templates of a scan that has none, a chunk for each target.
func webTest(c Config) ([]catalog.ScanTemplate, error) {
	for name, given := range map[string]bool{"templates": len(c.Templates)+len(c.TemplateURLs) > 0,
		"early_templates": len(c.EarlyTemplates) > 0, "private_templates": len(c.Inline) > 0,
		"recommended": c.Recommended, "all": c.All} {
		if given {
			return nil, errs.Field(name, "%s: a scan of the type web has no templates.", name)
		}
	}
	return []catalog.ScanTemplate{{ID: WebTest, Path: WebTest, Requests: chunkRequests}}, nil
}

// addInline adds the templates that came with the scan.
func addInline(chosen map[string]catalog.ScanTemplate, inline []Inline) error {
	for _, in := range inline {
		done := turn.Take(len(in.Contents))
		_, p, err := templates.CompileSigned(in.Name, []byte(in.Contents), nil) // nothing is run
		done()
		if err != nil {
			return errs.Field("private_templates", "private_templates: %s", errs.From(err).Message)
		}
		chosen[p.ID] = catalog.ScanTemplate{
			ID: p.ID, Path: p.Path, Tags: p.Info.Tags, Severity: string(p.Info.Severity), Requests: p.Requests(),
		}
	}
	return nil
}

// inFolder reports whether a template is in a folder, given by its whole path or the last parts of it.
func inFolder(t catalog.ScanTemplate, name string) bool {
	name = strings.Trim(strings.ToLower(name), "/")
	dir := strings.ToLower(path.Dir(t.Path))
	return name != "" && strings.Contains("/"+dir+"/", "/"+name+"/")
}
