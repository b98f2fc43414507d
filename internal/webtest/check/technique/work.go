package technique

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Work that is asked for: first so much as takes a fifth of a second to one on today's machines, then more, up to the
// last. An answer that is late by less than leastLate computes nothing.
const (
	firstWork = 1_000_000
	lastWork  = 4_000_000
	mostWork  = 16_000_000 // of a series, for the sake of memory
	leastLate = 100 * time.Millisecond
)

// work looks for what a statement computes where its database cannot wait. One request asks for some work, which is all
// where nothing comes of it. Where the answer is late, the work is increased until it takes long enough to be told from
// chance; how much that is, on this machine, is the rate at which a series then asks for seconds.
func (o *probe) work(ctx context.Context, p *Payload) (*shown, error) {
	quick := o.Duration(o.base.Response)
	for _, r := range []*message.Response{o.reaction.Unknown, o.reaction.Odd} {
		if r != nil {
			quick = min(quick, o.Duration(r))
		}
	}
	asked := *p
	asked.rate = firstWork // of each second that delayed asks for
	took, _, err := o.delayed(ctx, &asked, time.Second, false)
	if err != nil || took-quick < leastLate {
		return nil, err
	}
	base, err := o.timing(ctx, &asked)
	if err != nil {
		return nil, err
	}
	base.Work, base.Delay = true, base.WorkDelay()
	late := took - base.Median
	for late >= leastLate && late < base.Delay/2 && asked.rate < lastWork {
		asked.rate *= 2
		if took, _, err = o.delayed(ctx, &asked, time.Second, false); err != nil {
			return nil, err
		}
		late = took - base.Median
	}
	if late < leastLate || late < base.Delay/2 {
		return nil, nil
	}
	asked.rate /= late.Seconds()
	return o.confirm(ctx, &asked, base)
}
