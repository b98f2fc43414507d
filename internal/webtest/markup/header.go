package markup

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	member    = regexp.MustCompile("[\"'`]?([A-Za-z][\\w-]*)[\"'`]?\\s*:\\s*([^\\s\"'`,{}][^,{}]*)")
	ofDataset = regexp.MustCompile(`\bdataset(?:\.(\w+)|\[\s*["'](\w+)["']\s*\])`)
	ofElement = regexp.MustCompile(`getAttribute\(\s*["'](data-[\w-]+)["']|meta\[name=\\?["']?([\w-]+)`)
	capital   = regexp.MustCompile(`[A-Z]`)
)

const (
	maxMembers = 20  // of an object that are read
	maxValue   = 100 // bytes of a value
)

// FromPage are the members of an object of JavaScript, given as what stands between its braces, whose values a script
// takes from its page: from a data attribute of an element, or from a meta element. What the page says there is in
// data, by the name of the attribute, such as data-account, or of the meta element.
func FromPage(object string, data map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range member.FindAllStringSubmatch(object, maxMembers) {
		name := ""
		if of := ofDataset.FindStringSubmatch(m[2]); of != nil {
			name = "data-" + strings.ToLower(capital.ReplaceAllString(of[1]+of[2], "-$0"))
		} else if of := ofElement.FindStringSubmatch(m[2]); of != nil {
			name = of[1] + of[2]
		}
		if value := data[name]; value != "" && len(value) <= maxValue && !strings.ContainsFunc(value, unicode.IsControl) {
			out[m[1]] = value
		}
	}
	return out
}
