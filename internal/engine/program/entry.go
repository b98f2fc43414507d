package program

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/proto/digest"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
	"github.com/vedette-sec/vedette/internal/infra/sigv4"
)

// Input is what a request is made from, besides its program.
type Input struct {
	Ctx     context.Context
	Target  rawurl.URL      // not used by self-contained programs
	Tuple   int             // of payloads, from 0
	Earlier dsl.Lookup      // values of earlier responses; may be nil
	Host    *functions.Host // for functions of expressions; may be nil
	Names   oob.Source      // of out-of-band names; nil: they have no value

	Recorded *recorded.Request // what fuzzing rules change, instead of the template's own; may be nil
}

// Request is a request that is ready to be sent.
type Request struct {
	web.Request
	Payload   Payload
	Variables *Variables // for its operators

	fragment string // of the URL; not sent
	tuple    int    // of payloads
}

// Request makes the request of an entry. The error says which variable has no value, or why the text is no request.
func (b *Bound) Request(block, entry int, in Input) (Request, error) {
	m := requestBuilder{block: &b.Blocks[block], entry: &b.Blocks[block].Entries[entry],
		vars: b.Variables(block, entry, in)}
	var err error
	if m.vars.payload, err = m.block.payloads.render(in.Tuple, m.vars.envForVariable(len(b.variables)),
		m.block.tolerates); err != nil {
		return Request{Variables: m.vars}, &PayloadError{err}
	}
	req := Request{Payload: m.vars.payload, Variables: m.vars, tuple: in.Tuple}
	switch {
	case in.Recorded != nil && m.block.Fuzz != nil:
		req.Method, req.Body = in.Recorded.Method, in.Recorded.Body
		for _, h := range in.Recorded.Headers {
			req.Headers = append(req.Headers, web.Header(h))
		}
		req.Address = in.Target.Sent()
		req.MaxBody = m.entry.sending.maxBody
		return req, nil
	case m.entry.isRaw:
		err = m.fromRaw(&req)
	default:
		err = m.fromPath(&req)
	}
	if err == nil {
		err = m.finish(&req.Request)
	}
	return req, err
}

// Variables is what names mean for an entry on a target, without its payload.
func (b *Bound) Variables(block, entry int, in Input) *Variables {
	e := &b.Blocks[block].Entries[entry]
	s := &Variables{
		bound: b, earlier: in.Earlier, trimSlash: e.trimSlash, env: dsl.Env{Ctx: in.Ctx, Host: in.Host},
		names: oob.NewNames(in.Names),
	}
	switch {
	case b.SelfContained:
	case e.port != "":
		s.target = in.Target.WithPort(e.port)
	default:
		s.target = in.Target
	}
	return s
}

// TargetVariables is what names mean on a target, outside of any entry.
func (b *Bound) TargetVariables(in Input) *Variables {
	return &Variables{bound: b, target: in.Target, earlier: in.Earlier, env: dsl.Env{Ctx: in.Ctx, Host: in.Host}}
}

type requestBuilder struct {
	block *Block
	entry *Entry
	vars  *Variables
	env   *dsl.Env // of scope, made when needed
}

// render renders a text.
func (m *requestBuilder) render(t dsl.Text) (string, error) {
	if s, ok := t.Const(); ok {
		return s, nil
	}
	if m.env == nil {
		m.env = m.vars.Env()
	}
	s, err := t.Render(m.env)
	if m.block.tolerates(err) {
		err = nil
	}
	return s, err
}

// tolerates reports whether a text is sent despite the error of rendering it: placeholders are left, and the block does
// not check its variables.
func (b *Block) tolerates(err error) bool {
	_, open := errors.AsType[*dsl.Unresolved](err)
	return b.skipsVariableCheck && open
}

// fromPath makes a request of a path (template language 2.2).
func (m *requestBuilder) fromPath(req *Request) error {
	e := m.entry
	text, err := m.render(e.path)
	if err != nil {
		return err
	}
	address, err := rawurl.Parse(withScheme(text))
	if err != nil {
		return err
	}
	_, req.fragment, _ = strings.Cut(text, "#")
	req.Method = e.method
	req.NoDefaults = e.sending.unsafe
	if m.block.selfContained {
		m.vars.target = address
	} else {
		// What the target was given with comes first.
		address.Query = joinQuery(m.vars.target.Query, address.Query)
	}
	req.Address = address.Sent()
	return nil
}

// withScheme makes an https URL of a text that begins with a host.
func withScheme(text string) string {
	host, _, _ := strings.Cut(text, "/")
	if strings.Contains(text, "://") || !strings.ContainsAny(host, ".:") && host != "localhost" || host == "." ||
		host == ".." {
		return text
	}
	return "https://" + text
}

// fromRaw makes a request of a raw text (template language 2.3 and 2.4).
func (m *requestBuilder) fromRaw(req *Request) error {
	e, base := m.entry, m.vars.target
	var err error
	if m.block.selfContained {
		if base, err = m.ownTarget(); err != nil {
			return err
		}
		m.vars.target = base
	}
	text, err := m.render(e.raw)
	if err != nil {
		return err
	}
	got, err := readMessage(text, e.sending.unsafe)
	if err != nil {
		return err
	}
	_, req.fragment, _ = strings.Cut(got.target, "#")
	req.Address = base
	if m.block.selfContained {
		base.Path, base.Query = "", ""
	}
	req.Address.Path, req.Address.Query = merge(base, got.target, e.sending.automerge)
	if e.sending.unsafe {
		rawTarget := mergeUnsafe(base, got.target, e.sending.automerge)
		if got.target == "" {
			rawTarget = "" // stays empty
		}
		req.Raw = []byte(got.text[:got.start] + rawTarget + got.text[got.end:])
		req.Address = got.annotations.addressFor(req.Address)
		req.SNI, req.Timeout = got.annotations.serverName(headerValue(got.headers, "Host", base.Host)),
			got.annotations.timeout
		return nil
	}
	req.Address, req.Method, req.NoAccept = req.Address.Sent(), got.method, true
	for _, h := range got.headers {
		if h.Name == "Host" {
			req.Host = h.Value
		} else {
			req.Headers = append(req.Headers, h)
		}
	}
	if req.Host == "" {
		req.Host = base.Host
	}
	req.Body = []byte(got.body)
	req.Address = got.annotations.addressFor(req.Address)
	req.SNI, req.Timeout = got.annotations.serverName(req.Host), got.annotations.timeout
	return nil
}

func headerValue(list []web.Header, name, otherwise string) string {
	for _, h := range list {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return otherwise
}

// ownTarget is where a self-contained raw request goes: its request line holds a URL, or a path that its Host line
// completes.
func (m *requestBuilder) ownTarget() (rawurl.URL, error) {
	_, text := readAnnotations(m.entry.raw.String())
	line, rest, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if len(words) < 3 {
		return rawurl.URL{}, errRequestLine
	}
	at := strings.Join(words[1:len(words)-1], " ")
	if !strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "{{") {
		head, _, _ := strings.Cut(rest, "\n\r\n")
		for line := range strings.SplitSeq(head, "\n") {
			if name, value, _ := strings.Cut(line, ":"); name == "Host" {
				return m.address("http://" + strings.TrimSpace(value) + at)
			}
		}
		return rawurl.URL{}, errors.New("a self-contained request names a URL, or a path and a Host")
	}
	return m.address(at)
}

func (m *requestBuilder) address(source string) (rawurl.URL, error) {
	text, err := m.render(dsl.Parse(source))
	if err != nil {
		return rawurl.URL{}, err
	}
	return rawurl.Parse(text)
}

// finish adds what all forms of a request share.
func (m *requestBuilder) finish(req *web.Request) error {
	e, how := m.entry, m.entry.sending
	req.MaxBody, req.ReadAll, req.Fresh = how.maxBody, how.readAll, how.newConnection
	if req.Raw != nil {
		return nil
	}
	for _, h := range e.headers {
		value, err := m.render(h.value)
		if err != nil {
			return err
		}
		if h.name == "Host" {
			req.Host = value
		} else {
			req.Headers = setHeader(req.Headers, h.name, value)
		}
	}
	if s, constant := e.body.Const(); !constant || s != "" {
		body, err := m.render(e.body)
		if err != nil {
			return err
		}
		req.Body = []byte(body)
	}
	if d := m.block.digest; d != nil {
		user, err := m.render(d.user)
		if err != nil {
			return err
		}
		password, err := m.render(d.password)
		if err != nil {
			return err
		}
		req.Digest = &digest.Credentials{Username: user, Password: password}
	}
	if m.block.signed {
		return m.sign(req)
	}
	return nil
}

// sign signs a request for AWS with the keys in the scan's variables (template language 2.1).
func (m *requestBuilder) sign(req *web.Request) error {
	value := func(name string) string {
		if v, ok := m.vars.Lookup(name); ok {
			return functions.String(v)
		}
		return ""
	}
	id, secret := value("aws-id"), value("aws-secret")
	if id == "" || secret == "" {
		return errors.New("the request is to be signed, and {{aws-id}} and {{aws-secret}} have no value")
	}
	web.SignAWS(req, sigv4.Keys{
		ID: id, Secret: secret, Token: value("aws-session-token"), Region: value("region"), Service: value("service"),
	}, time.Now())
	return nil
}
