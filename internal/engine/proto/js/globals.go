package js

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/core"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/databases"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/services"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/windows"
	"github.com/vedette-sec/vedette/internal/engine/script"
)

// modules are those that a script can require, as nuclei/NAME.
var modules = map[string]func(*host.Host) *goja.Object{
	"bytes": core.Bytes, "structs": core.Structs, "net": core.Net, "fs": core.Fs,
	"mysql": databases.MySQL, "mssql": databases.MSSQL, "smb": windows.SMB, "rdp": windows.RDP, "ldap": windows.LDAP,
	"postgres": databases.Postgres, "kerberos": windows.Kerberos, "krbroast": windows.KrbRoast,
	"redis": services.Redis, "ssh": services.SSH, "pop3": services.POP3, "smtp": services.SMTP,
	"telnet": services.Telnet, "vnc": services.VNC, "rsync": services.Rsync, "oracle": services.Oracle,
	"ikev2": services.IKEv2,
}

// pureModules compute with their arguments alone.
var pureModules = []string{"bytes", "structs", "console"}

var requireCall = regexp.MustCompile("\\brequire\\s*\\(\\s*[\"'`]([^\"'`]*)[\"'`]\\s*\\)")

// unsupported is the first module of a source that is not built; "" for none.
func unsupported(source string) string {
	for _, found := range requireCall.FindAllStringSubmatch(source, -1) {
		if name, ours := moduleName(found[1]); !ours && !namesFile(found[1]) {
			return name
		}
	}
	return ""
}

// moduleName is the name of a module without its prefix; ours if it is built.
func moduleName(path string) (name string, ours bool) {
	if path == "console" || path == "goconsole" || path == "nuclei/goconsole" {
		return "console", true
	}
	short, found := strings.CutPrefix(path, "nuclei/")
	if !found {
		return path, false
	}
	if modules[short] == nil {
		short = strings.TrimPrefix(short, "lib")
	}
	if modules[short] == nil {
		return path, false
	}
	return short, true
}

//go:embed globals.js
var globalsSource string

var globalsProgram = sync.OnceValue(func() *goja.Program { return goja.MustCompile("globals.js", globalsSource, true) })

// globals defines the names that a script can use.
func (r *run) globals(initial bool) {
	h := r.host
	for name, f := range map[string]host.Method{
		"Rand": r.asks(func(a *host.Args) (any, error) {
			if n := a.Int(0); n < 0 || n > 1<<20 {
				return nil, fmt.Errorf("%d random bytes are too many", n)
			}
			b := make([]byte, a.Int(0))
			_, _ = rand.Read(b)
			return b, nil
		}),
		"RandInt": r.asks(func(*host.Args) (any, error) {
			var b [8]byte
			_, _ = rand.Read(b[:])
			return int64(binary.BigEndian.Uint64(b[:]) >> 1), nil
		}),
		"log": func(a *host.Args) (any, error) {
			if r.log != nil {
				r.outside = true // it is to be said at each target
				r.log(r.text(a.Value(0)))
			}
			return a.Value(0), nil
		},
		"getNetworkPort": networkPort,
		"isPortOpen":     r.asks(h.Waits(r.open("tcp"))),
		"isUDPPortOpen":  r.asks(h.Waits(r.open("udp"))),
		"ToBytes":        func(a *host.Args) (any, error) { return toBytes(a), nil },
		"ToString":       func(a *host.Args) (any, error) { return toText(a), nil },
		"atob": func(a *host.Args) (any, error) {
			data, err := base64.StdEncoding.DecodeString(a.Text(0))
			if err != nil {
				return goja.Null(), nil //nolint:nilerr // as nuclei answers
			}
			return string(data), h.Spend(len(data))
		},
		"btoa": func(a *host.Args) (any, error) {
			return base64.StdEncoding.EncodeToString([]byte(a.Text(0))), nil
		},
		"require": r.requireIn("."),
		"Export": func(a *host.Args) (any, error) {
			for i := range a.Len() {
				r.export(a.Value(i))
			}
			return goja.Null(), nil
		},
		"ExportAs": func(a *host.Args) (any, error) {
			if a.Len() != 2 {
				return nil, errors.New("ExportAs takes a name and a value")
			}
			text := r.text(a.Value(1))
			r.exports[a.Text(0)] = text
			return goja.Null(), h.Spend(len(text) + len(a.Text(0)))
		},
	} {
		r.define(name, h.Func(f))
	}
	for _, name := range []string{
		"getDomainControllerName", "getDomainControllerNameByLDAP", "getDomainControllerNameBySMB",
	} {
		r.define(name, h.Func(func(*host.Args) (any, error) { return nil, &host.Missing{Name: name} }))
	}
	if initial {
		r.define("set", h.Func(func(a *host.Args) (any, error) {
			r.values[a.Text(0)] = a.Any(1)
			return goja.Null(), nil
		}))
		r.define("updatePayload", h.Func(r.updatePayload))
	}
	if _, err := r.vm.RunProgram(globalsProgram()); err != nil {
		panic(err)
	}
	for name, v := range r.values {
		r.define(name, h.Value(v))
	}
	r.define("template", r.vm.NewDynamicObject(&template{run: r, own: map[string]goja.Value{}}))
}

// asks is a function whose result the arguments of the script do not say.
func (r *run) asks(f host.Method) host.Method {
	return func(a *host.Args) (any, error) {
		r.outside = true
		return f(a)
	}
}

func (r *run) define(name string, v goja.Value) {
	if err := r.vm.Set(name, v); err != nil {
		panic(r.vm.NewGoError(err))
	}
}

// require is require(path). A script's module is made once.
func (r *run) require(a *host.Args) (any, error) {
	name, ours := moduleName(a.Text(0))
	if !ours {
		return nil, &host.Missing{Name: "the module " + name}
	}
	if name == "console" {
		return r.vm.Get("console"), nil
	}
	r.outside = r.outside || !slices.Contains(pureModules, name)
	if r.modules[name] == nil {
		r.modules[name] = modules[name](r.host)
	}
	return r.modules[name], nil
}

// open is isPortOpen(host, port, [seconds]).
func (r *run) open(network string) host.Method {
	return func(a *host.Args) (any, error) {
		address, err := a.Address(0)
		if err != nil {
			return nil, err
		}
		h := r.host
		timeout := h.Timeout
		if n := a.Int(2); n > 0 {
			timeout = min(timeout, time.Duration(n)*time.Second)
		}
		conn, err := dialWithin(h, timeout, network, address)
		if err != nil {
			return nil, err
		}
		return true, conn.Close()
	}
}

func dialWithin(h *host.Host, timeout time.Duration, network, address string) (net.Conn, error) {
	was := h.Timeout
	defer func() { h.Timeout = was }()
	h.Timeout = timeout
	return h.Dial(network, address)
}

// networkPort is getNetworkPort(port, default): the default for no port, and for those of the web and of DNS.
func networkPort(a *host.Args) (any, error) {
	if port := a.Text(0); port == "" || slices.Contains(webPorts, port) {
		return a.Value(1), nil
	}
	return a.Value(0), nil
}

func toBytes(a *host.Args) []byte {
	var all bytes.Buffer
	for i := range a.Len() {
		switch v := a.Any(i).(type) {
		case []byte: // numbers, as nuclei writes them
			for _, b := range v {
				all.WriteString(strconv.Itoa(int(b)))
			}
		case []any:
			for _, x := range v {
				all.WriteString(functions.String(x))
			}
		case nil:
			all.WriteString(textOf(a, i))
		default:
			all.WriteString(functions.String(v))
		}
	}
	return all.Bytes()
}

func toText(a *host.Args) string {
	var all strings.Builder
	for i := range a.Len() {
		all.WriteString(textOf(a, i))
	}
	return all.String()
}

// textOf is an argument as a text; "" for null and undefined.
func textOf(a *host.Args, i int) string {
	switch v := a.Any(i).(type) {
	case map[string]any:
		return a.Text(i)
	case nil:
		return ""
	default:
		return functions.String(v)
	}
}

func (r *run) export(v goja.Value) {
	text := r.text(v)
	if err := r.host.Spend(len(text)); err != nil {
		panic(r.vm.NewGoError(err))
	}
	r.exported.WriteString(text)
}

// text is a value as events show it.
func (r *run) text(v goja.Value) string {
	e := script.Exporter{VM: r.vm, Function: "Export"}
	return r.shown(v, e.Value(v))
}

// shown is a value, which is also there in Go, as events show it: what a module answered as JSON, a script's own
// objects as Go prints a map.
func (r *run) shown(v goja.Value, value any) string {
	if r.host.IsFields(v) {
		if toJSON, ok := goja.AssertFunction(r.vm.Get("to_json")); ok {
			if text, err := toJSON(goja.Undefined(), v); err == nil {
				return text.String()
			}
		}
	}
	return functions.String(value)
}

// template is the object of that name: the arguments, and all that names mean to the template.
type template struct {
	run *run
	own map[string]goja.Value
}

// Get implements goja.DynamicObject.
func (t *template) Get(name string) goja.Value {
	if v, ok := t.own[name]; ok {
		return v
	}
	v, ok := t.run.values[name]
	if !ok && t.run.vars.Vars != nil {
		t.run.outside = true
		v, ok = t.run.vars.Vars(name)
	}
	if !ok {
		return nil
	}
	switch known := v.(type) {
	case dsl.Raw:
		v = string(known)
	case dsl.Text:
		v, _ = known.Render(t.run.vars)
	case []byte:
		v = string(known)
	}
	t.own[name] = t.run.host.Value(v)
	return t.own[name]
}

// Set implements goja.DynamicObject.
func (t *template) Set(name string, v goja.Value) bool {
	t.own[name] = v
	return true
}

// Has implements goja.DynamicObject.
func (t *template) Has(name string) bool { return t.Get(name) != nil }

// Delete implements goja.DynamicObject.
func (t *template) Delete(name string) bool {
	t.own[name] = goja.Undefined()
	return true
}

// Keys implements goja.DynamicObject: the names of the arguments.
func (t *template) Keys() []string {
	var names []string
	for name := range t.run.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
