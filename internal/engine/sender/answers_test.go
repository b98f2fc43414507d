package sender

import (
	"strings"
	"testing"
)

// A target is down when each of its answers is an error of the server, and not when there were none.
func TestDown(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		want     string
	}{
		"nothing":        {nil, ""},
		"one":            {[]int{503, 503}, ": 503"},
		"several":        {[]int{503, 500, 429}, ": 429 to 503"},
		"also a page":    {[]int{503, 200, 503}, ""},
		"also a missing": {[]int{404, 503}, ""},
		"forbidden":      {[]int{403}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var a Answers
			for _, status := range c.statuses {
				a.Saw(status)
			}
			if got := a.Down(); (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
				t.Errorf("%q, want …%q", got, c.want)
			}
		})
	}
}
