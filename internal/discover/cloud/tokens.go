package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

func (c *Client) doGet(ctx context.Context, a Account, path string, out any) error {
	token := a["digitalocean_token"]
	return c.get(ctx, "DigitalOcean", a.base("https://api.digitalocean.com")+path, bearer(token), out, token)
}

func (c *Client) verifyDigitalOcean(ctx context.Context, a Account) (string, error) {
	var answer struct {
		Account struct{ Email, Status string }
	}
	err := c.doGet(ctx, a, "/v2/account", &answer)
	return "the account of " + answer.Account.Email + " is " + answer.Account.Status, err
}

func (c *Client) listDigitalOcean(ctx context.Context, a Account, into *inventory) error {
	return eachPage(func(page int) (more bool, err error) {
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
		err = c.doGet(ctx, a, fmt.Sprintf("/v2/droplets?per_page=200&page=%d", page), &answer)
		for _, d := range answer.Droplets {
			for _, n := range append(d.Networks.V4, d.Networks.V6...) {
				if n.Type == "public" {
					into.address(n.Address)
				}
			}
		}
		return answer.Links.Pages.Next != "" && len(answer.Droplets) > 0, err
	})
}

func (c *Client) cloudflareGet(ctx context.Context, a Account, path string, out any) error {
	header := bearer(a["api_token"])
	if a["api_token"] == "" {
		header = http.Header{"X-Auth-Email": {a["email"]}, "X-Auth-Key": {a["api_key"]}}
	}
	return c.get(ctx, "Cloudflare", a.base("https://api.cloudflare.com")+"/client/v4"+path, header, out, a["api_token"],
		a["api_key"])
}

// verifyCloudflare verifies the token or, for a key, asks for its user.
func (c *Client) verifyCloudflare(ctx context.Context, a Account) (string, error) {
	path := "/user/tokens/verify"
	if a["api_token"] == "" {
		path = "/user"
	}
	var answer struct {
		Success bool
		Result  struct{ Status string }
	}
	err := c.cloudflareGet(ctx, a, path, &answer)
	switch {
	case err != nil:
		return "", err
	case !answer.Success || answer.Result.Status != "" && answer.Result.Status != "active":
		return "", fmt.Errorf("the token is %.40s", strings.TrimSpace(answer.Result.Status+" not active"))
	}
	return "the credentials are good", nil
}

// listCloudflare lists the names in zones that lead to hosts.
func (c *Client) listCloudflare(ctx context.Context, a Account, into *inventory) error {
	type item struct{ ID, Name, Type string }
	pages := func(path string, each func(item)) error {
		return eachPage(func(page int) (more bool, err error) {
			var answer struct {
				Result []item
				Info   struct {
					Pages int `json:"total_pages"`
				} `json:"result_info"`
			}
			err = c.cloudflareGet(ctx, a, fmt.Sprintf("%s&page=%d", path, page), &answer)
			for _, one := range answer.Result {
				each(one)
			}
			return page < answer.Info.Pages, err
		})
	}
	var zones []string
	if err := pages("/zones?per_page=50", func(zone item) { zones = append(zones, zone.ID) }); err != nil {
		return err
	}
	return into.eachZone(zones, func(zone string) error {
		path := "/zones/" + url.PathEscape(zone) + "/dns_records?per_page=100"
		return pages(path, func(r item) { into.record(r.Type, r.Name) })
	})
}
