package e2e

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/lab/weaksite"
)

// scanDoc is a scan as the API returns it.
type scanDoc struct {
	Status   string
	Progress int
	Total    int `json:"total_result"`
	Checks   int `json:"total_scan"`
}

func (c caller) launchScan(target string) (id string) {
	c.t.Helper()
	var made struct{ ID string }
	c.call("POST", "/v1/scans", map[string]any{"targets": []string{target}, "all": true}, &made)
	return made.ID
}

func (c caller) scan(id string) (s scanDoc) {
	c.t.Helper()
	c.call("GET", "/v1/scans/"+id, nil, &s)
	return s
}

// scanFindings are the template and location of a scan's findings, sorted, duplicates included.
func (c caller) scanFindings(id, base string) (out []string) {
	c.t.Helper()
	var list struct {
		Data []struct {
			Template string `json:"template_id"`
			Event    []struct {
				MatchedAt string `json:"matched-at"`
				Matcher   string `json:"matcher-name"`
			}
		}
	}
	c.call("GET", "/v1/scans/results?limit=1000&severity=critical,high,medium,low,info,unknown&scan_ids="+id, nil, &list)
	for _, f := range list.Data {
		out = append(out, f.Template+" "+f.Event[0].Matcher+" "+strings.TrimPrefix(f.Event[0].MatchedAt, base))
	}
	slices.Sort(out)
	return out
}

func (c caller) scanEnds(id string, within time.Duration) (s scanDoc) {
	c.t.Helper()
	until(c.t, within, "the scan ends", func() bool {
		s = c.scan(id)
		return s.over()
	})
	return s
}

func (s scanDoc) over() bool {
	return s.Status != "queued" && s.Status != "starting" && s.Status != "running"
}

// TestScanKilledInTheMiddle kills the process that works on a scan: another takes over the chunk, and
// each finding is stored once.
func TestScanKilledInTheMiddle(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		first := dep.serve()
		c := first.as(token)
		site := httptest.NewServer(weaksite.New(1))
		defer site.Close()
		baseline := c.launchScan(site.URL)
		c.scanEnds(baseline, longWait)
		want := c.scanFindings(baseline, site.URL)

		g := newHeldSite(t, pathIs("/server-status"))
		id := c.launchScan(g.URL)
		g.waitHeld(t)
		until(t, longWait, "a finding is on disk", func() bool { return len(c.scanFindings(id, g.URL)) > 0 })
		first.kill()
		g.release()

		c = dep.serve().as(token)
		if s := c.scanEnds(id, takeoverWait); s.Status != "finished" || s.Progress != 100 || s.Total != len(want) {
			t.Errorf("%+v", s)
		}
		if got := c.scanFindings(id, g.URL); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("found\n  %q\nnot\n  %q", got, want)
		}
		var coverage struct {
			Total  int
			Counts map[string]int
		}
		c.call("GET", "/v1/scans/"+id+"/coverage", nil, &coverage)
		if coverage.Counts["pending"] != 0 || coverage.Total != c.scan(id).Checks {
			t.Errorf("the coverage is %+v", coverage)
		}
	})
}
