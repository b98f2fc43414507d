package technique

import (
	"regexp"
	"strings"
)

// noSigns refuses all that means something to a shell but the end of a line.
func noSigns(app func(string) string) func(string) string {
	signs := regexp.MustCompile(`[^\w \n.:/-]`)
	return func(v string) string {
		if signs.MatchString(v) {
			return "<p>a character is not allowed</p>"
		}
		return app(v)
	}
}

// marked computes what stands between the marks of a template, and fails at one that has an expression which it cannot
// read.
func marked(begin, end string) func(string) string {
	return func(v string) string {
		out := replaceMath(v, regexp.QuoteMeta(begin)+` ?(\d+)\*(\d+) ?`+regexp.QuoteMeta(end))
		if strings.Contains(out, begin) {
			return "<p>template error</p>"
		}
		return "<p>Hello " + out + "</p>"
	}
}
