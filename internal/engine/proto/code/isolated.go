package code

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Key names the block by all that is run of it.
func (p *Probe) Key() string { return p.key }

// maxTold is how much is told of an error, in bytes.
const maxTold = 500

// Isolated runs the block's program for a process that has evaluated the template: it sees none of this machine's
// files but programs and libraries, and its only network is a proxy whose connections dial makes. The names of its
// environment are those that its source mentions, whatever in says.
func (p *Probe) Isolated(
	ctx context.Context, in proto.Program, dial func(ctx context.Context, network, addr string) (net.Conn, error),
) *proto.Output {
	path, err := p.program()
	if err != nil {
		return &proto.Output{Unusable: err.Error()}
	}
	env := map[string]string{}
	for name, value := range in.Env {
		if slices.Contains(p.names, name) {
			env[name] = value[:min(len(value), maxValue)]
		}
	}
	got, err := isolate.Run(ctx, isolate.Command{
		Args: slices.Concat([]string{path}, p.args, []string{isolate.Files + "/" + p.file}), Env: env, Stdin: in.Stdin,
		Files: map[string][]byte{p.file: []byte(p.source)}, Dial: dial, Time: min(in.Time, maxTime),
	})
	switch {
	case err == nil:
		return &proto.Output{Stdout: got.Stdout, Stderr: got.Stderr, Code: got.Code}
	case errors.Is(err, isolate.ErrNoBubblewrap), errors.Is(err, isolate.ErrNoSocat), errors.Is(err, sandbox.ErrNoSandbox):
		return &proto.Output{Unusable: errs.Clip(err.Error(), maxTold)}
	default:
		return &proto.Output{Failed: errs.Clip(err.Error(), maxTold)}
	}
}
