package jobs

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// block is what a configuration says of one cloud: words by name.
type block map[string]string

// cloud is a provider of an inventory.
type cloud struct {
	needs [][]string // the ways to log in: the names that each needs
	// try asks the provider who we are, with one call that changes nothing.
	try func(c clouds, ctx context.Context, b block) (who string, err error)
}

// providers are the clouds that a configuration of the type cloudlist can name.
var providers = map[string]cloud{
	"aws":          {[][]string{{"aws_access_key", "aws_secret_key"}}, clouds.aws},
	"gcp":          {[][]string{{"gcp_service_account_key"}}, clouds.gcp},
	"azure":        {[][]string{{"tenant_id", "client_id", "client_secret"}}, clouds.azure},
	"digitalocean": {[][]string{{"digitalocean_token"}}, clouds.digitalOcean},
	"cloudflare":   {[][]string{{"api_token"}, {"email", "api_key"}}, clouds.cloudflare},
	"kubernetes":   {[][]string{{"kubeconfig_encoded"}}, clouds.kubernetes},
}

// cloudAliases are further names of providers.
var cloudAliases = map[string]string{"do": "digitalocean", "k8s": "kubernetes", "google": "gcp"}

// maxClouds bounds the blocks of a configuration.
const maxClouds = 50

// readClouds reads a configuration of the type cloudlist: a list of blocks, each with a
// provider and what that needs, under the names of cloudlist's provider file. base_url is
// where the provider's interface is, if not at its public address.
func readClouds(text []byte) ([]block, error) {
	value, err := setting.Value(text)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return nil, errors.New("it is not a list of providers")
	case len(list) == 0 || len(list) > maxClouds:
		return nil, fmt.Errorf("it must name 1 to %d providers", maxClouds)
	}
	var out []block
	for i, item := range list {
		b, err := readCloud(item)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		out = append(out, b)
	}
	return out, nil
}

func readCloud(item any) (block, error) {
	m, ok := item.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a mapping")
	}
	b := block{}
	for name, value := range m {
		words, err := texts(value)
		if err != nil {
			return nil, fmt.Errorf("%.60s has %w", name, err)
		}
		b[name] = strings.Join(words, ",")
	}
	b["provider"] = strings.ToLower(b["provider"])
	if name := cloudAliases[b["provider"]]; name != "" {
		b["provider"] = name
	}
	p, ok := providers[b["provider"]]
	if !ok {
		return nil, fmt.Errorf("%.40q is no provider: aws, gcp, azure, digitalocean, cloudflare, kubernetes are", b["provider"])
	}
	if at := b["base_url"]; at != "" {
		if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("base_url must be an http or https URL")
		}
	}
	var ways []string
	for _, names := range p.needs {
		if !slices.ContainsFunc(names, func(name string) bool { return b[name] == "" }) {
			return b, nil
		}
		ways = append(ways, strings.Join(names, " and "))
	}
	return nil, fmt.Errorf("%s needs %s", b["provider"], strings.Join(ways, ", or "))
}

// cloudNames are the providers of a configuration, each once.
func cloudNames(blocks []block) string {
	var names []string
	for _, b := range blocks {
		names = append(names, b["provider"])
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// clouds asks providers who we are, and what they hold. Every dial goes through the guard.
type clouds struct {
	guard  *netguard.Guard
	client *http.Client
	wait   time.Duration // before a call that was too much is sent again
}

func openClouds(guard *netguard.Guard) clouds {
	return clouds{guard: guard, client: guard.Client(cloudTimeout), wait: cloudWait}
}

// verify tries every block of a configuration.
func (c clouds) verify(ctx context.Context, text []byte) (ok bool, said string) {
	blocks, err := readClouds(text)
	if err != nil {
		return false, err.Error()
	}
	var lines []string
	for _, b := range blocks {
		who, err := providers[b["provider"]].try(c, ctx, b)
		if err != nil {
			return false, b["provider"] + ": " + err.Error()
		}
		lines = append(lines, b["provider"]+": "+who)
	}
	return true, strings.Join(lines, "; ") + "."
}

// base is where a provider's interface is: its public address, or base_url.
func (b block) base(public string) string {
	if at := b["base_url"]; at != "" {
		return strings.TrimRight(at, "/")
	}
	return public
}

// cluster is what a kubeconfig says of the one cluster that it uses.
type cluster struct {
	server, token string
	authority     []byte // PEM; nil: the system's
	insecure      bool
}

// readKubeconfig finds the cluster and the token of the current context.
func readKubeconfig(encoded, context string) (c cluster, err error) {
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil {
		return c, errors.New("kubeconfig_encoded is not base64")
	}
	m, err := mapping(text)
	if err != nil {
		return c, errors.New("kubeconfig_encoded is not a kubeconfig")
	}
	if context == "" {
		context, _ = m["current-context"].(string)
	}
	used := entry(m, "contexts", context, "context")
	clusterName, _ := used["cluster"].(string)
	userName, _ := used["user"].(string)
	place, user := entry(m, "clusters", clusterName, "cluster"), entry(m, "users", userName, "user")
	c.server, _ = place["server"].(string)
	c.token, _ = user["token"].(string)
	c.insecure, _ = place["insecure-skip-tls-verify"].(bool)
	if authority, ok := place["certificate-authority-data"].(string); ok {
		if c.authority, err = base64.StdEncoding.DecodeString(authority); err != nil {
			return c, errors.New("its certificate-authority-data is not base64")
		}
	}
	switch {
	case c.server == "":
		return c, fmt.Errorf("the kubeconfig has no cluster for the context %.60q", context)
	case c.token == "":
		return c, errors.New("the kubeconfig has no token for its user; other ways to log in cannot be tried")
	case c.insecure:
		return c, errors.New("the kubeconfig says not to check the server's certificate; the token is not sent there")
	}
	return c, nil
}

// entry is the named one of a list of a kubeconfig.
func entry(m map[string]any, list, name, key string) map[string]any {
	items, _ := m[list].([]any)
	for _, item := range items {
		named, _ := item.(map[string]any)
		if named["name"] == name {
			value, _ := named[key].(map[string]any)
			return value
		}
	}
	return nil
}
