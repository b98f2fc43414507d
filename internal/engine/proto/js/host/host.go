// Package host is what the modules of javascript blocks share: connections within the scope that end with the script,
// the bytes that it may read and hold, and values on their way between Go and JavaScript.
package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/script"
)

// Bounds of one run of a script.
const (
	maxBytes = 32 << 20 // that it reads, and that its buffers hold
	maxConns = 256      // that it opens
	maxCalls = 10_000   // of functions that wait
)

// Host is one run of a script. It belongs to the goroutine of the script, but Close.
type Host struct {
	VM      *goja.Runtime
	Ctx     context.Context // ends with the run
	Timeout time.Duration   // for a connection, and for an answer
	Folder  string          // of files that the script may read; "" for none

	clock *script.Clock
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	bytes goja.Constructor
	state map[*goja.Object]any
	made  *goja.Symbol // marks objects that are made of Fields
	calls int

	mu    sync.Mutex
	spent int
	ip    string
	conns []net.Conn
	err   error // of the last dial that failed
}

// New is a run. The machine is bounded already; dial connects within the scope.
func New(
	ctx context.Context, vm *goja.Runtime, clock *script.Clock, timeout time.Duration,
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) *Host {
	h := &Host{VM: vm, Ctx: ctx, Timeout: timeout, clock: clock, dial: dial, state: map[*goja.Object]any{},
		made: goja.NewSymbol("made")}
	h.bytes, _ = goja.AssertConstructor(vm.Get("Uint8Array"))
	return h
}

// Close closes the connections. It may be called from any goroutine, and more than once.
func (h *Host) Close() {
	h.mu.Lock()
	open := h.conns
	h.conns = nil
	h.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

// DialError is the error of a connection that could not be made.
type DialError struct{ Err error }

// Error implements error.
func (e *DialError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the dialler.
func (e *DialError) Unwrap() error { return e.Err }

// Failed is the error of the last connection that could not be made; nil for none.
func (h *Host) Failed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// IP is the address of the first server that answered; "" for none.
func (h *Host) IP() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ip
}

// Address is a host and a port as a dialler takes them.
func Address(host, port string) string {
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// Dial connects within the scope. The connection ends with the run, and what is read from it counts. The error is a
// *DialError.
func (h *Host) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(h.Ctx, h.Timeout)
	defer cancel()
	return h.DialContext(ctx, network, address)
}

// DialContext is Dial within a context of the caller's, which libraries want. It may be called from any goroutine.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	kind := strings.TrimRight(network, "46")
	if kind != "tcp" && kind != "udp" {
		return nil, fmt.Errorf("the protocol %.20q is neither tcp nor udp", network)
	}
	h.mu.Lock()
	full := len(h.conns) >= maxConns
	h.mu.Unlock()
	if full {
		return nil, fmt.Errorf("more than %d connections", maxConns)
	}
	c, err := h.dial(ctx, kind, address)
	if err != nil {
		err = &DialError{err}
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
		return nil, err
	}
	counted := &conn{Conn: c, host: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns = append(h.conns, counted)
	if h.Ctx.Err() != nil {
		_ = c.Close()
		return nil, h.Ctx.Err()
	}
	if at, _, err := net.SplitHostPort(c.RemoteAddr().String()); err == nil && h.ip == "" {
		h.ip = at
	}
	return counted, nil
}

// Ask connects over TCP to the host and port in the arguments from the i-th on, and talks there for one timeout.
func (h *Host) Ask(a *Args, i int, talk func(conn net.Conn) (any, error)) (any, error) {
	address, err := a.Address(i)
	if err != nil {
		return nil, err
	}
	conn, err := h.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(h.Timeout)); err != nil {
		return nil, err
	}
	return talk(conn)
}

var errBytes = fmt.Errorf("more than %d MiB were read or kept", maxBytes>>20)

// Spend counts bytes that the script has read or keeps. The error says that they are too many.
func (h *Host) Spend(n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n < 0 || h.spent > maxBytes-n {
		return errBytes
	}
	h.spent += n
	return nil
}

type conn struct {
	net.Conn
	host *Host
}

// Read reads what the run may still read.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if over := c.host.Spend(n); over != nil {
		return 0, over
	}
	return n, err
}

// Close makes room for another connection.
func (c *conn) Close() error {
	c.host.mu.Lock()
	c.host.conns = slices.DeleteFunc(c.host.conns, func(other net.Conn) bool { return other == c })
	c.host.mu.Unlock()
	return c.Conn.Close()
}

// Missing is what ends a script that calls what is not built.
type Missing struct{ Name string }

// Error implements error.
func (e *Missing) Error() string { return e.Name + " is not supported yet" }

// Method is a function that a script can call. Its result is converted by Host.Value; the script sees an error as an
// exception.
type Method func(a *Args) (any, error)

// Func is a function of JavaScript that answers at once.
func (h *Host) Func(f Method) goja.Value {
	return h.VM.ToValue(func(call goja.FunctionCall) goja.Value { return h.call(f, call.Arguments) })
}

// Waits is Func for one that waits for the network; the script's clock stands still meanwhile. Libraries parse there
// what strangers send: one that fails on it is an exception for the script, not the end of the scan.
func (h *Host) Waits(f Method) Method {
	return func(a *Args) (result any, err error) {
		defer func() {
			x := recover()
			if failed, ok := x.(runtime.Error); ok {
				err = fmt.Errorf("the answer cannot be understood: %w", failed)
			} else if x != nil {
				panic(x) // exceptions of the script
			}
		}()
		if h.calls++; h.calls > maxCalls {
			return nil, fmt.Errorf("more than %d calls that wait", maxCalls)
		}
		h.clock.Pause()
		defer h.clock.Resume()
		return f(a)
	}
}

func (h *Host) call(f Method, arguments []goja.Value) goja.Value {
	result, err := f(&Args{host: h, values: arguments})
	if h.Ctx.Err() != nil {
		h.VM.Interrupt(context.Cause(h.Ctx))
		return goja.Undefined()
	}
	if missing, ok := errors.AsType[*Missing](err); ok {
		h.VM.Interrupt(missing) // the script must not go on as if it had an answer
		return goja.Undefined()
	}
	if err != nil {
		panic(h.VM.NewGoError(err))
	}
	return h.Value(result)
}

// Class is a class; build makes its objects, and may keep the arguments. It may be called without new.
func (h *Host) Class(build func(a *Args) (*goja.Object, error)) goja.Value {
	return h.VM.ToValue(func(call goja.ConstructorCall) *goja.Object {
		object, _ := h.call(func(a *Args) (any, error) { return build(a) }, slices.Clone(call.Arguments)).(*goja.Object)
		return object
	})
}

// Methods are those of an object, by their names.
type Methods map[string]Method

// Object is an object with methods; missing are the names of those that are not built.
func (h *Host) Object(name string, missing []string, methods Methods) *goja.Object {
	o := h.VM.NewObject()
	for method, f := range methods {
		h.set(o, method, h.Func(f))
	}
	for _, method := range missing {
		h.set(o, method, h.Func(func(*Args) (any, error) { return nil, &Missing{name + "." + method} }))
	}
	return o
}

// Kept is Object for one that belongs to a value of Go, which Args.State finds.
func (h *Host) Kept(name string, state any, methods Methods) *goja.Object {
	o := h.Object(name, nil, methods)
	h.SetState(o, state)
	return o
}

// SetState keeps a value of Go for an object.
func (h *Host) SetState(o *goja.Object, v any) { h.state[o] = v }

func (h *Host) set(o *goja.Object, name string, v goja.Value) {
	if err := o.Set(name, v); err != nil {
		panic(h.VM.NewGoError(err))
	}
}

// Args are the arguments of a call.
type Args struct {
	host   *Host
	values []goja.Value
}

// Len is how many there are.
func (a *Args) Len() int { return len(a.values) }

// Value is an argument; undefined where there is none.
func (a *Args) Value(i int) goja.Value {
	if i >= len(a.values) {
		return goja.Undefined()
	}
	return a.values[i]
}

// State is what SetState keeps for an argument; nil for none.
func (a *Args) State(i int) any {
	o, ok := a.Value(i).(*goja.Object)
	if !ok {
		return nil
	}
	return a.host.state[o]
}

// Any is an argument in Go; see script.Exporter.
func (a *Args) Any(i int) any {
	e := script.Exporter{VM: a.host.VM, Function: "a function of a module"}
	return e.Value(a.Value(i))
}

// Text is an argument as a text; bytes are its characters. It is empty for none, null and undefined.
func (a *Args) Text(i int) string {
	v := a.Value(i)
	if goja.IsUndefined(v) || goja.IsNull(v) {
		return ""
	}
	if o, ok := v.(*goja.Object); ok {
		if b, ok := a.Any(i).([]byte); ok {
			return string(b)
		}
		return o.String()
	}
	return v.String()
}

// Int is an argument as a number; 0 for none.
func (a *Args) Int(i int) int { return int(a.Value(i).ToInteger()) }

// Port is an argument as a port. The error says that it is none.
func (a *Args) Port(i int) (string, error) {
	text := a.Text(i)
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("%.20q is no port", text)
	}
	return text, nil
}

// Address is the host in an argument and the port in the next one. The error says that they are none.
func (a *Args) Address(i int) (string, error) {
	port, err := a.Port(i + 1)
	if err != nil {
		return "", err
	}
	if a.Text(i) == "" {
		return "", errors.New("the host is empty")
	}
	return Address(a.Text(i), port), nil
}

// Bytes is an argument as bytes: those of an array, or of a text.
func (a *Args) Bytes(i int) []byte { return a.host.Bytes(a.Value(i)) }

// Bytes are those of a value: of an array, or of a text.
func (h *Host) Bytes(v goja.Value) []byte {
	if v == nil {
		return nil
	}
	a := &Args{host: h, values: []goja.Value{v}}
	switch v := a.Any(0).(type) {
	case []byte:
		return v
	case []any:
		b := make([]byte, len(v))
		for k, x := range v {
			switch x := x.(type) {
			case int64:
				b[k] = byte(x)
			case float64:
				b[k] = byte(int64(x))
			}
		}
		return b
	}
	return []byte(a.Text(0))
}
