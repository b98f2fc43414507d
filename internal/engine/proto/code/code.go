// Package code runs the programs of code blocks (template language 3.10): the source is a file of its own in a folder
// that is removed, the target is the standard input, and the values of the names that the source mentions are its
// environment. What the program writes is given to the operators.
//
// It runs only for a template whose signature was verified. On the command line package sandbox bounds it; a server
// runs it in package isolate, outside of the process that evaluates the template (Isolated).
package code

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/js"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

const (
	maxSource = 4 << 20
	maxNames  = 2000     // of the environment
	maxValue  = 64 << 10 // bytes of a value of the environment
	maxTime   = 60 * time.Second
)

// Probe is a compiled block.
type Probe struct {
	engines   []string
	source    string
	args      []string
	file      string   // the name of the source's file
	names     []string // that may be in the environment
	network   bool
	condition *js.Probe
	key       string
}

// Options say what the operator allows.
type Options struct {
	Network bool // of the machine: its use cannot be held to the scope
}

// Compile compiles a block of a template whose signature was verified. The error is that of syntax.Fault, or of
// syntax.Unsupported.
func Compile(file string, s *syntax.Code, o Options) (*Probe, error) {
	switch {
	case len(s.Engine) == 0:
		return nil, syntax.Fault(file, s.Line, 0, "code.engine", "a block needs the name of a program that runs its source")
	case strings.TrimSpace(s.Source) == "":
		return nil, syntax.Fault(file, s.Line, 0, "code.source", "a block needs a source")
	case len(s.Source) > maxSource:
		return nil, syntax.Fault(file, s.Line, 0, "code.source", "%d bytes are more than %d", len(s.Source), maxSource)
	case s.Sandbox != nil:
		return nil, syntax.Unsupported(file, s.Line, "code: sandbox")
	}
	for _, engine := range s.Engine {
		if strings.ContainsAny(engine, "/\\") || engine == "" {
			return nil, syntax.Fault(file, s.Line, 0, "code.engine", "%q is no name of a program, without a path", engine)
		}
	}
	p := &Probe{engines: s.Engine, source: s.Source, args: s.Args, network: o.Network, file: fileName(s.Pattern)}
	for _, name := range identifier.FindAllString(s.Source, -1) {
		if len(p.names) < maxNames && !slices.Contains(p.names, name) && !own(name) {
			p.names = append(p.names, name)
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", p.engines, p.args, p.file, p.source))
	p.key = hex.EncodeToString(sum[:])
	if strings.TrimSpace(s.PreCondition) == "" {
		return p, nil
	}
	var err error
	p.condition, err = js.Compile(file, &syntax.JavaScript{Line: s.Line, Code: machine() + s.PreCondition})
	return p, err
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// own are names of the environment that decide how programs are found and loaded.
func own(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "PS4":
		return true
	}
	for _, prefix := range []string{"LD_", "PYTHON", "NODE_", "PERL", "RUBY", "BASH_FUNC"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// fileName is a name after a pattern such as *.ps1.
func fileName(pattern string) string {
	pattern = pattern[strings.LastIndexAny(pattern, `/\`)+1:]
	if !strings.Contains(pattern, "*") {
		pattern += "*"
	}
	return strings.ReplaceAll(pattern, "*", "program")
}

// machine defines the functions that pre-conditions know, on one line.
func machine() string {
	var b strings.Builder
	for name, value := range map[string]string{"OS": runtime.GOOS, "Arch": runtime.GOARCH} {
		fmt.Fprintf(&b, "function %s(){return %q};", name, value)
	}
	for name, system := range map[string]string{"IsLinux": "linux", "IsWindows": "windows", "IsOSX": "darwin",
		"IsAndroid": "android", "IsIOS": "ios", "IsJS": "js", "IsFreeBSD": "freebsd", "IsOpenBSD": "openbsd",
		"IsSolaris": "solaris"} {
		fmt.Fprintf(&b, "function %s(){return %t};", name, runtime.GOOS == system)
	}
	for name, arch := range map[string]string{"Is386": "386", "IsAmd64": "amd64", "IsARM": "arm", "IsARM64": "arm64",
		"IsWasm": "wasm"} {
		fmt.Fprintf(&b, "function %s(){return %t};", name, runtime.GOARCH == arch)
	}
	return b.String()
}

// Requests implements proto.Probe.
func (p *Probe) Requests() int { return 1 }

// Names implements proto.Probe.
func (p *Probe) Names() []string { return p.names }

// program is the path of the first of the engines that can be started.
func (p *Probe) program() (string, error) {
	unreachable := ""
	for _, engine := range p.engines {
		path, err := sandbox.LookPath(engine)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, sandbox.ErrUnreachable) {
			unreachable = engine
		}
	}
	if unreachable != "" {
		return "", proto.Unusable("%s cannot be run: %s", unreachable, sandbox.ErrUnreachable.Error())
	}
	return "", proto.Unusable("none of the programs is installed: %s", strings.Join(p.engines, ", "))
}

// Run implements proto.Probe.
func (p *Probe) Run(ctx context.Context, env *proto.Env, found func(*proto.Reply) bool) error {
	run := env.Program
	switch {
	case run != nil:
	case env.Files:
		run = p.here
	default:
		return proto.Unusable("templates with programs are not run here")
	}
	if err := p.holds(ctx, env); err != nil {
		return err
	}
	vars := env.Vars(env.Target)
	values, fields := map[string]string{}, map[string]any{}
	for _, name := range p.names {
		value, ok := vars.Vars(name)
		if !ok {
			continue
		}
		text := strings.ReplaceAll(functions.String(value), "\x00", "")
		values[name], fields[name] = text[:min(len(text), maxValue)], text
	}
	got, err := run(ctx, proto.Program{Key: p.key, Env: values, Stdin: env.Input, Time: min(6*env.Timeout, maxTime)})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case got.Unusable != "":
		return proto.Unusable("%s", got.Unusable)
	case got.Failed != "":
		return errors.New(got.Failed)
	}
	response := strings.Trim(string(got.Stdout), " \n\r\t")
	fields["type"], fields["response"], fields["input"], fields["host"] = "code", response, env.Input, env.Input
	fields["matched"], fields["request"], fields["exit_code"] = env.Input, p.source, got.Code
	if len(got.Stderr) > 0 {
		fields["stderr"] = strings.Trim(string(got.Stderr), " \n\r\t")
	}
	reply := &proto.Reply{Env: vars, Fields: fields, Request: p.source, Response: response, MatchedAt: env.Input,
		Host: env.Input}
	found(reply)
	return nil
}

// here runs the program in this process's sandbox.
func (p *Probe) here(ctx context.Context, in proto.Program) (*proto.Output, error) {
	path, err := p.program()
	if err != nil {
		return nil, err
	}
	got, err := sandbox.Run(ctx, sandbox.Command{
		Path: path, Args: append(slices.Clone(p.args), "{folder}/"+p.file), Env: in.Env, Stdin: in.Stdin,
		Files: map[string][]byte{p.file: []byte(p.source)}, Network: p.network, Time: in.Time,
	})
	if errors.Is(err, sandbox.ErrNoSandbox) {
		return nil, proto.Unusable("%v", err)
	}
	if err != nil {
		return nil, err
	}
	return &proto.Output{Stdout: got.Stdout, Stderr: got.Stderr, Code: got.Code}, nil
}

// holds is the error of a pre-condition that does not hold.
func (p *Probe) holds(ctx context.Context, env *proto.Env) error {
	if p.condition == nil {
		return nil
	}
	success := false
	err := p.condition.Run(ctx, env, func(r *proto.Reply) bool {
		success, _ = r.Fields["success"].(bool)
		return false
	})
	if err == nil && !success {
		err = proto.Inapplicable("the template's pre-condition does not hold")
	}
	return err
}
