package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// google is what a service account reads.
type google struct {
	clouds
	block
	email, project, token string
}

// openGoogle logs in as a service account with a signed claim (RFC 7523), to read only.
func (c clouds) openGoogle(ctx context.Context, b block) (google, error) {
	var account struct {
		Email   string `json:"client_email"`
		Key     string `json:"private_key"`
		Project string `json:"project_id"`
	}
	g := google{clouds: c, block: b}
	if json.Unmarshal([]byte(b["gcp_service_account_key"]), &account) != nil || account.Email == "" || account.Key == "" {
		return g, errors.New("gcp_service_account_key is not the JSON key of a service account")
	}
	const public = "https://oauth2.googleapis.com"
	claim, err := signClaim(account.Key, map[string]any{
		"iss": account.Email, "scope": "https://www.googleapis.com/auth/cloud-platform.read-only", "aud": public + "/token",
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	})
	if err != nil {
		return g, err
	}
	g.email, g.project = account.Email, account.Project
	g.token, err = c.grant(ctx, "Google", b.base(public)+"/token", []string{account.Key, claim}, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {claim}})
	return g, err
}

// call asks one of Google's services.
func (g google) call(ctx context.Context, service, path string, query url.Values, out any) error {
	return g.read(ctx, "Google", g.base("https://"+service+".googleapis.com")+path+"?"+query.Encode(), g.token, out)
}

// gcp logs in, and asks which projects may be read.
func (c clouds) gcp(ctx context.Context, b block) (string, error) {
	g, err := c.openGoogle(ctx, b)
	if err != nil {
		return "", err
	}
	projects, err := g.projects(ctx)
	if err != nil && len(projects) > 0 { // a list of projects is not needed to read one's own
		err = g.call(ctx, "compute", "/compute/v1/projects/"+url.PathEscape(g.project)+"/aggregated/instances", url.Values{"maxResults": {"1"}}, nil)
	}
	return g.email + " may read " + strings.Join(projects, ", "), err
}

// projects are those that the account may see, its own first.
func (g google) projects(ctx context.Context) (ids []string, err error) {
	if g.project != "" {
		ids = []string{g.project}
	}
	query := url.Values{"filter": {"lifecycleState:ACTIVE"}, "pageSize": {"500"}}
	err = eachPage(func(int) (bool, error) {
		var answer struct {
			Projects []struct {
				ID string `json:"projectId"`
			}
			Next string `json:"nextPageToken"`
		}
		err := g.call(ctx, "cloudresourcemanager", "/v1/projects", query, &answer)
		for _, p := range answer.Projects {
			if !slices.Contains(ids, p.ID) {
				ids = append(ids, p.ID)
			}
		}
		query.Set("pageToken", answer.Next)
		return answer.Next != "", err
	})
	return ids, err
}

// exposed are what the projects of a service account show the internet: addresses of
// machines, load balancers' addresses, and the names in public zones.
func (c clouds) exposed(ctx context.Context, b block) ([]string, error) {
	g, err := c.openGoogle(ctx, b)
	if err != nil {
		return nil, err
	}
	var h harvest
	projects, err := g.projects(ctx)
	if err != nil && len(projects) == 0 {
		return nil, err
	}
	for _, project := range projects {
		for _, read := range []func(context.Context, string, *harvest) error{g.machines, g.entries, g.zones} {
			if err := read(ctx, url.PathEscape(project), &h); err != nil {
				h.failed(err)
			}
		}
		if ctx.Err() != nil || h.full() {
			break
		}
	}
	return h.hosts, h.err
}

func (g google) machines(ctx context.Context, project string, h *harvest) error {
	query := url.Values{"maxResults": {"500"}, "fields": {"nextPageToken,items/*/instances/networkInterfaces(accessConfigs/natIP,ipv6AccessConfigs/externalIpv6)"}}
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Items map[string]struct {
				Instances []struct {
					Interfaces []struct {
						V4 []struct{ NatIP string }        `json:"accessConfigs"`
						V6 []struct{ ExternalIPv6 string } `json:"ipv6AccessConfigs"`
					} `json:"networkInterfaces"`
				}
			}
			Next string `json:"nextPageToken"`
		}
		err := g.call(ctx, "compute", "/compute/v1/projects/"+project+"/aggregated/instances", query, &answer)
		for _, zone := range answer.Items {
			for _, machine := range zone.Instances {
				for _, one := range machine.Interfaces {
					for _, config := range one.V4 {
						h.address(config.NatIP)
					}
					for _, config := range one.V6 {
						h.address(config.ExternalIPv6)
					}
				}
			}
		}
		query.Set("pageToken", answer.Next)
		return answer.Next != "" && !h.full(), err
	})
}

func (g google) entries(ctx context.Context, project string, h *harvest) error {
	query := url.Values{"maxResults": {"500"}, "fields": {"nextPageToken,items/*/forwardingRules/IPAddress"}}
	return eachPage(func(int) (bool, error) {
		var answer struct {
			Items map[string]struct {
				Rules []struct{ IPAddress string } `json:"forwardingRules"`
			}
			Next string `json:"nextPageToken"`
		}
		err := g.call(ctx, "compute", "/compute/v1/projects/"+project+"/aggregated/forwardingRules", query, &answer)
		for _, region := range answer.Items {
			for _, rule := range region.Rules {
				h.address(rule.IPAddress)
			}
		}
		query.Set("pageToken", answer.Next)
		return answer.Next != "" && !h.full(), err
	})
}

func (g google) zones(ctx context.Context, project string, h *harvest) error {
	base := "/dns/v1/projects/" + project + "/managedZones"
	var zones []string
	query := url.Values{}
	if err := eachPage(func(int) (bool, error) {
		var answer struct {
			Zones []struct{ Name, Visibility string } `json:"managedZones"`
			Next  string                              `json:"nextPageToken"`
		}
		err := g.call(ctx, "dns", base, query, &answer)
		for _, zone := range answer.Zones {
			if zone.Visibility != "private" {
				zones = append(zones, url.PathEscape(zone.Name))
			}
		}
		query.Set("pageToken", answer.Next)
		return answer.Next != "", err
	}); err != nil {
		return err
	}
	for _, zone := range zones {
		query := url.Values{}
		if err := eachPage(func(int) (bool, error) {
			var answer struct {
				Records []struct{ Name, Type string } `json:"rrsets"`
				Next    string                        `json:"nextPageToken"`
			}
			err := g.call(ctx, "dns", base+"/"+zone+"/rrsets", query, &answer)
			for _, r := range answer.Records {
				if pointsAt(r.Type) {
					h.name(r.Name)
				}
			}
			query.Set("pageToken", answer.Next)
			return answer.Next != "" && !h.full(), err
		}); err != nil {
			return err
		}
	}
	return nil
}

// read asks for a JSON document with a token.
func (c clouds) read(ctx context.Context, service, at, token string, out any) error {
	request := func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		return req, err
	}
	return c.ask(ctx, service, []string{token}, request, func(text []byte) error {
		if out == nil {
			return nil
		}
		return json.Unmarshal(text, out)
	})
}
