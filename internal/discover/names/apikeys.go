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

// VerifyKeys says which sources a text has keys for. The keys are not tried: sources count each request.
func VerifyKeys(_ context.Context, text []byte) (ok bool, message string) {
	sources, err := ParseKeys(text)
	if err != nil {
		return false, err.Error()
	}
	with := slices.DeleteFunc(slices.Sorted(maps.Keys(sources)), func(name string) bool { return len(sources[name]) == 0 })
	if len(with) == 0 {
		return false, "No source has a key."
	}
	return true, "The configuration is well formed; it has keys for " + strings.Join(with, ", ") +
		". They were not tried: sources count each question."
}
