package engine_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/oast"
)

// silentBlocks ask a server at %[1]s that never answers, by protocol.
var silentBlocks = map[string]string{
	"http":       "http: [{path: ['{{BaseURL}}/']}]",
	"raw":        "http: [{raw: [\"GET / HTTP/1.1\\nHost: a\\n\\n\"], unsafe: true}]",
	"oast":       "http: [{path: ['{{BaseURL}}/?{{interactsh-url}}'], matchers: [{type: word, part: interactsh_protocol, words: [http]}]}]",
	"dns":        "dns: [{name: lab.test, type: A, retries: 1, resolvers: ['tcp:%[1]s']}]",
	"tcp":        "tcp: [{host: ['{{Hostname}}'], inputs: [{data: a}], read-size: 9}]",
	"ssl":        "ssl: [{address: '{{Host}}:{{Port}}'}]",
	"websocket":  "websocket: [{address: 'ws://%[1]s', inputs: [{data: a}]}]",
	"whois":      "whois: [{query: lab.test, server: 'http://%[1]s'}]",
	"javascript": "javascript: [{code: \"let c = require('nuclei/net').Open('tcp', '%[1]s'); c.SetTimeout(60000); c.RecvString()\"}]",
	"headless":   "headless: [{steps: [{action: navigate, args: {url: '{{BaseURL}}'}}, {action: waitload}]}]",
	"code":       "code: [{engine: [sh], source: 'sleep 1000 & sleep 1000'}]",
}

// A scan that is cancelled while its target keeps it waiting leaves nothing, whatever the protocol: no goroutine, no
// descriptor, no process, no file.
func TestNothingIsLeftOfCancelledScans(t *testing.T) {
	temp, err := os.MkdirTemp("", "cancel") //nolint:usetesting // short, and open: the browser and programs run as nobody
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	reached := make(chan struct{}, 64)
	silent := listen(t, nil, func(c net.Conn) {
		reached <- struct{}{}
		_, _ = io.Copy(io.Discard, c) // until the other side ends
	})
	for protocol, block := range silentBlocks {
		t.Run(protocol, func(t *testing.T) {
			if strings.Contains(block, "%[1]s") {
				block = fmt.Sprintf(block, silent)
			}
			template, err := syntax.Parse("t.yaml", []byte("id: t\ninfo: {name: n, author: a, severity: low}\n"+block))
			if err != nil {
				t.Fatal(err)
			}
			template.Signature.Verified = true
			p, err := program.Compile(template)
			if err != nil {
				t.Fatal(err)
			}
			cancelled(t, protocol, temp, silent, p, reached)
		})
	}
}

// cancelled scans, cancels when the target is waited for, and waits until nothing is left.
func cancelled(t *testing.T, protocol, temp, target string, p *program.Program, reached <-chan struct{}) {
	for len(reached) > 0 {
		<-reached
	}
	if protocol == "headless" {
		if _, err := browser.Find(""); err != nil {
			t.Skip(err)
		}
	}
	before, open := runtime.NumGoroutine(), descriptors(t)
	c := engine.Config{Timeout: time.Minute, Files: true}
	ends := func() {}
	switch protocol {
	case "headless":
		pool := browser.New(browser.Config{Temp: temp})
		c.Pages.Open, ends = pool.Open, pool.Close
	case "oast":
		s := session(t)
		c.Names = s.Name
		ends = func() { _ = s.Settle(context.Background()) }
		before, open = before+3, open+2 // those of the server, which the test ends
	}
	at := "http://" + target
	switch protocol {
	case "dns":
		at = "lab.test"
	case "websocket":
		at = "ws://" + target
	}
	e := engine.New(c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan *engine.Report, 1)
	go func() {
		r, err := e.Run(ctx, engine.Scan{Targets: []string{at}, Programs: []*program.Program{p},
			OnEvent: func(engine.Event) {}, Expect: func(*engine.Pending) {}})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	if protocol == "code" {
		for len(left(temp)) < 2 && ctx.Err() == nil { // its folder, and a process
			runtime.Gosched()
		}
	} else {
		select {
		case <-reached:
		case r := <-ended:
			state, why := r.Targets[0].Cell(0)
			t.Fatalf("it did not reach the target: %s %s", state, why)
		}
	}
	if ctx.Err() != nil {
		t.Fatal("it did not reach the target")
	}
	cancel()
	<-ended
	e.Close()
	ends()
	for deadline := time.Now().Add(time.Minute); ; runtime.Gosched() {
		files, now := left(temp), runtime.NumGoroutine()
		if len(files) == 0 && now <= before && descriptors(t) <= open {
			return
		}
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%v, %d goroutines and %d descriptors, before %d and %d\n%s", files, now, descriptors(t), before, open,
				buf[:runtime.Stack(buf, true)])
		}
	}
}

// session is one with an out-of-band server.
func session(t *testing.T) *oob.Session {
	t.Helper()
	server, err := oast.NewServer(oast.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	at, err := server.Listen("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := oast.NewClient(t.Context(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+at, "")
	if err != nil {
		t.Fatal(err)
	}
	return oob.NewSession(client, oob.Config{Poll: 10 * time.Millisecond, Cooldown: time.Millisecond})
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// left are the files in a folder, and the processes that name it.
func left(folder string) (all []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		line, _ := os.ReadFile(process + "/cmdline")
		where, _ := os.Readlink(process + "/cwd")
		if strings.Contains(string(line)+where, folder) {
			all = append(all, process)
		}
	}
	return all
}
