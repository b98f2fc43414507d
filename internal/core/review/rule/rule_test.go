package rule

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// random is a text that looks like a key; no key is in this file.
func random(chars string, n int) string {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	var b strings.Builder
	for range n {
		b.WriteByte(chars[r.IntN(len(chars))])
	}
	return b.String()
}

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hex   = "0123456789abcdef"
	alnum = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
)

func TestSecrets(t *testing.T) {
	letters := alnum[:len(alnum)-8]
	for name, value := range map[string]string{
		"aws-access-key": "AKIA" + random(upper, 16), "github-token": "ghp_" + random(alnum, 36),
		"gitlab-token": "glpat-" + random(alnum, 20), "slack-token": "xoxb-" + random(alnum, 40),
		"slack-webhook":   "https://hooks.slack.com/services/" + random(alnum, 44),
		"discord-webhook": "https://discord.com/api/webhooks/" + random("123456789", 18) + "/" + random(alnum, 68),
		"stripe-key":      "sk_live_" + random(alnum, 24), "google-api-key": "AIza" + random(alnum, 35),
		"google-client-secret": "GOCSPX-" + random(alnum, 28), "npm-token": "npm_" + random(alnum, 36),
		"pypi-token": "pypi-AgE" + random(alnum, 60), "sendgrid-key": "SG." + random(alnum, 22) + "." + random(alnum, 43),
		"anthropic-key": "sk-ant-" + random(alnum, 60), "openai-key": "sk-" + random(alnum, 24) + "T3BlbkFJ" + random(alnum, 24),
		"huggingface-token": "hf_" + random(letters, 34), "digitalocean-token": "dop_v1_" + random(hex, 64),
		"docker-token": "dckr_pat_" + random(alnum, 27), "shopify-token": "shpat_" + random(hex, 32),
		"vault-token": "hvs." + random(alnum, 40), "telegram-token": random("123456789", 9) + ":AA" + random(alnum, 33),
		"vedette-key": "svc_sk_" + random(alnum, 32),
	} {
		found, secrets := Check("main.go", 3, `key := "`+value+`"`)
		if len(found) != 1 || found[0].Rule != name || found[0].Line != 3 || found[0].Kind != Secret {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		if len(secrets) == 0 || secrets[0] != value || strings.Contains(found[0].Title+found[0].Why+found[0].Shown, value[4:]) {
			t.Errorf("%s: %q is not masked: %+v", name, value, found[0])
		}
	}
	secret := random(alnum, 40)
	for name, line := range map[string]string{
		"private-key":       "-----BEGIN RSA PRIVATE" + " KEY-----",
		"aws-secret-key":    "aws_secret_access_key = " + secret,
		"azure-storage-key": "AccountName=a;AccountKey=" + random(alnum, 86) + "==;",
		"url-password":      "DATABASE=postgres://shop:" + secret[:20] + "@db.shop.internal/shop",
		"assigned-secret":   `	"client_secret": "` + secret[:24] + `",`,
	} {
		if found, _ := Check("a.txt", 1, line); len(found) != 1 || found[0].Rule != name || found[0].Fixed != "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
	if found, _ := Check(".env", 1, "SESSION_SECRET="+secret); len(found) != 1 || found[0].Severity != Medium {
		t.Errorf("%+v", found)
	}
}

func TestPlaceholdersAreNoSecrets(t *testing.T) {
	for _, line := range []string{
		"key = AKIAIOSFODNN7EXAMPLE", `password = "changeme-changeme-1"`, `token: "${{ secrets.DEPLOY_TOKEN_OF_US }}"`,
		`api_key = "xxxxxxxxxxxxxxxxxxxxxxxx"`, `url = "postgres://user:${PASSWORD}@host/db"`, `secret = os.Getenv("SESSION_SECRET")`,
		`password = "aaaaaaaaaaaaaaaaaaaaaaaa"`, `apiKey: "your-api-key-goes-here"`, `tokenizer = "some-words-with-hyphens"`,
	} {
		if found, secrets := Check("a.yml", 1, line); len(secrets) != 0 {
			t.Errorf("%s: %+v", line, found)
		}
	}
}

// Each rule for configurations has a line that it finds, and one beside it that is fine.
func TestMisconfigurations(t *testing.T) {
	const docker, flow, yaml, tf = "deploy/Dockerfile", ".github/workflows/ci.yml", "k8s/app.yaml", "main.tf"
	cases := []struct{ path, rule, bad, good string }{
		{docker, "docker-root", "USER root", "USER app"},
		{docker, "docker-unpinned-image", "FROM alpine:latest AS build", "FROM alpine:3.22"},
		{docker, "docker-remote-add", "ADD https://a.example/x.tgz /", "ADD --checksum=sha256:aa https://a.example/x.tgz /"},
		{docker, "docker-pipe-to-shell", "RUN curl -sL https://a.example/i.sh | bash", "RUN curl -o i.sh https://a.example/i.sh"},
		{docker, "docker-no-certificate-check", "RUN curl -k https://a.example", "RUN curl https://a.example"},
		{docker, "docker-sudo", "RUN sudo make install", "RUN make install"},
		{docker, "docker-world-writable", "RUN chmod -R 777 /srv", "RUN chmod 750 /srv"},
		{flow, "workflow-injection", `      run: echo "${{ github.event.pull_request.title }}"`, `          TITLE: ${{ github.event.pull_request.title }}`},
		{flow, "workflow-target-trigger", "  pull_request_target:", "  pull_request:"},
		{flow, "workflow-write-all", "permissions: write-all", "permissions: read-all"},
		{flow, "workflow-unpinned-action", "      - uses: some/action@main", "      - uses: some/action@v4"},
		{flow, "workflow-pipe-to-shell", "      - run: curl https://a.example | sh", "      - run: curl https://a.example"},
		{flow, "workflow-self-hosted", "    runs-on: self-hosted", "    runs-on: ubuntu-latest"},
		{flow, "workflow-insecure-commands", "  ACTIONS_ALLOW_UNSECURE_COMMANDS: true", "  ACTIONS_ALLOW_UNSECURE_COMMANDS: false"},
		{yaml, "kubernetes-privileged", "      privileged: true", "      privileged: false"},
		{yaml, "kubernetes-escalation", "  allowPrivilegeEscalation: true", "  allowPrivilegeEscalation: false"},
		{yaml, "kubernetes-host-namespace", "  hostNetwork: true", "  hostNetwork: false"},
		{yaml, "kubernetes-run-as-root", "  runAsUser: 0", "  runAsUser: 1000"},
		{yaml, "kubernetes-capability", "    add: [NET_ADMIN, SYS_ADMIN]", "    drop: [ALL]"},
		{yaml, "docker-socket", "  - /var/run/docker.sock:/var/run/docker.sock", "  - ./data:/data"},
		{yaml, "kubernetes-host-path", "    path: /etc", "    path: /metrics"},
		{yaml, "kubernetes-wildcard-role", `  verbs: ["*"]`, `  verbs: ["get"]`},
		{yaml, "container-unpinned-image", "  image: shop:latest", "  image: shop:1.2"},
		{tf, "terraform-open-ingress", `  cidr_blocks = ["0.0.0.0/0"]`, `  cidr_blocks = ["10.0.0.0/8"]`},
		{tf, "terraform-public-database", "  publicly_accessible = true", "  publicly_accessible = false"},
		{tf, "terraform-public-bucket", `  acl = "public-read"`, `  acl = "private"`},
		{tf, "terraform-public-access", "  block_public_acls = false", "  block_public_acls = true"},
		{tf, "terraform-not-encrypted", "  storage_encrypted = false", "  storage_encrypted = true"},
		{tf, "terraform-wildcard-policy", `  actions = ["*"]`, `  actions = ["s3:GetObject"]`},
		{tf, "terraform-metadata-v1", `  http_tokens = "optional"`, `  http_tokens = "required"`},
	}
	tried := map[string]bool{}
	for _, c := range cases {
		tried[c.rule] = true
		found, _ := Check(c.path, 7, c.bad)
		if len(found) != 1 || found[0].Rule != c.rule || found[0].Why == "" || found[0].Line != 7 {
			t.Errorf("%s: %+v", c.bad, found)
			continue
		}
		if fixed := found[0].Fixed; fixed != "" {
			if again, _ := Check(c.path, 7, fixed); len(again) > 0 || fixed == c.bad {
				t.Errorf("%s becomes %s: %+v", c.bad, fixed, again)
			}
		}
		if found, _ := Check(c.path, 7, c.good); len(found) > 0 {
			t.Errorf("%s: %+v", c.good, found)
		}
		if found, _ := Check("README.md", 7, c.bad); len(found) > 0 {
			t.Errorf("in a text, %s: %+v", c.bad, found)
		}
	}
	for _, r := range configRules {
		if !tried[r.name] {
			t.Errorf("%s is not tried", r.name)
		}
	}
}

func TestSeveritiesAreInOrder(t *testing.T) {
	if !Critical.AtLeast(High) || !Low.AtLeast(Low) || Info.AtLeast(Low) {
		t.Error("the order is wrong")
	}
}

// An item is about the list that the lines above show: what is dropped is none.
func TestItemsOfLists(t *testing.T) {
	for above, want := range map[string]int{
		"capabilities:|  add:": 1, "cap_add:": 1, "  add:|  - NET_ADMIN": 1, "  drop:|  - NET_RAW": 0, "cap_drop:": 0, "  - NET_RAW": 0,
		"  add:|    drop:|  # all of them": 1, // that key is deeper than the item
	} {
		found, _ := Check("deploy/web.yaml", 7, "  - ALL", strings.Split(above, "|")...)
		if len(found) != want {
			t.Errorf("%s: %+v", above, found)
		}
	}
}
