// Package cloud reads the inventories of cloud accounts: the names and public addresses that AWS, Google Cloud, Azure,
// DigitalOcean, Cloudflare and Kubernetes clusters expose. A configuration is a list of accounts in the format of
// cloudlist's provider file. Each provider has one harmless call that shows that the credentials work, and one function
// that lists the account, page by page. What cannot be read does not keep the rest from being read; the report has the
// first error. Every dial goes through the guard, since base_url comes from a user.
package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// Source names cloud inventories among the sources of a name.
const Source = "cloud"

const (
	maxAccounts   = 50               // of a configuration
	accountBudget = 10 * time.Minute // for the inventory of one account
)

// Account are the settings of one account, by name.
type Account map[string]string

type provider struct {
	needs [][]string // the ways to log in: the settings that each needs
	// verify asks who we are.
	verify func(c *Client, ctx context.Context, a Account) (who string, err error)
	// list adds what the account exposes to an inventory, also when it fails in the middle.
	list func(c *Client, ctx context.Context, a Account, into *inventory) error
}

var providers = map[string]provider{
	"aws":          {[][]string{{"aws_access_key", "aws_secret_key"}}, (*Client).verifyAWS, (*Client).listAWS},
	"gcp":          {[][]string{{"gcp_service_account_key"}}, (*Client).verifyGoogle, (*Client).listGoogle},
	"azure":        {[][]string{{"tenant_id", "client_id", "client_secret"}}, (*Client).verifyAzure, (*Client).listAzure},
	"digitalocean": {[][]string{{"digitalocean_token"}}, (*Client).verifyDigitalOcean, (*Client).listDigitalOcean},
	"cloudflare": {[][]string{{"api_token"}, {"email", "api_key"}}, (*Client).verifyCloudflare,
		(*Client).listCloudflare},
	"kubernetes": {[][]string{{"kubeconfig_encoded"}}, (*Client).verifyKubernetes, (*Client).listKubernetes},
}

var aliases = map[string]string{"do": "digitalocean", "k8s": "kubernetes", "google": "gcp"}

// Parse reads a configuration: a list of accounts, each with a provider and its settings under cloudlist's names.
// base_url replaces the address of the provider's API.
func Parse(text []byte) (accounts []Account, err error) {
	value, err := yamltext.Value(text)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return nil, errors.New("it is not a list of providers")
	case len(list) == 0 || len(list) > maxAccounts:
		return nil, fmt.Errorf("it must name 1 to %d providers", maxAccounts)
	}
	for i, item := range list {
		a, err := parseAccount(item)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		accounts = append(accounts, a)
	}
	return accounts, nil
}

func parseAccount(item any) (Account, error) {
	m, ok := item.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a mapping")
	}
	a := Account{}
	for name, value := range m {
		words, err := yamltext.Words(value)
		if err != nil {
			return nil, fmt.Errorf("%.60s has %w", name, err)
		}
		a[name] = strings.Join(words, ",")
	}
	a["provider"] = strings.ToLower(a["provider"])
	a["provider"] = cmp.Or(aliases[a["provider"]], a["provider"])
	p, ok := providers[a["provider"]]
	if !ok {
		return nil, fmt.Errorf("%.40q is no provider: aws, gcp, azure, digitalocean, cloudflare, kubernetes are",
			a["provider"])
	}
	if at := a["base_url"]; at != "" && !netguard.IsWebURL(at) {
		return nil, errors.New("base_url must be an http or https URL")
	}
	var ways []string
	for _, names := range p.needs {
		if !slices.ContainsFunc(names, func(name string) bool { return a[name] == "" }) {
			return a, nil
		}
		ways = append(ways, strings.Join(names, " and "))
	}
	return nil, fmt.Errorf("%s needs %s", a["provider"], strings.Join(ways, ", or "))
}

// Providers are the different providers of accounts, with commas.
func Providers(accounts []Account) string {
	var names []string
	for _, a := range accounts {
		names = append(names, a["provider"])
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

func (a Account) base(public string) string {
	return strings.TrimRight(cmp.Or(a["base_url"], public), "/")
}

// Client asks providers.
type Client struct {
	guard  *netguard.Guard
	client *http.Client
	wait   time.Duration // before the second try of a call
}

// New makes a client whose dials go through a guard.
func New(guard *netguard.Guard) *Client { return &Client{guard, guard.Client(timeout), firstWait} }

// Verify asks every account of a configuration who we are.
func (c *Client) Verify(ctx context.Context, text []byte) (ok bool, message string) {
	accounts, err := Parse(text)
	if err != nil {
		return false, err.Error()
	}
	var lines []string
	for _, a := range accounts {
		who, err := providers[a["provider"]].verify(c, ctx, a)
		if err != nil {
			return false, a["provider"] + ": " + err.Error()
		}
		lines = append(lines, a["provider"]+": "+who)
	}
	return true, strings.Join(lines, "; ") + "."
}

// Inventory lists what the accounts of a configuration expose, with one report for each account.
func (c *Client) Inventory(
	ctx context.Context, configID string, text []byte,
) (names []discover.Name, reports []discover.SourceReport) {
	accounts, err := Parse(text)
	if err != nil {
		failed := discover.SourceReport{Source: Source, About: configID, State: discover.SourceFailed, Detail: err.Error()}
		return nil, []discover.SourceReport{failed}
	}
	for i, a := range accounts {
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, accountBudget)
		found := inventory{known: map[string]bool{}}
		found.addError(providers[a["provider"]].list(c, within, a, &found))
		cancel()
		for _, host := range found.hosts {
			account := map[string]string{"provider": a["provider"], "config_id": configID}
			source := []discover.SourceRef{{Source: Source, Metadata: account}}
			names = append(names, discover.Name{Host: host, Sources: source})
		}
		r := discover.SourceReport{
			Source: a["provider"], About: fmt.Sprintf("%s %d", configID, i+1), State: discover.SourceOK,
			Count: len(found.hosts), Took: time.Since(began),
		}
		switch {
		case found.err != nil:
			r.State, r.Detail = stateOf(found.err), found.err.Error()
		case len(found.hosts) == 0:
			r.State = discover.SourceEmpty
		}
		reports = append(reports, r)
	}
	return names, reports
}
