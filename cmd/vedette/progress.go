package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// teller tells a person how a task goes: a bar on a terminal, lines elsewhere.
type teller struct {
	w io.Writer
	*bar
}

func newTeller(w io.Writer) *teller {
	b := newBar(w)
	return &teller{b.above(w), b}
}

// tell shows one event of a task's stream.
func (t *teller) tell(e event) {
	switch e.Type {
	case "plan":
		var plan struct {
			Understood    []string `json:"understood"`
			NotUnderstood []string `json:"not_understood"`
			NotDone       []string `json:"not_done"`
		}
		t.read(e, &plan)
		t.lines("plan      ", plan.Understood)
		t.lines("not used  ", plan.NotUnderstood)
		t.lines("not done  ", plan.NotDone)
	case "step-started":
		var step struct{ Tool string }
		t.read(e, &step)
		t.end()
		t.lines(step.Tool+"…", []string{""})
	case "progress":
		var p struct {
			Tool, Text  string
			Done, Total int64
		}
		t.read(e, &p)
		t.show(p.Tool, p.Done, p.Total)
	case "issue":
		var i issue
		t.read(e, &i)
		t.lines("found     ", []string{fmt.Sprintf("[%s] %s at %s", i.Severity, i.Title, i.MatchedAt)})
	case "step-finished":
		var step struct{ Tool, Words, Error string }
		t.read(e, &step)
		t.end()
		if step.Words != "" {
			t.lines("", []string{step.Words})
		}
		if step.Error != "" {
			t.lines("failed    ", []string{step.Error})
		}
	}
}

// read decodes an event's data; what a newer server adds is not ours to show.
func (t *teller) read(e event, into any) { _ = json.Unmarshal(e.Data, into) }

func (t *teller) lines(label string, texts []string) {
	for _, text := range texts {
		fmt.Fprintf(t.w, "%s%s\n", label, printable(text))
	}
}

// bar shows how far work is, on a terminal; elsewhere it shows nothing.
type bar struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

func newBar(w io.Writer) *bar {
	if !isTerminal(w) {
		return &bar{}
	}
	return &bar{bars: mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))}
}

// above is where lines go that shall stand above the bar.
func (b *bar) above(w io.Writer) io.Writer {
	if b.bars == nil {
		return w
	}
	return b.bars
}

func (b *bar) show(name string, done, total int64) {
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

// end takes the bar away; the next show makes another.
func (b *bar) end() {
	if b.bar != nil {
		b.bar.Abort(true)
		b.bar = nil
	}
}

func (b *bar) close() {
	b.end()
	if b.bars != nil {
		b.bars.Shutdown()
		b.bars = nil
	}
}
