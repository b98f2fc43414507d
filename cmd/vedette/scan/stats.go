package scan

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
)

// progress shows the progress of a scan: a bar on a terminal, or lines at intervals with --stats.
type progress struct {
	bar       *cli.Bar
	w         io.Writer // of the lines; nil for the bar
	asJSON    bool
	every     time.Duration
	next      time.Duration // since the start, of the next line
	templates int
	started   time.Time
}

func (f *scanFlags) newProgress(stderr, messages io.Writer, templates int) *progress {
	m := &progress{asJSON: f.statsJSON, every: time.Duration(f.statsEvery) * time.Second, templates: templates,
		started: time.Now()}
	if m.next = m.every; f.stats || f.statsJSON {
		m.w, messages = stderr, io.Discard
	}
	m.bar = cli.NewBar(messages)
	return m
}

// show receives the progress several times a second.
func (m *progress) show(p engine.Progress) {
	if m.w == nil {
		m.bar.Show("checks", int64(p.Done), int64(p.Total))
		return
	}
	if p.Elapsed < m.next && !p.Final {
		return
	}
	m.next = p.Elapsed + m.every
	percent, rate := 100, int(float64(p.Requests)/max(p.Elapsed.Seconds(), 0.001))
	if p.Total > 0 {
		percent = p.Done * 100 / p.Total
	}
	s := int(p.Elapsed.Seconds())
	took := fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	if !m.asJSON {
		fmt.Fprintf(m.w, "[%s] | Templates: %d | Hosts: %d | RPS: %d | Matched: %d | Errors: %d | Requests: %d/%d (%d%%)\n",
			took, m.templates, p.Targets, rate, p.Matched, p.Errors, p.Done, p.Total, percent)
		return
	}
	// Texts instead of numbers, as in nuclei.
	line, err := json.Marshal(map[string]string{
		"duration": took, "startedAt": m.started.UTC().Format(time.RFC3339Nano), "templates": strconv.Itoa(m.templates),
		"hosts": strconv.Itoa(p.Targets), "requests": strconv.Itoa(p.Done), "total": strconv.Itoa(p.Total),
		"percent": strconv.Itoa(percent),
		"rps":     strconv.Itoa(rate), "matched": strconv.Itoa(p.Matched), "errors": strconv.Itoa(p.Errors),
	})
	if err == nil {
		fmt.Fprintf(m.w, "%s\n", line)
	}
}

func (m *progress) close() { m.bar.Close() }
