package jobs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestOptions(t *testing.T) {
	var o options
	for _, text := range []string{
		"rate-limit: 5\nrate-limit-duration: 2s\nheader:\n  - 'X-A: 1'\nvar: [a=b, c=d=e]\ntags: cve,RCE\nseverity: [high]\nretries: 0\n",
		"timeout: '7'\nheader: 'X-B: 2'\nvar: a=z\nper-host-rate-limit: true\nconcurrency: 3\nbulk-size: 4\nstop-at-first-match: true\nexclude-id: x-*\nproxy: x\n",
	} {
		if err := o.read([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	c := o.config()
	if c.RateLimit != 0 || c.HostRate != 5 || c.RateWindow != 2*time.Second || c.Timeout != 7*time.Second || c.Retries != 0 || c.PerHost != 3 ||
		!slices.Equal(c.Headers, []engine.Header{{Name: "X-A", Value: "1"}, {Name: "X-B", Value: "2"}}) {
		t.Errorf("%+v", c)
	}
	if o.scan.Vars["a"] != "z" || o.scan.Vars["c"] != "d=e" || o.scan.Parallel != 4 || !o.scan.StopAtFirstMatch || !slices.Equal(o.ignored, []string{"proxy"}) {
		t.Errorf("%+v", o.scan)
	}
	for _, c := range []struct {
		t    catalog.Known
		want bool
	}{
		{catalog.Known{ID: "a", Tags: []string{"rce"}, Severity: "high"}, true},
		{catalog.Known{ID: "a", Tags: []string{"CVE"}, Severity: "high"}, true},
		{catalog.Known{ID: "a", Tags: []string{"cve"}, Severity: "low"}, false},
		{catalog.Known{ID: "a", Tags: []string{"xss"}, Severity: "high"}, false},
		{catalog.Known{ID: "id", WrittenID: "X-1", Tags: []string{"cve"}, Severity: "high"}, false},
	} {
		if o.keeps(c.t) != c.want {
			t.Errorf("%+v is kept: %v", c.t, !c.want)
		}
	}
}

func TestKindsRefuse(t *testing.T) {
	kinds := Kinds(loopback())
	for _, c := range []struct {
		kind       setting.Type
		text, says string
	}{
		{setting.Scan, "- a", "not a mapping"},
		{setting.Scan, "rate-limit: fast", "rate-limit: it must be a number"},
		{setting.Scan, "rate-limit: -1", "rate-limit"},
		{setting.Scan, "rate-limit-duration: 2h", "rate-limit-duration"},
		{setting.Scan, "header: 'no colon'", "header"},
		{setting.Scan, `header: "A: b\r\nC: d"`, "header"},
		{setting.Scan, "header: {A: b}", "mapping where words"},
		{setting.Scan, "var: x", "name=value"},
		{setting.Scan, "severity: grave", "no severity"},
		{setting.Scan, "template-id: '['", "no pattern"},
		{setting.Scan, "stop-at-first-match: perhaps", "true or false"},
		{setting.Template, "rate-limit: 1", "nothing that chooses"},
		{setting.Template, "severities: [grave]", "no severity"},
		{setting.Reporting, "a: b", "no tracker"},
		{setting.Alerting, "slack: {}", "webhook_url"},
		{setting.Subfinder, "'../x': [a]", "no name of a source"},
		{setting.Subfinder, "shodan: {a: b}", "mapping where words"},
		{setting.Cloudlist, "provider: aws", "not a list"},
		{setting.Cloudlist, "[]", "1 to 50"},
		{setting.Cloudlist, "- provider: moon", "no provider"},
		{setting.Cloudlist, "- a", "not a mapping"},
		{setting.Cloudlist, "- {provider: aws, aws_access_key: x}", "aws_secret_key"},
		{setting.Cloudlist, "- {provider: cloudflare, email: x}", "api_token, or email and api_key"},
		{setting.Cloudlist, "- {provider: digitalocean, digitalocean_token: x, base_url: ftp://x}", "base_url"},
	} {
		if _, err := kinds[c.kind].Check([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %q: %v, want %q", c.kind, c.text, err, c.says)
		}
	}
	for _, c := range []struct {
		kind           setting.Type
		text, provider string
	}{
		{setting.Scan, "rate-limit: 1", ""}, {setting.Template, "ids: [a]\ntags: x\nseverities: high", ""}, {setting.Subfinder, "shodan: [k]\ncensys: k", ""},
		{setting.Reporting, "github: {owner: o, project-name: p, token: t}", "github"}, {setting.Alerting, "slack: {webhook_url: 'https://x/y'}", "slack"},
		{setting.Cloudlist, "- {provider: do, digitalocean_token: x}\n- {provider: aws, aws_access_key: a, aws_secret_key: b}", "aws,digitalocean"},
	} {
		if provider, err := kinds[c.kind].Check([]byte(c.text)); err != nil || provider != c.provider {
			t.Errorf("%s %q: %q, %v", c.kind, c.text, provider, err)
		}
	}
}

func TestVerifySaysWhatIsNotTried(t *testing.T) {
	kinds := Kinds(loopback())
	for _, c := range []struct {
		kind       setting.Type
		text, says string
		ok         bool
	}{
		{setting.Scan, "rate-limit: 1", "all of it is applied", true},
		{setting.Scan, "rate-limit: 1\ninteractsh-server: x", "not applied: interactsh-server", true},
		{setting.Subfinder, "shodan: [k]\ncensys: []", "keys for shodan. They were not tried", true},
		{setting.Subfinder, "shodan: []", "No source has a key", false},
	} {
		if ok, said := kinds[c.kind].Verify(t.Context(), []byte(c.text)); ok != c.ok || !strings.Contains(said, c.says) {
			t.Errorf("%s %q: %v %q", c.kind, c.text, ok, said)
		}
	}
}

// serviceKey is the JSON key of a service account.
func serviceKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(map[string]string{"client_email": "bot@p.example", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// cloudDesk speaks as all providers do, to those who have the secret s3cret.
func cloudDesk(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	good := false
	answer := `{"success": true, "result": {"status": "active"}, "account": {"email": "a@b.c", "status": "active"}, "gitVersion": "v1.31", "access_token": "x",
		"value": [{"subscriptionId": "s"}], "projects": [{"projectId": "p"}]}`
	switch r.Method + " " + r.URL.Path {
	case "GET /v2/account", "GET /client/v4/user/tokens/verify", "GET /version":
		good = r.Header.Get("Authorization") == "Bearer s3cret"
	case "GET /client/v4/user":
		good = r.Header.Get("X-Auth-Key") == "s3cret" && r.Header.Get("X-Auth-Email") != ""
	case "GET /":
		auth := r.Header.Get("Authorization")
		good = r.URL.Query().Get("Action") == "GetCallerIdentity" && strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=good/") && r.Header.Get("X-Amz-Date") != ""
		answer = "<R><GetCallerIdentityResult><Arn>arn:aws:iam::1:user/u</Arn></GetCallerIdentityResult></R>"
	case "GET /subscriptions", "GET /v1/projects":
		good = r.Header.Get("Authorization") == "Bearer x"
	case "POST /tenant/oauth2/v2.0/token":
		good = strings.Contains(string(body), "client_secret=s3cret") && strings.Contains(string(body), "grant_type=client_credentials")
	case "POST /token":
		good = strings.Contains(string(body), "jwt-bearer") && strings.Count(string(body), ".") == 2
	}
	if !good {
		w.WriteHeader(http.StatusUnauthorized)
		answer = `{"message": "bad s3cret", "error": "invalid_client"}`
	}
	_, _ = io.WriteString(w, answer)
}

func TestCloudsAreTried(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(cloudDesk))
	t.Cleanup(server.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(cloudDesk))
	t.Cleanup(secure.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	kubeconfig := func(token string) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"+
			"clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: %s}}]\n", secure.URL, ca, token))
	}
	quoted, err := json.Marshal(serviceKey(t))
	if err != nil {
		t.Fatal(err)
	}
	verify := Kinds(loopback())[setting.Cloudlist].Verify
	for _, c := range []struct {
		block, says string
		ok          bool
	}{
		{"provider: digitalocean, digitalocean_token: s3cret", "a@b.c is active", true},
		{"provider: digitalocean, digitalocean_token: wrong", "answered 401", false},
		{"provider: cloudflare, api_token: s3cret", "are good", true},
		{"provider: cloudflare, api_token: wrong", "answered 401", false},
		{"provider: cloudflare, email: e, api_key: s3cret", "are good", true},
		{"provider: aws, aws_access_key: good, aws_secret_key: s", "we are arn:aws:iam::1:user/u.", true},
		{"provider: aws, aws_access_key: good, aws_secret_key: s, assume_role_arn: r", "answered 401", false},
		{"provider: aws, aws_access_key: bad, aws_secret_key: s", "answered 401", false},
		{"provider: azure, tenant_id: tenant, client_id: c, client_secret: s3cret", "may read 1 subscriptions", true},
		{"provider: azure, tenant_id: tenant, client_id: c, client_secret: wrong", "invalid_client", false},
		{"provider: gcp, gcp_service_account_key: " + string(quoted), "bot@p.example may read p", true},
		{"provider: gcp, gcp_service_account_key: x", "not the JSON key", false},
		{"provider: kubernetes, base_url: '', kubeconfig_encoded: " + kubeconfig("s3cret"), "runs v1.31", true},
		{"provider: kubernetes, base_url: '', kubeconfig_encoded: " + kubeconfig("wrong"), "answered 401", false},
		{"provider: kubernetes, kubeconfig_encoded: '%%'", "not base64", false},
	} {
		block := c.block
		if !strings.Contains(block, "base_url") {
			block += ", base_url: " + server.URL
		}
		ok, said := verify(t.Context(), []byte("- {"+block+"}"))
		if ok != c.ok || !strings.Contains(said, c.says) || !ok && c.block != "" && strings.Contains(said, "wrong") {
			t.Errorf("%.60s: %v %q", c.block, ok, said)
		}
	}
	if ok, said := Kinds(&netguard.Guard{})[setting.Cloudlist].Verify(t.Context(), []byte("- {provider: do, digitalocean_token: x, base_url: "+server.URL+"}")); ok || !strings.Contains(said, "cannot be reached") {
		t.Errorf("without leave to dial here: %v %q", ok, said)
	}
}
