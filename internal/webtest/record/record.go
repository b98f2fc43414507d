// Package record is a proxy that records what a browser sends to an application, and what it is answered, as a HAR
// file.
//
// What goes to hosts of the application is read: HTTPS by certificates of an authority that is made for each recording,
// whose key never leaves the process. What goes to other hosts is passed on unread. An exchange is written when its
// answer has ended, so that the file is whole at any time.
package record

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/vedette-sec/vedette/internal/infra/har"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Config configures a proxy.
type Config struct {
	Scope *netguard.Scope // what is recorded
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	File  *har.File
	// OnRecorded gets each exchange that was written, from any goroutine.
	OnRecorded func(Exchange)
}

// Exchange is a request that was recorded.
type Exchange struct {
	Method, URL string
	Status      int // 0: there was no answer
	Err         error
}

// Proxy is a recording proxy, an http.Handler.
type Proxy struct {
	Config
	http.Handler
	authority *authority
	passed    atomic.Int64
}

// maxBody bounds what is kept of a body, in bytes; the rest is passed on and not recorded.
const maxBody = 8 << 20

// New makes a proxy.
func New(c Config) (*Proxy, error) {
	a, err := newAuthority(time.Now())
	if err != nil {
		return nil, err
	}
	p := &Proxy{Config: c, authority: a}
	s := goproxy.NewProxyHttpServer()
	s.CertStore = &certificates{}
	s.Logger = log.New(io.Discard, "", 0) // what fails is in the file, or the browser says it
	s.NonproxyHandler = http.HandlerFunc(p.serveAuthority)
	// An application under test may have a certificate of its own making: who records knows which it is.
	s.Tr.DialContext, s.Tr.Proxy = c.Dial, nil
	s.Tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	s.ConnectDialWithReq = func(r *http.Request, network, addr string) (net.Conn, error) {
		return c.Dial(r.Context(), network, addr)
	}
	read := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: goproxy.TLSConfigFromCA(&a.certificate)}
	connect := func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		if !c.Scope.AllowsURL(&url.URL{Scheme: "https", Host: host}) {
			p.passed.Add(1)
			return goproxy.OkConnect, host
		}
		return read, host
	}
	s.OnRequest().HandleConnect(goproxy.FuncHttpsHandler(connect))
	s.OnRequest().DoFunc(p.request)
	s.OnResponse().DoFunc(p.response)
	p.Handler = s
	return p, nil
}

// Passed is how many requests and connections to other hosts were passed on.
func (p *Proxy) Passed() int64 { return p.passed.Load() }

// serveAuthority answers who asks the proxy itself.
func (p *Proxy) serveAuthority(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/ca.pem" {
		w.Header().Set("Content-Type", "application/x-x509-ca-cert")
		_, _ = w.Write(p.authority.pem)
		return
	}
	http.Error(w, "This is the recording proxy of vedette: set it as the HTTP and HTTPS proxy of your browser. /ca.pem is the "+
		"certificate of its authority.", http.StatusNotFound)
}

// sent is a request that waits for its answer.
type sent struct {
	at   time.Time
	text []byte
	cut  bool
}

func (p *Proxy) request(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
	if !p.Scope.AllowsURL(r.URL) {
		p.passed.Add(1)
		return r, nil
	}
	s := &sent{at: time.Now()}
	ctx.UserData = s
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		read, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err != nil {
			return r, goproxy.NewResponse(r, goproxy.ContentTypeText, http.StatusBadGateway, "the request ended early")
		}
		rest := r.Body
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(read), rest), rest}
		body, s.cut = read[:min(len(read), maxBody)], len(read) > maxBody
	}
	head := r.Header.Clone()
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization"} {
		head.Del(name)
	}
	s.text = message(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s", r.Method, r.URL.RequestURI(), r.Host), head, body)
	return r, nil
}

func (p *Proxy) response(answer *http.Response, ctx *goproxy.ProxyCtx) *http.Response {
	s, ok := ctx.UserData.(*sent)
	if !ok {
		return answer
	}
	if answer == nil {
		p.add(ctx.Req, s, nil, nil, false, ctx.Error)
		return answer
	}
	if answer.StatusCode == http.StatusSwitchingProtocols { // its body is a connection
		p.add(ctx.Req, s, answer, nil, false, nil)
		return answer
	}
	answer.Body = &tee{ReadCloser: answer.Body, end: func(body []byte, cut bool) {
		p.add(ctx.Req, s, answer, body, cut, nil)
	}}
	return answer
}

// add writes an exchange.
func (p *Proxy) add(r *http.Request, s *sent, answer *http.Response, body []byte, cut bool, failed error) {
	x := har.Exchange{At: s.at, TookMS: float64(time.Since(s.at).Microseconds()) / 1000, Method: r.Method,
		URL: r.URL.String(), Request: s.text}
	if answer != nil {
		x.Status, x.Response = answer.StatusCode, message(answer.Proto+" "+answer.Status, answer.Header, body)
	}
	e := har.New(x)
	e.Cut = s.cut || cut
	if failed != nil {
		e.Error = failed.Error()
	}
	err := errors.Join(failed, p.File.Add(e))
	if p.OnRecorded != nil {
		p.OnRecorded(Exchange{x.Method, x.URL, x.Status, err})
	}
}

// message is a message as text.
func message(first string, head http.Header, body []byte) []byte {
	var out bytes.Buffer
	out.WriteString(first + "\r\n")
	_ = head.Write(&out) // to memory
	out.WriteString("\r\n")
	out.Write(body)
	return out.Bytes()
}

// tee keeps what is read of a body, and tells of it once, at the end.
type tee struct {
	io.ReadCloser
	kept []byte
	cut  bool
	end  func(body []byte, cut bool)
}

func (t *tee) Read(to []byte) (int, error) {
	n, err := t.ReadCloser.Read(to)
	room := min(n, maxBody-len(t.kept))
	t.kept = append(t.kept, to[:room]...)
	t.cut = t.cut || room < n
	if err != nil {
		t.tell(!errors.Is(err, io.EOF))
	}
	return n, err
}

func (t *tee) Close() error {
	t.tell(false)
	return t.ReadCloser.Close()
}

func (t *tee) tell(cut bool) {
	if t.end != nil {
		t.end(t.kept, t.cut || cut)
		t.end = nil
	}
}
