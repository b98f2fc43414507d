package js_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/js"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// serve is the address of a service.
func serve(t testing.TB, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				talk(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// env is a target without limits.
func env(address string, timeout time.Duration) *proto.Env {
	return &proto.Env{
		Input: address, Target: rawurl.URL{Host: address}, Timeout: timeout,
		Vars: func(at rawurl.URL) *dsl.Env {
			return &dsl.Env{Vars: func(name string) (any, bool) { return at.Variable(name, false) }}
		},
		Begin: func(context.Context, string) (func(), error) { return func() {}, nil },
		Dial:  new(net.Dialer).DialContext,
	}
}

// run runs a script and returns its reply; nil for none.
func run(t testing.TB, ctx context.Context, e *proto.Env, block *syntax.JavaScript) (reply *proto.Reply, err error) {
	t.Helper()
	if block.Args == nil {
		block.Args = []syntax.Variable{{Name: "Host", Value: "{{Host}}"}}
	}
	return runIn(t, ctx, "t.yaml", e, block)
}

// runIn runs a script of a template in a file.
func runIn(
	t testing.TB, ctx context.Context, file string, e *proto.Env, block *syntax.JavaScript,
) (reply *proto.Reply, err error) {
	t.Helper()
	p, err := js.Compile(file, block)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Run(ctx, e, func(r *proto.Reply) bool { reply = r; return true })
	return reply, err
}

// A script waits for its turn, which does not count as its time, and gives it on.
func TestScriptsTakeTurns(t *testing.T) {
	e := env("127.0.0.1:1", time.Minute)
	e.Scripts = proto.NewScripts(1)
	giveOn, err := e.Scripts.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("the scan ended"))
	if reply, err := run(t, ended, e, &syntax.JavaScript{Code: "'ran'"}); reply != nil {
		t.Errorf("it did not wait: %v, %v", reply.Fields["response"], err)
	}
	giveOn()
	for range 2 { // the second has the turn that the first gave on
		reply, err := run(t, t.Context(), e, &syntax.JavaScript{Code: "RandInt(); 'ran'"})
		if err != nil || reply == nil || reply.Fields["response"] != "ran" {
			t.Errorf("%v, %v", reply, err)
		}
	}
}

const open = "let conn = require('nuclei/net').Open('tcp', Host + ':' + Port);\n"

// What a script takes without an end is bounded: computing, memory, and what a server sends.
func TestBounds(t *testing.T) {
	flood := serve(t, func(c net.Conn) { _, _ = io.Copy(c, zeros{}) })
	for name, c := range map[string]struct{ code, want string }{
		"computing": {"while (true) {}", "stopped after"},
		"memory":    {"let a = []; while (true) a.push('x'.repeat(1000) + a.length)", "stopped after"},
		"reads":     {open + "while (true) conn.Recv(1000000)", "MiB were read"},
		"buffers":   {"let b = bytes.Buffer(), x = 'x'.repeat(1000000); while (true) b.WriteString(x)", "MiB were read or kept"},
		"exports":   {"let x = 'x'.repeat(1000000); while (true) Export(x)", "MiB were read or kept"},
		"sockets":   {"for (let i = 0; i < 1000; i++) require('nuclei/net').Open('tcp', Host + ':' + Port)", "connections"},
		"nesting":   {"(function f() { f() })()", "nested more than"},
		"one read":  {open + "conn.RecvFull(1e9)", "a read of more than"},
		"result":    {"'x'.repeat(5000000)", "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := run(t, t.Context(), env(flood, time.Minute), &syntax.JavaScript{Code: c.code})
			if reply != nil {
				err = fmt.Errorf("%v", reply.Fields["error"])
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// A script that waits ends with its scan, and a silent server with its time.
func TestEnds(t *testing.T) {
	waiting := make(chan struct{}, 8)
	silent := serve(t, func(c net.Conn) { waiting <- struct{}{}; _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-waiting; cancel() }()
	code := open + "conn.SetTimeout(500); try { conn.Recv() } catch (e) {} while (true) { Rand(1) }"
	if _, err := run(t, ctx, env(silent, time.Minute), &syntax.JavaScript{Code: code}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err := run(t, t.Context(), env(silent, 100*time.Millisecond), &syntax.JavaScript{Code: code})
	if err == nil || !strings.Contains(err.Error(), "the script took too long") {
		t.Error(err)
	}
}

// What a dialler refuses ends the block with its error, unless the script catches it; a pre-condition does not hide it.
func TestRefused(t *testing.T) {
	e := env("127.0.0.1:1", time.Minute)
	forbidden := errs.New(errs.Forbidden, "scope", "out of scope")
	var dialled []string
	e.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, forbidden
	}
	elsewhere := "require('nuclei/net').Open('udp', 'other.test:7')"
	for _, block := range []*syntax.JavaScript{
		{Code: elsewhere}, {Code: "1", PreCondition: elsewhere},
		{Code: "1", PreCondition: "let ok = true; try { isPortOpen('other.test', 7) } catch (e) { ok = false } ok"},
	} {
		if reply, err := run(t, t.Context(), e, block); reply != nil || !errors.Is(err, forbidden) {
			t.Errorf("%+v: %v %v", block, reply, err)
		}
	}
	if !slices.Equal(dialled, []string{"other.test:7", "other.test:7", "other.test:7"}) {
		t.Errorf("%q", dialled)
	}
	e.Begin = func(context.Context, string) (func(), error) { return nil, forbidden }
	if reply, err := run(t, t.Context(), e, &syntax.JavaScript{Code: elsewhere}); reply != nil || !errors.Is(err, forbidden) {
		t.Error(reply, err)
	}
	if len(dialled) != 3 {
		t.Error("dialled before it could begin")
	}
}

// A script whose time is over before it begins, on a busy machine, took too long: the machine of JavaScript did not fail.
func TestOverBeforeItBegins(t *testing.T) {
	for range 20 {
		_, err := run(t, t.Context(), env("127.0.0.1:1", time.Nanosecond), &syntax.JavaScript{Code: "while (true) {}"})
		if err == nil || err.Error() != "the script took too long" {
			t.Fatal(err)
		}
	}
}

// Files are read in the template's folder alone, and nowhere on a server.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"t/a.txt": "A", "t/sub/b.txt": "B", "secret": "S"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(folder, "secret"), filepath.Join(folder, "t/link")); err != nil {
		t.Fatal(err)
	}
	code := `const fs = require("nuclei/fs");
		let got = [fs.ReadFileAsString("a.txt"), fs.ReadFile("sub/b.txt").length, fs.ListDir("sub", "file"),
			fs.ListDir(".", "dir"), fs.ReadFilesFromDir("sub")].join();
		for (const name of ["../secret", "link", "/etc/passwd", "sub"]) {
			try { fs.ReadFile(name); got += " read " + name } catch (e) { got += " no" }
		}
		got`
	for files, want := range map[bool]any{true: "A,1,b.txt,sub,B no no no no", false: nil} {
		p, err := js.Compile(filepath.Join(folder, "t", "t.yaml"), &syntax.JavaScript{Code: code})
		if err != nil {
			t.Fatal(err)
		}
		e := env("127.0.0.1:1", time.Minute)
		e.Files = files
		if err := p.Run(t.Context(), e, func(r *proto.Reply) bool {
			if r.Fields["response"] != want || files == (r.Fields["error"] != nil) {
				t.Errorf("%v: %v", files, r.Fields)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	}
}

// public are the public templates with javascript blocks, by file.
func public(t testing.TB) map[string][]byte {
	t.Helper()
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "..", "shared", "corpus")
	}
	root = filepath.Join(root, "templates")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	all := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains("\n"+string(data), "\njavascript:") {
			all[path] = data
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each public template is compiled, or refused for the name of what is missing.
func TestCorpus(t *testing.T) {
	all := public(t)
	for path, data := range all {
		parsed, err := syntax.Parse(path, data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Compile(parsed); err != nil {
			refused, ok := errors.AsType[*errs.Error](err)
			if !ok || refused.Code != syntax.CodeUnsupported || refused.Param == "javascript" {
				t.Error(err)
			}
			t.Log(err)
		}
	}
	if len(all) != 9 {
		t.Errorf("%d templates", len(all))
	}
}

func FuzzScript(f *testing.F) {
	for _, source := range []string{
		open + "conn.SendHex('00'); conn.RecvString()", "Export(template.Host, bytes.Buffer().Pack('>3sx?', ['a', 1]))",
		"structs.Unpack('<99999999s', [1])", "require('nuclei/net'", "ExportAs('a', {get b() { throw 1 }})",
		"to_array({length: 1e9})", "new Uint8Array(new Uint16Array(3).buffer, 2, 1)", "hex_to_ascii('zz')", "`${bytes}`",
	} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := js.Compile("t.yaml", &syntax.JavaScript{Code: source})
		if err != nil {
			return
		}
		e := env("127.0.0.1:1", 50*time.Millisecond)
		e.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
		err = p.Run(t.Context(), e, func(*proto.Reply) bool { return true })
		if err != nil && strings.Contains(err.Error(), "machine failed") {
			t.Fatal(err)
		}
	})
}

// Where neither the script nor the target names a port, events have that of the web; where one does, that one.
func TestPortOfAReply(t *testing.T) {
	port := []syntax.Variable{{Name: "Host", Value: "{{Host}}"}, {Name: "Port", Value: "2222"}}
	for _, c := range []struct {
		target     rawurl.URL
		args       []syntax.Variable
		host, want string
	}{
		{rawurl.URL{Host: "a.example"}, nil, "a.example", "80"},
		{rawurl.URL{Host: "[::1]"}, nil, "::1", "80"},
		{rawurl.URL{Scheme: "https", Host: "a.example"}, nil, "a.example", "443"},
		{rawurl.URL{Host: "a.example:8443"}, nil, "a.example", "8443"},
		{rawurl.URL{Scheme: "https", Host: "a.example"}, port, "a.example", "2222"},
	} {
		e := env(c.target.Host, time.Second)
		e.Target = c.target
		reply, err := run(t, t.Context(), e, &syntax.JavaScript{Code: `to_array("x")`, Args: c.args})
		if err != nil || reply.Host != c.host || reply.Port != c.want || reply.Response != "x" {
			t.Errorf("%v: %+v %v", c.target, reply, err)
		}
	}
}

// A script may require files of its template's folder: they export as modules of CommonJS do, and are run once.
func TestRequireFiles(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"t/lib/a.js":    "exports.b = require('./b').name; exports.me = require('nuclei/bytes') !== undefined; globalThis.runs = (globalThis.runs || 0) + 1",
		"t/lib/b.js":    "const a = require('./a.js'); module.exports = { name: 'b', early: a.b }",
		"t/data.json":   `{"users": ["ann"]}`,
		"t/throws.js":   "throw new Error('broken file')",
		"t/loops.js":    "try { while (true) {} } catch (e) {}",
		"t/module.js":   "require('nuclei/wmi')",
		"t/big.js":      "10n",
		"t/nothing.txt": "",
		"outside.js":    "exports.secret = 1",
	} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ code, want string }{
		{"const a = require('./lib/a'); require('./lib/a.js'); [a.b, a.me, runs, require('./data.json').users[0]].join()", "b,true,1,ann"},
		{"require('./lib/b.js').early === undefined", "true"},
		{"require('../outside.js').secret", "error path escapes"},
		{"require('" + folder + "/outside.js').secret", "error is not in the template's folder"},
		{"require('./nowhere')", "error no such file"},
		{"try { require('./throws.js') } catch (e) { 'caught ' + e }", "caught Error: broken file"},
		{"try { require('./loops.js') } catch (e) {} 'on it goes'", "error stopped after"},
		{"try { require('./module.js') } catch (e) {} 'on it goes'", "error nuclei/wmi is not supported"},
		{"require('./big.js')", "error BigInt is not supported"},
	} {
		p, err := js.Compile(filepath.Join(folder, "t", "t.yaml"), &syntax.JavaScript{Code: c.code})
		if err != nil {
			t.Fatal(err)
		}
		e := env("127.0.0.1:1", time.Minute)
		e.Files = true
		got := ""
		err = p.Run(t.Context(), e, func(r *proto.Reply) bool {
			if got = fmt.Sprint(r.Fields["response"]); r.Fields["error"] != nil {
				got = fmt.Sprint("error ", r.Fields["error"])
			}
			return true
		})
		if err != nil {
			got = "error " + err.Error()
		}
		kind, rest, _ := strings.Cut(c.want, " ")
		if kind == "error" && (!strings.HasPrefix(got, "error") || !strings.Contains(got, rest)) || kind != "error" && got != c.want {
			t.Errorf("%s: %s, want %s", c.code, got, c.want)
		}
	}
	p, err := js.Compile(filepath.Join(folder, "t", "t.yaml"), &syntax.JavaScript{Code: "require('./data.json')"})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Run(t.Context(), env("127.0.0.1:1", time.Minute), func(*proto.Reply) bool { t.Error("a file was read"); return true })
	if end, ok := errors.AsType[*proto.End](err); !ok || !strings.Contains(end.Error(), "require of a file") {
		t.Error(err)
	}
}
