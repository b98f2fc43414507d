// Package ws talks to WebSocket servers (template language 3.4): it connects, sends each input as a text frame and
// reads one message after each.
package ws

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

const (
	maxMessage = 10 << 20  // bytes of a message, and of all
	maxHead    = 256 << 10 // bytes of the answer that begins a dialogue
	wholeTimes = 3         // times Env.Timeout: for a dialogue, as for an exchange of HTTP

	// memoryFactor is how often a message is in memory: as it is read into a buffer that grows, as text, and in the
	// text of all.
	memoryFactor = 5
)

// Probe is a compiled block.
type Probe struct {
	address dsl.Text
	headers []header
	inputs  []input
}

type header struct {
	name  string
	value dsl.Text
}

type input struct {
	data dsl.Text
	name string
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.Websocket) (*Probe, error) {
	if s.Address == "" {
		return nil, syntax.Fault(file, s.Line, 0, "websocket.address", "a WebSocket needs an address, such as "+
			"\"{{Scheme}}://{{Hostname}}\"")
	}
	p := &Probe{address: dsl.Parse(s.Address)}
	for _, h := range s.Headers {
		p.headers = append(p.headers, header{h.Name, dsl.Parse(h.Value)})
	}
	for _, in := range s.Inputs {
		p.inputs = append(p.inputs, input{dsl.Parse(in.Data), in.Name})
	}
	return p, nil
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return 1 }

// Names implements proto.Probe.
func (p *Probe) Names() []string {
	texts := []dsl.Text{p.address}
	for _, h := range p.headers {
		texts = append(texts, h.value)
	}
	for _, in := range p.inputs {
		texts = append(texts, in.data)
	}
	return proto.Names(texts...)
}

// Run implements proto.Probe.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	if env.Target.Scheme != "ws" && env.Target.Scheme != "wss" {
		return proto.Inapplicable("the target is no WebSocket")
	}
	vars := env.Vars(env.Target)
	text, err := p.address.Render(vars)
	if err != nil {
		return err
	}
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.Scheme != "ws" && address.Scheme != "wss" {
		return proto.Unusable("%q is no address of a WebSocket", text)
	}
	if address.Path == "" || address.Path == "/" {
		address.Path = env.Target.Parsed().Path
	}
	share := membudget.Process().Share()
	defer share.Release() // operators see the reply a little longer, which the next dialogue of the target waits for
	d := dialogue{env: env, share: share, vars: vars, hostPort: hostPort(address), named: map[string]any{}}
	if err := d.talk(ctx, p, address); err != nil {
		return err
	}
	reply := d.reply()
	reply.At(d.hostPort)
	reply.MatchedAt, reply.Scheme, reply.Path = address.String(), address.Scheme, address.Path
	reply.Fields["matched"], reply.Fields["host"] = address.String(), env.Input
	found(reply)
	return ctx.Err()
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dialogue is what was said.
type dialogue struct {
	env      *proto.Env
	vars     *dsl.Env
	hostPort string
	ip       string
	named    map[string]any
	share    *membudget.Share // of what is received

	sent, received strings.Builder
}

func (d *dialogue) talk(ctx context.Context, p *Probe, address *url.URL) error {
	headers := http.Header{}
	for _, h := range p.headers {
		value, err := h.value.Render(d.vars)
		if err != nil {
			return err
		}
		headers.Set(h.name, value)
	}
	end, err := d.env.Begin(ctx, d.hostPort)
	if err != nil {
		return err
	}
	defer end()
	connecting, cancel := context.WithTimeout(ctx, d.env.Timeout)
	defer cancel()
	transport := &http.Transport{
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHead, TLSClientConfig: tlsfacts.Lenient(address.Hostname()),
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := d.env.Dial(ctx, network, addr)
			d.ip = proto.IP(conn)
			return conn, err
		},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	options := &websocket.DialOptions{HTTPClient: client, HTTPHeader: headers, Host: headers.Get("Host")}
	conn, answer, err := websocket.Dial(connecting, address.String(), options) //nolint:bodyclose // the connection owns it
	if err != nil && answer != nil && refuses(answer.StatusCode) {
		return proto.Refused()
	}
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // nothing is left to say
	conn.SetReadLimit(maxMessage)
	ctx, over := context.WithTimeout(ctx, wholeTimes*d.env.Timeout)
	defer over()
	for _, in := range p.inputs {
		if err := d.send(ctx, conn, in); err != nil {
			return err
		}
	}
	return nil
}

// refuses reports whether a status is a server's word that it wants no WebSocket there, or not from this origin. Errors
// of a server, and of too many requests, say nothing about that.
func refuses(status int) bool {
	return status != http.StatusSwitchingProtocols && status != http.StatusTooManyRequests && status < 500
}

// send sends an input and reads the next message.
func (d *dialogue) send(ctx context.Context, conn *websocket.Conn, in input) error {
	vars := *d.vars
	vars.Vars = dsl.First(dsl.Map(d.named), d.vars.Vars)
	data, err := in.data.Render(&vars)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d.env.Timeout)
	defer cancel()
	d.sent.WriteString(data)
	if err := conn.Write(ctx, websocket.MessageText, []byte(data)); err != nil {
		return err
	}
	message, err := d.read(ctx, conn)
	if ctx.Err() != nil { // the connection was closed for it
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	d.received.Write(message)
	if in.name != "" {
		d.named[in.name] = string(message)
		d.env.Extract(d.reply())
	}
	return nil
}

// read reads a message.
func (d *dialogue) read(ctx context.Context, conn *websocket.Conn) ([]byte, error) {
	const whole = memoryFactor * maxMessage
	if need := membudget.Need(int64(d.received.Len()), whole); need > 0 { // many short messages are as large
		if _, err := d.share.Grow(ctx, need); err != nil {
			return nil, err
		}
	}
	_, frames, err := conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	most := maxMessage - int64(d.received.Len())
	// One more byte than may come: the end of a message is seen only behind its last byte.
	message, err := d.share.ReadAll(ctx, d.share.Reader(ctx, frames, whole), most+1)
	if err == nil && int64(len(message)) > most {
		err = fmt.Errorf("more than %d bytes were received", maxMessage)
	}
	return message, err
}

// reply is a reply with what was said so far.
func (d *dialogue) reply() *proto.Reply {
	r := &proto.Reply{
		Env: d.vars, IP: d.ip, Request: d.sent.String(), Response: d.received.String(), Fields: map[string]any{
			"type": "websocket", "success": "true", "request": d.sent.String(), "response": d.received.String(), "ip": d.ip,
		},
	}
	maps.Copy(r.Fields, d.named)
	return r
}
