package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// MaxProgramTime bounds a program. A task that goes on longer starts it again.
const MaxProgramTime = time.Hour

// maxSilence is how much a program may send without having been asked anything in between, in bytes.
const maxSilence = maxExchange

// program is a server that runs in the sandbox. It ends with its wire.
type program struct {
	log  io.Writer
	done chan struct{} // closed when it has ended
	code int
	err  error // why it did not end by itself
}

// start starts the program of c.
func (w *wire) start(ctx context.Context, c Config) (sdk.Transport, error) {
	free, err := takeSlots(ctx, c.Slots)
	if err != nil {
		return nil, err
	}
	theirs, input, err := os.Pipe()
	if err != nil {
		free()
		return nil, err
	}
	from, output := io.Pipe()
	w.program = &program{log: c.Log, done: make(chan struct{})}
	command := *c.Program
	command.Input, command.Output, command.Time = theirs, output, MaxProgramTime
	go func() {
		defer close(w.program.done)
		w.program.run(w.broken, command)
		_, _ = theirs.Close(), output.Close()
		free()
	}()
	// Who is stuck in a read or a write of a pipe goes on when the session ends.
	context.AfterFunc(w.broken, func() { _, _ = from.Close(), input.Close() })
	talk := &talk{wire: w, from: from, to: input, left: maxSilence}
	return &sdk.IOTransport{Reader: io.NopCloser(talk), Writer: talk, MaxLineLength: -1}, nil
}

// takeSlots waits for one of each.
func takeSlots(ctx context.Context, slots []chan struct{}) (free func(), err error) {
	taken := 0
	free = func() {
		for _, slot := range slots[:taken] {
			<-slot
		}
	}
	for _, slot := range slots {
		select {
		case slot <- struct{}{}:
			taken++
		case <-ctx.Done():
			free()
			return nil, errs.New(errs.Invalid, CodeUnreachable, "Too many programs of MCP servers run at the moment: at most %d do.",
				cap(slot))
		}
	}
	return free, nil
}

func (p *program) run(ctx context.Context, c isolate.Command) {
	got, err := isolate.Run(ctx, c)
	p.err = err
	if got == nil {
		return
	}
	p.code = got.Code
	if p.log != nil {
		_, _ = p.log.Write(got.Stderr)
	}
}

// wait waits until the program has ended: wire.end has closed its input.
func (w *wire) wait() {
	if w.program != nil {
		<-w.program.done
	}
}

// failure describes an error without the program's own text.
func (p *program) failure(err error) error {
	var own *jsonrpc.Error
	if errors.As(err, &own) && own.Code != libraryError {
		return errs.New(errs.Invalid, CodeRefused, "The server refused (error %d of the protocol).", own.Code).Because(err)
	}
	select {
	case <-p.done:
	case <-time.After(CloseTimeout): // it still runs
		return errs.New(errs.Invalid, CodeProtocol,
			"The program does not speak the Model Context Protocol: it must print messages, one in a line, and nothing else.").Because(err)
	}
	switch {
	case p.err == nil && p.code == isolate.NoProgram:
		return errs.New(errs.Invalid, CodeProgram, "There is no such program in the sandbox.")
	case p.err == nil && p.code == 0:
		return errs.New(errs.Invalid, CodeProgram,
			"The program ended. It must read messages from its standard input, and print one in a line, and nothing else.")
	case p.err == nil:
		return errs.New(errs.Invalid, CodeProgram, "The program ended with the code %d.", p.code)
	case sandbox.IsLimit(p.err):
		return errs.New(errs.Invalid, CodeProgram, "The program was ended: %s.", p.err.Error())
	case errors.Is(p.err, isolate.ErrNoBubblewrap), errors.Is(p.err, isolate.ErrNoSocat),
		errors.Is(p.err, isolate.ErrNoNamespaces):
		return errs.New(errs.Invalid, CodeNoSandbox, "No programs are run here: %s.", errs.Clip(p.err.Error(), 300))
	}
	return fmt.Errorf("an MCP server: %w", p.err)
}

// talk is both directions of the conversation with a program.
type talk struct {
	wire *wire
	from io.Reader
	to   io.WriteCloser
	left int
}

// Read implements io.Reader.
func (t *talk) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	t.wire.mu.Lock()
	defer t.wire.mu.Unlock()
	if t.left -= n; t.left < 0 {
		t.wire.stop(errTooLarge)
		return 0, errTooLarge
	}
	return n, err
}

// Write implements io.Writer.
func (t *talk) Write(b []byte) (int, error) {
	t.wire.mu.Lock()
	t.left = maxSilence
	t.wire.mu.Unlock()
	return t.to.Write(b)
}

// Close implements io.Closer: a program ends when its input does.
func (t *talk) Close() error { return t.to.Close() }
