package enumeration

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/cloud"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/discover/probe"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Engine is what all chunks of a process share.
type Engine struct {
	config pipeline.Config
	guard  *netguard.Guard
	clouds *cloud.Client
}

// sourceTimeout bounds one exchange with a source of names.
const sourceTimeout = time.Minute

// NewEngine takes the operator's configuration. Sources and clouds are reached through the guard.
func NewEngine(c pipeline.Config, guard *netguard.Guard) Engine {
	c.Client, c.RangesDial, c.Fingerprints = guard.Client(sourceTimeout), guard.Dial, &probe.Fingerprints{}
	c.Cameras = probe.NewCameras(max(1, runtime.NumCPU()/2))
	return Engine{c, guard, cloud.New(guard)}
}

// RunChunk carries out a chunk and stores the results while it works. It leaves alone a chunk that has ended or that
// another worker has.
func (es *Enumerations) RunChunk(ctx context.Context, a ChunkArgs, e Engine) error {
	storeCtx := context.WithoutCancel(ctx) // what was found is stored although ctx ends
	chunk, err := es.StartChunk(storeCtx, a)
	if err == nil {
		err = chunk.discover(ctx, storeCtx, e)
	}
	return run.IgnoreLate(err)
}

func (c *Chunk) discover(ctx, storeCtx context.Context, e Engine) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var end Report
	if c.Work.Cloud != "" {
		c.Work.Hosts, end.Sources = c.cloudHosts(ctx, e.clouds)
	}
	p, err := c.pipeline(ctx, e.config)
	if err != nil {
		return queue.Abandon(err)
	}
	switch {
	case c.Stage == Hosts:
		err = c.probeHosts(ctx, storeCtx, p)
	case c.Work.Network != "" && len(c.Work.Prefixes) == 0:
		prefixes, report := p.Network(ctx, c.Work.Network)
		works, leftOut := Announced(c.Work.Network, prefixes, func(a netip.Addr) bool { return e.guard.Check(a) == nil })
		if leftOut != "" {
			report.Detail = strings.TrimSpace(report.Detail + " " + leftOut)
			if report.State == discover.SourceOK {
				report.State = discover.SourceLimited
			}
		}
		end.Sources, end.More = append(end.Sources, report), works
	default:
		var reports []discover.SourceReport
		reports, err = c.findHosts(ctx, storeCtx, p)
		end.Sources = append(end.Sources, reports...)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return errors.Join(err, c.noteProxy(storeCtx, err))
	}
	end.Denied, end.Denials = p.Denied()
	return c.Finish(storeCtx, end)
}

// noteProxy adds an event to the run when err is a fault of the proxy.
func (c *Chunk) noteProxy(ctx context.Context, err error) error {
	fault, ok := errors.AsType[*netguard.ProxyFault](err)
	if !ok {
		return nil
	}
	return c.Write(ctx, func(tx *db.Tx) error {
		return c.es.addEvents(ctx, tx, c.ID, c.Run,
			[]Event{{Kind: EventProxy, Subject: fault.Proxy, Detail: "It does not work: " + fault.Err.Error(), Times: 1}})
	})
}

// cloudHosts lists the hosts of a cloud configuration.
func (c *Chunk) cloudHosts(ctx context.Context, clouds *cloud.Client) (hosts []Found, reports []discover.SourceReport) {
	id := c.Work.Cloud
	applied, err := c.es.settings.Apply(ctx, nil, c.TeamID, setting.Cloudlist, []string{id}, false, "")
	if err != nil || len(applied) == 0 {
		return nil, []discover.SourceReport{{
			Source: cloud.Source, About: id, State: discover.SourceFailed, Detail: "The configuration is not there any more.",
		}}
	}
	found, reports := clouds.Inventory(ctx, id, applied[0].Text)
	for _, n := range found {
		hosts = append(hosts, Found{Name: n})
	}
	return hosts, reports
}

// pipeline makes a pipeline for the targets of the enumeration, and for the hosts and ranges that a cloud account or an
// autonomous system led to.
func (c *Chunk) pipeline(ctx context.Context, p pipeline.Config) (*pipeline.Pipeline, error) {
	covers, err := c.Config.Coverage()
	if err != nil {
		return nil, err
	}
	p.Covers = covers.Targets()
	for _, h := range slices.Concat(c.Work.Hosts, c.Hosts) {
		if t, err := netguard.ParseTarget(h.Host); err == nil && h.covered() {
			p.Covers = append(p.Covers, t)
		}
	}
	if c.Work.Network != "" {
		for _, prefix := range c.Work.Prefixes {
			p.Covers = append(p.Covers, netguard.Target{Prefix: prefix})
		}
	}
	applied, err := c.es.settings.Apply(ctx, nil, c.TeamID, setting.Subfinder, c.Config.SubfinderConfigIDs, true, "")
	if err != nil {
		return nil, err
	}
	p.Keys = map[string][]string{}
	for _, a := range applied {
		sources, err := names.ParseKeys(a.Text)
		if err != nil {
			return nil, err
		}
		for name, keys := range sources {
			p.Keys[name] = append(p.Keys[name], keys...)
		}
	}
	p.Domains, p.Steps, p.Ports, p.NoRedirects = covers.Domains, c.Config.Steps, c.Config.Ports,
		!c.Config.FollowsRedirects()
	p.Deny = slices.Concat(p.Deny, c.Excluded.Denied())
	p.Guard = c.es.settings.Guard()
	if p.Proxy, err = c.es.settings.OpenProxy(c.TeamID, c.Config.Proxy); err != nil {
		return nil, err
	}
	p.Excludes = func(host string, port uint16) bool {
		if port != 0 {
			return c.Excluded.Excludes(net.JoinHostPort(host, strconv.Itoa(int(port))))
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		return c.Excluded.Excludes(host)
	}
	return pipeline.New(p)
}

// findHosts finds the hosts of a chunk of names and adds chunks that probe them.
func (c *Chunk) findHosts(
	ctx, storeCtx context.Context, p *pipeline.Pipeline,
) (reports []discover.SourceReport, err error) {
	work := c.Work
	covers, err := c.Config.Coverage()
	if err != nil {
		return nil, err
	}
	ports := map[string][]uint16{} // that inputs name: of several chunks that find a host, the first one stores it
	for _, h := range slices.Concat(covers.Hosts, work.Hosts) {
		ports[h.Host] = h.Ports
	}
	var found []Found
	flush := func() error {
		err := c.AddHosts(storeCtx, found)
		found = found[:0]
		return err
	}
	emit := func(n discover.Name) error {
		if _, err := netip.ParseAddr(n.Host); err == nil && work.Network != "" {
			n.Sources = append(n.Sources, discover.SourceRef{Source: sourceNetwork,
				Metadata: map[string]string{"asn": work.Network}})
		}
		if found = append(found, Found{Name: n, Ports: ports[n.Host]}); len(found) < ChunkHosts {
			return nil
		}
		return flush()
	}
	var report discover.SourceReport
	switch {
	case work.Domain != "":
		reports, err = p.Domain(ctx, work.Domain, emit)
	case len(work.Prefixes) > 0:
		report, err = p.Ranges(ctx, work.Prefixes, emit)
	case work.Known:
		report, err = p.LookUp(ctx, "known", c.known(ctx, p), emit)
	case len(work.Hosts) > 0:
		report, err = p.LookUp(ctx, cmp.Or(work.Cloud, work.Hosts[0].Host+" …"), func(yield func(discover.Name) bool) {
			for _, h := range work.Hosts {
				if !yield(h.Name) {
					return
				}
			}
		}, emit)
	}
	if report.Source != "" {
		reports = append(reports, report)
	}
	return reports, errors.Join(err, flush())
}

// known are the hosts that earlier runs of the enumeration found and that it covers by itself.
func (c *Chunk) known(ctx context.Context, p *pipeline.Pipeline) iter.Seq[discover.Name] {
	q := asset.Selection{Filter: asset.Filter{Enumerations: []string{c.ID}}, Kinds: []string{"hosts"}}
	return func(yield func(discover.Name) bool) {
		last := ""
		for host, err := range c.es.assets.Targets(ctx, c.TeamID, q) {
			if err != nil {
				c.es.logger.ErrorContext(ctx, "reading the known hosts of an enumeration", "enumeration_id", c.ID, "error", err)
				return
			}
			if host != last && p.Covers(host) &&
				!yield(discover.Name{Host: host, Sources: []discover.SourceRef{{Source: "known"}}}) {
				return
			}
			last = host
		}
	}
}

// The bounds of the assets that one transaction stores.
const (
	storeAssets = 250
	storeBytes  = 2 << 20
)

// probeHosts probes the hosts of a chunk and stores their assets.
func (c *Chunk) probeHosts(ctx, storeCtx context.Context, p *pipeline.Pipeline) error {
	targets := make([]pipeline.Target, len(c.Hosts))
	for i, h := range c.Hosts {
		targets[i] = pipeline.Target{Name: h.Name, Ports: h.Ports}
	}
	var seen []discover.Asset
	size := 0
	flush := func() error {
		if len(seen) == 0 {
			return nil
		}
		err := c.Store(storeCtx, seen)
		seen, size = nil, 0
		return err
	}
	_, err := p.Probe(ctx, targets, func(a discover.Asset) error {
		seen = append(seen, a)
		if size += len(a.Body) + len(a.Screenshot); len(seen) < storeAssets && size < storeBytes {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}
