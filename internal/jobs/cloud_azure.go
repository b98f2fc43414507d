package jobs

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// azured is what a service principal reads.
type azured struct {
	clouds
	base, token string
}

// openAzure logs in as a service principal (RFC 6749, client credentials).
func (c clouds) openAzure(ctx context.Context, b block) (azured, error) {
	a := azured{clouds: c, base: b.base("https://management.azure.com")}
	var err error
	a.token, err = c.grant(ctx, "Azure", b.base("https://login.microsoftonline.com")+"/"+url.PathEscape(b["tenant_id"])+"/oauth2/v2.0/token", []string{b["client_secret"]}, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {b["client_id"]}, "client_secret": {b["client_secret"]}, "scope": {"https://management.azure.com/.default"},
	})
	return a, err
}

// azurePage is a page of a list of Azure's resource manager.
type azurePage[T any] struct {
	Value []T
	Next  string `json:"nextLink"`
}

// azureList reads all pages of a list. A link to the next that leads elsewhere is not
// followed: the token is for the resource manager only.
func azureList[T any](ctx context.Context, a azured, place, version string, each func(T)) error {
	at := a.base + place + "?api-version=" + version
	return eachPage(func(int) (bool, error) {
		var answer azurePage[T]
		err := a.read(ctx, "Azure", at, a.token, &answer)
		for _, one := range answer.Value {
			each(one)
		}
		at = answer.Next
		return strings.HasPrefix(at, a.base+"/"), err
	})
}

// azure logs in, and asks which subscriptions may be read.
func (c clouds) azure(ctx context.Context, b block) (string, error) {
	a, err := c.openAzure(ctx, b)
	if err != nil {
		return "", err
	}
	n, err := a.subscriptions(ctx, b)
	return fmt.Sprintf("the service principal may read %d subscriptions", len(n)), err
}

// subscriptions are those that the principal may see, or the one that is named.
func (a azured) subscriptions(ctx context.Context, b block) (ids []string, err error) {
	if id := b["subscription_id"]; id != "" {
		return []string{id}, a.read(ctx, "Azure", a.base+"/subscriptions/"+url.PathEscape(id)+"?api-version=2022-12-01", a.token, nil)
	}
	err = azureList(ctx, a, "/subscriptions", "2022-12-01", func(s struct {
		ID string `json:"subscriptionId"`
	}) {
		ids = append(ids, s.ID)
	})
	return ids, err
}

// public are what the subscriptions show the internet: public addresses with their names,
// and the names in public zones.
func (c clouds) public(ctx context.Context, b block) ([]string, error) {
	a, err := c.openAzure(ctx, b)
	if err != nil {
		return nil, err
	}
	var h harvest
	subscriptions, err := a.subscriptions(ctx, b)
	if err != nil {
		h.failed(err)
	}
	for _, id := range subscriptions {
		network := "/subscriptions/" + url.PathEscape(id) + "/providers/Microsoft.Network"
		if err := azureList(ctx, a, network+"/publicIPAddresses", "2023-09-01", func(one struct {
			Properties struct {
				IPAddress   string
				DNSSettings struct{ FQDN string }
			}
		}) {
			h.address(one.Properties.IPAddress)
			h.name(one.Properties.DNSSettings.FQDN)
		}); err != nil {
			h.failed(err)
		}
		if err := a.zones(ctx, network, &h); err != nil {
			h.failed(err)
		}
		if ctx.Err() != nil || h.full() {
			break
		}
	}
	return h.hosts, h.err
}

func (a azured) zones(ctx context.Context, network string, h *harvest) error {
	var zones []string
	if err := azureList(ctx, a, network+"/dnszones", "2018-05-01", func(zone struct{ ID string }) {
		if strings.HasPrefix(zone.ID, "/subscriptions/") && path.Clean(zone.ID) == zone.ID && !strings.ContainsAny(zone.ID, "?#%") {
			zones = append(zones, zone.ID)
		}
	}); err != nil {
		return err
	}
	for _, zone := range zones {
		if err := azureList(ctx, a, zone+"/recordsets", "2018-05-01", func(r struct {
			Type       string
			Properties struct{ FQDN string }
		}) {
			if pointsAt(path.Base(r.Type)) {
				h.name(r.Properties.FQDN)
			}
		}); err != nil || h.full() {
			return err
		}
	}
	return nil
}
