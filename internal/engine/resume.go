package engine

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A checkpoint is a text file that is only appended to: one JSON record a line, blank
// lines between batches, so that a batch that was cut off harms no other.
//
//	{"templates":["id digest",…]}         what the numbers of the records below mean
//	{"target":"…","state":"tested","reason":"…","in":"<bitmap, base64>"}
//	{"event":"<fingerprint>","severity":"high"}  an event that was handed on
//
// A cell is written down when it has ended and all its events were handed on; an event,
// after OnEvent has returned. A scan that goes on from a checkpoint (Scan.Done) does
// not run the cells that ended as tested, not applicable, skipped or denied; all others
// it runs anew, and of their events it hands on only those that the checkpoint does not
// know. So no event is lost; one is handed on twice only if the process was killed
// between the end of OnEvent and the write that follows it.
type record struct {
	Templates []string `json:"templates,omitempty"`
	Target    *string  `json:"target,omitempty"`
	State     State    `json:"state,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	In        string   `json:"in,omitempty"`
	Event     string   `json:"event,omitempty"`
	Severity  string   `json:"severity,omitempty"` // of the event
}

// maxRecord bounds a line of a checkpoint, in bytes.
const maxRecord = 64 << 20

// Ledger is what a checkpoint knows: cells that ended, and events that were handed on.
// A scan does not change it.
type Ledger struct {
	numbers map[string]uint32     // of templates, by what keyOf calls them
	targets map[string][]endedSet // by target as it was given
	events  map[string]int        // how often, by fingerprint

	severities map[string]bool // of the events
}

// Severities are those of the events that were handed on, each once, in no order.
func (l *Ledger) Severities() []string { return slices.Collect(maps.Keys(l.severities)) }

// ended is how a cell ended.
type ended struct {
	state  uint8
	reason string
}

// finished says whether a cell that ended so need not be run again.
func (e ended) finished() bool {
	return e.state != failed && e.state != overBudget && (e.state != skipped || e.reason != Interrupted)
}

// endedSet is the templates, by number, that ended alike on one target.
type endedSet struct {
	ended
	in *roaring.Bitmap
}

// Len is the number of cells that need not be run again.
func (l *Ledger) Len() int {
	n := 0
	for _, sets := range l.targets {
		all := roaring.New()
		for _, s := range sets {
			all.Or(s.in)
		}
		n += int(all.GetCardinality())
	}
	return n
}

// ReadCheckpoint reads what Scan.Checkpoint wrote. A record that was cut off, as the
// end of a process leaves it, is passed over. The error is an *errs.Error when the text
// is no checkpoint at all.
func ReadCheckpoint(from io.Reader) (*Ledger, error) {
	l := &Ledger{numbers: map[string]uint32{}, targets: map[string][]endedSet{}, events: map[string]int{}, severities: map[string]bool{}}
	var templates []uint32 // by their number in the part of the file that is being read
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxRecord)
	wrong := 0
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var r record
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			wrong++
			continue
		}
		if r.Templates != nil {
			templates = l.number(r.Templates)
		}
		l.take(r, templates)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	if wrong > 0 && templates == nil {
		return nil, errs.Field("resume", "this is not a file that a scan has written to resume from.")
	}
	return l, nil
}

// number gives templates the numbers that they have in the ledger.
func (l *Ledger) number(templates []string) []uint32 {
	out := make([]uint32, len(templates))
	for i, name := range templates {
		n, known := l.numbers[name]
		if !known {
			n = uint32(len(l.numbers))
			l.numbers[name] = n
		}
		out[i] = n
	}
	return out
}

func (l *Ledger) take(r record, templates []uint32) {
	if r.Event != "" {
		l.events[r.Event]++
		l.severities[r.Severity] = true
	}
	e := ended{uint8(max(0, slices.Index(stateOrder[:], r.State))), r.Reason}
	if r.Target == nil || stateOrder[e.state] != r.State || !e.finished() {
		return
	}
	written, in := roaring.New(), roaring.New()
	if _, err := written.FromBase64(r.In); err != nil {
		return
	}
	written.Iterate(func(i uint32) bool {
		if int(i) < len(templates) {
			in.Add(templates[i])
		}
		return true
	})
	l.targets[*r.Target] = append(l.targets[*r.Target], endedSet{e, in})
}

// done says whether a cell need not be run again, and how it ended.
func (l *Ledger) done(target, template string) (ended, bool) {
	if l == nil {
		return ended{}, false
	}
	n, known := l.numbers[template]
	if !known {
		return ended{}, false
	}
	for _, s := range l.targets[target] {
		if s.in.Contains(n) {
			return s.ended, true
		}
	}
	return ended{}, false
}

// told is how often an event was handed on.
func (l *Ledger) told(fingerprint string) int {
	if l == nil {
		return 0
	}
	return l.events[fingerprint]
}

// keyOf names a template so that a checkpoint knows it again: its id and what it says,
// the scan's variables included.
func keyOf(p *program.Program, vars program.Vars) string {
	h := sha256.New()
	fmt.Fprint(h, p.Digest)
	for _, name := range slices.Sorted(maps.Keys(vars.Texts)) {
		fmt.Fprintf(h, "\x00%q=%q", name, vars.Texts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(vars.Lists)) {
		fmt.Fprintf(h, "\x00%q=%q", name, vars.Lists[name])
	}
	return p.ID + " " + hex.EncodeToString(h.Sum(nil)[:8])
}

// fingerprint is equal for events that say the same about the same place.
func (ev *Event) fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q", ev.Target, ev.TemplateID, ev.MatcherName, ev.ExtractorName, ev.MatchedAt, ev.ExtractedResults)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// flushEvery is how long an ended cell may wait to be written down.
const flushEvery = 250 * time.Millisecond

// checkpoint writes down what ends.
type checkpoint struct {
	to io.Writer

	mu      sync.Mutex
	pending map[string]map[ended]*roaring.Bitmap // by target
	flushed time.Time
	err     error
}

func newCheckpoint(to io.Writer, templates []string) *checkpoint {
	c := &checkpoint{to: to, pending: map[string]map[ended]*roaring.Bitmap{}, flushed: time.Now()}
	c.write(record{Templates: templates})
	return c
}

// cell notes that a cell has ended.
func (c *checkpoint) cell(target string, template int, e ended) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[target] == nil {
		c.pending[target] = map[ended]*roaring.Bitmap{}
	}
	in := c.pending[target][e]
	if in == nil {
		in = roaring.New()
		c.pending[target][e] = in
	}
	in.Add(uint32(template))
	if time.Since(c.flushed) > flushEvery {
		c.flush()
	}
}

// event notes that an event was handed on.
func (c *checkpoint) event(fingerprint, severity string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(record{Event: fingerprint, Severity: severity})
}

// close writes what is left, and says what went wrong while writing.
func (c *checkpoint) close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	return c.err
}

// flush writes the cells that have ended. The caller holds mu.
func (c *checkpoint) flush() {
	var batch []record
	for target, byEnd := range c.pending {
		for e, in := range byEnd {
			text, err := in.ToBase64()
			c.err = errors.Join(c.err, err)
			batch = append(batch, record{Target: &target, State: stateOrder[e.state], Reason: e.reason, In: text})
		}
	}
	clear(c.pending)
	c.flushed = time.Now()
	if len(batch) > 0 {
		c.write(batch...)
	}
}

// write writes a batch in one piece. The caller holds mu, but for the first.
func (c *checkpoint) write(batch ...record) {
	if c.err != nil {
		return
	}
	b := bytes.NewBufferString("\n")
	for _, r := range batch {
		line, err := json.Marshal(r)
		c.err = errors.Join(c.err, err)
		b.Write(append(line, '\n'))
	}
	if _, err := c.to.Write(b.Bytes()); err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("writing the checkpoint: %w", err))
	}
}
