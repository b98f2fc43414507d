package names

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/whois"
)

// The bounds of an answer about one autonomous system.
const (
	maxPrefixes = 20_000
	maxRoutes   = 8 << 20 // bytes of a registry's answer
)

// Ranges are the networks that an autonomous system (AS64500, or 64500) announces, each once. Config.RangesURL gives
// JSON of the form {"data":{"prefixes":[{"prefix":"192.0.2.0/24"}]}}, or is a registry with the objects route and
// route6 (RFC 2622, RFC 4012). Without a URL, or a way to it, the source is skipped.
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
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(cfg.SourceTimeout, 2*time.Minute))
	defer cancel()
	var found []netip.Prefix
	var err error
	if isWhois {
		found, err = routes(ctx, cfg, registry, "AS"+number)
		report.State, report.Detail = discover.StateOf(err, len(found) > 0)
	} else {
		w, client := newRecorder(cfg.Client)
		found, err = announced(ctx, client, strings.ReplaceAll(cfg.RangesURL, "%s", url.QueryEscape("AS"+number)))
		report.State, report.Detail = w.state(err, len(found), false)
	}
	report.Count, report.Took = len(found), time.Since(begun)
	report.Detail = withoutKeys(report.Detail, nil)
	return found, report
}

func announced(ctx context.Context, client *http.Client, from string) ([]netip.Prefix, error) {
	var answer struct {
		Data struct {
			Prefixes []struct{ Prefix string }
		}
	}
	if err := decode(ctx, client, from, "", &answer); err != nil {
		return nil, err
	}
	found := collected{seen: map[netip.Prefix]bool{}}
	for _, p := range answer.Data.Prefixes {
		found.add(p.Prefix)
	}
	return found.list, nil
}

// collected are different prefixes, within the bound.
type collected struct {
	list []netip.Prefix
	seen map[netip.Prefix]bool
}

func (c *collected) add(text string) {
	p, err := netip.ParsePrefix(strings.TrimSpace(text))
	if p = p.Masked(); err == nil && len(c.list) < maxPrefixes && !c.seen[p] {
		c.seen[p] = true
		c.list = append(c.list, p)
	}
}

const whoisScheme = "whois://"

func serverOf(registry string) string {
	registry = strings.TrimSuffix(registry, "/")
	if _, _, err := net.SplitHostPort(registry); err != nil {
		return net.JoinHostPort(strings.Trim(registry, "[]"), whois.Port)
	}
	return registry
}

// routes asks a registry for the routes of an origin; -K asks for their keys only.
func routes(ctx context.Context, cfg Config, registry, origin string) ([]netip.Prefix, error) {
	text, err := whois.Query(ctx, cfg.RangesDial, serverOf(registry), "-K -i origin "+origin, maxRoutes)
	if errors.Is(err, whois.ErrTruncated) {
		err = discover.SourceError{State: discover.SourceLimited, Detail: err.Error()}
	} else if err != nil {
		return nil, err
	}
	found, refused := readRoutes(text, origin)
	if err == nil && len(found) == 0 {
		err = refused
	}
	return found, err
}

// readRoutes reads the objects of an answer: attributes, one a line, with empty lines between objects. Objects of
// another origin do not count. Lines that begin with % are remarks of the registry.
func readRoutes(text, origin string) ([]netip.Prefix, error) {
	found := collected{seen: map[netip.Prefix]bool{}}
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
				refused = discover.SourceError{State: discover.SourceLimited, Detail: words}
			case strings.Contains(low, "error") && !strings.Contains(low, "no entries") && refused == nil:
				refused = discover.SourceError{State: discover.SourceFailed, Detail: words}
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
