package related

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"golang.org/x/net/html"
	"golang.org/x/sync/errgroup"
)

// The bounds of looking at web sites.
const (
	probesAtOnce = 32
	probeTimeout = 10 * time.Second // for one URL
	maxPage      = 256 << 10        // bytes of a page
)

// Prober looks whether domains answer. HTTP does not follow redirects.
type Prober struct {
	HTTP *http.Client
	// Resolver finds the addresses of a domain and the networks that announce them.
	Resolver *net.Resolver
	// Origin is the zone that says by DNS which network announces an address, such as
	// origin.asn.cymru.com; empty: nobody is asked.
	Origin string
}

// Probe looks at each domain and tells what was seen, by one goroutine at a time, until
// ctx ends. A domain that answers to nothing is not active.
func (p *Prober) Probe(ctx context.Context, domains []string, tell func(domain string, seen discover.Evidence)) {
	type result struct {
		domain string
		seen   discover.Evidence
	}
	results := make(chan result)
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	go func() {
		defer close(results)
		for _, domain := range domains {
			if ctx.Err() != nil {
				break
			}
			group.Go(func() error {
				if seen := p.look(ctx, domain); ctx.Err() == nil {
					results <- result{domain, seen}
				}
				return nil
			})
		}
		_ = group.Wait() // they report for themselves
	}()
	for r := range results {
		tell(r.domain, r.seen)
	}
}

// look asks for the home page of a domain, over TLS first.
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
		e.StatusCode, e.Title = page.status, titleOf(page.body)
		if page.location != nil {
			e.Location = line(page.location.String())
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
	body     []byte
}

// fetch gets a page.
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
	p.status = resp.StatusCode
	p.location, _ = resp.Location()                            // without one it stays nil
	p.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxPage)) // it answers, though its page may break off
	return p, nil
}

// titleOf is the title of a page.
func titleOf(page []byte) string {
	z := html.NewTokenizer(strings.NewReader(string(page)))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "title" {
				if z.Next() == html.TextToken {
					return line(string(z.Text()))
				}
				return ""
			}
		default:
		}
	}
}

// network asks which network announces an address of a domain, by the TXT records that
// Team Cymru's mapping has: "23028 | 216.90.108.0/24 | US | arin | 1998-09-25" for the
// turned address, "23028 | US | arin | 2002-01-04 | TEAM-CYMRU, US" for AS23028.
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
	origin := p.mapping(ctx, turned(addrs[0])+"."+p.Origin)
	if len(origin) == 0 {
		return 0, ""
	}
	first, _, _ := strings.Cut(origin[0], " ") // several networks may announce it
	if number, err = strconv.Atoi(first); err != nil || number <= 0 {
		return 0, ""
	}
	_, zone, _ := strings.Cut(p.Origin, ".")
	if about := p.mapping(ctx, fmt.Sprintf("AS%d.%s", number, zone)); len(about) > 4 {
		name = line(about[4])
	}
	return number, name
}

// mapping is the fields of the first TXT record of a name.
func (p *Prober) mapping(ctx context.Context, name string) []string {
	texts, err := p.Resolver.LookupTXT(ctx, name)
	if err != nil || len(texts) == 0 {
		return nil
	}
	fields := strings.Split(texts[0], "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields
}

// turned is an IPv4 address with its last byte first.
func turned(a netip.Addr) string {
	b := a.Unmap().As4()
	return fmt.Sprintf("%d.%d.%d.%d", b[3], b[2], b[1], b[0])
}
