package names

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

var sourceName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,50}$`)

// ParseKeys reads the keys of passive sources, by source, in the format of subfinder's provider file.
func ParseKeys(text []byte) (map[string][]string, error) {
	m, err := yamltext.Mapping(text)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for name, value := range m {
		keys, err := yamltext.Words(value)
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

// HasSource reports whether a text names a source that can be asked.
func HasSource(text []byte) bool {
	written, err := ParseKeys(text)
	known := SourceNames()
	for name := range written {
		if _, ok := known[strings.ToLower(name)]; ok && err == nil {
			return true
		}
	}
	return false
}

// VerifyKeys says which sources a text has keys for. It is never ok: the keys are not tried, because sources count each
// question, and most have no other way to tell whether a key is good.
func VerifyKeys(_ context.Context, text []byte) (ok bool, message string) {
	sources, err := ParseKeys(text)
	if err != nil {
		return false, err.Error()
	}
	with := slices.DeleteFunc(slices.Sorted(maps.Keys(sources)), func(name string) bool { return len(sources[name]) == 0 })
	if len(with) == 0 {
		return false, "No source has a key."
	}
	known := SourceNames()
	unknown := slices.DeleteFunc(slices.Clone(with), func(name string) bool {
		_, ok := known[strings.ToLower(name)]
		return ok
	})
	if len(unknown) > 0 {
		return false, "There is no source " + strings.Join(unknown, ", ") + "."
	}
	return false, "Not tried: the configuration is well formed and has keys for " + strings.Join(with, ", ") +
		", but sources count each question, so that the keys were only read."
}
