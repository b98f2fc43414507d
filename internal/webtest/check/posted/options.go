package posted

import (
	"html"
	"regexp"
)

var option = regexp.MustCompile(`(?i)<option\b[^>]*\bvalue\s*=\s*["']?([^"'\s>]{1,64})`)

// options are the values that a page offers for a field, in a list to choose from.
func options(body []byte, name string) (all []string) {
	list := regexp.MustCompile(`(?is)<select\b[^>]*\bname\s*=\s*["']?` + regexp.QuoteMeta(name) + `["'\s>].*?</select`)
	for _, m := range list.FindAll(body, 5) {
		for _, value := range option.FindAllSubmatch(m, maxValues) {
			all = append(all, html.UnescapeString(string(value[1])))
		}
	}
	return all
}
