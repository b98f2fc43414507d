// Package js runs the scripts of javascript blocks (template language 3.9): they talk to a target with modules, and
// what they return or export is given to the operators. A script runs in the bounds of package script; its modules
// dial within the scope.
package js

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/tcp"
	"github.com/vedette-sec/vedette/internal/engine/script"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

const maxSource = 1 << 20 // bytes of a script: some have a program of another language in them

// webPorts are the ports of a URL that the port of a template replaces.
var webPorts = []string{"80", "443", "8080", "8443", "8081", "53"}

// Probe is a compiled block.
type Probe struct {
	init, condition, code *program
	folder                string
	args                  []arg
	ports, excluded       []string
	names                 []string // that the scripts read from template
}

// program is a script; nil for none.
type program struct {
	source   string
	compiled *goja.Program
	exports  bool // it calls Export or ExportAs: its text is that of a function
	computes bool // it seems to need nothing but its arguments
}

type arg struct {
	name string
	text dsl.Text
	open bool // the text has placeholders
	data any  // otherwise
}

// Compile compiles a block. The error is that of syntax.Fault, or of syntax.Unsupported with the name of a module.
func Compile(file string, s *syntax.JavaScript) (*Probe, error) {
	p := &Probe{excluded: webPorts, folder: filepath.Dir(file)}
	if strings.TrimSpace(s.Code) == "" {
		return nil, syntax.Fault(file, s.Line, 0, "javascript.code", "a block needs a script")
	}
	for _, part := range []struct {
		key, source string
		into        **program
	}{
		{"javascript.init", s.Init, &p.init},
		{"javascript.pre-condition", s.PreCondition, &p.condition},
		{"javascript.code", s.Code, &p.code},
	} {
		if strings.TrimSpace(part.source) == "" {
			continue
		}
		if name := unsupported(part.source); name != "" {
			return nil, syntax.Unsupported(file, s.Line, "javascript: "+name)
		}
		compiled, err := compile(part.source)
		if err != nil {
			return nil, syntax.Fault(file, s.Line, 0, part.key, "%v", err)
		}
		*part.into = compiled
		for _, found := range templateName.FindAllStringSubmatch(part.source, -1) {
			if name := found[1] + found[2]; !slices.Contains(p.names, name) {
				p.names = append(p.names, name)
			}
		}
	}
	return p, p.arguments(file, s)
}

var templateName = regexp.MustCompile(`\btemplate(?:\.([A-Za-z_$][\w$]*)|\[["']([\w$-]+)["']\])`)

// arguments compiles the arguments; port and exclude-ports say where the script goes.
func (p *Probe) arguments(file string, s *syntax.JavaScript) (err error) {
	for _, a := range s.Args {
		switch {
		case strings.EqualFold(a.Name, "port"):
			if strings.Contains(a.Value, "{{") {
				return syntax.Fault(file, s.Line, 0, "javascript.args."+a.Name, "a port is a number, without placeholders")
			}
			if p.ports, err = tcp.Ports(a.Value); err != nil {
				return syntax.Fault(file, s.Line, 0, "javascript.args."+a.Name, "%v", err)
			}
		case strings.EqualFold(a.Name, "exclude-ports"):
			if p.excluded, err = tcp.Ports(a.Value); err != nil {
				return syntax.Fault(file, s.Line, 0, "javascript.args."+a.Name, "%v", err)
			}
		case strings.Contains(a.Value, "{"):
			p.args = append(p.args, arg{name: a.Name, text: dsl.Parse(a.Value), open: true})
		default:
			p.args = append(p.args, arg{name: a.Name, data: a.Data})
		}
	}
	return nil
}

// computes reports whether a source names nothing that asks a server, for which others should not wait. Whether it
// needs more than its arguments is seen when it runs.
func computes(source string) bool {
	for _, found := range requireCall.FindAllStringSubmatch(source, -1) {
		if name, _ := moduleName(found[1]); !slices.Contains(pureModules, name) {
			return false
		}
	}
	return !strings.Contains(source, "PortOpen")
}

func compile(source string) (*program, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("%d bytes are more than %d", len(source), maxSource)
	}
	p := &program{source: source, exports: strings.Contains(source, "Export"), computes: computes(source)}
	if p.exports {
		source = "(function() {" + source + "\n})()"
	}
	tree, err := script.Parse("script", source)
	if err != nil {
		return nil, err
	}
	if err := script.CheckTree(tree, func(any) any { return nil }); err != nil {
		return nil, err
	}
	p.compiled, err = script.Compile(tree)
	return p, err
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return max(1, len(p.ports)) }

// Names implements proto.Probe.
func (p *Probe) Names() []string {
	var texts []dsl.Text
	for _, a := range p.args {
		if a.open {
			texts = append(texts, a.text)
		}
	}
	names := proto.Names(texts...)
	for _, name := range p.names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Run implements proto.Probe. Of several ports, those where nothing listens are left out.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	var first error
	replied := false
	for _, address := range tcp.Targets(env.Target, p.ports, p.excluded) {
		reply, err := p.visit(ctx, env, address)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if replied = true; !found(reply) {
			return nil
		}
	}
	if end, ok := errors.AsType[*proto.End](first); ok && end.Kind == proto.KindInapplicable && replied {
		return nil
	}
	return first
}

// visit runs the scripts at an address, each on a machine of its own.
func (p *Probe) visit(ctx context.Context, env *proto.Env, address string) (*proto.Reply, error) {
	at := env.Target
	at.Host = address
	vars := env.Vars(at)
	values, err := p.values(vars, at)
	if err != nil {
		return nil, err
	}
	if p.init != nil {
		r := p.execute(ctx, env, vars, values, p.init)
		if r.err != nil {
			return nil, p.judge(env, address, r)
		}
	}
	if p.condition != nil {
		r := p.execute(ctx, env, vars, values, p.condition)
		if err := p.judge(env, address, r); err != nil || !r.success {
			return nil, p.unfulfilled(env, address, r, err)
		}
	}
	r := p.execute(ctx, env, vars, values, p.code)
	if err := p.judge(env, address, r); err != nil {
		return nil, err
	}
	return p.reply(env, vars, address, r), nil
}

// unfulfilled is the error of a pre-condition that does not hold.
func (p *Probe) unfulfilled(env *proto.Env, address string, r result, err error) error {
	if err == nil && r.failed != nil {
		err = p.judge(env, address, result{err: r.failed})
	}
	if err == nil {
		err = proto.Inapplicable("the template's pre-condition does not hold")
	}
	return err
}

// values are the arguments.
func (p *Probe) values(vars *dsl.Env, at rawurl.URL) (map[string]any, error) {
	values := map[string]any{"Port": at.ExplicitPort()}
	for _, a := range p.args {
		values[a.name] = a.data
		if a.open {
			text, err := a.text.Render(vars)
			if err != nil {
				return nil, err
			}
			values[a.name] = text
		}
	}
	return values, nil
}

// judge is the error of a run that gives no reply. What a script throws is a reply, unless it could not connect: that
// nothing listens on a port which the template chose is no failure.
func (p *Probe) judge(env *proto.Env, address string, r result) error {
	err := r.err
	if missing, ok := errors.AsType[*host.Missing](err); ok {
		return proto.Unusable("%v", missing)
	}
	dial, dialled := errors.AsType[*host.DialError](err)
	switch {
	case err == nil:
		return nil
	case dialled:
		err = dial.Err
	default:
		if thrown, ok := errors.AsType[*script.Error](err); ok && thrown.Threw {
			return nil
		}
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	if errors.Is(err, syscall.ECONNREFUSED) && len(p.ports) > 0 && env.Target.ExplicitPort() != port {
		return proto.Inapplicable("nothing listens on the template's port")
	}
	return err
}

func (p *Probe) reply(env *proto.Env, vars *dsl.Env, address string, r result) *proto.Reply {
	reply := &proto.Reply{Env: vars, Request: p.code.source, IP: r.ip, Fields: map[string]any{}}
	for name, text := range r.exports {
		reply.Fields[name] = text
	}
	reply.Response = r.text
	maps.Copy(reply.Fields, map[string]any{
		"type": "javascript", "request": p.code.source, "response": r.response, "success": r.success, "host": env.Input,
		"matched": address, "ip": r.ip, "request-pre-condition": "",
	})
	if p.condition != nil {
		reply.Fields["request-pre-condition"] = p.condition.source
	}
	if r.err != nil { // as in nuclei, a script that threw is no finding, whatever matches
		reply.Fields["error"], reply.Silent = r.err.Error(), true
	}
	reply.At(address)
	if reply.Host == "" { // no port in the script or the target: that of the web, as nuclei has it
		reply.Host, reply.Port = env.Target.Hostname(), cmp.Or(env.Target.Port(), "80")
	}
	return reply
}
