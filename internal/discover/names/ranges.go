package names

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/whois"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The bounds of what a source of ranges tells of one autonomous system.
const (
	maxPrefixes = 20_000
	maxRoutes   = 8 << 20 // bytes of a registry's answer
)

// Ranges are the networks that an autonomous system (AS64500, or 64500) announces, as
// Config.RangesURL tells, each once: JSON of the form
// {"data":{"prefixes":[{"prefix":"192.0.2.0/24"}]}}, or the objects route and route6 of a
// registry (RFC 2622, RFC 4012). The report says how that source behaved; without a URL, or
// without a way to it, it is skipped.
func Ranges(ctx context.Context, cfg Config, asn string) ([]netip.Prefix, discover.SourceReport) {
	report := discover.SourceReport{Source: "ranges", About: asn, State: discover.SourceSkipped}
	number := strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(asn)), "AS")
	registry, isWhois := strings.CutPrefix(cfg.RangesURL, whoisScheme)
	switch {
	case cfg.RangesURL == "", isWhois && cfg.RangesDial == nil, !isWhois && cfg.Client == nil:
		report.Detail = "no source of ranges is configured"
		return nil, report
	case !isDigits(number):
		report.Detail = "that is no number of an autonomous system"
		return nil, report
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, orElse(cfg.SourceTimeout, 2*time.Minute))
	defer cancel()
	var found []netip.Prefix
	if isWhois {
		var err error
		found, err = routes(ctx, cfg, registry, "AS"+number)
		report.State, report.Detail = judgeRoutes(err, len(found))
	} else {
		w := &witness{next: cfg.Client.Transport}
		client := *cfg.Client
		client.Transport = w
		var err error
		found, err = announced(ctx, &client, strings.ReplaceAll(cfg.RangesURL, "%s", url.QueryEscape("AS"+number)))
		report.State, report.Detail = w.judge(err, len(found), false)
	}
	report.Count, report.Took = len(found), time.Since(begun)
	report.Detail = harmless(report.Detail, nil)
	return found, report
}

// announced reads the ranges at a URL.
func announced(ctx context.Context, client *http.Client, from string) ([]netip.Prefix, error) {
	body, err := get(ctx, client, from, "")
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var answer struct {
		Data struct {
			Prefixes []struct{ Prefix string }
		}
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	var found collected
	for _, p := range answer.Data.Prefixes {
		found.add(p.Prefix)
	}
	return found.list, nil
}

// collected are prefixes, each once, within the bound.
type collected struct {
	list []netip.Prefix
	seen map[netip.Prefix]bool
}

func (c *collected) add(text string) {
	p, err := netip.ParsePrefix(strings.TrimSpace(text))
	if err != nil || len(c.list) >= maxPrefixes {
		return
	}
	if p = p.Masked(); c.seen[p] {
		return
	}
	if c.seen == nil {
		c.seen = map[netip.Prefix]bool{}
	}
	c.seen[p] = true
	c.list = append(c.list, p)
}

// whoisScheme begins the address of a registry of routes.
const whoisScheme = "whois://"

// serverOf is a registry's host:port.
func serverOf(registry string) string {
	registry = strings.TrimSuffix(registry, "/")
	if _, _, err := net.SplitHostPort(registry); err != nil {
		return net.JoinHostPort(strings.Trim(registry, "[]"), whois.Port)
	}
	return registry
}

// refusal is what a registry says instead of routes.
type refusal struct {
	limited bool
	words   string
}

func (r *refusal) Error() string { return r.words }

// routes asks a registry for the routes of an origin. -K asks for no more of an object than
// what it is known by.
func routes(ctx context.Context, cfg Config, registry, origin string) ([]netip.Prefix, error) {
	text, err := whois.Ask(ctx, cfg.RangesDial, serverOf(registry), "-K -i origin "+origin, maxRoutes)
	if err != nil && !errors.Is(err, whois.ErrCut) {
		return nil, err
	}
	found, refused := readRoutes(text, origin)
	if err == nil && refused != nil && len(found) == 0 {
		err = refused
	}
	return found, err
}

// readRoutes reads the objects of an answer: their attributes, one a line, and empty lines
// between them. Those of another origin are not asked for. Lines that begin with % are the
// registry's own words.
func readRoutes(text, origin string) ([]netip.Prefix, error) {
	var found collected
	var prefix, from string
	var refused error
	end := func() {
		if prefix != "" && strings.EqualFold(from, origin) {
			found.add(prefix)
		}
		prefix, from = "", ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if words, own := strings.CutPrefix(line, "%"); own {
			words = strings.TrimSpace(words)
			switch low := strings.ToLower(words); {
			case strings.Contains(low, "denied"), strings.Contains(low, "limit"), strings.Contains(low, "exceeded"):
				refused = &refusal{true, words}
			case strings.Contains(low, "error") && !strings.Contains(low, "no entries") && refused == nil:
				refused = &refusal{false, words}
			}
			continue
		}
		line, _, _ = strings.Cut(line, "#") // a comment
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(name)) {
		case "":
			end()
		case "route", "route6":
			prefix = value
		case "origin":
			from = value
		}
	}
	end()
	return found.list, refused
}

// judgeRoutes says how a registry behaved that gave count routes and ended with err.
func judgeRoutes(err error, count int) (discover.SourceState, string) {
	var denied *netguard.Denied
	var refused *refusal
	switch {
	case err == nil && count == 0:
		return discover.SourceEmpty, ""
	case err == nil:
		return discover.SourceOK, ""
	case errors.Is(err, whois.ErrCut):
		return discover.SourceLimited, err.Error()
	case errors.As(err, &denied):
		return discover.SourceBlocked, denied.Error()
	case errors.As(err, &refused) && refused.limited:
		return discover.SourceLimited, err.Error()
	case isTimeout(err):
		return discover.SourceTimedOut, "it did not answer in time"
	}
	return discover.SourceFailed, plain(err)
}
