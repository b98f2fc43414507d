package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// cluster is the cluster of a kubeconfig, with an HTTP client that trusts it.
type cluster struct {
	*Client
	http          *http.Client
	server, token string
}

func (c *Client) openCluster(a Account) (k cluster, err error) {
	text, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(a["kubeconfig_encoded"]), ""))
	if err != nil {
		return k, errors.New("kubeconfig_encoded is not base64")
	}
	m, err := yamltext.Mapping(text)
	if err != nil {
		return k, errors.New("kubeconfig_encoded is not a kubeconfig")
	}
	name := a["context"]
	if name == "" {
		name, _ = m["current-context"].(string)
	}
	used := entry(m, "contexts", name, "context")
	clusterName, _ := used["cluster"].(string)
	userName, _ := used["user"].(string)
	at, user := entry(m, "clusters", clusterName, "cluster"), entry(m, "users", userName, "user")
	server, _ := at["server"].(string)
	token, _ := user["token"].(string)
	insecure, _ := at["insecure-skip-tls-verify"].(bool)
	switch {
	case server == "":
		return k, fmt.Errorf("the kubeconfig has no cluster for the context %.60q", name)
	case token == "":
		return k, errors.New("the kubeconfig has no token for its user; other ways to log in cannot be tried")
	case insecure:
		return k, errors.New("the kubeconfig says not to check the server's certificate; the token is not sent there")
	}
	k = cluster{c, c.guard.Client(timeout), strings.TrimRight(a.base(server), "/"), token}
	if authority, ok := at["certificate-authority-data"].(string); ok {
		err = k.trust(authority)
	}
	return k, err
}

// trust makes the HTTP client trust the cluster's authority.
func (k cluster) trust(authority string) error {
	certificates, err := base64.StdEncoding.DecodeString(authority)
	if err != nil {
		return errors.New("its certificate-authority-data is not base64")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificates) {
		return errors.New("its certificate-authority-data has no certificate")
	}
	k.http.Transport = &http.Transport{
		DialContext: k.guard.Dial, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
	}
	return nil
}

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

func (k cluster) get(ctx context.Context, path string, out any) error {
	return k.do(ctx, k.http, apiclient.Request{
		Service: "The cluster", Method: http.MethodGet, URL: k.server + path, Header: bearer(k.token),
		Secrets: []string{k.token},
	}, out)
}

// verifyKubernetes asks for the cluster's version, which a wrong token does not get.
func (c *Client) verifyKubernetes(ctx context.Context, a Account) (string, error) {
	k, err := c.openCluster(a)
	if err != nil {
		return "", err
	}
	var answer struct {
		Version string `json:"gitVersion"`
	}
	err = k.get(ctx, "/version", &answer)
	return "the cluster runs " + answer.Version, err
}

// listKubernetes lists the names and addresses of load balancers and ingresses.
func (c *Client) listKubernetes(ctx context.Context, a Account, into *inventory) error {
	k, err := c.openCluster(a)
	if err != nil {
		return err
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
		if err := k.get(ctx, path+"?limit=5000", &answer); err != nil {
			return err
		}
		for _, item := range answer.Items {
			for _, rule := range item.Spec.Rules {
				into.name(rule.Host)
			}
			for _, in := range item.Status.LoadBalancer.Ingress {
				into.address(in.IP)
				into.name(in.Hostname)
			}
		}
	}
	return nil
}
