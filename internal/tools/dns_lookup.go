package tools

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

type nameArgs struct {
	Name string `json:"name"`
}

const lookupTimeout = 10 * time.Second

func (k *Kit) dnsLookup() action[nameArgs] {
	return action[nameArgs]{
		name: "dns_lookup", repeatable: true,
		schema: `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "description": "a host name in scope"}}}`,
		call: func(ctx context.Context, a nameArgs, _ func(string)) (loop.Result, error) {
			name := strings.ToLower(strings.TrimSuffix(a.Name, "."))
			if !k.scope.AllowsHost(name) {
				return loop.Result{}, k.scope.Refuse(name, "it is not in scope")
			}
			ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			lines := lookup(ctx, name)
			r := loop.Result{Text: strings.Join(lines, "\n")}
			for _, line := range lines {
				r.Evidence = append(r.Evidence, "dns "+name+" "+line)
			}
			if len(lines) == 0 {
				r.Text = name + " has no records"
			}
			return r, nil
		},
	}
}

func lookup(ctx context.Context, name string) (lines []string) {
	add := func(kind string, values ...string) {
		for _, v := range values {
			lines = append(lines, errs.Clip(kind+" "+v, 1000))
		}
	}
	var r net.Resolver
	// a record that cannot be read does not exist
	if v, err := r.LookupHost(ctx, name); err == nil {
		add("ADDRESS", v...)
	}
	if v, err := r.LookupCNAME(ctx, name); err == nil && strings.TrimSuffix(v, ".") != name {
		add("CNAME", v)
	}
	if net.ParseIP(name) != nil {
		return lines
	}
	if v, err := r.LookupTXT(ctx, name); err == nil {
		add("TXT", v...)
	}
	if v, err := r.LookupMX(ctx, name); err == nil {
		for _, mx := range v {
			add("MX", fmt.Sprintf("%d %s", mx.Pref, mx.Host))
		}
	}
	if v, err := r.LookupNS(ctx, name); err == nil {
		for _, ns := range v {
			add("NS", ns.Host)
		}
	}
	return lines
}
