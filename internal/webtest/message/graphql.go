package message

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// argument is a literal in the text of a query: name: "text", name: 12.
var argument = regexp.MustCompile(`([A-Za-z_]\w*)\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?\b)`)

// graphql turns the places of a JSON body that is a request of GraphQL into those that its resolvers read: the
// variables, and the literals in the query. Of any other body it returns the places as they are.
func graphql(spans []span) []span {
	var query *span
	for i, s := range spans {
		if s.Name == "query" && strings.ContainsRune(s.Value, '{') {
			query = &spans[i]
		}
	}
	if query == nil {
		return spans
	}
	var out []span
	for _, s := range spans {
		if strings.HasPrefix(s.Name, "variables.") || strings.HasPrefix(s.Name, "variables[") {
			s.Format = GraphQL
			out = append(out, s)
		}
	}
	text := query.Value
	for _, m := range argument.FindAllStringSubmatchIndex(text, maxPlaces) {
		literal := text[m[4]:m[5]]
		value := literal
		if plain, err := strconv.Unquote(literal); err == nil {
			value = plain
		}
		number := literal[0] != '"'
		out = append(out, span{
			Place: Place{Component: Body, Format: GraphQL, Name: "query:" + text[m[2]:m[3]], Value: value},
			start: query.start, end: query.end,
			write: func(to string) string {
				if !number || !isNumber(to) {
					to = jsonString(to)
				}
				return jsonString(text[:m[4]] + to + text[m[5]:])
			},
		})
	}
	return out
}

// IsQuery reports whether a request is a query of GraphQL, which is sent by POST and only reads.
func (r *Request) IsQuery() bool {
	var in struct{ Query string }
	return r.Method == http.MethodPost && strings.Contains(r.Header.Get("Content-Type"), "json") &&
		json.Unmarshal(r.Body, &in) == nil && in.Query != "" && !strings.Contains(in.Query, "mutation")
}
