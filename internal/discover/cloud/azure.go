package cloud

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
)

type azure struct {
	*Client
	base, token string
}

// openAzure logs in as a service principal (RFC 6749, client credentials).
func (c *Client) openAzure(ctx context.Context, a Account) (azure, error) {
	at := a.base("https://login.microsoftonline.com") + "/" + url.PathEscape(a["tenant_id"]) + "/oauth2/v2.0/token"
	token, err := c.grant(ctx, "Azure", at, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {a["client_id"]}, "client_secret": {a["client_secret"]},
		"scope": {"https://management.azure.com/.default"},
	}, a["client_secret"])
	return azure{c, a.base("https://management.azure.com"), token}, err
}

// azureList reads all pages of a list of the resource manager. Links that lead elsewhere are not followed: the token is
// for the resource manager only.
func azureList[T any](ctx context.Context, z azure, path, version string, each func(T)) error {
	at := z.base + path + "?api-version=" + version
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Value []T
			Next  string `json:"nextLink"`
		}
		err := z.get(ctx, "Azure", at, bearer(z.token), &answer, z.token)
		for _, one := range answer.Value {
			each(one)
		}
		at = answer.Next
		return strings.HasPrefix(at, z.base+"/"), err
	})
}

func (c *Client) verifyAzure(ctx context.Context, a Account) (string, error) {
	z, err := c.openAzure(ctx, a)
	if err != nil {
		return "", err
	}
	n, err := z.subscriptions(ctx, a)
	return fmt.Sprintf("the service principal may read %d subscriptions", len(n)), err
}

// subscriptions are the configured one, or those that the principal may see.
func (z azure) subscriptions(ctx context.Context, a Account) (ids []string, err error) {
	if id := a["subscription_id"]; id != "" {
		at := z.base + "/subscriptions/" + url.PathEscape(id) + "?api-version=2022-12-01"
		return []string{id}, z.get(ctx, "Azure", at, bearer(z.token), nil, z.token)
	}
	err = azureList(ctx, z, "/subscriptions", "2022-12-01", func(s struct {
		ID string `json:"subscriptionId"`
	}) {
		ids = append(ids, s.ID)
	})
	return ids, err
}

// listAzure lists public addresses with their names, and the names in public zones.
func (c *Client) listAzure(ctx context.Context, a Account, into *inventory) error {
	z, err := c.openAzure(ctx, a)
	if err != nil {
		return err
	}
	subscriptions, err := z.subscriptions(ctx, a)
	into.addError(err)
	for _, id := range subscriptions {
		network := "/subscriptions/" + url.PathEscape(id) + "/providers/Microsoft.Network"
		into.addError(azureList(ctx, z, network+"/publicIPAddresses", "2023-09-01", func(one struct {
			Properties struct {
				IPAddress   string
				DNSSettings struct{ FQDN string }
			}
		}) {
			into.public(one.Properties.IPAddress)
			into.name(one.Properties.DNSSettings.FQDN)
		}))
		into.addError(z.zones(ctx, network, into))
		if ctx.Err() != nil || into.full() {
			break
		}
	}
	return nil //nolint:nilerr // what failed is in the inventory, beside what was found
}

func (z azure) zones(ctx context.Context, network string, into *inventory) error {
	var zones []string
	if err := azureList(ctx, z, network+"/dnszones", "2018-05-01", func(zone struct{ ID string }) {
		if strings.HasPrefix(zone.ID, "/subscriptions/") && path.Clean(zone.ID) == zone.ID &&
			!strings.ContainsAny(zone.ID, "?#%") {
			zones = append(zones, zone.ID)
		}
	}); err != nil {
		return err
	}
	return into.eachZone(zones, func(zone string) error {
		return azureList(ctx, z, zone+"/recordsets", "2018-05-01", func(r struct {
			Type       string
			Properties struct{ FQDN string }
		}) {
			into.record(path.Base(r.Type), r.Properties.FQDN)
		})
	})
}
