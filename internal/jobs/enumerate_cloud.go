package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/notify"
)

// The bounds of an inventory.
const (
	cloudPages = 200
	cloudHosts = 50_000
	// cloudBudget is how long one account may take to tell what it has.
	cloudBudget = 10 * time.Minute
)

// inventory is the hosts of a cloud configuration: a report for each of its blocks says
// how the provider behaved.
func (w worker) inventory(ctx context.Context, teamID, configID string) (hosts []enumeration.Found, reports []discover.SourceReport) {
	lost := func(why string) []discover.SourceReport {
		return []discover.SourceReport{{Source: enumeration.SourceCloud, About: configID, State: discover.SourceFailed, Detail: why}}
	}
	applied, err := w.applied(ctx, teamID, setting.Cloudlist, []string{configID}, false)
	if err != nil || len(applied) == 0 {
		return nil, lost("The configuration is not there any more.")
	}
	blocks, err := readClouds(applied[0].Text)
	if err != nil {
		return nil, lost(err.Error())
	}
	from := openClouds(w.Discovery.Guard)
	for i, b := range blocks {
		began := time.Now()
		r := discover.SourceReport{Source: b["provider"], About: fmt.Sprintf("%s %d", configID, i+1), State: discover.SourceOK}
		within, cancel := context.WithTimeout(ctx, cloudBudget)
		named, err := inventories[b["provider"]](from, within, b)
		cancel()
		for _, name := range named[:min(len(named), cloudHosts)] {
			hosts = append(hosts, enumeration.Found{Name: discover.Name{Host: name, Sources: []discover.SourceRef{
				{Source: enumeration.SourceCloud, Metadata: map[string]string{"provider": b["provider"], "config_id": configID}},
			}}})
		}
		r.Count, r.Took = len(named), time.Since(began)
		switch {
		case err != nil:
			r.State, r.Detail = stateOf(err), err.Error()
		case len(named) == 0:
			r.State = discover.SourceEmpty
		}
		reports = append(reports, r)
	}
	return hosts, reports
}

// stateOf is how a provider behaved that gave an error.
func stateOf(err error) discover.SourceState {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.state
	}
	var said *notify.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return discover.SourceTimedOut
	case !errors.As(err, &said):
	case said.Status == http.StatusUnauthorized || said.Status == http.StatusForbidden:
		return discover.SourceKey
	case said.Status == http.StatusTooManyRequests:
		return discover.SourceLimited
	}
	return discover.SourceFailed
}

// inventories are the providers whose hosts can be listed: names and public addresses.
var inventories = map[string]func(c clouds, ctx context.Context, b block) ([]string, error){
	"digitalocean": clouds.droplets,
	"cloudflare":   clouds.records,
	"kubernetes":   clouds.entrances,
	"aws":          clouds.instances,
	"gcp":          clouds.exposed,
	"azure":        clouds.public,
}

// droplets are the public addresses of DigitalOcean's machines.
func (c clouds) droplets(ctx context.Context, b block) (out []string, err error) {
	token := b["digitalocean_token"]
	for page := 1; page <= cloudPages; page++ {
		var answer struct {
			Droplets []struct {
				Networks struct {
					V4, V6 []struct {
						Address string `json:"ip_address"`
						Type    string `json:"type"`
					}
				}
			}
			Links struct{ Pages struct{ Next string } }
		}
		at := fmt.Sprintf("%s/v2/droplets?per_page=200&page=%d", b.base("https://api.digitalocean.com"), page)
		if err := c.get(ctx, "DigitalOcean", at, bearer(token), []string{token}, &answer); err != nil {
			return out, err
		}
		for _, d := range answer.Droplets {
			for _, n := range append(d.Networks.V4, d.Networks.V6...) {
				if n.Type == "public" {
					out = append(out, addressOf(n.Address)...)
				}
			}
		}
		if answer.Links.Pages.Next == "" || len(answer.Droplets) == 0 {
			break
		}
	}
	return out, nil
}

// records are the names with addresses or canonical names in Cloudflare's zones.
func (c clouds) records(ctx context.Context, b block) (out []string, err error) {
	header, secrets := cloudflareKeys(b)
	base := b.base("https://api.cloudflare.com") + "/client/v4/zones"
	var zones []struct{ ID string }
	if err := eachPage(func(page int) (more bool, err error) {
		var answer cloudflarePage[struct{ ID string }]
		err = c.get(ctx, "Cloudflare", fmt.Sprintf("%s?per_page=50&page=%d", base, page), header, secrets, &answer)
		zones = append(zones, answer.Result...)
		return page < answer.Info.Pages, err
	}); err != nil {
		return nil, err
	}
	for _, zone := range zones {
		if err := eachPage(func(page int) (more bool, err error) {
			var answer cloudflarePage[struct{ Name, Type string }]
			err = c.get(ctx, "Cloudflare", fmt.Sprintf("%s/%s/dns_records?per_page=100&page=%d", base, url.PathEscape(zone.ID), page), header, secrets, &answer)
			for _, r := range answer.Result {
				if (r.Type == "A" || r.Type == "AAAA" || r.Type == "CNAME") && !strings.HasPrefix(r.Name, "*") {
					out = append(out, strings.ToLower(r.Name))
				}
			}
			return page < answer.Info.Pages, err
		}); err != nil {
			return out, err
		}
	}
	return out, nil
}

type cloudflarePage[T any] struct {
	Result []T
	Info   struct {
		Pages int `json:"total_pages"`
	} `json:"result_info"`
}

// eachPage asks for pages from the first on until there are no more.
func eachPage(ask func(page int) (more bool, err error)) error {
	for page := 1; page <= cloudPages; page++ {
		if more, err := ask(page); err != nil || !more {
			return err
		}
	}
	return nil
}

// entrances are the names and addresses at which a cluster is entered: of its load
// balancers and of its ingresses.
func (c clouds) entrances(ctx context.Context, b block) (out []string, err error) {
	k, err := readKubeconfig(b["kubeconfig_encoded"], b["context"])
	if err != nil {
		return nil, err
	}
	client, err := k.client(c.guard)
	if err != nil {
		return nil, err
	}
	for _, path := range []string{"/api/v1/services", "/apis/networking.k8s.io/v1/ingresses"} {
		var answer struct {
			Items []struct {
				Spec   struct{ Rules []struct{ Host string } }
				Status struct {
					LoadBalancer struct {
						Ingress []struct{ IP, Hostname string }
					}
				}
			}
		}
		if err := notify.Do(ctx, client, notify.Request{
			Service: "The cluster", Method: http.MethodGet, URL: strings.TrimRight(b.base(k.server), "/") + path + "?limit=5000", Header: bearer(k.token), Secrets: []string{k.token},
		}, &answer); err != nil {
			return out, err
		}
		for _, item := range answer.Items {
			for _, rule := range item.Spec.Rules {
				if rule.Host != "" && !strings.HasPrefix(rule.Host, "*") {
					out = append(out, strings.ToLower(rule.Host))
				}
			}
			for _, in := range item.Status.LoadBalancer.Ingress {
				out = append(out, addressOf(in.IP)...)
				if in.Hostname != "" {
					out = append(out, strings.ToLower(in.Hostname))
				}
			}
		}
	}
	return out, nil
}

// addressOf is an address as hosts are spelled; none where the text is none.
func addressOf(text string) []string {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return nil
	}
	return []string{a.Unmap().String()}
}
