package cli

import (
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Bar is a progress bar on a terminal; elsewhere it shows nothing.
type Bar struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

// NewBar makes a bar on w.
func NewBar(w io.Writer) *Bar {
	if !IsTerminal(w) {
		return &Bar{}
	}
	return &Bar{bars: mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))}
}

// Above is the writer for lines above the bar.
func (b *Bar) Above(w io.Writer) io.Writer {
	if b.bars == nil {
		return w
	}
	return b.bars
}

// Show updates the bar.
func (b *Bar) Show(name string, done, total int64) {
	if b.bars == nil || total == 0 {
		return
	}
	if b.bar == nil {
		b.bar = b.bars.AddBar(total, mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(name+" ")),
			mpb.AppendDecorators(decor.CountersNoUnit("%d of %d"), decor.Elapsed(decor.ET_STYLE_GO, decor.WCSyncSpace)))
	}
	b.bar.SetTotal(total, false)
	b.bar.SetCurrent(done)
}

// End removes the bar; the next Show makes another.
func (b *Bar) End() {
	if b.bar != nil {
		b.bar.Abort(true)
		b.bar = nil
	}
}

// Close removes the bar for good.
func (b *Bar) Close() {
	b.End()
	if b.bars != nil {
		b.bars.Shutdown()
		b.bars = nil
	}
}
