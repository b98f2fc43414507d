package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// options is what scan configurations say, under the long names of nuclei's flags.
type options struct {
	engine  engine.Config
	scan    engine.Scan // Vars, Parallel, StopAtFirstMatch
	perHost bool        // the rate is that of each host
	choices []choice    // a template must pass all of them
	sets    []choice    // template sets: the scan tests what one of them has
	ignored []string    // what changes nothing here
}

// choice says which templates are wanted, in lower case. Lists that are empty want all.
type choice struct {
	tags, excludeTags, includeTags []string
	severity, excludeSeverity      []string
	types, excludeTypes            []string
	ids, excludeIDs                []string // with * ? and []
}

// keeps reports whether a template is wanted.
func (c choice) keeps(t catalog.Known) bool {
	if shares(c.includeTags, t.Tags) {
		return true
	}
	wanted := func(list []string, has bool) bool { return len(list) == 0 || has }
	return wanted(c.tags, shares(c.tags, t.Tags)) && !shares(c.excludeTags, t.Tags) &&
		wanted(c.severity, slices.Contains(c.severity, t.Severity)) && !slices.Contains(c.excludeSeverity, t.Severity) &&
		wanted(c.types, slices.Contains(c.types, t.Type)) && !slices.Contains(c.excludeTypes, t.Type) &&
		wanted(c.ids, named(c.ids, t)) && !named(c.excludeIDs, t)
}

func shares(list, tags []string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(list, strings.ToLower(tag)) })
}

func named(patterns []string, t catalog.Known) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for _, id := range []string{t.ID, t.WrittenID} {
			if ok, err := path.Match(pattern, strings.ToLower(id)); ok && err == nil {
				return true
			}
		}
		return false
	})
}

// lists are the options that choose templates.
func (c *choice) lists() map[string]*[]string {
	return map[string]*[]string{
		"tags": &c.tags, "exclude-tags": &c.excludeTags, "include-tags": &c.includeTags, "severity": &c.severity, "exclude-severity": &c.excludeSeverity,
		"type": &c.types, "exclude-type": &c.excludeTypes, "template-id": &c.ids, "exclude-id": &c.excludeIDs,
	}
}

// templateSetNames are further names that template sets give to lists.
var templateSetNames = map[string]string{"ids": "template-id", "id": "template-id", "templates": "template-id", "severities": "severity", "types": "type"}

// readTemplateSet reads a configuration of the type template.
func readTemplateSet(text []byte) (choice, error) {
	var c choice
	m, err := mapping(text)
	if err != nil {
		return c, err
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		known, err := c.read(name, m[name])
		if other := templateSetNames[name]; other != "" && !known && err == nil {
			known, err = c.read(other, m[name])
		}
		switch {
		case err != nil:
			return c, fmt.Errorf("%s: %w", name, err)
		case !known:
			return c, fmt.Errorf("%.60q is nothing that chooses templates", name)
		}
	}
	return c, nil
}

var severityWords = []string{"critical", "high", "medium", "low", "info", "unknown"}

// read takes one option, if it is one that chooses templates.
func (c *choice) read(name string, value any) (known bool, err error) {
	list := c.lists()[name]
	if list == nil {
		return false, nil
	}
	items, err := texts(value)
	if err != nil {
		return true, err
	}
	for _, item := range items {
		for word := range strings.SplitSeq(strings.ToLower(item), ",") {
			word = strings.TrimSpace(word)
			switch {
			case word == "":
				continue
			case strings.HasSuffix(name, "severity") && !slices.Contains(severityWords, word):
				return true, fmt.Errorf("%.40q is no severity", word)
			}
			if _, err := path.Match(word, ""); err != nil {
				return true, fmt.Errorf("%.60q is no pattern", word)
			}
			*list = append(*list, word)
		}
	}
	return true, nil
}

// readOptions reads a configuration of the type scan. The error names the option.
func readOptions(text []byte) (options, error) {
	var o options
	return o, o.read(text)
}

// read adds a configuration to those before it: numbers take the place of earlier ones,
// headers and variables are added, choices of templates must all agree.
func (o *options) read(text []byte) error {
	m, err := mapping(text)
	if err != nil {
		return err
	}
	var c choice
	for _, name := range slices.Sorted(maps.Keys(m)) {
		known, err := c.read(name, m[name])
		if err == nil && !known {
			if take := takers[name]; take != nil {
				err = take(o, m[name])
			} else {
				o.ignored = append(o.ignored, fmt.Sprintf("%.60s", name))
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	o.choices = append(o.choices, c)
	return nil
}

// takers read the options of the engine.
var takers = map[string]func(o *options, value any) error{
	"rate-limit":          func(o *options, v any) error { return number(v, 0, 100_000, &o.engine.RateLimit) },
	"rate-limit-duration": func(o *options, v any) error { return span(v, &o.engine.RateWindow) },
	"rate-limit-minute":   (*options).perMinute,
	"per-host-rate-limit": func(o *options, v any) error { return toggle(v, &o.perHost) },
	"concurrency":         func(o *options, v any) error { return number(v, 1, 1000, &o.engine.PerHost) },
	"bulk-size":           func(o *options, v any) error { return number(v, 1, 1000, &o.scan.Parallel) },
	"retries":             func(o *options, v any) error { return number(v, 0, 10, &o.engine.Retries) },
	"stop-at-first-match": func(o *options, v any) error { return toggle(v, &o.scan.StopAtFirstMatch) },
	"header":              (*options).headers,
	"var":                 (*options).vars,
	"response-size-read":  (*options).maxBody,
	"timeout":             (*options).timeout,
}

func (o *options) perMinute(v any) error {
	n := 0
	err := number(v, 0, 1_000_000, &n)
	if err == nil && n > 0 { // 0 leaves rate-limit in its place
		o.engine.RateLimit, o.engine.RateWindow = n, time.Minute
	}
	return err
}

func (o *options) timeout(v any) error {
	seconds := 0
	err := number(v, 1, 300, &seconds)
	o.engine.Timeout = time.Duration(seconds) * time.Second
	return err
}

func (o *options) maxBody(v any) error {
	bytes := 0
	err := number(v, 0, 100<<20, &bytes)
	o.engine.MaxBody = int64(bytes)
	return err
}

// maxLines bounds the headers, and the variables, of a scan.
const maxLines = 100

func (o *options) headers(v any) error {
	lines, err := texts(v)
	if err != nil {
		return err
	}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(line, "\r\n\x00") {
			return errors.New("a header is not of the form 'Name: value'")
		}
		o.engine.Headers = append(o.engine.Headers, engine.Header{Name: name, Value: value})
	}
	if len(o.engine.Headers) > maxLines {
		return fmt.Errorf("there are more than %d", maxLines)
	}
	return nil
}

func (o *options) vars(v any) error {
	lines, err := texts(v)
	if err != nil {
		return err
	}
	if o.scan.Vars == nil {
		o.scan.Vars = map[string]string{}
	}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return errors.New("a variable is not of the form name=value")
		}
		o.scan.Vars[name] = value
	}
	if len(o.scan.Vars) > maxLines {
		return fmt.Errorf("there are more than %d", maxLines)
	}
	return nil
}

func number(value any, least, most int, into *int) error {
	n, err := strconv.Atoi(strings.TrimSpace(fmt.Sprint(value)))
	if err != nil || n < least || n > most {
		return fmt.Errorf("it must be a number from %d to %d", least, most)
	}
	*into = n
	return nil
}

func toggle(value any, into *bool) error {
	on, err := strconv.ParseBool(fmt.Sprint(value))
	if err != nil {
		return errors.New("it must be true or false")
	}
	*into = on
	return nil
}

// span reads a duration, such as 1s, of at most an hour; a bare number is seconds.
func span(value any, into *time.Duration) error {
	text := fmt.Sprint(value)
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > time.Hour {
		return errors.New("it must be a time, such as 1s, of at most an hour")
	}
	*into = d
	return nil
}

// config is the engine's part, with the defaults of scans.
func (o options) config() engine.Config {
	c := o.engine
	if o.perHost {
		c.RateLimit, c.HostRate = 0, c.RateLimit
	}
	return c
}

// keeps reports whether all configurations want a template.
func (o options) keeps(t catalog.Known) bool {
	return !slices.ContainsFunc(o.choices, func(c choice) bool { return !c.keeps(t) })
}

// optionsOf is what the configurations of a scan say together: the team's global ones,
// then those that it names. An id that the team does not have is Invalid.
func optionsOf(ctx context.Context, settings *setting.Settings, teamID string, c scan.Config) (options, error) {
	o := options{engine: engine.Config{Retries: 1}}
	applied, err := settings.ApplyAny(ctx, nil, teamID, []setting.Type{setting.Scan, setting.Template}, c.ScanConfigIDs, !c.NoGlobalSettings, "scan_config_ids")
	if err != nil {
		return o, err
	}
	slices.SortStableFunc(applied, func(a, b setting.Applied) int {
		return slices.Index(c.ScanConfigIDs, a.ID) - slices.Index(c.ScanConfigIDs, b.ID)
	})
	for _, a := range applied {
		read := o.read
		if a.Type == setting.Template {
			read = o.readSet
		}
		if err := read(a.Text); err != nil {
			return o, errs.Field("scan_config_ids", "scan_config_ids: the configuration %.80q cannot be applied: %v.", a.Name, err)
		}
	}
	return o, nil
}

// readSet takes a template set.
func (o *options) readSet(text []byte) error {
	set, err := readTemplateSet(text)
	o.sets = append(o.sets, set)
	return err
}

// inSet reports whether a template set has a template. One that must be named is in those
// that say its id.
func (o options) inSet(t catalog.Known) bool {
	return slices.ContainsFunc(o.sets, func(c choice) bool { return c.keeps(t) && (!t.Named || named(c.ids, t)) })
}

// ScanSettings reads the configurations of scans: each that a scan names must be the team's,
// those of the engine say which templates they leave in, and template sets which there are.
func ScanSettings(settings *setting.Settings) scan.Settings {
	return func(ctx context.Context, teamID string, c scan.Config) (scan.Choice, error) {
		for _, named := range []struct {
			kind  setting.Type
			ids   []string
			param string
		}{{setting.Reporting, c.ReportConfigIDs, "reporting_config_ids"}, {setting.Alerting, c.AlertConfigIDs, "alerting_config_ids"}} {
			if len(named.ids) == 0 {
				continue
			}
			if _, err := settings.Apply(ctx, nil, teamID, named.kind, named.ids, false, named.param); err != nil {
				return scan.Choice{}, err
			}
		}
		o, err := optionsOf(ctx, settings, teamID, c)
		choice := scan.Choice{Keeps: o.keeps}
		if len(o.sets) > 0 {
			choice.InSet = o.inSet
		}
		return choice, err
	}
}
