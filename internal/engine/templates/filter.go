package templates

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Filter selects templates (template language 9.2). All lists that are not empty must match, each by one of its
// words, in any case.
type Filter struct {
	Tags, ExcludeTags         []string
	Authors                   []string
	Severity, ExcludeSeverity []string
	Type, ExcludeType         []string // keys of protocols, or "workflow"
	ID, ExcludeID             []string // with * ? and []
	ExcludeTemplates          []string // files, folders or globs
	// What is included by tag or path is wanted whatever the other lists say, but for Conditions.
	IncludeTags, IncludeTemplates []string
	// Conditions are expressions over the properties of a template (section 9.3); all must be true.
	Conditions []string
}

// filter is a compiled Filter.
type filter struct {
	Filter
	include, exclude paths
	conditions       []*dsl.Expr

	ignoredTags  []string // of ignore files, as are ignoredPaths
	ignoredPaths paths
}

// compile compiles a filter; ignored are the exclusions of ignore files. Paths are relative to the working directory
// and the roots.
func (f Filter) compile(roots []string, ignored Filter) (*filter, error) {
	c := &filter{Filter: f}
	c.ignoredTags = words(ignored.ExcludeTags, true)
	for _, list := range []*[]string{
		&c.Tags, &c.ExcludeTags, &c.IncludeTags, &c.Authors, &c.Severity, &c.ExcludeSeverity,
		&c.Type, &c.ExcludeType, &c.ID, &c.ExcludeID,
	} {
		*list = words(*list, true)
	}
	for name, list := range map[string][]string{"severity": c.Severity, "exclude-severity": c.ExcludeSeverity} {
		for _, word := range list {
			if s := syntax.Severity(word); s.Rank() == 0 && s != syntax.SeverityUnknown {
				return nil, errs.Field(name, "%q is no severity", word)
			}
		}
	}
	for name, list := range map[string][]string{"type": c.Type, "exclude-type": c.ExcludeType} {
		for i, word := range list {
			list[i] = typeNames[word]
			if list[i] == "" {
				return nil, errs.Field(name, "%q is no type of template", word)
			}
		}
	}
	for _, pattern := range slices.Concat(c.ID, c.ExcludeID) {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, errs.Field("template-id", "%q is no pattern", pattern)
		}
	}
	for _, source := range f.Conditions {
		expr, err := dsl.Compile(source)
		if err != nil {
			return nil, errs.Field("template-condition", "%s: %v", source, err)
		}
		c.conditions = append(c.conditions, expr)
	}
	c.include = newPaths(f.IncludeTemplates, roots)
	c.exclude = newPaths(f.ExcludeTemplates, roots)
	c.ignoredPaths = newPaths(ignored.ExcludeTemplates, roots)
	return c, nil
}

var typeNames = map[string]string{
	"http": "http", "dns": "dns", "file": "file", "headless": "headless", "tcp": "tcp", "network": "tcp", "ssl": "ssl",
	"websocket": "websocket", "whois": "whois", "code": "code", "javascript": "javascript", "workflow": "workflow",
	"workflows": "workflow",
}

// words splits texts at commas.
func words(list []string, lower bool) (out []string) {
	for _, text := range list {
		if lower {
			text = strings.ToLower(text)
		}
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				out = append(out, word)
			}
		}
	}
	return out
}

// skips is why a template is left out; "" when it is wanted.
func (f *filter) skips(ctx context.Context, t *syntax.Template) Reason {
	included := overlap(f.IncludeTags, t.Info.Tags) || f.include.has(t.Path)
	switch {
	case !included && !f.selects(t), !f.holds(ctx, t):
		return SkippedByFilter
	case !included && (overlap(f.ignoredTags, t.Info.Tags) || f.ignoredPaths.has(t.Path)):
		return SkippedIgnored
	}
	return ""
}

func (f *filter) selects(t *syntax.Template) bool {
	id, kind, severity := strings.ToLower(t.ID), t.Type(), string(t.Info.Severity)
	switch {
	case overlap(f.ExcludeTags, t.Info.Tags), f.exclude.has(t.Path), glob(f.ExcludeID, id),
		slices.Contains(f.ExcludeSeverity, severity), slices.Contains(f.ExcludeType, kind):
		return false
	}
	return (len(f.Tags) == 0 || overlap(f.Tags, t.Info.Tags)) &&
		(len(f.Authors) == 0 || overlap(f.Authors, t.Info.Author)) &&
		(len(f.Severity) == 0 || slices.Contains(f.Severity, severity)) &&
		(len(f.Type) == 0 || slices.Contains(f.Type, kind)) &&
		(len(f.ID) == 0 || glob(f.ID, id))
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(word string) bool { return slices.Contains(b, word) })
}

func glob(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		hit, err := path.Match(pattern, id)
		return hit && err == nil
	})
}

// holds reports whether all conditions are true; one that fails, such as for want of a score, is not.
func (f *filter) holds(ctx context.Context, t *syntax.Template) bool {
	if len(f.conditions) == 0 {
		return true
	}
	env := &dsl.Env{Ctx: ctx, Vars: dsl.Map(conditionVariables(t))}
	for _, condition := range f.conditions {
		v, err := condition.Eval(env)
		if hit, ok := v.(bool); err != nil || !ok || !hit {
			return false
		}
	}
	return true
}

// conditionVariables are the variables of conditions (template language 9.3).
func conditionVariables(t *syntax.Template) map[string]any {
	out := map[string]any{}
	for name, value := range t.Info.Metadata {
		out[strings.ReplaceAll(name, "-", "_")] = value
	}
	if c := t.Info.Classification; c != nil {
		out["cvss_metrics"], out["cvss_score"] = c.CVSSMetrics, c.CVSSScore
		out["cve_id"], out["cwe_id"], out["cpe"] = c.CVEID, c.CWEID, c.CPE
		out["epss_score"], out["epss_percentile"] = c.EPSSScore, c.EPSSPercentile
	}
	out["id"], out["name"], out["description"] = t.ID, t.Info.Name, t.Info.Description
	out["tags"], out["authors"] = t.Info.Tags, t.Info.Author
	out["severity"], out["protocol"] = string(t.Info.Severity), t.Type()
	var methods, matchers, extractors []string
	var body strings.Builder
	for i := range t.HTTP {
		b := &t.HTTP[i]
		methods = appendNew(methods, b.Method)
		for _, raw := range b.Raw {
			methods = appendNew(methods, rawMethod(raw))
		}
		body.WriteString(strings.ToLower(b.Body))
	}
	if len(t.HTTP) > 0 {
		out["http_method"], out["body"] = methods, body.String()
	}
	for _, o := range t.Operators() {
		for _, m := range o.Matchers {
			matchers = appendNew(matchers, m.Type)
		}
		for _, x := range o.Extractors {
			extractors = appendNew(extractors, x.Type)
		}
	}
	out["matcher_type"], out["extractor_type"] = matchers, extractors
	return out
}

func appendNew(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}

// rawMethod is the method of a request line, which may follow annotations.
func rawMethod(raw string) string {
	for line := range strings.Lines(raw) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '@' {
			method, _, _ := strings.Cut(line, " ")
			return method
		}
	}
	return ""
}

// paths are files, folders and globs, all absolute.
type paths struct {
	exact map[string]bool
	globs []string
}

func newPaths(list, roots []string) paths {
	p := paths{exact: map[string]bool{}}
	for _, one := range list {
		for _, at := range candidates(one, roots) {
			at, err := filepath.Abs(at)
			switch {
			case err != nil:
			case strings.ContainsAny(at, "*?["):
				p.globs = append(p.globs, at)
			default:
				p.exact[at] = true
			}
		}
	}
	return p
}

// has reports whether a file is one of the files, matches a glob or lies below a folder.
func (p paths) has(file string) bool {
	if len(p.exact) == 0 && len(p.globs) == 0 {
		return false
	}
	at, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	for _, pattern := range p.globs {
		if hit, err := filepath.Match(pattern, at); hit && err == nil {
			return true
		}
	}
	for dir := at; ; {
		if p.exact[dir] {
			return true
		}
		end := strings.LastIndexByte(dir, filepath.Separator)
		if end <= 0 {
			return p.exact[at[:end+1]] // the root
		}
		dir = dir[:end]
	}
}

// ignoreFile lists the templates of a folder that only run when explicitly included.
const ignoreFile = ".nuclei-ignore"

// readIgnored reads the exclusions in the ignore files of the roots.
func readIgnored(roots []string) (Filter, error) {
	var f Filter
	for _, root := range roots {
		at := filepath.Join(root, ignoreFile)
		data, err := os.ReadFile(at)
		if err != nil {
			continue // most folders have none
		}
		settings, err := syntax.Settings(at, data)
		if err != nil {
			return f, err
		}
		for _, s := range settings {
			list := textsOf(s.Data)
			switch s.Name {
			case "tags":
				f.ExcludeTags = append(f.ExcludeTags, list...)
			case "files":
				for _, name := range words(list, false) {
					f.ExcludeTemplates = append(f.ExcludeTemplates, filepath.Join(root, name))
				}
			}
		}
	}
	return f, nil
}

// textsOf are the texts of a setting: of a list, or one.
func textsOf(data any) (all []string) {
	list, isList := data.([]any)
	if !isList {
		list = []any{data}
	}
	for _, v := range list {
		if text, ok := v.(string); ok {
			all = append(all, text)
		}
	}
	return all
}
