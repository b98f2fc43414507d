package match

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// maxValues bounds what one extractor takes out of one response.
const maxValues = 1000

// extractor is one compiled extractor: regex when it has patterns, kval when keys.
type extractor struct {
	name     string
	part     partRef
	internal bool
	fold     bool
	group    int
	patterns []pattern
	keys     []string // lower case
}

func compileExtractor(file string, s syntax.Extractor) (extractor, error) {
	x := extractor{name: s.Name, part: refOf(s.Part), internal: s.Internal, fold: s.CaseInsensitive, group: s.Group}
	switch s.Type {
	case "regex":
		for _, source := range s.Regex {
			p, err := compilePattern(source)
			if err != nil {
				return x, syntax.Fault(file, s.Line, 0, "extractors.regex", "%v", err)
			}
			// A pattern with fewer groups than were asked for has nothing to give.
			if p.re.NumSubexp() >= s.Group {
				x.patterns = append(x.patterns, p)
			}
		}
	case "kval":
		for _, key := range s.KVal {
			x.keys = append(x.keys, strings.ToLower(key))
		}
	default:
		return x, syntax.Unsupported(file, s.Line, "http.extractors of type "+s.Type)
	}
	return x, nil
}

// values takes the values out, each once, in the order of the response.
func (x *extractor) values(r *Response) []string {
	var out []string
	for _, key := range x.keys {
		v, ok := r.namedPart(key)
		if !ok {
			// Header names are parts with underscores; people write them with hyphens.
			v, ok = r.namedPart(strings.ReplaceAll(key, "-", "_"))
		}
		if !ok || len(v.data) == 0 {
			continue
		}
		text := string(v.data)
		if x.fold {
			text = strings.ToLower(text)
		}
		out = appendNew(out, text)
	}
	if len(x.patterns) == 0 {
		return out
	}
	v, ok := r.part(x.part)
	if !ok {
		return out
	}
	for i := range x.patterns {
		if !x.patterns[i].possible(v) {
			continue
		}
		for _, at := range x.patterns[i].re.FindAllSubmatchIndex(v.data, maxValues) {
			from, to := at[2*x.group], at[2*x.group+1]
			if from < 0 {
				continue // the group took no part in this match
			}
			out = appendNew(out, string(v.data[from:to]))
		}
	}
	return out
}

func appendNew(list []string, s string) []string {
	if len(list) == maxValues || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
