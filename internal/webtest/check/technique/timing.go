package technique

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
	"github.com/vedette-sec/vedette/internal/webtest/stats"
)

// screenDelay is asked for where it is not known yet how steadily a target answers.
const screenDelay = time.Second

// time looks for a delay that the payload asks for. Where none is seen that is one request, beside all others in
// flight. A series is sent so as well: the random order of its delays tells them from the load of other requests.
// Only where it shows nothing is it sent again, alone.
func (o *probe) time(ctx context.Context, p *Payload) (*shown, error) {
	if isDelayed, err := o.screen(ctx, p); err != nil || !isDelayed {
		return nil, err
	}
	base, err := o.timing(ctx, p)
	if err != nil {
		return nil, err
	}
	return o.confirm(ctx, p, base)
}

// confirm shows a delay by a series; nil where it does not come as it is asked for.
func (o *probe) confirm(ctx context.Context, p *Payload, base stats.Base) (found *shown, err error) {
	if base.Delay == 0 {
		o.Skip(o.Target, "time", "its answers take too differently long")
		return nil, nil
	}
	var series []stats.Sample
	var evidence []kit.Evidence
	for _, alone := range base.Tries() {
		if series, evidence, err = o.series(ctx, p, base, alone); err != nil {
			return nil, err
		}
		if base.Delayed(series) || base.Hopeless(series) {
			break
		}
	}
	if !base.Delayed(series) {
		return nil, nil
	}
	fit := stats.Line(series)
	return &shown{payload: o.fill(p.Text, draw(), p.waiting(base.Delay)...), detail: p.Tells, confidence: kit.Proved,
		evidence: append(evidence, kit.Evidence{Note: fmt.Sprintf("answers take %.2f seconds for each second asked for",
			fit.Slope)}), proof: o.timeProof(p, base)}, nil
}

// series asks for three delays in random order, three times each; nil once an answer does not come as it was asked to.
func (o *probe) series(ctx context.Context, p *Payload, base stats.Base, alone bool) (
	[]stats.Sample, []kit.Evidence, error,
) {
	levels := base.Levels()
	rand.Shuffle(len(levels), func(i, j int) { levels[i], levels[j] = levels[j], levels[i] })
	series := make([]stats.Sample, 0, len(levels))
	var evidence []kit.Evidence
	for _, asked := range levels {
		took, a, err := o.delayed(ctx, p, asked, alone)
		if err == nil && asked == 0 && !base.Work && !base.Quick(took) { // by chance, perhaps
			took, a, err = o.delayed(ctx, p, asked, alone)
		}
		if err != nil {
			return nil, nil, err
		}
		// The first that is asked for nothing and is not quick, twice, ends it, as does one that is not delayed.
		if !base.Work && (asked == 0 && !base.Quick(took) || asked > 0 && took-base.Median < asked*8/10) {
			return nil, nil, nil
		}
		series = append(series, stats.Sample{Asked: asked, Took: took})
		evidence = append(evidence, a.evidence("", fmt.Sprintf("asked for %s, took %s", asked, took.Round(time.Millisecond))))
	}
	return series, evidence, nil
}

// screen says whether an answer is late by the delay that it was asked for. Where no twins are known, it is compared
// with the quickest answer that is.
func (o *probe) screen(ctx context.Context, p *Payload) (bool, error) {
	base := stats.Base{Delay: screenDelay}
	known, isKnown := o.Target.Memo.Load(timingMemo)
	if isKnown {
		base = known.(stats.Base) //nolint:forcetypeassert // it is stored below
	} else {
		base.Median = o.Duration(o.base.Response)
		for _, r := range []*message.Response{o.reaction.Unknown, o.reaction.Odd} {
			if r != nil {
				base.Median = min(base.Median, o.Duration(r))
			}
		}
	}
	if base.Delay == 0 {
		return true, nil // it is told of
	}
	took, _, err := o.delayed(ctx, p, base.Delay, false)
	return err == nil && base.Screened(took), err
}

// timingMemo is where the times of twins are kept.
const timingMemo = "timing"

// longDelay is a delay that is only asked for where a target answers unsteadily also when it is asked alone.
const longDelay = 2 * time.Second

// timing is how long requests take whose payload asks for no delay: five, shared by all places of a target.
func (o *probe) timing(ctx context.Context, p *Payload) (base stats.Base, err error) {
	if known, ok := o.Target.Memo.Load(timingMemo); ok {
		return known.(stats.Base), nil //nolint:forcetypeassert // it is stored below
	}
	for _, alone := range []bool{false, true} {
		var took []time.Duration
		for range 5 {
			t, _, err := o.delayed(ctx, p, 0, alone)
			if err != nil {
				return stats.Base{}, err
			}
			took = append(took, t)
		}
		if base = stats.Learn(took); base.Delay > 0 && base.Delay <= longDelay {
			break
		}
	}
	o.Target.Memo.Store(timingMemo, base)
	return base, nil
}

// delayed sends a payload that asks for a delay. An answer that takes longer than is waited for took that long.
func (o *probe) delayed(ctx context.Context, p *Payload, asked time.Duration, alone bool) (
	time.Duration, *answer, error,
) {
	text := o.fill(p.Text, draw(), p.waiting(asked)...)
	r, err := o.Client.Send(ctx, o.request(text), client.Options{As: o.User, Alone: alone, Slow: true,
		Accept: 8*asked + 20*time.Second})
	if r, err = kit.Broken(ctx, o.request(text), r, err); err != nil {
		return 0, nil, err
	}
	if r.Status == http.StatusTooManyRequests {
		return 0, nil, errLimited
	}
	return o.Duration(r), &answer{Response: r, text: text}, nil
}

// waiting are the names in texts of a delay, or of work that takes that long.
func (p *Payload) waiting(d time.Duration) []string {
	if p.rate > 0 {
		return []string{"{n}", fmt.Sprintf("%08d", min(max(1, int(p.rate*d.Seconds())), mostWork))}
	}
	n := int(d / time.Second)
	return []string{"{d}", strconv.Itoa(n), "{d1}", strconv.Itoa(n + 1)}
}

func (o *probe) timeProof(p *Payload, base stats.Base) *proof.Program {
	step := proof.Step{ID: "delays", As: o.user(), Expect: []proof.Expect{{What: proof.Delays}}}
	if base.Work {
		step.Expect[0].What = proof.Works
	}
	for _, asked := range base.Levels() {
		step.Series = append(step.Series, proof.Delayed{Asked: asked,
			Send: o.request(o.fill(p.Text, draw(), p.waiting(asked)...))})
	}
	rand.Shuffle(len(step.Series), func(i, j int) { step.Series[i], step.Series[j] = step.Series[j], step.Series[i] })
	return &proof.Program{About: "Answers wait as long as they are asked to.", Users: o.users(), Steps: []proof.Step{step}}
}
