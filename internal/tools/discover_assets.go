package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/port"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

type discoverArgs struct {
	Domains []string `json:"domains"`
	Hosts   []string `json:"hosts"`
	Ports   []int    `json:"ports"`
}

const (
	maxDiscover   = 50 // domains and hosts of one call
	discoverWait  = 5 * time.Minute
	discoverEvery = time.Second // between looks at its status
	usualPorts    = "top-100"
)

func (k *Kit) discoverAssets() action[discoverArgs] {
	return action[discoverArgs]{
		name: "discover_assets",
		schema: `{"type": "object", "properties": {"domains": {"type": "array", "maxItems": 50, "items": {"type": "string"},
				"description": "below which names are looked for"},
			"hosts": {"type": "array", "maxItems": 50, "items": {"type": "string"},
				"description": "names, addresses and ranges that are looked at"},
			"ports": {"type": "array", "maxItems": 1000, "items": {"type": "integer", "minimum": 1, "maximum": 65535},
				"description": "the usual ones when absent"}}}`,
		call: func(ctx context.Context, a discoverArgs, progress func(string)) (loop.Result, error) {
			config, err := k.discovery(a, loop.Allowance(ctx) < math.MaxInt)
			if err != nil {
				return loop.Result{}, err
			}
			made, err := k.Inventory.Enumerations.Create(k.Inventory.as(ctx), enumeration.NewEnumeration{Config: config})
			if err != nil {
				return loop.Result{}, err
			}
			progress("Enumeration " + made.ID + " is launched.")
			return k.waitFor(ctx, made)
		},
	}
}

// discovery is the configuration of an enumeration within the scope. A task with a budget of requests only looks for
// names, because the number of requests of an enumeration is not known in advance.
func (k *Kit) discovery(a discoverArgs, counted bool) (c enumeration.Config, err error) {
	if n := len(a.Domains) + len(a.Hosts); n == 0 || n > maxDiscover {
		return c, fmt.Errorf("domains and hosts must be 1 to %d together", maxDiscover)
	}
	c = enumeration.Config{RootDomains: a.Domains, Inputs: a.Hosts, Steps: []discover.Step{discover.DNSPassive},
		NoGlobalAlerts: true}
	passive := k.scope.Doc.Intrusiveness == task.Passive
	if !passive {
		c.Steps = append(c.Steps, discover.DNSResolve)
	}
	hosts, subdomains, err := k.hostsInScope(a, passive)
	if err != nil {
		return c, err
	}
	if len(a.Domains) > 0 && subdomains && !passive {
		c.Steps = append(c.Steps, discover.DNSScraping, discover.DNSBruteforce, discover.DNSPermute)
	}
	if passive || counted || !subdomains {
		if len(a.Hosts) > 0 {
			return c, errors.New("hosts cannot be looked at here: the task is passive, has a budget of requests, or names a domain whose names are not in scope. Ask for domains alone, or for hosts alone")
		}
		return c, nil
	}
	ports, err := k.ports(a.Ports, hosts)
	if err != nil {
		return c, err
	}
	c.Ports, c.Exclusions = ports, k.exclusions()
	c.Steps = append(c.Steps, discover.PortScan, discover.TLSScan)
	if k.anyPage() {
		c.Steps = append(c.Steps, discover.HTTPProbe)
	}
	return c, nil
}

// hostsInScope returns one host for each domain, host and network of a call, or refuses what is not in scope.
// subdomains: those of all domains are in scope, too. For a passive task, which dials nothing, it checks as for others.
func (k *Kit) hostsInScope(a discoverArgs, passive bool) (hosts []string, subdomains bool, err error) {
	known := k.scope.AllowsHost
	if passive {
		b := k.scope.Boundary
		b.Doc.Intrusiveness = task.Safe
		open, err := scope.New(b)
		if err != nil {
			return nil, false, err
		}
		known = open.AllowsHost
	}
	subdomains = true
	for _, domain := range a.Domains {
		domain = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(domain), "*."), "."))
		example := "any." + domain // stands for all subdomains
		if !known(example) {
			subdomains = false
		} else {
			hosts = append(hosts, example)
		}
		if !known(domain) && !known(example) {
			return nil, false, k.scope.Refuse(domain, "it is not in scope")
		}
		hosts = append(hosts, domain)
	}
	for _, host := range a.Hosts {
		host = strings.ToLower(strings.TrimSpace(host))
		if p, err := netguard.ParsePrefix(host); err == nil && !p.IsSingleIP() {
			if !k.scope.Covers(p) {
				return nil, false, k.scope.Refuse(host, "it is not in scope as a whole")
			}
			host = p.Addr().String()
		} else if !known(strings.Trim(host, "[]")) {
			return nil, false, k.scope.Refuse(host, "it is not in scope: name a host or a range of the scope, without a port")
		}
		hosts = append(hosts, strings.Trim(host, "[]"))
	}
	return hosts, subdomains, nil
}

// ports are those of want, or else the usual ones and those of the scope, that are in scope on every host.
func (k *Kit) ports(want []int, hosts []string) (string, error) {
	if len(want) == 0 {
		usual, err := port.Parse(usualPorts)
		if err != nil {
			return "", err
		}
		for _, n := range usual {
			want = append(want, int(n))
		}
		want = append(want, k.scope.NamedPorts()...)
	}
	var open []string
	slices.Sort(want)
	for _, n := range slices.Compact(want) {
		closed := func(place string) bool { return !k.scope.AllowsPort(place, n) }
		if n >= 1 && n <= 65535 && !slices.ContainsFunc(hosts, closed) {
			open = append(open, strconv.Itoa(n))
		}
	}
	if len(open) == 0 {
		return "", errors.New("no port is in scope at all of these hosts: ask for them one by one")
	}
	return strings.Join(open, ","), nil
}

// exclusions are the excluded hosts and ports as patterns of an enumeration.
func (k *Kit) exclusions() (out []string) {
	for _, x := range k.scope.Plan.Excluded {
		text := cmp.Or(x.Prefix, x.Host)
		if x.Port != 0 {
			text = net.JoinHostPort(x.Host, strconv.Itoa(x.Port))
		}
		if _, err := hostpattern.Parse([]string{text}); err == nil {
			out = append(out, text)
		}
	}
	return out
}

// anyPage reports whether any page of a site may be requested.
func (k *Kit) anyPage() bool {
	doc := k.scope.Doc
	return len(doc.Paths) == 0 && (len(doc.Methods) == 0 || slices.Contains(doc.Methods, http.MethodGet)) &&
		!slices.ContainsFunc(k.scope.Plan.Excluded, func(x agent.Target) bool { return x.Path != "" })
}

// waitFor waits for an enumeration for a while. It is stopped when its task ends or its scope could expire.
func (k *Kit) waitFor(ctx context.Context, e enumeration.Enumeration) (loop.Result, error) {
	longest, expires := discoverWait, k.scope.Doc.ExpiresAt
	if expires != nil {
		longest = min(longest, expires.Sub(k.scope.Now()))
	}
	end := time.NewTimer(longest)
	defer end.Stop()
	tick := time.NewTicker(discoverEvery)
	defer tick.Stop()
	stop := func() error {
		return k.Inventory.Enumerations.Stop(k.Inventory.as(context.WithoutCancel(ctx)), e.ID)
	}
	for waiting := true; waiting && e.Status.Active(); {
		var err error
		select {
		case <-tick.C:
			e, err = k.Inventory.Enumerations.Find(k.Inventory.as(ctx), e.ID)
		case <-end.C:
			waiting = false
			if expires != nil {
				err = stop()
			}
		case <-ctx.Done():
			return loop.Result{}, errors.Join(context.Cause(ctx), stop())
		}
		if err != nil {
			return loop.Result{}, err
		}
	}
	e, err := k.Inventory.Enumerations.Find(k.Inventory.as(ctx), e.ID)
	if err != nil {
		return loop.Result{}, err
	}
	r, err := k.assetLines(ctx, asset.Query{Filter: asset.Filter{Enumerations: []string{e.ID}},
		Window: page.Window{Limit: maxAssets}})
	head := fmt.Sprintf("Enumeration %s is %s.", e.ID, e.Status)
	if e.FailureReason != "" {
		head += " " + e.FailureReason
	}
	r.Text = head + "\n" + r.Text
	return r, err
}
