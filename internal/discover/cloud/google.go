package cloud

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"
)

type google struct {
	*Client
	Account
	email, project, token string
}

// openGoogle logs in as a service account with a signed claim (RFC 7523), for reading only.
func (c *Client) openGoogle(ctx context.Context, a Account) (google, error) {
	var key struct {
		Email   string `json:"client_email"`
		Private string `json:"private_key"`
		Project string `json:"project_id"`
	}
	if json.Unmarshal([]byte(a["gcp_service_account_key"]), &key) != nil || key.Email == "" || key.Private == "" {
		return google{}, errors.New("gcp_service_account_key is not the JSON key of a service account")
	}
	const public = "https://oauth2.googleapis.com"
	claim, err := signClaim(key.Private, map[string]any{
		"iss": key.Email, "scope": "https://www.googleapis.com/auth/cloud-platform.read-only", "aud": public + "/token",
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	})
	if err != nil {
		return google{}, err
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {claim}}
	token, err := c.grant(ctx, "Google", a.base(public)+"/token", form, key.Private, claim)
	return google{c, a, key.Email, key.Project, token}, err
}

// signClaim makes a JSON web token under an RSA key in PEM (RS256).
func signClaim(key string, claim map[string]any) (string, error) {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return "", errors.New("the private key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return "", errors.New("the private key is not an RSA key")
	}
	body, err := json.Marshal(claim)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	return text + "." + encode(signature), err
}

func (g google) call(ctx context.Context, service, path string, query url.Values, out any) error {
	at := g.base("https://"+service+".googleapis.com") + path + "?" + query.Encode()
	return g.get(ctx, "Google", at, bearer(g.token), out, g.token)
}

// googleList reads all pages of a list; each returns the token of the next page.
func googleList[T any](
	ctx context.Context, g google, service, path string, query url.Values, each func(T) (next string),
) error {
	return eachPage(func(int) (bool, error) {
		var answer T
		err := g.call(ctx, service, path, query, &answer)
		next := each(answer)
		query.Set("pageToken", next)
		return next != "", err
	})
}

func (c *Client) verifyGoogle(ctx context.Context, a Account) (string, error) {
	g, err := c.openGoogle(ctx, a)
	if err != nil {
		return "", err
	}
	projects, err := g.projects(ctx)
	if err != nil && len(projects) > 0 { // the account may read its own without listing all
		path := "/compute/v1/projects/" + url.PathEscape(g.project) + "/aggregated/instances"
		err = g.call(ctx, "compute", path, url.Values{"maxResults": {"1"}}, nil)
	}
	return g.email + " may read " + strings.Join(projects, ", "), err
}

// projects are those that the account may see, its own first.
func (g google) projects(ctx context.Context) (ids []string, err error) {
	if g.project != "" {
		ids = []string{g.project}
	}
	query := url.Values{"filter": {"lifecycleState:ACTIVE"}, "pageSize": {"500"}}
	err = googleList(ctx, g, "cloudresourcemanager", "/v1/projects", query, func(page struct {
		Projects []struct {
			ID string `json:"projectId"`
		}
		Next string `json:"nextPageToken"`
	}) string {
		for _, p := range page.Projects {
			if !slices.Contains(ids, p.ID) {
				ids = append(ids, p.ID)
			}
		}
		return page.Next
	})
	return ids, err
}

// listGoogle lists the addresses of machines and load balancers, and the names in public zones.
func (c *Client) listGoogle(ctx context.Context, a Account, into *inventory) error {
	g, err := c.openGoogle(ctx, a)
	if err != nil {
		return err
	}
	projects, err := g.projects(ctx)
	if err != nil && len(projects) == 0 {
		return err
	}
	for _, project := range projects {
		for _, read := range []func(context.Context, string, *inventory) error{g.machines, g.balancers, g.zones} {
			into.addError(read(ctx, url.PathEscape(project), into))
		}
		if ctx.Err() != nil || into.full() {
			break
		}
	}
	return nil //nolint:nilerr // an error beside projects concerns some of them only
}

func (g google) machines(ctx context.Context, project string, into *inventory) error {
	const fields = "nextPageToken,items/*/instances/networkInterfaces(accessConfigs/natIP,ipv6AccessConfigs/externalIpv6)"
	query := url.Values{"maxResults": {"500"}, "fields": {fields}}
	return googleList(ctx, g, "compute", "/compute/v1/projects/"+project+"/aggregated/instances", query, func(page struct {
		Items map[string]struct {
			Instances []struct {
				Interfaces []struct {
					V4 []struct{ NatIP string }        `json:"accessConfigs"`
					V6 []struct{ ExternalIPv6 string } `json:"ipv6AccessConfigs"`
				} `json:"networkInterfaces"`
			}
		}
		Next string `json:"nextPageToken"`
	}) string {
		for _, zone := range page.Items {
			for _, machine := range zone.Instances {
				for _, one := range machine.Interfaces {
					for _, config := range one.V4 {
						into.public(config.NatIP)
					}
					for _, config := range one.V6 {
						into.public(config.ExternalIPv6)
					}
				}
			}
		}
		return page.Next
	})
}

func (g google) balancers(ctx context.Context, project string, into *inventory) error {
	query := url.Values{"maxResults": {"500"}, "fields": {"nextPageToken,items/*/forwardingRules/IPAddress"}}
	return googleList(ctx, g, "compute", "/compute/v1/projects/"+project+"/aggregated/forwardingRules", query,
		func(page struct {
			Items map[string]struct {
				Rules []struct{ IPAddress string } `json:"forwardingRules"`
			}
			Next string `json:"nextPageToken"`
		}) string {
			for _, region := range page.Items {
				for _, rule := range region.Rules {
					into.public(rule.IPAddress)
				}
			}
			return page.Next
		})
}

func (g google) zones(ctx context.Context, project string, into *inventory) error {
	base := "/dns/v1/projects/" + project + "/managedZones"
	var zones []string
	if err := googleList(ctx, g, "dns", base, url.Values{}, func(page struct {
		Zones []struct{ Name, Visibility string } `json:"managedZones"`
		Next  string                              `json:"nextPageToken"`
	}) string {
		for _, zone := range page.Zones {
			if zone.Visibility != "private" {
				zones = append(zones, url.PathEscape(zone.Name))
			}
		}
		return page.Next
	}); err != nil {
		return err
	}
	return into.eachZone(zones, func(zone string) error {
		return googleList(ctx, g, "dns", base+"/"+zone+"/rrsets", url.Values{}, func(page struct {
			Records []struct{ Name, Type string } `json:"rrsets"`
			Next    string                        `json:"nextPageToken"`
		}) string {
			for _, r := range page.Records {
				into.record(r.Type, r.Name)
			}
			return page.Next
		})
	})
}
