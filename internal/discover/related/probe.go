package related

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

const (
	probesAtOnce = 32
	probeTimeout = 10 * time.Second // for one URL
	maxPage      = 256 << 10        // bytes of a page
)

// Prober checks whether domains answer. HTTP does not follow redirects.
type Prober struct {
	HTTP *http.Client
	// Resolver finds the addresses of a domain and the networks that announce them.
	Resolver *net.Resolver
	// Origin is the zone of names.Origin; "": networks are not looked up.
	Origin string
}

// Probe checks each domain and reports what was seen, by one goroutine at a time, until ctx ends. A domain that does
// not answer is not active.
func (p *Prober) Probe(ctx context.Context, domains []string, report func(domain string, seen discover.Evidence)) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	for _, domain := range domains {
		group.Go(func() error {
			seen := p.look(ctx, domain)
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				report(domain, seen)
			}
			return nil
		})
	}
	_ = group.Wait() // none has an error
}

// look fetches the home page of a domain, over TLS first.
func (p *Prober) look(ctx context.Context, domain string) (e discover.Evidence) {
	active := false
	e.Active = &active
	for _, address := range []string{"https://" + domain + "/", "http://" + domain + "/"} {
		e.Probe = address
		page, err := fetch(ctx, p.HTTP, address)
		if err != nil {
			continue
		}
		active = true
		e.StatusCode, e.Title = page.status, oneLine(web.ReadPage(page.body, page.kind).Title)
		if page.location != nil {
			e.Location = oneLine(page.location.String())
		}
		break
	}
	e.ASNumber, e.ASName = p.network(ctx, domain)
	return e
}

// page is the beginning of a web page.
type page struct {
	status   int
	location *url.URL // where it redirects to; nil: nowhere
	kind     string   // its content type
	body     []byte
}

func fetch(ctx context.Context, c *http.Client, address string) (p page, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return p, err
	}
	r.Header.Set("User-Agent", userAgent)
	resp, err := c.Do(r)
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	p.status, p.kind = resp.StatusCode, resp.Header.Get("Content-Type")
	p.location, _ = resp.Location() // without one it stays nil
	share := membudget.Process().Share()
	defer share.Release()
	p.body, _ = share.ReadAll(ctx, resp.Body, maxPage) // it answers, though its page may break off
	return p, nil
}

// network is the autonomous system that announces an address of a domain; 0 when it is not known.
func (p *Prober) network(ctx context.Context, domain string) (number int, name string) {
	if p.Origin == "" {
		return 0, ""
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	addrs, err := p.Resolver.LookupNetIP(ctx, "ip4", domain)
	if err != nil || len(addrs) == 0 {
		return 0, ""
	}
	origin, err := names.Origin(ctx, p.Resolver, p.Origin, addrs[0])
	if err != nil {
		return 0, ""
	}
	number, _ = strconv.Atoi(strings.TrimPrefix(origin.Number, "AS"))
	return number, oneLine(origin.Name)
}
