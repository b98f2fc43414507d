package coverage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A checkpoint is only appended to: a JSON record a line, with blank lines between batches, so that a batch that was
// cut off damages no other.
//
//	{"templates":["id digest",…]}         the templates behind the numbers below
//	{"target":"…","state":"tested","reason":"…","in":"<bitmap, base64>"}
//	{"event":"<fingerprint>","severity":"high"}  a reported event
//
// A cell is written after all its events, an event after its callback has returned. A resumed scan skips the cells
// that ended as tested, not applicable, skipped or denied, tests all others, and reports only events that the
// checkpoint lacks. So no event is lost; one is reported twice only if the process was killed between the end of the
// callback and the write that follows it.
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

// Checkpoint is what an earlier run of a scan has finished and reported. A scan does not change it. A nil Checkpoint
// is empty.
type Checkpoint struct {
	numbers    map[string]uint32     // of templates, by the key that the scan gives them
	targets    map[string][]endedSet // by target as it was given
	events     map[string]int        // how often, by fingerprint
	severities map[string]bool       // of the events
}

// endedSet is the templates, by number, that ended alike on one target.
type endedSet struct {
	End
	in *roaring.Bitmap
}

// Severities are those of the reported events, in no order.
func (c *Checkpoint) Severities() []string { return slices.Collect(maps.Keys(c.severities)) }

// Len is the number of cells that need not be tested again.
func (c *Checkpoint) Len() int {
	n := 0
	for _, sets := range c.targets {
		all := roaring.New()
		for _, s := range sets {
			all.Or(s.in)
		}
		n += int(all.GetCardinality())
	}
	return n
}

// ReadCheckpoint reads what a Writer wrote, without records that were cut off. The error is an *errs.Error when the
// text is no checkpoint.
func ReadCheckpoint(from io.Reader) (*Checkpoint, error) {
	c := &Checkpoint{
		numbers: map[string]uint32{}, targets: map[string][]endedSet{}, events: map[string]int{},
		severities: map[string]bool{},
	}
	var templates []uint32 // by their number in the current part of the file
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
			templates = c.number(r.Templates)
		}
		c.add(r, templates)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	if wrong > 0 && templates == nil {
		return nil, errs.Field("resume", "this is not a file that a scan has written to resume from.")
	}
	return c, nil
}

// number gives templates their numbers in this checkpoint.
func (c *Checkpoint) number(templates []string) []uint32 {
	out := make([]uint32, len(templates))
	for i, key := range templates {
		n, known := c.numbers[key]
		if !known {
			n = uint32(len(c.numbers))
			c.numbers[key] = n
		}
		out[i] = n
	}
	return out
}

func (c *Checkpoint) add(r record, templates []uint32) {
	if r.Event != "" {
		c.events[r.Event]++
		c.severities[r.Severity] = true
	}
	end := End{r.State, r.Reason}
	if r.Target == nil || !slices.Contains(States[:], r.State) || !end.final() {
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
	c.targets[*r.Target] = append(c.targets[*r.Target], endedSet{end, in})
}

// Done reports whether a cell need not be tested again, and how it ended.
func (c *Checkpoint) Done(target, template string) (End, bool) {
	if c == nil {
		return End{}, false
	}
	n, known := c.numbers[template]
	if !known {
		return End{}, false
	}
	for _, s := range c.targets[target] {
		if s.in.Contains(n) {
			return s.End, true
		}
	}
	return End{}, false
}

// Reported is how often an event was reported, by its fingerprint.
func (c *Checkpoint) Reported(fingerprint string) int {
	if c == nil {
		return 0
	}
	return c.events[fingerprint]
}

// flushEvery is how long an ended cell may wait to be written.
const flushEvery = 250 * time.Millisecond

// Writer writes a checkpoint. A nil Writer writes nothing.
type Writer struct {
	to io.Writer

	mu      sync.Mutex
	pending map[string]map[End]*roaring.Bitmap // by target
	flushed time.Time
	err     error
}

// NewWriter begins a checkpoint; templates are the keys by which a later run identifies them.
func NewWriter(to io.Writer, templates []string) *Writer {
	w := &Writer{to: to, pending: map[string]map[End]*roaring.Bitmap{}, flushed: time.Now()}
	w.write(record{Templates: templates})
	return w
}

// Cell records the end of a cell. Cells are written in batches.
func (w *Writer) Cell(target string, template int, end End) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending[target] == nil {
		w.pending[target] = map[End]*roaring.Bitmap{}
	}
	in := w.pending[target][end]
	if in == nil {
		in = roaring.New()
		w.pending[target][end] = in
	}
	in.Add(uint32(template))
	if time.Since(w.flushed) > flushEvery {
		w.flush()
	}
}

// Event writes that an event was reported.
func (w *Writer) Event(fingerprint, severity string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(record{Event: fingerprint, Severity: severity})
}

// Close writes the rest and returns the errors of all writes.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

// flush writes the cells that have ended. The caller holds mu.
func (w *Writer) flush() {
	var batch []record
	for target, byEnd := range w.pending {
		for end, in := range byEnd {
			text, err := in.ToBase64()
			w.err = errors.Join(w.err, err)
			batch = append(batch, record{Target: &target, State: end.State, Reason: end.Reason, In: text})
		}
	}
	clear(w.pending)
	w.flushed = time.Now()
	if len(batch) > 0 {
		w.write(batch...)
	}
}

// write writes a batch at once. The caller holds mu, except for the first batch.
func (w *Writer) write(batch ...record) {
	if w.err != nil {
		return
	}
	b := bytes.NewBufferString("\n")
	for _, r := range batch {
		line, err := json.Marshal(r)
		w.err = errors.Join(w.err, err)
		b.Write(append(line, '\n'))
	}
	if _, err := w.to.Write(b.Bytes()); err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("writing the checkpoint: %w", err))
	}
}
