package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/crawl"
	"github.com/vedette-sec/vedette/internal/discover/probe/service"
	"github.com/vedette-sec/vedette/internal/discover/probe/shot"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// job is one thing to probe: an open port of a name, its UDP services, or with port 0 the name itself.
type job struct {
	host *host
	port uint16
	udp  bool
}

// jobs lists what to probe after the port scan.
func (r *run) jobs(list []*host) (jobs []job) {
	for _, h := range list {
		jobs = append(jobs, job{host: h})
		var open []uint16
		for _, a := range h.IP {
			open = append(open, r.scanned[a].Open...)
		}
		slices.Sort(open)
		for _, p := range slices.Compact(open) {
			jobs = append(jobs, job{host: h, port: p})
		}
		if r.UDP && len(h.IP) > 0 && r.wants(discover.PortScan) {
			jobs = append(jobs, job{host: h, udp: true})
		}
	}
	return jobs
}

func (r *run) work(ctx context.Context, j job) {
	switch {
	case ctx.Err() != nil:
	case j.udp:
		r.datagrams(ctx, j.host)
	case j.port == 0:
		a := bare(j.host)
		a.CDN = web.CDN(nil, a.CNAME, j.host.IP)
		a.Notes = r.remarks(j.host)
		r.emit(a)
	default:
		r.tcp(ctx, j)
	}
}

func bare(h *host) discover.Asset {
	a := discover.Asset{Host: h.Host, Domain: h.Domain, CNAME: h.CNAME, Records: h.Records, Sources: h.Sources}
	for _, ip := range h.IP {
		a.IP = append(a.IP, ip.String())
	}
	return a
}

func (r *run) remarks(h *host) (notes []string) {
	if h.fronted && r.scanned != nil {
		var skipped []string
		for _, p := range edgePorts {
			if slices.Contains(r.ports, p) {
				skipped = append(skipped, strconv.Itoa(int(p)))
			}
		}
		if len(skipped) > 0 {
			notes = append(notes, "Cloudflare stands before it; ports that are open there for everybody were not tried: "+
				strings.Join(skipped, ", "))
		}
	}
	for _, a := range h.IP {
		s := r.scanned[a]
		if s.Note != "" {
			notes = append(notes, fmt.Sprintf("port scan of %s: %s", a, s.Note))
		}
		if s.Denied > 0 {
			notes = append(notes, fmt.Sprintf("port scan of %s: %d ports were refused: %s", a, s.Denied, s.Why))
		}
	}
	return notes
}

func (r *run) tcp(ctx context.Context, j job) {
	a := bare(j.host)
	a.Port, a.Protocol = int(j.port), "tcp"
	addr := net.JoinHostPort(j.host.Host, strconv.Itoa(int(j.port)))
	dial := func(ctx context.Context) (net.Conn, error) { return r.dialTCP(ctx, addr) }
	if r.Admit != nil && !r.mayDial(j) { // another name of the address brought the port
		return
	}
	var visit *web.Visit
	if r.wantsWeb() && service.Web(j.port) {
		visit = r.visit(ctx, &a, "http", addr)
	}
	if visit == nil {
		s := r.known.identify(r.serviceKey(j), func() service.Result {
			return service.Identify(ctx, j.host.Host, j.port, r.Timeout, dial)
		})
		describe(&a, s)
		if r.wantsWeb() && (s.Name == "http" || s.Name == "https" || s.Name == "tls") {
			visit = r.visit(ctx, &a, "http"+map[bool]string{true: "s"}[s.TLS], addr)
		}
		if s.TLS && r.wants(discover.TLSScan) {
			r.tls(ctx, &a, j, dial)
		}
	}
	if visit != nil {
		r.pages(ctx, &a, visit)
	}
	a.CDN = web.CDN(a.Headers, a.CNAME, j.host.IP)
	r.emit(a)
}

// mayDial reports whether the guard allows the name at the port; a refusal goes to OnDenied.
func (r *run) mayDial(j job) bool {
	var refusal error
	for _, a := range r.likely(j.host, j.port) {
		if refusal = r.Admit(j.host.Host, netip.AddrPortFrom(a, j.port)); refusal == nil {
			return true
		}
	}
	return !r.denied(refusal)
}

func describe(a *discover.Asset, s service.Result) {
	a.Service = s.Name
	a.Version = strings.TrimSpace(s.Product + " " + s.Version)
	if s.Product != "" && s.Name != "http" && s.Name != "https" { // of web servers more is known
		name := s.Product
		if s.Version != "" {
			name += ":" + s.Version
		}
		a.Technologies = []string{name}
	}
	if s.Note != "" {
		a.Notes = append(a.Notes, s.Note)
	}
}

// visit fetches the start page; nil when there is none, or the port is for HTTPS only.
func (r *run) visit(ctx context.Context, a *discover.Asset, scheme, addr string) *web.Visit {
	v, err := r.client.Visit(ctx, &url.URL{Scheme: scheme, Host: addr, Path: "/"})
	switch {
	case err != nil:
		if !r.denied(err) && a.Service != "" && a.Service != "tls" {
			a.Notes = append(a.Notes, "the start page could not be read: "+discover.Clean(err.Error(), 200))
		}
		return nil
	case v.Misdirected:
		return nil
	}
	for _, d := range v.Denied {
		r.deny(d.URL, d.Why, 1)
	}
	seen := v.Asset
	product, version, _ := strings.Cut(seen.Webserver, "/")
	version, _, _ = strings.Cut(version, " ")
	seen.Service, seen.Version = scheme, strings.TrimSpace(product+" "+version)
	seen.Host, seen.Port, seen.Protocol, seen.Domain, seen.IP = a.Host, a.Port, a.Protocol, a.Domain, a.IP
	seen.CNAME, seen.Records, seen.Sources, seen.Notes = a.CNAME, a.Records, a.Sources, append(a.Notes, seen.Notes...)
	*a = seen
	return v
}

func (r *run) tls(ctx context.Context, a *discover.Asset, j job, dial func(context.Context) (net.Conn, error)) {
	facts, notes, err := r.looker.Look(ctx, j.host.Host, j.port, dial)
	if err != nil {
		a.Notes = append(a.Notes, discover.Clean(err.Error(), 200))
		return
	}
	a.TLS, a.Notes = facts, append(a.Notes, notes...)
}

func (r *run) pages(ctx context.Context, a *discover.Asset, v *web.Visit) {
	if r.wants(discover.EndpointCrawling) && v.Last.Hostname() == a.Host {
		var note string
		if a.Endpoints, note = crawl.Site(ctx, r.client, v); note != "" {
			a.Notes = append(a.Notes, note)
		}
	}
	if !r.wants(discover.HTTPScreenshot) {
		return
	}
	browser, err := r.camera.open(ctx, r)
	if err == nil {
		a.Screenshot, err = browser.Take(ctx, a.URL)
	}
	if err != nil {
		a.Notes = append(a.Notes, "no screenshot: "+discover.Clean(err.Error(), 200))
	}
	if errors.Is(err, shot.ErrNone) {
		r.note("no screenshots: " + err.Error())
	}
}

func (r *run) datagrams(ctx context.Context, h *host) {
	found, err := service.UDP(ctx, func(ctx context.Context, p uint16) (net.Conn, error) {
		return r.dial(ctx, "udp", net.JoinHostPort(h.Host, strconv.Itoa(int(p))))
	})
	r.denied(err)
	for _, d := range found {
		a := bare(h)
		a.Port, a.Protocol, a.Service, a.Version = int(d.Port), "udp", d.Name, d.Version
		r.emit(a)
	}
}

// services caches what listens, for names that share an address.
type services struct{ known sync.Map } // of netip.AddrPort to func() service.Result

// serviceKey is where a service listens; zero when Dial chooses the address.
func (r *run) serviceKey(j job) netip.AddrPort {
	if r.Admit == nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(r.likely(j.host, j.port)[0], j.port)
}

// identify asks once for each key; the zero key is not cached.
func (s *services) identify(key netip.AddrPort, ask func() service.Result) service.Result {
	if !key.IsValid() {
		return ask()
	}
	once, _ := s.known.LoadOrStore(key, sync.OnceValue(ask))
	return once.(func() service.Result)() //nolint:forcetypeassert // it holds nothing else
}

// camera is the browser of a batch, started for the first screenshot.
type camera struct {
	once    sync.Once
	browser *shot.Browser
	err     error
}

func (c *camera) open(ctx context.Context, r *run) (*shot.Browser, error) {
	c.once.Do(func() {
		if c.err = r.Cameras.take(ctx); c.err != nil {
			return
		}
		if c.browser, c.err = shot.Start(ctx, "", r.dialTCP); c.err != nil {
			r.Cameras.free()
		}
	})
	return c.browser, c.err
}

func (c *camera) close(r *run) {
	if c.browser != nil {
		c.browser.Close()
		r.Cameras.free()
	}
}
