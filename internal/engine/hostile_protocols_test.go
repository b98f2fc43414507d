//go:build linux

package engine_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const hostileProtocolVar = "VEDETTE_HOSTILE_PROTOCOLS"

// hostileProtocols are resolvers, WebSocket servers and registries that want time or memory from whoever asks them,
// and words of the state and the reason that the coverage has. Each function serves one connection.
var hostileProtocols = map[string]struct {
	serve func(c net.Conn)
	says  string // part of the state and reason
}{
	"dns-pointer-loop":   {message("\xc0\x1a", "\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x02", "\xc0\x1a"), "too many compression"},
	"dns-pointer-ahead":  {message("\xff\xff", "\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04", "\x7f\x00\x00\x01"), "dns:"},
	"dns-unpacks":        {message(unpacking()...), "unpacks to"},
	"dns-count-lies":     {message(), "tested"},
	"dns-rdata-long":     {message("\x00", "\x00\x10\x00\x01\x00\x00\x00\x3c\xff\xff", "x"), "dns"},
	"dns-endless":        {loop("\xff\xff"), "dns:"},
	"dns-transfer":       {raw(loop("\x00\x0c\x00\x01\x84\x00\x00\x00\x00\x00\x00\x00\x00\x00")), "id mismatch"},
	"dns-length-lies":    {raw(once("\xff\xffshort")), "without an answer"},
	"dns-length-none":    {raw(loop("\x00\x00")), "short read"},
	"dns-drip":           {raw(drip("\xff\xff")), "timed out"},
	"dns-silent":         {raw(wait), "timed out"},
	"ws-frame-longest":   {frames("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "x"), "more than"},
	"ws-frame-negative":  {frames("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "x"), "negative"},
	"ws-continuations":   {frames("\x01\x01x", "\x00\x00"), "timed out"},
	"ws-message-endless": {frames("\x01\x01x", "\x00\x7e\x10\x00"+strings.Repeat("x", 4096)), "more than"},
	"ws-messages-long":   {frames("", "\x81\x7f\x00\x00\x00\x00\x00\x90\x00\x00"+strings.Repeat("x", 9<<20)), "more than"},
	"ws-pings":           {frames("", "\x89\x7dping"+strings.Repeat("p", 121)), ""},
	"ws-pongs":           {frames("", "\x8a\x00"), "timed out"},
	"ws-ping-long":       {frames("", "\x89\x7e\xff\xff"), "control frame"},
	"ws-ping-parts":      {frames("", "\x09\x01x"), "control frame"},
	"ws-packed":          {frames("", "\xc1\x7d"+strings.Repeat("\x00", 125)), "rsv"},
	"ws-masked":          {frames("", "\x81\x81xxxxx"), "tested"},
	"ws-unknown":         {frames("", "\x83\x00"), "opcode"},
	"ws-close-long":      {frames("", "\x88\x7d\x03\xe8"+strings.Repeat("\xff", 123)), "close"},
	"ws-drip":            {upgraded("", drip("\x81\x7d")), "timed out"},
	"ws-extension":       {upgraded("Sec-WebSocket-Extensions: permessage-deflate\r\n", wait), "xtension"},
	"ws-head-endless":    {raw(func(c net.Conn) { once("HTTP/1.1 101 Switching Protocols\r\nX: ")(c); loop("x")(c) }), "handshake"},
	"rdap-endless":       {registry(loop(`{"entities":[],"x":"`)), ""},
	"rdap-parts":         {registry(loop(`{"entities":[` + strings.Repeat("{},", 30_000))), "parts"},
	"rdap-deep":          {registry(loop("[")), ""},
	"rdap-garbled":       {registry(once("<html>")), ""},
	"rdap-drip":          {registry(drip(`{"x":"`)), "timed out"},
	"rdap-bomb":          {packed("gzip", bomb.gzip), ""},
	"rdap-head-endless":  {endless("X-Long: ", text("x")), "header"},
	"rdap-redirect-loop": {status("302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"), "redirect"},
	"rdap-redirect-away": {status("302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"), "no target"},
}

// message answers a question over TCP with its header, which promises many answers, and with parts.
func message(parts ...string) func(net.Conn) {
	return func(c net.Conn) {
		question := make([]byte, 64<<10)
		n, err := c.Read(question)
		if err != nil || n < 14 {
			return
		}
		end := 14 + bytes.IndexByte(question[14:n], 0) + 5
		records := strings.Join(parts, "")
		head := append([]byte{question[2], question[3], 0x84, 0, 0, 1, 0x10, 0, 0, 0, 0, 0}, question[14:end]...)
		_, _ = c.Write(binary.BigEndian.AppendUint16(nil, uint16(len(head)+len(records))))
		_, _ = c.Write(append(head, records...))
		wait(c)
	}
}

// unpacking are 4,096 aliases whose names are a pointer to one of 255 bytes, behind the question for lab.test.
func unpacking() []string {
	const at = "\xc0\x1a" // 12 + len("\x03lab\x04test\x00") + 4
	long := strings.Repeat("\x3f"+strings.Repeat("\x01", 63), 3) + "\x00"
	alias := "\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x02" + at
	return []string{long, alias, strings.Repeat(at+alias, 4095)}
}

// upgraded serves behind the handshake of a WebSocket, whose answer has more header fields.
func upgraded(more string, serve func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, _ = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: %s\r\n%s\r\n", base64.StdEncoding.EncodeToString(sum[:]), more)
		serve(c)
	}
}

// frames writes a first frame and then others without end, and reads what comes.
func frames(first, others string) func(net.Conn) {
	return upgraded("", func(c net.Conn) {
		go wait(c)
		once(first)(c)
		loop(others)(c)
	})
}

// registry answers as RDAP does.
func registry(body func(net.Conn)) func(net.Conn) {
	return raw(func(c net.Conn) {
		once("HTTP/1.1 200 OK\r\nContent-Type: application/rdap+json\r\n\r\n")(c)
		body(c)
	})
}

// hostileBlock is a template that asks a server.
func hostileBlock(name, at string) string {
	const match = "matchers: [{type: dsl, dsl: ['true']}]"
	protocol, _, _ := strings.Cut(name, "-")
	switch protocol {
	case "dns":
		return "dns: [{name: lab.test, type: A, retries: 1, resolvers: ['tcp:" + at + "'], " + match + "}]"
	case "ws":
		return "websocket: [{address: 'ws://" + at + "', inputs: [{data: a}, {data: b}, {data: c}], " + match + "}]"
	}
	return "whois: [{query: lab.test, server: 'http://" + at + "', " + match + "}]"
}

// hostileCopies is how many templates ask each server.
const hostileCopies = 4

// All hostile resolvers, WebSocket servers and registries at once, with several templates each, take no more than the
// time and memory of a scan, and each is in the coverage with its reason.
func TestHostileProtocols(t *testing.T) {
	if servers := os.Getenv(hostileProtocolVar); servers != "" {
		hostileProtocolScanner(t, servers)
		return
	}
	bomb.gzip() // made before the time runs
	servers := map[string]string{}
	for name, c := range hostileProtocols {
		servers[name] = listen(t, nil, c.serve)
	}
	text, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*hostileScanTime)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestHostileProtocols$", "-test.timeout", "2m")
	child.Env = append(os.Environ(), hostileProtocolVar+"="+string(text))
	out, err := child.CombinedOutput()
	_, line, found := strings.Cut(string(out), "\nEND ")
	if !found {
		t.Fatalf("the process ended: %v: %.3000s", err, out)
	}
	var got hostileResult
	line, _, _ = strings.Cut(line, "\n")
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB, %v", got.Bytes>>20, got.Took)
	if got.Took > hostileScanTime || got.Bytes > hostileMemory {
		t.Errorf("%v with %d MiB", got.Took, got.Bytes>>20)
	}
	if slices.ContainsFunc(got.Dialed, func(addr string) bool { return addr != "169.254.169.254:80" }) {
		t.Errorf("dialed %q", got.Dialed)
	}
	for name, c := range hostileProtocols {
		if cells := got.Cells[name]; len(cells) != hostileCopies {
			t.Errorf("%s: %d cells", name, len(cells))
		}
		for _, cell := range got.Cells[name] {
			if !strings.HasPrefix(cell, "failed ") && cell != "tested" || !strings.Contains(cell, c.says) {
				t.Errorf("%s: %s", name, cell)
			}
		}
	}
}

// hostileProtocolScanner asks all servers at once, and prints what came of it.
func hostileProtocolScanner(t *testing.T, text string) {
	membudget.Limit(hostileMemory)
	servers := map[string]string{}
	if err := json.Unmarshal([]byte(text), &servers); err != nil {
		t.Fatal(err)
	}
	got := hostileResult{Cells: map[string][]string{}}
	var mu sync.Mutex
	e := newEngine(t, engine.Config{
		Timeout: hostileTimeout, Concurrency: 2 * hostileCopies * len(servers), PerHost: hostileCopies,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !slices.Contains(slices.Collect(maps.Values(servers)), addr) {
				mu.Lock()
				got.Dialed = append(got.Dialed, addr)
				mu.Unlock()
				return nil, errors.New("no target")
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
	scan := engine.Scan{Targets: []string{"ws://lab.test"}, OnEvent: func(engine.Event) {}}
	for name, at := range servers {
		for i := range hostileCopies {
			id := fmt.Sprintf("%s-copy-%d", name, i)
			p, err := compile(id+".yaml", []byte("id: "+id+"\ninfo: {name: N, author: a, severity: low}\n"+hostileBlock(name, at)))
			if err != nil {
				t.Fatal(err)
			}
			scan.Programs = append(scan.Programs, p)
		}
	}
	begin := time.Now()
	report, err := e.Run(t.Context(), scan)
	if err != nil {
		t.Fatal(err)
	}
	got.Took, got.Bytes = time.Since(begin), peak(t)
	for cell := range report.Cells() {
		name, _, _ := strings.Cut(cell.Template, "-copy-")
		got.Cells[name] = append(got.Cells[name], strings.TrimSpace(fmt.Sprintf("%s %s", cell.State, cell.Reason)))
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(os.Stdout, "\nEND "+string(data)+"\n")
}
