package host_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/script"
)

func newHost(t *testing.T) *host.Host {
	vm := script.New()
	script.Bound(vm, true)
	clock := script.StartClock(time.Minute, vm.Interrupt)
	t.Cleanup(clock.Pause)
	h := host.New(t.Context(), vm, clock, time.Minute, func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	})
	t.Cleanup(h.Close)
	return h
}

// Values go into JavaScript and arguments come out of it.
func TestValues(t *testing.T) {
	h := newHost(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(h.VM.Set("give", h.Func(func(*host.Args) (any, error) {
		return host.Fields{{"z", []byte{1, 2}}, {"a", []string{"x"}}, {"m", map[string]any{"k": []any{int64(1), nil}}}}, nil
	})))
	var got string
	must(h.VM.Set("take", h.Func(func(a *host.Args) (any, error) {
		address, err := a.Address(0)
		got = strings.Join([]string{address, string(a.Bytes(2)), a.Text(3), a.Text(4)}, "|")
		return nil, err
	})))
	v, err := h.VM.RunString(`take("::1", "80", [65, 66.5], new Uint8Array([67]), null); JSON.stringify(give())`)
	must(err)
	if v.String() != `{"z":[1,2],"a":["x"],"m":{"k":[1,null]}}` || got != "[::1]:80|AB|C|" {
		t.Error(v, got)
	}
	for _, wrong := range []string{"take('h', 0)", "take('h', 'ssh')", "take('', 1)", "take()"} {
		if _, err := h.VM.RunString(wrong); err == nil {
			t.Error(wrong)
		}
	}
}

// What is not built ends a script that would catch it.
func TestMissing(t *testing.T) {
	h := newHost(t)
	class := h.Class(func(*host.Args) (*goja.Object, error) { return h.Object("m.C", []string{"Absent"}, nil), nil })
	if err := h.VM.Set("C", class); err != nil {
		t.Fatal(err)
	}
	_, err := h.VM.RunString("try { C().Absent() } catch (e) {} 'went on'")
	if missing, ok := errors.AsType[*host.Missing](err); !ok || missing.Name != "m.C.Absent" {
		t.Error(err)
	}
}

// Only TCP and UDP are dialled; an error of the dialler is known as one.
func TestDial(t *testing.T) {
	h := newHost(t)
	if _, err := h.Dial("unix", "/run/x"); err == nil || h.Failed() != nil {
		t.Error(err, h.Failed())
	}
	_, err := h.Dial("tcp", "h:1")
	if _, ok := errors.AsType[*host.DialError](err); !ok || h.Failed() == nil {
		t.Error(err)
	}
}
