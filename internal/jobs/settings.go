package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/alert"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Kinds says what each type of configuration means: how its text is checked, and how it is
// tried. Every request that a try sends goes through the guard.
func Kinds(guard *netguard.Guard) map[setting.Type]setting.Kind {
	sender, filer := alert.NewSender(guard), tracker.New(guard)
	return map[setting.Type]setting.Kind{
		setting.Scan: {
			Check:  func(text []byte) (string, error) { _, err := readOptions(text); return "", err },
			Verify: verifyOptions,
		},
		setting.Template: {
			Check: func(text []byte) (string, error) { _, err := readTemplateSet(text); return "", err },
		},
		setting.Reporting: {
			Check: func(text []byte) (string, error) {
				c, err := tracker.Parse(text)
				return c.Provider(), err
			},
			Verify: filer.Verify,
		},
		setting.Alerting: {
			Check: func(text []byte) (string, error) {
				c, err := alert.Parse(text)
				return c.Provider(), err
			},
			Verify: sender.Verify,
		},
		setting.Subfinder: {
			Check:  func(text []byte) (string, error) { _, err := ReadSources(text); return "", err },
			Verify: verifySources,
		},
		setting.Cloudlist: {
			Check: func(text []byte) (string, error) {
				blocks, err := readClouds(text)
				return cloudNames(blocks), err
			},
			Verify: openClouds(guard).verify,
		},
	}
}

// mapping reads a text that is a mapping.
func mapping(text []byte) (map[string]any, error) {
	value, err := setting.Value(text)
	if err != nil {
		return nil, err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a mapping of names to values")
	}
	return m, nil
}

func verifyOptions(_ context.Context, text []byte) (ok bool, said string) {
	o, err := readOptions(text)
	if err != nil {
		return false, err.Error()
	}
	if len(o.ignored) == 0 {
		return true, "The configuration is well formed, and all of it is applied. It has no credentials to try."
	}
	return true, "The configuration is well formed. These options are not applied: " + strings.Join(o.ignored, ", ") + "."
}

var sourceName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,50}$`)

// ReadSources reads the keys of sources of names, by source, as subfinder's provider file
// has them.
func ReadSources(text []byte) (map[string][]string, error) {
	m, err := mapping(text)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for name, value := range m {
		keys, err := texts(value)
		switch {
		case !sourceName.MatchString(name):
			return nil, fmt.Errorf("%.60q is no name of a source", name)
		case err != nil:
			return nil, fmt.Errorf("%s has %w", name, err)
		}
		out[name] = keys
	}
	return out, nil
}

func verifySources(_ context.Context, text []byte) (ok bool, said string) {
	sources, err := ReadSources(text)
	if err != nil {
		return false, err.Error()
	}
	with := slices.DeleteFunc(slices.Sorted(maps.Keys(sources)), func(name string) bool { return len(sources[name]) == 0 })
	if len(with) == 0 {
		return false, "No source has a key."
	}
	return true, "The configuration is well formed; it has keys for " + strings.Join(with, ", ") + ". They were not tried: sources count each question."
}

// texts are the words of a value: one, or those of a list. Null is none.
func texts(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		var out []string
		for _, item := range v {
			if _, nested := item.([]any); nested {
				return nil, errors.New("a list within its list")
			}
			words, err := texts(item)
			if err != nil {
				return nil, err
			}
			out = append(out, words...)
		}
		return out, nil
	case map[string]any, map[any]any:
		return nil, errors.New("a mapping where words should be")
	}
	return []string{fmt.Sprint(value)}, nil
}
