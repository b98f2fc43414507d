package tools

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

type portsArgs struct {
	Host  string `json:"host"`
	Ports []int  `json:"ports"`
}

const (
	maxPorts    = 200
	portsAtOnce = 16
	portTimeout = 3 * time.Second
)

func (k *Kit) portCheck() action[portsArgs] {
	return action[portsArgs]{
		name: "port_check", repeatable: true,
		schema:   `{"type": "object", "required": ["host", "ports"], "properties": {"host": {"type": "string"}, "ports": {"type": "array", "maxItems": 200, "items": {"type": "integer", "minimum": 1, "maximum": 65535}}}}`,
		requests: func(a portsArgs) int { return len(a.Ports) },
		call: func(ctx context.Context, a portsArgs, _ func(string)) (loop.Result, error) {
			if len(a.Ports) == 0 || len(a.Ports) > maxPorts {
				return loop.Result{}, fmt.Errorf("ports must have 1 to %d entries", maxPorts)
			}
			ports := a.Ports[:allowedRequests(ctx, len(a.Ports))]
			states := make([]string, len(ports))
			forEach(make([]string, len(ports)), portsAtOnce, func(agent.Update) {}, func(i int) {
				states[i] = k.portState(ctx, net.JoinHostPort(a.Host, strconv.Itoa(ports[i])))
			})
			if ctx.Err() != nil {
				return loop.Result{}, context.Cause(ctx)
			}
			r := loop.Result{Requests: len(ports)}
			var lines []string
			for i, port := range ports {
				lines = append(lines, fmt.Sprintf("%d: %s", port, states[i]))
				if states[i] == "open" {
					r.Evidence = append(r.Evidence, fmt.Sprintf("open %s:%d", a.Host, port))
				}
			}
			for _, port := range a.Ports[len(ports):] {
				lines = append(lines, fmt.Sprintf("%d: not tested", port))
			}
			r.Text = strings.Join(lines, "\n")
			return r, nil
		},
	}
}

func (k *Kit) portState(ctx context.Context, addr string) string {
	ctx, cancel := context.WithTimeout(ctx, portTimeout)
	defer cancel()
	conn, err := k.scope.Dial(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close() // nothing was sent
		k.scope.Count()
		return "open"
	}
	if errs.Is(err, errs.Forbidden) {
		return "refused: " + brief.Reason(err)
	}
	k.scope.Count()
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return "no answer"
	}
	return "closed"
}
