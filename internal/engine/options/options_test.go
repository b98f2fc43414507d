package options

import (
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
)

func TestOptions(t *testing.T) {
	var o Options
	for _, text := range []string{
		"rate-limit: 5\nrate-limit-duration: 2s\nheader:\n  - 'X-A: 1'\nvar: [a=b, c=d=e]\ntags: cve,RCE\nseverity: [high]\nretries: 0\n",
		"timeout: '7'\nheader: 'X-B: 2'\nvar: a=z\nper-host-rate-limit: true\nconcurrency: 3\nbulk-size: 4\nstop-at-first-match: true\nexclude-id: x-*\nproxy: x\n",
	} {
		if err := o.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	c := o.Config()
	if c.RateLimit != 0 || c.HostRate != 5 || c.RateWindow != 2*time.Second || c.Timeout != 7*time.Second ||
		c.Retries != 0 || c.PerHost != 3 ||
		!slices.Equal(c.Headers, []engine.Header{{Name: "X-A", Value: "1"}, {Name: "X-B", Value: "2"}}) {
		t.Errorf("%+v", c)
	}
	if o.Scan.Vars["a"] != "z" || o.Scan.Vars["c"] != "d=e" || o.Scan.Parallel != 4 || !o.Scan.StopAtFirstMatch ||
		!slices.Equal(o.ignored, []string{"proxy"}) {
		t.Errorf("%+v", o.Scan)
	}
	for _, c := range []struct {
		t    Template
		want bool
	}{
		{Template{ID: "a", Tags: []string{"rce"}, Severity: "high"}, true},
		{Template{ID: "a", Tags: []string{"CVE"}, Severity: "high"}, true},
		{Template{ID: "a", Tags: []string{"cve"}, Severity: "low"}, false},
		{Template{ID: "a", Tags: []string{"xss"}, Severity: "high"}, false},
		{Template{ID: "id", WrittenID: "X-1", Tags: []string{"cve"}, Severity: "high"}, false},
	} {
		if o.Keeps(c.t) != c.want {
			t.Errorf("%+v is kept: %v", c.t, !c.want)
		}
	}
}
