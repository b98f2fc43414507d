package jobs

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/tools/webtask"
	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
)

const (
	maxProof   = 64 << 10 // bytes, of one that is kept with a finding
	webReasons = 3        // that the coverage names
	webNotes   = 4        // of the run that it repeats
)

// runChunk tests a chunk of a scan. It leaves alone a chunk that has ended or that another worker has.
func (w worker) runChunk(ctx context.Context, a scan.ChunkArgs) error {
	storeCtx := context.WithoutCancel(ctx) // what was found is stored although ctx ends
	chunk, err := w.Scans.StartChunk(storeCtx, a)
	if err != nil {
		return run.IgnoreLate(err)
	}
	var web webapp.Options
	if chunk.Config.Type == scan.Web {
		if web, err = w.Scans.WebOptions(ctx, chunk.TeamID, chunk.ID); err != nil {
			return err
		}
	}
	captured, err := w.capture(ctx, chunk, web.Secrets())
	if err != nil {
		return err
	}
	defer captured.Close()
	if chunk.Config.Type == scan.Web {
		err = w.testWeb(ctx, storeCtx, chunk, web)
	} else {
		err = chunk.Test(ctx, storeCtx, w.Engines, w.Deny)
	}
	return run.IgnoreLate(err)
}

// capture has the requests of a chunk captured, where its team's policy says so, without what is hidden.
func (w worker) capture(ctx context.Context, c *scan.Chunk, hidden []string) (*network.Recorder, error) {
	if w.Network == nil {
		return nil, nil //nolint:nilnil // a nil recorder records nothing
	}
	r, err := w.Network.Begin(ctx, network.Subject{
		TeamID: c.TeamID, ScanID: c.ID, Asked: c.Config.Capture, Hidden: hidden})
	tool := "templates"
	if c.Config.Type == scan.Web {
		tool = "webtest"
	}
	c.Traffic, c.Dropped, c.Stored = r.By(tool), r.Drop, r.Close
	return r, err
}

// testWeb tests the applications of a chunk.
func (w worker) testWeb(ctx, storeCtx context.Context, c *scan.Chunk, web webapp.Options) error {
	hide, _ := web.Replacers()
	cells := scan.NewCells(c.Targets, c.Templates)
	requests := 0
	for i, target := range c.Targets {
		site := webSite{worker: w, chunk: c, web: web, hide: hide, store: storeCtx, target: target}
		state, reason, err := site.test(ctx)
		if err != nil {
			return err
		}
		cells.Set(i, 0, state, reason)
		if site.found > 0 {
			cells.Match(i, 0)
		}
		requests += int(site.requests)
	}
	return c.Finish(storeCtx, cells, requests)
}

// webSite is one application of a scan.
type webSite struct {
	worker

	chunk    *scan.Chunk
	web      webapp.Options
	hide     webapp.Hider    // of its secrets
	store    context.Context //nolint:containedctx // with which what was found is stored
	target   string
	found    int
	requests int64
}

// prepare is how the application is tested; end ends what that begins. unusable says why it cannot be tested; the error
// is one after which the chunk is tried again.
func (s *webSite) prepare(ctx context.Context) (cfg webtest.Config, end func(), unusable, err error) {
	end = func() {}
	o, err := s.Scans.Options(ctx, s.chunk.TeamID, s.chunk.Config)
	if err != nil {
		return cfg, end, nil, queue.Abandon(err)
	}
	excluded, err := s.chunk.Excluded(ctx)
	if err != nil {
		return cfg, end, nil, err
	}
	start, cfg, unusable := s.config(o, s.web, s.target, excluded)
	if unusable != nil {
		return cfg, end, unusable, nil
	}
	opened, err := s.Scans.Interactions.Open(ctx)
	if err != nil { // the coverage says what was not tested for want of one
		s.Logger.WarnContext(ctx, "a scan has no out-of-band server", "scan", s.chunk.ID, "error", err)
	} else if opened != nil {
		cfg.OAST = &kit.OOB{Client: opened}
		end = func() { _ = opened.Close(s.store) } // it ends by itself, too
	}
	dir := cmp.Or(s.Scans.TempDir, os.TempDir())
	cfg.Client.Record = s.chunk.Traffic
	cfg.Journal = filepath.Join(dir, fmt.Sprintf("webtest-%s-%d-%d.jsonl", s.chunk.ID, s.chunk.Run, s.chunk.Chunk))
	cfg.Starts, cfg.Checks = []*url.URL{start}, check.All()
	return cfg, end, nil, nil
}

// test tests the application. The error is one after which the chunk is tried again, or has another worker. What was
// done is noted in a file, so that this worker goes on where it was.
func (s *webSite) test(ctx context.Context) (engine.State, string, error) {
	cfg, end, unusable, err := s.prepare(ctx)
	defer end()
	if err != nil {
		return "", "", err
	}
	if unusable != nil {
		return engine.Failed, unusable.Error(), nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cfg.OnFinding = func(f webtest.Finding) {
		if f.Confidence == kit.Probable {
			return
		}
		if err := s.chunk.Found(s.store, []finding.Sighting{s.sighting(f)}); err != nil {
			stop(fmt.Errorf("storing a finding: %w", err))
		}
	}
	cfg.OnProgress = s.progress(ctx, stop)
	report, err := webtest.Run(ctx, cfg)
	if cause := context.Cause(ctx); cause != nil {
		return "", "", cause
	}
	_ = os.Remove(cfg.Journal) // it is not needed any more
	if report == nil {
		return engine.Failed, err.Error(), nil
	}
	s.requests = report.Requests
	for _, f := range report.Findings {
		if f.Confidence != kit.Probable {
			s.found++
		}
	}
	state, reason := stateOf(report, err)
	if len(report.Refused) > 0 {
		return engine.Failed, "the login failed: " + strings.Join(report.Refused, "; ") + "; the rest: " + reason, nil
	}
	return state, reason, nil
}

// stateOf is the state of an application in the coverage, and why.
func stateOf(r *webtest.Report, err error) (engine.State, string) {
	switch {
	case r.Denied:
		return engine.Denied, "it is out of scope"
	case r.Blocked:
		return engine.Failed, "it refuses everything since some request, as if it had blocked the tester"
	case r.Down:
		return engine.Failed, "it stopped answering"
	case r.Over != "":
		return engine.Failed, "the budget of " + r.Over + " is used up"
	case err != nil:
		return engine.Failed, err.Error()
	}
	requests, places, tests := r.Coverage.Count()
	words := []string{fmt.Sprintf("%d requests and %d places, %d tests", requests, places, tests)}
	for _, note := range r.Notes[:min(len(r.Notes), webNotes)] {
		words = append(words, strings.TrimSuffix(note, "."))
	}
	ofMap, ofChecks := r.Coverage.Reasons()
	for i, reason := range slices.Concat(ofMap, ofChecks) {
		if i < webReasons {
			words = append(words, fmt.Sprintf("not tested, because %s: %d", strings.TrimSuffix(reason.Why, "."), reason.Count))
		}
	}
	return engine.Tested, strings.Join(words, "; ")
}

// progress writes how far the application is, and ends the test of a chunk that another worker has or that was stopped.
func (s *webSite) progress(ctx context.Context, stop context.CancelCauseFunc) func(webtest.Progress) {
	var mu sync.Mutex
	var last time.Time
	return func(p webtest.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < progressInterval {
			return
		}
		last = time.Now()
		done, total := 0, 1
		if p.Stage == "test" && p.Total > 0 {
			done, total = p.Done, p.Total+1
		}
		if err := s.chunk.Progress(ctx, done, total); err != nil {
			stop(err)
		}
	}
}

// sighting is a finding as it is stored: with its proof in place of a template.
func (s *webSite) sighting(f webtest.Finding) finding.Sighting {
	out := finding.Sighting{Event: webtask.EventOf(f, s.hide.Replace), Target: s.target}
	text, err := json.Marshal(f.Proof)
	if hidden := []byte(s.hide.Replace(string(text))); json.Valid(hidden) {
		text = hidden
	}
	if f.Proof != nil && err == nil && len(text) <= maxProof {
		out.TemplateEncoded = base64.StdEncoding.EncodeToString(text)
		out.Proof = &chain.Proof{Digest: evidence.Hash(text), Shown: 1, Runs: 1}
	}
	return out
}
