package js

import (
	"context"
	"errors"
	"strings"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/core"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/proto/tcp"
)

// Payloads implements proto.Payloader: init is run for them, before the first payload.
func (p *Probe) Payloads(ctx context.Context, env *proto.Env) (map[string][]string, error) {
	if p.init == nil || !strings.Contains(p.init.source, "updatePayload") {
		return nil, nil
	}
	addresses := tcp.Targets(env.Target, p.ports, p.excluded)
	if len(addresses) == 0 {
		return nil, nil
	}
	at := env.Target
	at.Host = addresses[0]
	vars := env.Vars(at)
	values, err := p.values(vars, at)
	if err != nil {
		return nil, err
	}
	r := p.execute(ctx, env, vars, values, p.init)
	if r.err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, p.judge(env, addresses[0], r) // what init throws is said when it runs for a payload
	}
	return r.updates, nil
}

// updatePayload is updatePayload(name, values): a list, a text with a value on each line, or a file of the template's
// folder with them.
func (r *run) updatePayload(a *host.Args) (any, error) {
	name := a.Text(0)
	if name == "" {
		return nil, errors.New("a payload needs a name")
	}
	var values []string
	switch given := a.Any(1).(type) {
	case []any:
		for _, v := range given {
			values = append(values, functions.String(v))
		}
	case string:
		if !strings.Contains(given, "\n") {
			text, err := core.ReadFile(r.host.Folder, given)
			if err != nil {
				return nil, err
			}
			given = string(text)
		}
		for line := range strings.Lines(given) {
			if line = strings.TrimRight(line, "\r\n"); line != "" {
				values = append(values, line)
			}
		}
	}
	if len(values) == 0 {
		return nil, errors.New("a payload needs a list of values, a text of several lines, or the name of a file")
	}
	if r.updates == nil {
		r.updates = map[string][]string{}
	}
	r.updates[name] = values
	size := 0
	for _, v := range values {
		size += len(v)
	}
	return goja.Null(), r.host.Spend(size)
}
