package jobs

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/cloud"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Discovery is how the operator lets enumerations ask the world.
type Discovery struct {
	Resolvers  []string        // name servers; none: the system's
	Sources    []string        // passive sources to ask; none: all
	OriginZone string          // that tells the networks of addresses; "": nobody is asked
	RangesURL  string          // that tells the ranges of a network; "": nobody is asked
	Ports      *discover.Pace  // of the connections of all port scans; nil: no limit
	Queries    *discover.Pace  // of all questions to name servers; nil: no limit
	Guard      *netguard.Guard // the way to sources and clouds
}

// sourceTimeout bounds one exchange with a source of names.
const sourceTimeout = time.Minute

// purgeAttempts is how often the deletion of an enumeration's rows is begun anew: it goes on
// where it was, and what it leaves nobody else deletes.
const purgeAttempts = 100

// handleEnumerations tells the queue who plans enumerations and works on their chunks.
func (w worker) handleEnumerations(q *queue.Queue) {
	queue.Handle(q, queue.Handler[enumeration.BeginArgs]{
		Quick: true,
		Work: func(ctx context.Context, job queue.Job[enumeration.BeginArgs]) error {
			return w.Enumerations.Begin(ctx, job.Args)
		},
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[enumeration.BeginArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up planning an enumeration", "enumeration_id", job.Args.EnumerationID, "error", cause)
			return w.Enumerations.GiveUpBegin(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[enumeration.ChunkArgs]{
		Work: w.runDiscovery,
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[enumeration.ChunkArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up a part of an enumeration", "enumeration_id", job.Args.EnumerationID, "part", job.Args.N, "error", cause)
			return w.Enumerations.GiveUpChunk(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[enumeration.TidyArgs]{Work: func(ctx context.Context, job queue.Job[enumeration.TidyArgs]) error {
		return w.Enumerations.Tidy(ctx, job.Args)
	}})
	queue.Handle(q, queue.Handler[enumeration.PurgeArgs]{MaxAttempts: purgeAttempts, Work: func(ctx context.Context, job queue.Job[enumeration.PurgeArgs]) error {
		return w.Enumerations.Purge(ctx, job.Args)
	}})
	queue.Handle(q, queue.Handler[enumeration.AlertArgs]{Quick: true, Work: w.alertOfEnumeration})
	queue.Handle(q, queue.Handler[enumeration.ScanArgs]{Work: w.scanWhatIsNew})
}

// runDiscovery works on one chunk. What it finds is stored while it works, and its end is
// one transaction.
func (w worker) runDiscovery(ctx context.Context, job queue.Job[enumeration.ChunkArgs]) error {
	kept := context.WithoutCancel(ctx)
	chunk, err := w.Enumerations.StartChunk(kept, job.Args)
	if err == nil {
		err = w.discover(ctx, kept, chunk)
	}
	if errors.Is(err, enumeration.ErrLate) {
		return nil // the run has ended, or another worker has the chunk
	}
	return err
}

func (w worker) discover(ctx, kept context.Context, chunk *enumeration.Chunk) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var end enumeration.Report
	work := chunk.Work
	if work.Cloud != "" {
		work.Hosts, end.Sources = w.inventory(ctx, chunk.TeamID, work.Cloud)
	}
	p, err := w.pipelineFor(ctx, chunk, slices.Concat(work.Hosts, chunk.Hosts))
	if err != nil {
		return queue.Abandon(err)
	}
	switch {
	case chunk.Stage == enumeration.Hosts:
		err = lookAt(ctx, kept, p, chunk)
	case work.Network != "" && len(work.Prefixes) == 0:
		end = w.announced(ctx, p, work.Network)
	default:
		var told []discover.SourceReport
		told, err = w.findNames(ctx, kept, p, chunk, work)
		end.Sources = append(end.Sources, told...)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	denied, total := p.Denied()
	end.Denials = total
	for _, d := range denied {
		end.Denied = append(end.Denied, enumeration.Denial{Address: d.Addr, Why: d.Why, Times: d.Times})
	}
	return chunk.Finish(kept, end)
}

// inventory lists the hosts of a cloud configuration.
func (w worker) inventory(ctx context.Context, teamID, configID string) (hosts []enumeration.Found, reports []discover.SourceReport) {
	applied, err := w.Settings.Apply(ctx, nil, teamID, setting.Cloudlist, []string{configID}, false, "")
	if err != nil || len(applied) == 0 {
		return nil, []discover.SourceReport{{Source: cloud.Source, About: configID, State: discover.SourceFailed, Detail: "The configuration is not there any more."}}
	}
	found, reports := w.clouds.Inventory(ctx, configID, applied[0].Text)
	for _, n := range found {
		hosts = append(hosts, enumeration.Found{Name: n})
	}
	return hosts, reports
}

// announced asks for the ranges of an autonomous system, and cuts them into chunks.
func (w worker) announced(ctx context.Context, p *pipeline.Pipeline, as string) enumeration.Report {
	prefixes, told := p.Network(ctx, as)
	works, leftOut := enumeration.Announced(as, prefixes, func(a netip.Addr) bool { return w.Discovery.Guard.Check(a) == nil })
	if leftOut != "" {
		told.Detail = strings.TrimSpace(told.Detail + " " + leftOut)
		if told.State == discover.SourceOK {
			told.State = discover.SourceLimited
		}
	}
	return enumeration.Report{Sources: []discover.SourceReport{told}, More: works}
}

// pipelineFor makes a pipeline that reaches what the chunk's enumeration covers and, of
// what it was led to by a cloud or a network, these hosts and the chunk's own ranges.
func (w worker) pipelineFor(ctx context.Context, chunk *enumeration.Chunk, hosts []enumeration.Found) (*pipeline.Pipeline, error) {
	covers, err := chunk.Config.Coverage()
	if err != nil {
		return nil, err
	}
	targets := covers.Targets()
	for _, h := range hosts {
		if !h.Led() {
			continue
		}
		t, err := netguard.ParseTarget(h.Host)
		if err != nil {
			continue
		}
		targets = append(targets, t)
	}
	if chunk.Work.Network != "" {
		for _, p := range chunk.Work.Prefixes {
			targets = append(targets, netguard.Target{Prefix: p})
		}
	}
	keys, err := w.keysOf(ctx, chunk)
	if err != nil {
		return nil, err
	}
	c := pipeline.Config{
		Covers: targets, Domains: covers.Domains, Deny: slices.Concat(w.Deny, chunk.Excluded.Denied()), Excludes: excludes(chunk.Excluded),
		Steps: chunk.Config.Steps, Ports: chunk.Config.Ports, Resolvers: w.Discovery.Resolvers, Keys: keys, Sources: w.Discovery.Sources,
		OriginZone: w.Discovery.OriginZone, RangesURL: w.Discovery.RangesURL, RangesDial: w.Discovery.Guard.Dial, Pace: w.Discovery.Ports, QueryPace: w.Discovery.Queries, Client: w.client, Fingerprints: w.fingerprints, Cameras: w.cameras,
		Stay: !chunk.Config.FollowsRedirects(),
	}
	return pipeline.New(c)
}

// excludes asks patterns about a host, and about it with its port.
func excludes(p exclusion.Patterns) func(host string, port uint16) bool {
	return func(host string, port uint16) bool {
		if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
			host = "[" + host + "]"
		}
		if port == 0 {
			return p.Excludes(host)
		}
		return p.Excludes(host + ":" + strconv.Itoa(int(port)))
	}
}

// keysOf are the keys of sources in the subfinder configurations of a chunk's enumeration.
func (w worker) keysOf(ctx context.Context, chunk *enumeration.Chunk) (map[string][]string, error) {
	applied, err := w.Settings.Apply(ctx, nil, chunk.TeamID, setting.Subfinder, chunk.Config.SubfinderConfigIDs, true, "")
	keys := map[string][]string{}
	for _, a := range applied {
		sources, err := names.ParseKeys(a.Text)
		if err != nil {
			return nil, err
		}
		for name, some := range sources {
			keys[name] = append(keys[name], some...)
		}
	}
	return keys, err
}

// findNames finds the hosts of a chunk of names and hands them on.
func (w worker) findNames(ctx, kept context.Context, p *pipeline.Pipeline, chunk *enumeration.Chunk, work enumeration.Work) (reports []discover.SourceReport, err error) {
	ports := map[string][]uint16{}
	for _, h := range work.Hosts {
		ports[h.Host] = h.Ports
	}
	var found []enumeration.Found
	flush := func() error {
		if len(found) == 0 {
			return nil
		}
		err := chunk.AddHosts(kept, found)
		found = found[:0]
		return err
	}
	emit := func(n discover.Name) error {
		if _, err := netip.ParseAddr(n.Host); err == nil && work.Network != "" {
			n.Sources = append(n.Sources, discover.SourceRef{Source: enumeration.SourceNetwork, Metadata: map[string]string{"asn": work.Network}})
		}
		found = append(found, enumeration.Found{Name: n, Ports: ports[n.Host]})
		if len(found) < enumeration.ChunkHosts {
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
		report, err = p.Known(ctx, "known", w.known(ctx, p, chunk), emit)
	case len(work.Hosts) > 0:
		report, err = p.Known(ctx, aboutOf(work), func(yield func(discover.Name) bool) {
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

// aboutOf names a list of hosts in a report.
func aboutOf(work enumeration.Work) string {
	if work.Cloud != "" {
		return work.Cloud
	}
	return work.Hosts[0].Host + " …"
}

// known are the hosts that an enumeration saw before: a run looks at them again, whoever
// still names them. What only a cloud or a network led to is covered while that names it.
func (w worker) known(ctx context.Context, p *pipeline.Pipeline, chunk *enumeration.Chunk) iter.Seq[discover.Name] {
	q := asset.Selection{Filter: asset.Filter{Enumerations: []string{chunk.EnumerationID}}, Kinds: []string{"hosts"}}
	return func(yield func(discover.Name) bool) {
		last := ""
		for host, err := range w.Assets.Targets(ctx, chunk.TeamID, q) {
			if err != nil {
				w.Logger.ErrorContext(ctx, "reading what an enumeration saw before", "enumeration_id", chunk.EnumerationID, "error", err)
				return
			}
			if host == last {
				continue
			}
			if last = host; !p.Covers(host) {
				continue
			}
			if !yield(discover.Name{Host: host, Sources: []discover.SourceRef{{Source: "known"}}}) {
				return
			}
		}
	}
}

// The bounds of what waits to be stored: what a transaction holds.
const (
	storeAssets = 250
	storeBytes  = 2 << 20
)

// lookAt looks at the hosts of a chunk and stores what it sees.
func lookAt(ctx, kept context.Context, p *pipeline.Pipeline, chunk *enumeration.Chunk) error {
	targets := make([]pipeline.Target, len(chunk.Hosts))
	for i, h := range chunk.Hosts {
		targets[i] = pipeline.Target{Name: h.Name, Ports: h.Ports}
	}
	var seen []discover.Asset
	size := 0
	flush := func() error {
		if len(seen) == 0 {
			return nil
		}
		err := chunk.Saw(kept, seen)
		seen, size = nil, 0
		return err
	}
	_, err := p.Look(ctx, targets, func(a discover.Asset) error {
		seen = append(seen, a)
		if size += len(a.Body) + len(a.Screenshot); len(seen) < storeAssets && size < storeBytes {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}
