package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// seeder writes through the services.
type seeder struct {
	scans    *scan.Scans
	findings *finding.Findings
	at       time.Time // when everything was seen
}

// open makes the services, with a catalogue of their own. Jobs of the queue are left for a server, which finds
// nothing to do.
func open(ctx context.Context, d *db.DB) (*seeder, error) {
	q, err := queue.Open(ctx, d, queue.Config{})
	if err != nil {
		return nil, err
	}
	templates := catalog.New(d, catalog.Config{})
	if err := importTemplates(ctx, templates); err != nil {
		return nil, err
	}
	findings := finding.New(d, q)
	if err := findings.Backfill(ctx); err != nil { // while there are none: the server need not look at each at its start
		return nil, err
	}
	scans := scan.New(d, q, findings, asset.New(d, q, nil), templates, setting.New(d, nil, nil), nil)
	return &seeder{scans, findings, time.Now().UTC()}, nil
}

// importTemplates fills the public set with 40 templates of one to three requests.
func importTemplates(ctx context.Context, into *catalog.Catalog) error {
	folder, err := os.MkdirTemp("", "seed-templates-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for i := range 40 {
		id := "weakness-" + strconv.Itoa(i)
		var paths []string
		for k := range 1 + i%3 {
			paths = append(paths, fmt.Sprintf("'{{BaseURL}}/%d/%d'", i, k))
		}
		text := "id: " + id + "\ninfo: {name: Weakness, author: seed, severity: low}\nhttp:\n  - path: [" +
			strings.Join(paths, ", ") +
			"]\n    matchers: [{type: status, status: [200]}]\n"
		if err := os.WriteFile(filepath.Join(folder, id+".yaml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	_, err = into.Import(ctx, catalog.Source{Source: update.Source{From: folder, Tag: "seed"}})
	return err
}

// Of each twenty scans one waits, one was stopped before it found anything, four ran here and fourteen were uploaded.
const (
	cycle    = 20
	waiting  = cycle - 1
	stopped  = cycle - 2
	ran      = cycle - 6
	finders  = stopped // of a cycle, those that found something
	decided  = 60      // templates with such findings
	maxFound = 1_000   // findings that a run stores at once
)

func (s *seeder) fill(ctx context.Context, scans, findings int) error {
	share := scans/cycle*finders + min(scans%cycle, finders) // among these the findings are shared out
	done, taken := 0, 0
	for i := range scans {
		n := 0
		if i%cycle < finders {
			taken++
			n = findings*taken/share - done
		}
		if err := s.scan(ctx, i, done, n); err != nil {
			return fmt.Errorf("scan %d: %w", i, err)
		}
		done += n
	}
	return s.decide(ctx)
}

func (s *seeder) scan(ctx context.Context, i, first, n int) error {
	if kind := i % cycle; kind < ran && n > 0 {
		body, err := s.lines(first, n)
		if err == nil {
			_, err = s.scans.Import(ctx, fmt.Sprintf("Upload %d of team %d", i, i%31), body)
		}
		return err
	}
	c := scan.Config{}
	for k := range 1 + i*7%40 {
		c.Targets = append(c.Targets, fmt.Sprintf("h%d.d%d.example.com", i+k, k))
	}
	for k := range 1 + i*3%40 {
		c.Templates = append(c.Templates, "weakness-"+strconv.Itoa(k))
	}
	made, err := s.scans.Create(ctx,
		scan.NewScan{Name: fmt.Sprintf("Perimeter %d of team %d", i, i%31), Config: c, ScheduleOnly: i%cycle == waiting,
			Automatic: i%3 == 0})
	if err != nil || i%cycle == waiting {
		return err
	}
	if err := s.scans.Begin(ctx, scan.BeginArgs{ScanID: made.ID, Run: made.Run}); err != nil {
		return err
	}
	if i%cycle == stopped {
		return s.scans.Stop(ctx, made.ID)
	}
	return s.work(ctx, made, first, n)
}

// work does what a worker does: its targets are few enough for one chunk.
func (s *seeder) work(ctx context.Context, made scan.Scan, first, n int) error {
	c, err := s.scans.StartChunk(ctx, scan.ChunkArgs{ScanID: made.ID, Run: made.Run})
	if err != nil {
		return err
	}
	cells := scan.NewCells(c.Targets, c.Templates)
	for target := range c.Targets {
		for template := range c.Templates {
			cells.Set(target, template, engine.Tested, "")
		}
	}
	for n > 0 {
		var seen []finding.Sighting
		for i := first; i < first+min(n, maxFound); i++ {
			seen = append(seen, finding.Sighting{Event: event(i, s.at)})
		}
		if err := c.Found(ctx, seen); err != nil {
			return err
		}
		first, n = first+len(seen), n-len(seen)
	}
	return c.Finish(ctx, cells, len(c.Targets)*len(c.Templates))
}

func (s *seeder) lines(first, n int) (*bytes.Buffer, error) {
	body := new(bytes.Buffer)
	out := json.NewEncoder(body)
	for i := first; i < first+n; i++ {
		if err := out.Encode(event(i, s.at)); err != nil {
			return nil, err
		}
	}
	return body, nil
}

func (s *seeder) decide(ctx context.Context) error {
	for i := range decided {
		f := finding.Filter{Templates: []string{"weakness-" + strconv.Itoa(i*37+200)}}
		if _, err := s.findings.SetStatus(ctx, f, finding.Statuses[i%len(finding.Statuses)]); err != nil {
			return err
		}
		if _, err := s.findings.SetLabels(ctx, f, finding.AppendLabels,
			[]string{"label" + strconv.Itoa(i%17), "seen"}, ""); err != nil {
			return err
		}
	}
	return nil
}
