// Package options reads the configurations of a scan, under the long names of nuclei's flags: rates, timeouts,
// headers and variables for the engine, and lists that select templates. A later number replaces an earlier one,
// headers and variables add up, and a template must pass all lists. A template set has only lists; a scan tests what
// at least one of its sets contains.
package options

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/proto/dns"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// Options are the configurations of a scan together.
type Options struct {
	Engine engine.Config
	Scan   engine.Scan     // Vars, Parallel, StopAtFirstMatch
	Proxy  *netguard.Proxy // nil: targets are dialled directly
	// Excluded are patterns of hosts (hostpattern.Patterns) that are neither reached nor named to a server.
	Excluded []string

	ignored []string // names of options that have no effect here
	filters []filter
	sets    []filter
	perHost bool // the rate is that of each host
}

// Template is what the lists select by.
type Template struct {
	ID, WrittenID  string
	Tags           []string
	Severity, Type string
	Named          bool // only sets that say its id have it
}

// filter holds the lists that choose templates, by the name of their option, in lower case. An empty list wants all.
type filter map[string][]string

// lists are the options of a filter.
var lists = []string{
	"tags", "exclude-tags", "include-tags", "severity", "exclude-severity", "type", "exclude-type",
	"template-id", "exclude-id", // with * ? and []
}

func (f filter) keeps(t Template) bool {
	tagged := func(list []string) bool {
		return slices.ContainsFunc(t.Tags, func(tag string) bool { return slices.Contains(list, strings.ToLower(tag)) })
	}
	wanted := func(list, excluded string, has func([]string) bool) bool {
		return (len(f[list]) == 0 || has(f[list])) && !has(f[excluded])
	}
	is := func(word string) func([]string) bool {
		return func(list []string) bool { return slices.Contains(list, word) }
	}
	return tagged(f["include-tags"]) ||
		wanted("tags", "exclude-tags", tagged) && wanted("severity", "exclude-severity", is(t.Severity)) &&
			wanted("type", "exclude-type", is(t.Type)) && wanted("template-id", "exclude-id", t.named)
}

// named reports whether a pattern matches an id of the template.
func (t Template) named(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for _, id := range []string{t.ID, t.WrittenID} {
			if ok, err := path.Match(pattern, strings.ToLower(id)); ok && err == nil {
				return true
			}
		}
		return false
	})
}

func (f filter) add(name string, value any) error {
	items, err := yamltext.Words(value)
	if err != nil {
		return err
	}
	for word := range strings.SplitSeq(strings.ToLower(strings.Join(items, ",")), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if s := syntax.Severity(word); strings.HasSuffix(name, "severity") && s.Rank() == 0 && s != syntax.SeverityUnknown {
			return fmt.Errorf("%.40q is no severity", word)
		}
		if _, err := path.Match(word, ""); err != nil {
			return fmt.Errorf("%.60q is no pattern", word)
		}
		f[name] = append(f[name], word)
	}
	return nil
}

// each calls read with every option of a text, in the order of names; the error names the option.
func each(text []byte, read func(name string, value any) error) error {
	m, err := yamltext.Mapping(text)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if err := read(name, m[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// setNames are further names of lists in template sets.
var setNames = map[string]string{
	"ids": "template-id", "id": "template-id", "templates": "template-id", "severities": "severity", "types": "type",
}

// AddSet adds a template set.
func (o *Options) AddSet(text []byte) error {
	f := filter{}
	err := each(text, func(name string, value any) error {
		name = cmp.Or(setNames[name], name)
		if !slices.Contains(lists, name) {
			return fmt.Errorf("%.60q is nothing that chooses templates", name)
		}
		return f.add(name, value)
	})
	o.sets = append(o.sets, f)
	return err
}

// Add adds a configuration of a scan.
func (o *Options) Add(text []byte) error {
	f := filter{}
	err := each(text, func(name string, value any) error {
		if slices.Contains(lists, name) {
			return f.add(name, value)
		}
		set := setters[name]
		if set == nil {
			o.ignored = append(o.ignored, fmt.Sprintf("%.60s", name))
			return nil
		}
		return set(o, value)
	})
	o.filters = append(o.filters, f)
	return err
}

// Verifier makes a function that tries a configuration of a scan: its proxy, if it has one, is greeted through the
// guard, and nothing else can be tried. Options that have no effect make it false.
func Verifier(guard *netguard.Guard) func(ctx context.Context, text []byte) (ok bool, message string) {
	return func(ctx context.Context, text []byte) (ok bool, message string) {
		var o Options
		if err := o.Add(text); err != nil {
			return false, err.Error()
		}
		if len(o.ignored) > 0 {
			return false, "The configuration is well formed. These options are not applied: " +
				errs.Clip(strings.Join(o.ignored, ", "), maxIgnored) + "."
		}
		applied := "The configuration is well formed, and all of it is applied. "
		if o.Proxy == nil {
			return true, applied + "It has no credentials to try."
		}
		if err := guard.Greet(ctx, o.Proxy); err != nil {
			text := err.Error()
			return false, strings.ToUpper(text[:1]) + text[1:]
		}
		return true, applied + "The proxy " + o.Proxy.Masked() + " takes connections from us."
	}
}

// maxIgnored is how many bytes of the names of ignored options are shown.
const maxIgnored = 2000

// Config is the configuration of the engine.
func (o Options) Config() engine.Config {
	c := o.Engine
	if o.perHost {
		c.RateLimit, c.HostRate = 0, c.RateLimit
	}
	return c
}

// Open makes an engine that reaches the hosts of these targets at all their ports, except denied networks, and nothing
// else. The guard dials the proxy, if there is one.
func (o Options) Open(targets []string, deny []netip.Prefix, guard *netguard.Guard) (*engine.Engine, error) {
	scope, err := o.Scope(targets, deny, guard)
	if err != nil {
		return nil, err
	}
	c := o.Config()
	if len(c.Resolvers) == 0 {
		c.Resolvers = dns.SystemResolvers()
	}
	c.DialHelper = guard.Helper(c.Resolvers, o.Proxy)
	c.Dial, c.Allow, c.AllowName = scope.Dial, scope.AllowsURL, scope.AllowsName
	return engine.New(c), nil
}

// Scope is what Open's engine may reach.
func (o Options) Scope(targets []string, deny []netip.Prefix, guard *netguard.Guard) (*netguard.Scope, error) {
	reach := make([]netguard.Target, len(targets))
	for i, text := range targets {
		var err error
		if reach[i], err = netguard.ParseTarget(text); err != nil {
			return nil, err
		}
		reach[i].Ports = nil
	}
	excluded, err := hostpattern.Parse(o.Excluded)
	if err != nil {
		return nil, err
	}
	limits := netguard.Limits{Deny: slices.Concat(deny, excluded.Denied()), Excludes: excluded.ExcludesHost}
	if o.Proxy != nil {
		limits.Through = guard.Through(o.Proxy)
	}
	return netguard.NewScope(reach, limits)
}

// Keeps reports whether all configurations select a template.
func (o Options) Keeps(t Template) bool {
	return !slices.ContainsFunc(o.filters, func(f filter) bool { return !f.keeps(t) })
}

// HasSets reports whether there is a template set.
func (o Options) HasSets() bool { return len(o.sets) > 0 }

// InSet reports whether a template set contains a template.
func (o Options) InSet(t Template) bool {
	return slices.ContainsFunc(o.sets,
		func(f filter) bool { return f.keeps(t) && (!t.Named || t.named(f["template-id"])) })
}

var setters = map[string]func(o *Options, value any) error{
	"rate-limit":          func(o *Options, v any) error { return number(v, 0, 100_000, &o.Engine.RateLimit) },
	"rate-limit-duration": func(o *Options, v any) error { return duration(v, &o.Engine.RateWindow) },
	"rate-limit-minute":   (*Options).perMinute,
	"per-host-rate-limit": func(o *Options, v any) error { return toggle(v, &o.perHost) },
	"concurrency":         func(o *Options, v any) error { return number(v, 1, 1000, &o.Engine.PerHost) },
	"bulk-size":           func(o *Options, v any) error { return number(v, 1, 1000, &o.Scan.Parallel) },
	"retries":             func(o *Options, v any) error { return number(v, 0, 10, &o.Engine.Retries) },
	"stop-at-first-match": func(o *Options, v any) error { return toggle(v, &o.Scan.StopAtFirstMatch) },
	"header":              (*Options).headers,
	"var":                 (*Options).vars,
	"response-size-read":  func(o *Options, v any) error { return number(v, 0, 100<<20, &o.Engine.MaxBody) },
	"timeout":             (*Options).timeout,
	"socks5-proxy":        (*Options).proxy,
}

// proxy reads the URL of a SOCKS5 proxy, alone or as a list with one item.
func (o *Options) proxy(v any) error {
	urls, err := yamltext.Words(v)
	if err != nil {
		return err
	}
	if len(urls) != 1 {
		return errors.New("it must be one proxy")
	}
	o.Proxy, err = netguard.ParseProxy(urls[0])
	if err != nil {
		return errors.New(errs.From(err).Message)
	}
	return nil
}

func (o *Options) perMinute(v any) error {
	n := 0
	err := number(v, 0, 1_000_000, &n)
	if err == nil && n > 0 { // 0 leaves rate-limit as it is
		o.Engine.RateLimit, o.Engine.RateWindow = n, time.Minute
	}
	return err
}

func (o *Options) timeout(v any) error {
	seconds := 0
	err := number(v, 1, 300, &seconds)
	o.Engine.Timeout = time.Duration(seconds) * time.Second
	return err
}

// maxLines bounds the headers, and the variables, of a scan.
const maxLines = 100

func (o *Options) headers(v any) error {
	lines, err := yamltext.Words(v)
	if err != nil {
		return err
	}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(line, "\r\n\x00") {
			return errors.New("a header is not of the form 'Name: value'")
		}
		o.Engine.Headers = append(o.Engine.Headers, engine.Header{Name: name, Value: value})
	}
	return bounded(len(o.Engine.Headers))
}

func (o *Options) vars(v any) error {
	lines, err := yamltext.Words(v)
	if err != nil {
		return err
	}
	if o.Scan.Vars == nil {
		o.Scan.Vars = map[string]string{}
	}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return errors.New("a variable is not of the form name=value")
		}
		o.Scan.Vars[name] = value
	}
	return bounded(len(o.Scan.Vars))
}

func bounded(n int) error {
	if n > maxLines {
		return fmt.Errorf("there are more than %d", maxLines)
	}
	return nil
}

func number[N int | int64](value any, least, most N, into *N) error {
	n, err := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(value)), 10, 0)
	if err != nil || N(n) < least || N(n) > most {
		return fmt.Errorf("it must be a number from %d to %d", least, most)
	}
	*into = N(n)
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

// duration reads a time, such as 1s; a bare number is seconds.
func duration(value any, into *time.Duration) error {
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
