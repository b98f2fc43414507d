// Package tcp talks to services over TCP and TLS (template language 3.2): it connects to each address of a block,
// sends the inputs, reads after those that want it and once more at the end, and gives all that was read to the
// operators.
package tcp

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

const (
	defaultRead = 1024     // bytes of the last read
	maxRead     = 10 << 20 // of all reads of a connection

	memoryFactor = 3               // times what is received: a text that grows is copied
	readTimeout  = 5 * time.Second // for each read
	wholeTimes   = 3               // times Env.Timeout: for a dialogue, as for an exchange of HTTP
)

// Probe is a compiled block.
type Probe struct {
	addresses []address
	ports     []string // empty: that of the target
	excluded  []string // ports of URLs that the block's ports replace
	inputs    []input
	readSize  int
	readAll   bool
}

type address struct {
	text dsl.Text
	tls  bool
}

type input struct {
	data dsl.Text
	hex  bool
	read int
	name string
}

// Compile compiles a block. The error is that of syntax.Fault.
func Compile(file string, s *syntax.TCP) (*Probe, error) {
	p := &Probe{readSize: s.ReadSize, readAll: s.ReadAll, excluded: webPorts}
	if p.readSize <= 0 {
		p.readSize = defaultRead
	}
	if p.readSize > maxRead {
		return nil, syntax.Fault(file, s.Line, 0, "tcp.read-size", "%d bytes are more than %d", p.readSize, maxRead)
	}
	var err error
	if p.ports, err = Ports(s.Port); err != nil {
		return nil, syntax.Fault(file, s.Line, 0, "tcp.port", "%v", err)
	}
	if s.ExcludePorts != "" {
		if p.excluded, err = Ports(s.ExcludePorts); err != nil {
			return nil, syntax.Fault(file, s.Line, 0, "tcp.exclude-ports", "%v", err)
		}
	}
	if len(s.Host) == 0 {
		return nil, syntax.Fault(file, s.Line, 0, "tcp.host", "a dialogue needs a host, such as \"{{Hostname}}\"")
	}
	encrypted := false
	for _, text := range s.Host {
		plain, found := strings.CutPrefix(text, "tls://")
		encrypted = encrypted || found // and all that follow
		p.addresses = append(p.addresses, address{dsl.Parse(plain), encrypted})
	}
	for _, in := range s.Inputs {
		if in.Read < 0 || in.Read > maxRead {
			return nil, syntax.Fault(file, in.Line, 0, "tcp.inputs.read", "%d is not between 0 and %d", in.Read, maxRead)
		}
		p.inputs = append(p.inputs, input{dsl.Parse(in.Data), in.Type == "hex", in.Read, in.Name})
	}
	return p, nil
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return len(p.addresses) * max(1, len(p.ports)) }

// Names implements proto.Probe.
func (p *Probe) Names() []string {
	var texts []dsl.Text
	for _, a := range p.addresses {
		texts = append(texts, a.text)
	}
	for _, in := range p.inputs {
		texts = append(texts, in.data)
	}
	return proto.Names(texts...)
}

// Run implements proto.Probe. With several ports, those that do not accept connections are left out.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	var first error
	visited := map[string]bool{}
	replied := false
	for _, host := range Targets(env.Target, p.ports, p.excluded) {
		at := rawurl.URL{Host: host}
		vars := env.Vars(at)
		for _, a := range p.addresses {
			address, err := a.text.Render(vars)
			if err != nil {
				return err
			}
			if visited[address] {
				continue
			}
			visited[address] = true
			reply, err := p.talk(ctx, env, at, address, a.tls)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				if first == nil {
					first = p.judge(env, host, err)
				}
				continue
			}
			if replied = true; !found(reply) {
				return nil
			}
		}
	}
	if _, closed := errors.AsType[*proto.End](first); closed && replied {
		return nil // of several ports, some are closed
	}
	return first
}

// judge is the error of a dialogue: that nothing listens on a port which the template chose is no failure.
func (p *Probe) judge(env *proto.Env, hostPort string, err error) error {
	_, port, _ := net.SplitHostPort(hostPort)
	if errors.Is(err, syscall.ECONNREFUSED) && len(p.ports) > 0 && env.Target.ExplicitPort() != port {
		return proto.Inapplicable("nothing listens on the template's port")
	}
	return err
}

// talk is one dialogue.
func (p *Probe) talk(
	ctx context.Context, env *proto.Env, at rawurl.URL, address string, encrypted bool,
) (*proto.Reply, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return nil, proto.Inapplicable("the target names no port")
	}
	end, err := env.Begin(ctx, address)
	if err != nil {
		return nil, err
	}
	defer end()
	conn, err := Connect(ctx, env, address, host, encrypted)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	share := membudget.Process().Share()
	defer share.Release() // operators see the reply a little longer, which the next dialogue of the target waits for
	d := dialogue{ctx: ctx, share: share, conn: conn, env: env, vars: env.Vars(at), named: map[string]any{},
		end: time.Now().Add(wholeTimes * env.Timeout)}
	if err := d.send(p.inputs); err != nil {
		return nil, err
	}
	last := d.readLast(p.readSize, p.readAll)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	reply := d.reply(address)
	reply.Fields["data"], reply.Fields["raw"] = last, d.received.String()
	reply.Fields["host"] = env.Input
	reply.Response = d.received.String()
	return reply, nil
}

// Connect connects to an address, over TLS if need be, without judging certificates.
func Connect(ctx context.Context, env *proto.Env, address, name string, encrypted bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, env.Timeout)
	defer cancel()
	conn, err := env.Dial(ctx, "tcp", address)
	if err != nil || !encrypted {
		return conn, err
	}
	return tlsfacts.Client(ctx, conn, name)
}

// dialogue is what was said on a connection.
type dialogue struct {
	ctx   context.Context
	share *membudget.Share // of what is received

	conn  net.Conn
	env   *proto.Env
	vars  *dsl.Env
	named map[string]any // reads with a name
	end   time.Time      // a server that says little at a time, or takes little, has no more time than others

	sent, received strings.Builder
}

// send sends the inputs and reads after those that want it.
func (d *dialogue) send(inputs []input) error {
	if err := d.conn.SetDeadline(d.end); err != nil {
		return err
	}
	for _, in := range inputs {
		vars := *d.vars
		vars.Vars = dsl.First(dsl.Map(d.named), d.vars.Vars)
		data, err := in.data.Render(&vars)
		if err != nil {
			return err
		}
		if in.hex {
			raw, err := hex.DecodeString(data)
			if err != nil {
				return proto.Unusable("the input %.40q is not hexadecimal", data)
			}
			data = string(raw)
		}
		d.sent.WriteString(data)
		if _, err := io.WriteString(d.conn, data); err != nil {
			return err
		}
		if in.read == 0 {
			continue
		}
		text, err := d.read(in.read)
		if err != nil {
			return err
		}
		if in.name != "" {
			d.named[in.name] = text
		}
		d.env.Extract(d.reply(""))
	}
	return nil
}

// read reads once. What came before a timeout counts.
func (d *dialogue) read(size int) (string, error) {
	b := make([]byte, min(size, maxRead-d.received.Len()))
	if len(b) == 0 {
		return "", fmt.Errorf("more than %d bytes were read", maxRead)
	}
	until := time.Now().Add(min(readTimeout, d.env.Timeout))
	if until.After(d.end) {
		until = d.end
	}
	if err := d.conn.SetDeadline(until); err != nil {
		return "", err
	}
	n, err := d.conn.Read(b)
	_ = d.conn.SetDeadline(d.end)
	d.received.Write(b[:n])
	if need := membudget.Need(int64(d.received.Len()), memoryFactor*maxRead); need > 0 {
		if _, err := d.share.Grow(d.ctx, need); err != nil {
			return "", err
		}
	}
	if n > 0 {
		err = nil
	}
	return string(b[:n]), err
}

// readLast reads once up to a size, or all until the other end closes or falls silent. Nothing to read is no error: a
// service may wait.
func (d *dialogue) readLast(size int, all bool) string {
	if !all {
		text, _ := d.read(size)
		return text
	}
	before := d.received.Len()
	for d.received.Len() < maxRead {
		if _, err := d.read(32 << 10); err != nil {
			break
		}
	}
	return d.received.String()[before:]
}

// reply is a reply with what was said so far.
func (d *dialogue) reply(address string) *proto.Reply {
	r := &proto.Reply{Env: d.vars, Request: d.sent.String(), IP: proto.IP(d.conn), Fields: map[string]any{
		"type": "tcp", "matched": address, "request": d.sent.String(), "ip": proto.IP(d.conn),
	}}
	r.At(address)
	maps.Copy(r.Fields, d.named)
	return r
}
