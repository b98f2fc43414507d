package cloud

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
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

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
	doc, err := json.Marshal(map[string]string{"client_email": "bot@p.example",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))})
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// answerAll answers as all providers do, to those who have the secret s3cret.
func answerAll(w http.ResponseWriter, r *http.Request) {
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
		good = r.URL.Query().Get("Action") == "GetCallerIdentity" &&
			strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=good/") && r.Header.Get("X-Amz-Date") != ""
		answer = "<R><GetCallerIdentityResult><Arn>arn:aws:iam::1:user/u</Arn></GetCallerIdentityResult></R>"
	case "GET /subscriptions", "GET /v1/projects":
		good = r.Header.Get("Authorization") == "Bearer x"
	case "POST /tenant/oauth2/v2.0/token":
		good = strings.Contains(string(body), "client_secret=s3cret") &&
			strings.Contains(string(body), "grant_type=client_credentials")
	case "POST /token":
		good = strings.Contains(string(body), "jwt-bearer") && strings.Count(string(body), ".") == 2
	}
	if !good {
		w.WriteHeader(http.StatusUnauthorized)
		answer = `{"message": "bad s3cret", "error": "invalid_client"}`
	}
	_, _ = io.WriteString(w, answer)
}

func TestVerify(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(answerAll))
	t.Cleanup(server.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(answerAll))
	t.Cleanup(secure.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: secure.Certificate().Raw}))
	kubeconfig := func(token string) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil,
			"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"+
				"clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}]\nusers: [{name: u, user: {token: %s}}]\n", secure.URL, ca, token))
	}
	quoted, err := json.Marshal(serviceKey(t))
	if err != nil {
		t.Fatal(err)
	}
	verify := New(loopback()).Verify
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
	if ok, said := New(&netguard.Guard{}).Verify(t.Context(),
		[]byte("- {provider: do, digitalocean_token: x, base_url: "+server.URL+"}")); ok ||
		!strings.Contains(said, "cannot be reached") {
		t.Errorf("without leave to dial here: %v %q", ok, said)
	}
}

// TestInventory checks what Inventory makes of accounts that can and that cannot be read.
func TestInventory(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/v2/droplets":
			_, _ = io.WriteString(w, `{"droplets": [{"networks": {"v4": [{"ip_address": "5.5.5.5", "type": "public"}, {"ip_address": "10.0.0.1", "type": "private"}]}}]}`)
		case "/client/v4/zones":
			_, _ = io.WriteString(w, `{"result": [{"id": "z"}], "result_info": {"total_pages": 1}}`)
		default:
			_, _ = io.WriteString(w, `{"result": [{"name": "Www.example.com", "type": "A"}, {"name": "*.example.com", "type": "A"}, {"name": "example.com", "type": "MX"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	names, reports := New(loopback()).Inventory(t.Context(), "c1",
		fmt.Appendf(nil, "- {provider: do, digitalocean_token: s3cret, base_url: %[1]q}\n"+
			"- {provider: cloudflare, api_token: s3cret, base_url: %[1]q}\n- {provider: do, digitalocean_token: wrong, base_url: %[1]q}\n", server.URL))
	got := ""
	for _, n := range names {
		got += fmt.Sprint(n.Host, n.Sources, " ")
	}
	for _, r := range reports {
		got += fmt.Sprint(r.Source, ",", r.About, ",", r.State, ",", r.Count, " ")
	}
	want := "5.5.5.5[{cloud map[config_id:c1 provider:digitalocean]}] www.example.com[{cloud map[config_id:c1 provider:cloudflare]}] " +
		"digitalocean,c1 1,ok,1 cloudflare,c1 2,ok,1 digitalocean,c1 3,key_rejected,0 "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, reports := New(loopback()).Inventory(t.Context(), "c1", []byte("[]")); len(reports) != 1 ||
		reports[0].State != "failed" {
		t.Errorf("%+v", reports)
	}
}
