package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// protocol is the version of what parent and child say to each other. Both are the same binary, unless the file was
// replaced where the running one cannot be started again.
const protocol = "5"

// The kinds of frames. A child greets; then for each job the parent sends it, the child says which templates it does
// not know, the parent sends these, and the child reports until the answer.
const (
	frameHello     = 'h' // child: protocol
	frameJob       = 'j' // parent: wire
	frameNeed      = 'n' // child: indexes of templates, as JSON
	frameTemplates = 't' // parent: some of them, as []Template in the order in which they are needed
	frameEvent     = 'e' // child: event, as JSON
	frameProgress  = 'p' // child: engine.Progress, as JSON
	framePending   = 'x' // child: pending, as JSON
	frameTraffic   = 'w' // child: sent, with gob
	frameQuestion  = 'q' // child: asked, as JSON
	frameReply     = 'r' // parent: replied, as JSON
	frameAnswer    = 'a' // child: answer, as JSON
)

// event is an event with what its own JSON leaves out.
type event struct {
	Template            int
	Target, URL, Scheme string
	Event               engine.Event
}

// pending is a request that an out-of-band interaction may come for.
type pending struct {
	Template int
	Pending  *engine.Pending
}

// sent are HTTP requests that were sent, and how many more were dropped.
type sent struct {
	Exchanges []traffic.Exchange
	Dropped   int64
}

// Command is the argument of this binary that makes it a child; the next is its limit of memory in bytes.
const Command = "engine-child"

// Main is the child: it works until its parent closes the pipe. args are the arguments after Command. It returns the
// exit code.
func Main(args []string, in io.Reader, out io.Writer) int { return run(args, in, out, nil) }

func run(args []string, in io.Reader, out io.Writer, compiling func(path string) error) int {
	if len(args) != 1 {
		return refuse(errors.New("a server starts this command by itself"))
	}
	memory, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || memory <= 0 {
		return refuse(fmt.Errorf("%.40q is no limit of memory", args[0]))
	}
	shared, err := sandbox.Enter(memory, board.Size)
	if err != nil {
		return refuse(err)
	}
	var page *board.Board
	if shared != nil {
		page = board.New(shared)
	}
	return refuse(serve(context.Background(), parent{in}, out, page, compiling))
}

func refuse(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "vedette:", err)
	return 1
}

// parent ends the process, whatever it computes, when the parent has gone.
type parent struct{ in io.Reader }

func (p parent) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if n == 0 && err != nil {
		os.Exit(0)
	}
	return n, err
}

// frame is a message that has arrived.
type frame struct {
	kind    byte
	payload []byte
	err     error
}

// serve does the jobs that arrive, one after the other, until in ends.
func serve(
	ctx context.Context, in io.Reader, out io.Writer, page *board.Board, compiling func(path string) error,
) error {
	c := &conversation{out: out, frames: make(chan frame), cache: &templates.Cache{}, board: page, compiling: compiling}
	go func() { // also while a job runs, to notice the parent's end
		buffered := bufio.NewReaderSize(in, 1<<16)
		for {
			kind, payload, err := sandbox.ReadFrame(buffered)
			if err == nil && kind == frameReply {
				c.reply(payload)
				continue
			}
			c.frames <- frame{kind, payload, err}
			if err != nil {
				return
			}
		}
	}()
	if err := c.write(frameHello, []byte(protocol)); err != nil {
		return err
	}
	for {
		var w wire
		if err := c.expect(frameJob, &w); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if err := c.do(ctx, &w); err != nil {
			return err
		}
	}
}

// maxCompiled is how many templates a child keeps; less than a templates.Cache keeps, which forgets in between.
const maxCompiled = 19_000

// conversation is the child's side of the pipes.
type conversation struct {
	frames chan frame
	board  *board.Board
	cache  *templates.Cache

	compiled  int                     // templates in cache
	compiling func(path string) error // of tests: called before a template is compiled

	open questions

	mu   sync.Mutex // one frame at a time
	out  io.Writer
	lost error // why nothing more can be written
}

func (c *conversation) write(kind byte, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil {
		return c.lost
	}
	err := sandbox.WriteFrame(c.out, kind, payload)
	if !errors.Is(err, sandbox.ErrFrame) { // which was not written
		c.lost = err
	}
	return err
}

func (c *conversation) writeJSON(kind byte, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(kind, payload)
}

func (c *conversation) expect(kind byte, into any) error {
	f := <-c.frames
	if f.err != nil {
		return f.err
	}
	if f.kind != kind {
		return fmt.Errorf("a message of kind %q where %q was due", f.kind, kind)
	}
	return decode(f.payload, into)
}

// A child's heap is small, and each request makes garbage: without room it would be collected every few hundred
// requests, for a fourth of the time of the processor.
const (
	collectRoom = 32 << 20 // bytes of garbage before a collection, or as many as are in use
	collectMost = 400      // percent of what is in use
)

// spareCollections sets when the heap is collected, by what is in use now.
func spareCollections() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(int(min(collectMost, max(100, 100*collectRoom/max(1, live[0].Value.Uint64())))))
}

// recorder hands over what a job sends; wait waits until all of it is handed over. Who sends does not wait for the
// pipe.
func (c *conversation) recorder(w *wire, stop context.CancelCauseFunc) (record func(traffic.Exchange), wait func()) {
	if !w.Records {
		return nil, func() {}
	}
	q := traffic.NewQueue(func(batch []traffic.Exchange, dropped int64) {
		payload, err := encode(sent{batch, dropped})
		if err == nil {
			err = c.write(frameTraffic, payload)
		}
		if err != nil {
			stop(err)
		}
	})
	return q.Add, q.Close
}

// do does one job. The error is one of the conversation; one of the job is in its answer.
func (c *conversation) do(ctx context.Context, w *wire) error {
	if c.compiled+len(w.Templates) > maxCompiled {
		c.cache, c.compiled = &templates.Cache{}, 0
	}
	need := []int{}
	for i, k := range w.Templates {
		if !c.cache.Known(k.digest(), k.Path) {
			need = append(need, i)
		}
	}
	if err := c.writeJSON(frameNeed, need); err != nil {
		return err
	}
	c.compiled += len(need)
	texts := map[int]Template{}
	for len(texts) < len(need) {
		var some []Template
		if err := c.expect(frameTemplates, &some); err != nil {
			return err
		}
		if len(some) > len(need)-len(texts) {
			return errors.New("more templates than were asked for")
		}
		for _, t := range some {
			texts[need[len(texts)]] = t
		}
	}
	spareCollections()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	record, handedOver := c.recorder(w, stop)
	got, err := execute(ctx, w, func(i int) Template { return texts[i] }, c.cache, c.board, sink{
		compiling: c.compiling, ask: c.ask, lend: c.lend, record: record, program: c.program,
		event: func(n int, e engine.Event) {
			err := c.writeJSON(frameEvent, event{n, e.Target, e.URL, e.Scheme, e})
			if errors.Is(err, sandbox.ErrFrame) {
				e.ExtractedResults, e.Meta, e.Error = nil, nil, "What was extracted is too long to be stored."
				err = c.writeJSON(frameEvent, event{n, e.Target, e.URL, e.Scheme, e})
			}
			if err != nil {
				stop(err)
			}
		},
		pending: func(n int, p *engine.Pending) {
			// One that is too long for a frame is not waited for.
			if err := c.writeJSON(framePending, pending{n, p}); err != nil && !errors.Is(err, sandbox.ErrFrame) {
				stop(err)
			}
		},
		progress: func(p engine.Progress) {
			if err := c.writeJSON(frameProgress, p); err != nil {
				stop(err)
			}
		},
	})
	handedOver() // before the answer
	a := answer{}
	switch cause := context.Cause(ctx); {
	case cause != nil:
		a.Failed = cause.Error()
	case err == nil:
		a.Requests, a.Ends, a.Cells, a.Shown, a.Fault = got.Requests, got.ends, got.cells, got.Shown, got.Fault
	default:
		if refused := errs.From(err); refused.Kind != errs.Internal {
			a.Refused = refused
		} else {
			a.Failed = err.Error()
		}
	}
	return c.writeJSON(frameAnswer, a)
}
