package event

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/oast"
)

// Pending is a request that was sent with out-of-band names, whatever the answer was. It can be written as JSON.
type Pending struct {
	IDs                 []string // of its names, and of those of earlier requests with the same payloads
	Block               int      // of the template, whose operators judge interactions
	Saved               oob.Saved
	Event               Event  // of the request, without findings
	Target, URL, Scheme string // of Event, whose own JSON leaves them out

	// Found judges an interaction and reports through the scan what it shows; nil for one that was read from JSON.
	Found func(oast.Interaction) `json:"-"`
}

// Size is about how many bytes it holds.
func (p *Pending) Size() int {
	return p.Saved.Size() + len(p.Event.Request) + len(p.Event.Response) + 1024
}

// Judge returns the events that an interaction with the request shows, by the operators of its block.
func (p *Pending) Judge(
	ctx context.Context, o *match.Operators, one oast.Interaction, host *functions.Host,
) (events []Event) {
	out := p.Saved.Eval(ctx, o, one, host)
	if out.Silent {
		return nil
	}
	for _, text := range []*string{
		&one.Protocol, &one.UniqueID, &one.FullID, &one.QType, &one.RawRequest, &one.RawResponse, &one.SMTPFrom,
		&one.RemoteAddress,
	} {
		*text = Clean(errs.Clip(*text, maxDump))
	}
	for _, f := range out.Findings {
		ev := p.Event
		ev.Target, ev.URL, ev.Scheme = p.Target, p.URL, p.Scheme
		ev.MatcherName, ev.ExtractorName, ev.Timestamp, ev.Interaction = f.Matcher, f.Extractor, time.Now().UTC(), &one
		for _, v := range f.Extracted {
			ev.ExtractedResults = append(ev.ExtractedResults, Clean(errs.Clip(v, maxDump)))
		}
		events = append(events, ev)
	}
	return events
}
