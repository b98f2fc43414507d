package names

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/projectdiscovery/ratelimit"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/alienvault"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/anubis"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/bevigil"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/bufferover"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/builtwith"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/c99"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/censys"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/chinaz"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/commoncrawl"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/digitalyama"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/digitorus"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/dnsdb"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/dnsdumpster"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/dnsrepo"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/driftnet"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/fofa"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/fullhunt"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/github"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/hackertarget"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/hudsonrock"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/hunter"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/intelx"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/leakix"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/netlas"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/pugrecon"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/quake"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/rapiddns"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/redhuntlabs"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/robtex"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/rsecloud"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/securitytrails"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/shodan"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/sitedossier"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/threatbook"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/threatcrowd"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/virustotal"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/waybackarchive"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/whoisxmlapi"
	"github.com/projectdiscovery/subfinder/v2/pkg/subscraping/sources/zoomeyeapi"

	"github.com/vedette-sec/vedette/internal/discover"
)

// subfinderSources are subfinder's sources that dial through the session they are given. crt.sh, Chaos and
// certspotter are ours (connectors): the library's dial by themselves, or want a key where none is needed.
var subfinderSources = []func() subscraping.Source{
	newSource[alienvault.Source], newSource[anubis.Source], newSource[bevigil.Source], newSource[bufferover.Source],
	newSource[builtwith.Source],
	newSource[c99.Source], newSource[censys.Source], newSource[chinaz.Source], newSource[commoncrawl.Source],
	newSource[digitalyama.Source],
	newSource[digitorus.Source], newSource[dnsdb.Source], newSource[dnsdumpster.Source], newSource[dnsrepo.Source],
	newSource[driftnet.Source],
	newSource[fofa.Source], newSource[fullhunt.Source], newSource[github.Source], newSource[hackertarget.Source],
	newSource[hudsonrock.Source],
	newSource[hunter.Source], newSource[intelx.Source], newSource[leakix.Source], newSource[netlas.Source],
	newSource[pugrecon.Source],
	newSource[quake.Source], newSource[rapiddns.Source], newSource[redhuntlabs.Source], newSource[robtex.Source],
	newSource[rsecloud.Source],
	newSource[securitytrails.Source], newSource[shodan.Source], newSource[sitedossier.Source],
	newSource[threatbook.Source],
	newSource[threatcrowd.Source], newSource[virustotal.Source], newSource[waybackarchive.Source],
	newSource[whoisxmlapi.Source],
	newSource[zoomeyeapi.Source],
}

// newSource makes a new source: each keeps its keys and counts.
func newSource[T any, P interface {
	*T
	subscraping.Source
}]() subscraping.Source {
	return P(new(T))
}

// scraping are the sources of the step dns_scraping, which read archives and pages made for people; all others belong
// to dns_passive.
var scraping = []string{"commoncrawl", "digitorus", "dnsrepo", "rapiddns", "sitedossier", "waybackarchive"}

// source is one that can be asked. run emits what the source says of a domain, and returns why it stopped early.
type source struct {
	name     string
	needsKey bool
	run      runSource
}

type runSource = func(ctx context.Context, client *http.Client, keys []string, domain string, emit func(string)) error

func sources() []source {
	list := slices.Clone(ownSources)
	for _, newSource := range subfinderSources {
		s := newSource()
		list = append(list, source{s.Name(), s.NeedsKey(),
			func(ctx context.Context, client *http.Client, keys []string, domain string, emit func(string)) error {
				return runLibrary(ctx, newSource(), client, keys, domain, emit)
			}})
	}
	slices.SortFunc(list, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	return list
}

// SourceNames are the names of all sources; those that need a key are marked true.
func SourceNames() map[string]bool {
	out := map[string]bool{}
	for _, s := range sources() {
		out[s.name] = s.needsKey
	}
	return out
}

func runLibrary(
	ctx context.Context, s subscraping.Source, client *http.Client, keys []string, domain string, emit func(string),
) error {
	limiter, err := ratelimit.NewMultiLimiter(ctx, &ratelimit.Options{Key: s.Name(), MaxCount: 5, Duration: time.Second})
	if err != nil {
		return err
	}
	extractor, err := subscraping.NewSubdomainExtractor(regexp.QuoteMeta(domain))
	if err != nil {
		return err
	}
	session := &subscraping.Session{Extractor: extractor, Client: client, MultiRateLimiter: limiter}
	defer session.Close()
	if len(keys) > 0 {
		s.AddApiKeys(keys)
	}
	ctx = context.WithValue(ctx, subscraping.CtxSourceArg, s.Name())
	for r := range s.Run(ctx, domain, session) { // to the end: the source blocks until all is read
		if r.Type == subscraping.Error {
			err = r.Error
		} else {
			emit(r.Value)
		}
	}
	if err == nil && s.Statistics().Skipped {
		err = errBadKey
	}
	return err
}

// chosen are the sources of some steps, and reports for those that will not be asked.
func (c *Config) chosen(steps []discover.Step, domain string) (ask []source, reports []discover.SourceReport) {
	skip := func(name, why string) {
		report := discover.SourceReport{Source: name, About: domain, State: discover.SourceSkipped, Detail: why}
		reports = append(reports, report)
	}
	keys := map[string]bool{} // sources that have some
	for name, list := range c.Keys {
		keys[strings.ToLower(name)] = len(list) > 0
	}
	for _, s := range sources() {
		step := discover.DNSPassive
		if slices.Contains(scraping, s.name) {
			step = discover.DNSScraping
		}
		has := keys[s.name]
		delete(keys, s.name)
		switch {
		case !discover.Has(steps, step):
		case len(c.Sources) > 0 && !slices.Contains(c.Sources, s.name):
		case c.Client == nil:
			skip(s.name, "no HTTP client is configured")
		case s.needsKey && !has:
			skip(s.name, "it needs a key")
		default:
			ask = append(ask, s)
		}
	}
	if discover.Has(steps, discover.DNSPassive) {
		for _, name := range c.Sources {
			if _, known := SourceNames()[name]; !known {
				keys[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			skip(name, "no source of this name is known")
		}
	}
	return ask, reports
}

func (c *Config) keysOf(name string) []string {
	for key, list := range c.Keys {
		if strings.EqualFold(key, name) {
			return list
		}
	}
	return nil
}

var errBadKey = errors.New("its keys have the wrong form")

const maxNames = 1_000_000 // of one source for one domain

var errTooManyNames = errors.New("it names more than a million hosts")

// askSource asks one source, emits the different names below the domain, and reports how it behaved.
func (c *Config) askSource(ctx context.Context, s source, domain string, emit func(host string)) discover.SourceReport {
	begun := time.Now()
	within, cancel := context.WithTimeout(ctx, c.SourceTimeout)
	defer cancel()
	keys := c.keysOf(s.name)
	w, client := newRecorder(c.Client)
	seen, many := discover.NewNameSet(), false
	count := 0
	err := s.run(within, client, keys, domain, func(text string) {
		if _, after, is := strings.Cut(text, "@"); is {
			text = after
		}
		host, ok := normalizeHost(strings.TrimSpace(text))
		switch {
		case !ok, !discover.Under(host, domain), !c.Allow(host), !seen.Add(host):
		case count == maxNames:
			many = true
			cancel()
		default:
			count++
			emit(host)
		}
	})
	if many {
		err = errTooManyNames
	}
	state, detail := w.state(err, count, len(keys) > 0)
	if errors.Is(within.Err(), context.DeadlineExceeded) && state != discover.SourceOK {
		state, detail = discover.SourceTimedOut, "it was not done within "+c.SourceTimeout.String()
	}
	return discover.SourceReport{
		Source: s.name, About: domain, State: state, Count: count, Took: time.Since(begun),
		Detail: withoutKeys(detail, keys),
	}
}
