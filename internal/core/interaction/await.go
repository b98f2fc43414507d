package interaction

import (
	"bytes"
	"context"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/oast"
)

// maxJudged bounds the interactions with one job that are judged.
const maxJudged = 1000

// Run runs a job and waits for out-of-band interactions with what it sent, for as long as Config.Wait says, before it
// returns; job.OnEvent gets what they show, too. It is for what has no use for a later interaction, such as a retest or
// a tool of a task: the job has a session of its own with the server, and nothing is stored. Where s is nil, or the
// server cannot be asked, templates that need it are skipped.
func (s *Interactions) Run(ctx context.Context, engines *child.Pool, job child.Job) (*child.Result, error) {
	if s == nil || job.Repeat != nil || !needed(job.Templates) {
		return engines.Run(ctx, job)
	}
	client, err := oast.NewClient(ctx, s.config.HTTP, s.config.Server, s.config.Token)
	if err != nil { // the rest of the job can be tested
		s.logger.WarnContext(ctx, "templates run without the out-of-band server", "error", err)
		return engines.Run(ctx, job)
	}
	session := oob.NewSession(client, oob.Config{Poll: s.config.Poll, Cooldown: s.config.Wait, OnFault: func(err error) {
		s.logger.WarnContext(ctx, "asking for out-of-band interactions", "error", err)
	}})
	w := &awaited{engines: engines, job: job}
	names := client.Names()
	job.Names = &names
	job.OnPending = func(template int, p *engine.Pending) {
		session.Expect(p.IDs, p.Size(), func(one oast.Interaction) { w.hear(template, p, one) })
	}
	result, err := engines.Run(ctx, job)
	if fault := session.Settle(ctx); fault != nil {
		s.logger.WarnContext(ctx, "out-of-band interactions with a job may be missing", "error", fault)
	}
	if err != nil {
		return result, err
	}
	return result, w.judge(ctx, result)
}

// needed reports whether a template may need names of an out-of-band server.
func needed(templates []child.Template) bool {
	marker := []byte(oob.Marker)
	for _, t := range templates {
		if bytes.Contains(t.Data, marker) {
			return true
		}
		for _, text := range t.Files {
			if bytes.Contains(text, marker) {
				return true
			}
		}
	}
	return false
}

// awaited are the interactions with a job.
type awaited struct {
	engines *child.Pool
	job     child.Job

	mu    sync.Mutex
	heard []heard
}

// heard is an interaction with a request of a template.
type heard struct {
	template int
	sent     *engine.Pending
	one      oast.Interaction
}

func (w *awaited) hear(template int, p *engine.Pending, one oast.Interaction) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heard) < maxJudged {
		w.heard = append(w.heard, heard{template, p, one})
	}
}

// judge has children judge the interactions. Each name of a matcher or an extractor is reported once for a request, as
// several interactions with one name, such as of DNS and HTTP, are one finding.
func (w *awaited) judge(ctx context.Context, result *child.Result) error {
	type finding struct {
		sent               *engine.Pending
		matcher, extractor string
	}
	reported := map[finding]bool{}
	ended := map[int]bool{}
	for _, h := range w.heard {
		if ended[h.template] {
			continue
		}
		judged, err := w.engines.Run(ctx, child.Job{
			Templates: w.job.Templates[h.template : h.template+1], Judge: &child.Judge{Pending: h.sent, Interaction: h.one},
			OnEvent: func(_ int, e engine.Event) {
				f := finding{h.sent, e.MatcherName, e.ExtractorName}
				if !reported[f] && w.job.OnEvent != nil {
					w.job.OnEvent(h.template, e)
				}
				reported[f] = true
			},
		})
		if err != nil {
			return err
		}
		for _, e := range judged.Ended {
			ended[h.template] = true
			result.Ended = append(result.Ended, child.Ended{Template: h.template, Why: e.Why})
		}
	}
	return nil
}
