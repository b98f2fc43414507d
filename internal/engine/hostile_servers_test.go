//go:build linux

package engine_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// hostileServers are servers that want time, memory or requests to others from whoever scans them. Each function
// serves one connection, after its first request was read if it is one of HTTP.
var hostileServers = map[string]func(c net.Conn){
	"gzip-bomb":       packed("gzip", bomb.gzip),
	"gzip-nested":     packed("gzip, gzip", bomb.nested),
	"gzip-members":    endless("Content-Encoding: gzip\r\n\r\n", bomb.member),
	"gzip-broken":     packed("gzip", func() []byte { return bomb.gzip()[:1000] }),
	"deflate-bomb":    packed("deflate", bomb.deflate),
	"brotli-bomb":     packed("br", bomb.brotli),
	"zstd-bomb":       packed("zstd", bomb.zstd),
	"zstd-window":     packed("zstd", func() []byte { return []byte("\x28\xb5\x2f\xfd\x00\xff\xff\xff\xff\x7f") }),
	"codings-many":    packed(strings.Repeat("gzip, ", 5000)+"gzip", bomb.gzip),
	"coding-unknown":  endless("Content-Encoding: gzip-of-my-own\r\n\r\n", text("x")),
	"body-endless":    endless("\r\n", text("<a href=/>endless</a>")),
	"chunks-endless":  endless("Transfer-Encoding: chunked\r\n\r\n", text("5\r\nhello\r\n")),
	"chunks-tiny":     endless("Transfer-Encoding: chunked\r\n\r\n", text("1\r\nx\r\n")),
	"chunk-extension": endless("Transfer-Encoding: chunked\r\n\r\n5", text(";extension=of-a-chunk")),
	"chunk-overflow":  endless("Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n", text("x")),
	"chunk-largest":   endless("Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", text("x")),
	"chunk-negative":  answer("Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n"),
	"chunk-short":     answer("Transfer-Encoding: chunked\r\n\r\n10000\r\nhello"),
	"trailers-flood":  endless("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", text("X-Trailer: t\r\n")),
	"header-endless":  endless("X-Long: ", text("x")),
	"header-flood":    endless("", text("X-Many: m\r\n")),
	"header-folded":   endless("X-Folded: f\r\n", text(" and on\r\n")),
	"header-nul":      answer("X-\x00\x01: \x00\xff\r\nContent-Length: 2\r\n\r\n\x00\x00"),
	"length-long":     answer("Content-Length: 1000000\r\n\r\nshort"),
	"length-short":    endless("Content-Length: 5\r\n\r\n", text("longer than said")),
	"length-negative": answer("Content-Length: -5\r\n\r\nhello"),
	"length-twice":    answer("Content-Length: 5\r\nContent-Length: 500000\r\n\r\nhello"),
	"length-huge":     endless("Content-Length: 99999999999999999999999\r\n\r\n", text("x")),
	"length-chunked":  answer("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
	"cookies-flood":   answer(strings.Repeat("Set-Cookie: c=v; Path=/\r\n", 50_000) + "Content-Length: 0\r\n\r\n"),
	"cookie-huge":     answer("Set-Cookie: c=" + strings.Repeat("v", 3<<20) + "\r\nContent-Length: 0\r\n\r\n"),
	"challenges":      answer(strings.Repeat("WWW-Authenticate: Digest realm=r, nonce=n\r\n", 20_000) + "\r\n"),
	"multipart":       endless("Content-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n", text("--b\r\n\r\nframe\r\n")),
	"charset":         endless("Content-Type: text/html; charset=utf-32\r\n\r\n", text("\x00\x00\x00<")),
	"html-deep":       answer("Content-Type: text/html\r\n\r\n" + strings.Repeat("<b><div>", 400_000)),
	"json-deep":       answer("Content-Type: application/json\r\n\r\n" + strings.Repeat("[", 3<<20)),
	"json-wide":       answer("Content-Type: application/json\r\n\r\n[" + strings.Repeat("1,", 2<<20) + "1]"),
	"xml-entities":    answer("Content-Type: text/xml\r\n\r\n<?xml version=\"1.0\"?>" + entities),
	"no-content":      status("204 No Content\r\n\r\n" + strings.Repeat("x", 1<<20)),
	"switching":       status("101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + strings.Repeat("x", 1<<20)),
	"redirect-loop":   status("302 Found\r\nLocation: /?again\r\nContent-Length: 0\r\n\r\n"),
	"redirect-cloud":  status("302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n"),
	"redirect-inside": status("307 Found\r\nLocation: http://10.0.0.1:22/\r\nContent-Length: 0\r\n\r\n"),
	"redirect-beside": status("301 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
	"redirect-file":   status("302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
	"redirect-long":   status("302 Found\r\nLocation: /" + strings.Repeat("x", 3<<20) + "\r\nContent-Length: 0\r\n\r\n"),
	"redirect-many":   status("302 Found\r\n" + strings.Repeat("Location: http://10.0.0.1/\r\n", 1000) + "\r\n"),
	"status-huge":     raw(func(c net.Conn) { once("HTTP/1.1 200 ")(c); loop("O")(c) }),
	"status-absurd":   status("999999999999999999999 OK\r\n\r\nx"),
	"interim-flood":   raw(loop("HTTP/1.1 100 Continue\r\n\r\n")),
	"status-repeated": raw(loop("HTTP/1.1 200 OK\r\n")),
	"http-0.9":        raw(once("<html>no head at all</html>")),
	"http2-frames":    raw(loop("\x00\x00\x00\x04\x00\x00\x00\x00\x00")),
	"nothing":         func(net.Conn) {},
	"silent":          raw(wait),
	"silent-at-once":  wait,
	"banner-endless":  loop("220 welcome\r\n"),
	"drip-head":       raw(drip("HTTP/1.1 200 OK\r\nX-Slow: ")),
	"drip-body":       raw(drip("HTTP/1.1 200 OK\r\n\r\n")),
	"reset":           raw(reset),
	"answers-extra":   raw(extra),
	"tls-alerts":      loop("\x15\x03\x03\x00\x02\x01\x5a"),
	"tls-tiny":        raw(tiny),
	"tls-certificate": raw(once("\x16\x03\x03\x00\x04\x0b\xff\xff\xff")),
	"tls-chain":       chain,
}

const entities = `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">` +
	`<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]><a>&d;&d;&d;</a>`

// raw reads the first bytes, and then serves.
func raw(serve func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := c.Read(make([]byte, 64<<10)); err == nil {
			serve(c)
		}
	}
}

func once(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

// status answers each request with what follows the version of a status line, and closes the connection.
func status(rest string) func(net.Conn) { return raw(once("HTTP/1.1 " + rest)) }

func answer(rest string) func(net.Conn) { return status("200 OK\r\n" + rest) }

func packed(coding string, data func() []byte) func(net.Conn) {
	return raw(func(c net.Conn) {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n", coding, len(data()))
		_, _ = c.Write(data())
	})
}

func text(s string) func() []byte { return func() []byte { return []byte(s) } }

// loop writes a text without end.
func loop(text string) func(net.Conn) {
	return func(c net.Conn) {
		block := []byte(strings.Repeat(text, 1+32<<10/len(text)))
		for {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}
}

// endless answers with a head and then with the same without end.
func endless(head string, again func() []byte) func(net.Conn) {
	return raw(func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head)
		loop(string(again()))(c)
	})
}

// wait answers nothing until the other side leaves.
func wait(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// drip writes a byte now and then after a beginning.
func drip(begin string) func(net.Conn) {
	return func(c net.Conn) {
		_, err := io.WriteString(c, begin)
		for tick := time.NewTicker(20 * time.Millisecond); err == nil; <-tick.C {
			_, err = c.Write([]byte("x"))
		}
	}
}

func reset(c net.Conn) {
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf")
	if conn, ok := c.(*net.TCPConn); ok {
		_ = conn.SetLinger(0)
	}
}

// extra answers each request, and says more than it was asked.
func extra(c net.Conn) {
	lines := bufio.NewReader(c)
	for {
		_, _ = io.WriteString(c, strings.Repeat("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 100))
		if _, err := lines.ReadString('\n'); err != nil {
			return
		}
	}
}

// tiny is a handshake in records of a byte each, which does not end.
func tiny(c net.Conn) {
	_, _ = io.WriteString(c, "\x16\x03\x03\x00\x01\x02\x16\x03\x03\x00\x01\x00\x16\x03\x03\x00\x01\xff\x16\x03\x03\x00\x01\xff")
	loop("\x16\x03\x03\x00\x01\x00")(c)
}

// chain speaks TLS with as many certificates as a message can hold, and closes.
func chain(c net.Conn) {
	leaf := hostileCertificate
	many := tls.Certificate{PrivateKey: leaf.PrivateKey}
	for range 60_000 / len(leaf.Certificate[0]) {
		many.Certificate = append(many.Certificate, leaf.Certificate[0])
	}
	server := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{many}})
	if server.Handshake() == nil {
		raw(once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))(server)
	}
}

var hostileCertificate tls.Certificate

// bombs are 256 MiB of zeros, packed.
type bombs struct{ gzip, nested, member, deflate, brotli, zstd func() []byte }

const zeros = 256 << 20

var gzipped = sync.OnceValue(func() []byte {
	return pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, zeros)
})

var bomb = bombs{
	gzip: gzipped,
	nested: sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(gzipped())
		_ = w.Close()
		return b.Bytes()
	}),
	member: sync.OnceValue(func() []byte {
		return pack(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }, 1<<20)
	}),
	deflate: sync.OnceValue(func() []byte {
		return pack(func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 6); return f }, zeros)
	}),
	brotli: sync.OnceValue(func() []byte {
		return pack(func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) }, zeros)
	}),
	zstd: sync.OnceValue(func() []byte {
		return pack(func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }, zeros)
	}),
}

func pack(by func(io.Writer) io.WriteCloser, size int) []byte {
	var b bytes.Buffer
	w, block := by(&b), make([]byte, 1<<20)
	for range size / len(block) {
		_, _ = w.Write(block)
	}
	_ = w.Close()
	return b.Bytes()
}
