package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/probe"
)

// The types of misconfigurations.
const (
	danglingDNS    = "dangling_dns"
	originExposure = "origin_exposure"
)

const (
	maxNamed = 5      // names of one certificate
	maxEdges = 10_000 // names that are kept
)

// misconfigurations of an asset are an alias that leads to nothing, or to a service's page which says that the name can
// be claimed; and the certificate of a name behind a delivery network at an address outside it. dangling says of
// hosts why their aliases lead to nothing.
func (p *Pipeline) misconfigurations(
	ctx context.Context, a discover.Asset, dangling map[string]string,
) (out []discover.Misconfiguration) {
	switch {
	case a.Port == 0 && dangling[a.Host] != "":
		out = append(out, discover.Misconfiguration{Type: danglingDNS, Detail: dangling[a.Host]})
	case a.Body != "":
		if why := names.Unclaimed(a.CNAME, a.Body); why != "" {
			out = append(out, discover.Misconfiguration{Type: danglingDNS, Detail: why})
		}
	}
	if a.TLS == nil || a.CDN != "" {
		return out
	}
	for _, name := range a.TLS.SubjectAN[:min(len(a.TLS.SubjectAN), maxNamed)] {
		if name == a.Host || !p.belowDomains(name) || !p.Covers(name) {
			continue
		}
		if edge := p.edgeOf(ctx, name); edge != "" {
			detail := fmt.Sprintf("%s is behind %s, and its certificate is shown by %s directly", name, edge, a.Host)
			out = append(out, discover.Misconfiguration{Type: originExposure, Detail: detail})
		}
	}
	return out
}

// edgeOf is the delivery network of a name, or "". Each name is looked up once.
func (p *Pipeline) edgeOf(ctx context.Context, name string) string {
	p.mu.Lock()
	edge, known := p.edges[name]
	full := len(p.edges) >= maxEdges
	p.mu.Unlock()
	if known || full {
		return edge
	}
	_, err := names.Resolve(ctx, p.names, slices.Values([]string{name}), func(n discover.Name) {
		edge = probe.Edge(n.CNAME, n.IP)
	})
	if err != nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edges[name] = edge
	return edge
}
