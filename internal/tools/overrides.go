package tools

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Frameworks carry a request out with another method than its own when a header or the field _method of a form or of
// the query says so. Where methods matter, the request counts as both.
var (
	overrideHeaders = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}
	overrideField   = regexp.MustCompile(`(?i)\b_method["'=:\s]+([a-z]{3,20})\b`)
	overrideLine    = regexp.MustCompile(`(?im)^x-(?:http-method-override|http-method|method-override):[ \t]*([a-z]+)`)
)

// headerOverrides is the method that a header asks for.
func headerOverrides(name, value string) []string {
	if !slices.Contains(overrideHeaders, http.CanonicalHeaderKey(name)) {
		return nil
	}
	return []string{strings.ToUpper(strings.TrimSpace(value))}
}

// textOverrides are the methods that the fields _method of a URL or a body ask for, and in a raw request its headers.
func textOverrides(text string) (methods []string) {
	for _, pattern := range []*regexp.Regexp{overrideField, overrideLine} {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			methods = append(methods, strings.ToUpper(m[1]))
		}
	}
	return methods
}

// methods are the methods by which a server may carry the request out, its own first.
func (r webRequest) methods() []string {
	all := append([]string{r.Method}, textOverrides(r.URL)...)
	all = append(all, textOverrides(r.Body)...)
	for name, value := range r.Headers {
		all = append(all, headerOverrides(name, value)...)
	}
	return all
}
