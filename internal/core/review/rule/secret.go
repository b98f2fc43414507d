package rule

import "regexp"

func re(text string) *regexp.Regexp { return regexp.MustCompile(text) }

// secretRules, the surest first: of several that find the same, the first names it.
var secretRules = []secretRule{
	{"private-key", "A private key", Critical,
		re(`-----BEGIN (?:RSA |EC |DSA |OPENSSH |ENCRYPTED |PGP )?PRIVATE KEY(?: BLOCK)?-----`), 0},
	{"aws-access-key", "An AWS access key id", High, re(`\b((?:AKIA|ASIA)[A-Z2-7]{16})\b`), 2.5},
	{"aws-secret-key", "An AWS secret access key", Critical,
		re(`(?i)aws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?([A-Za-z0-9/+]{40})\b`), 3.5},
	{"github-token", "A GitHub token", Critical, re(`\b((?:gh[pousr]_[A-Za-z0-9]{36,255})|github_pat_[A-Za-z0-9_]{60,255})\b`), 3},
	{"gitlab-token", "A GitLab token", Critical, re(`\b(gl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{20,64})`), 3},
	{"slack-token", "A Slack token", Critical, re(`\b(xox[abeoprs]-[A-Za-z0-9-]{20,250}|xapp-\d-[A-Za-z0-9-]{20,250})`), 2.5},
	{"slack-webhook", "A Slack webhook", Medium,
		re(`(https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{30,100})`), 3},
	{"discord-webhook", "A Discord webhook", Medium,
		re(`(https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,80})`), 3},
	{"stripe-key", "A live Stripe key", Critical, re(`\b((?:sk|rk)_live_[A-Za-z0-9]{16,250})\b`), 3},
	{"google-api-key", "A Google API key", High, re(`\b(AIza[A-Za-z0-9_-]{35})`), 3},
	{"google-client-secret", "A Google OAuth client secret", High, re(`\b(GOCSPX-[A-Za-z0-9_-]{28})`), 3},
	{"npm-token", "An npm token", Critical, re(`\b(npm_[A-Za-z0-9]{36})\b`), 3},
	{"pypi-token", "A PyPI token", Critical, re(`\b(pypi-AgE[A-Za-z0-9_-]{50,250})`), 3},
	{"sendgrid-key", "A SendGrid key", High, re(`\b(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})`), 3},
	{"anthropic-key", "An Anthropic key", High, re(`\b(sk-ant-[A-Za-z0-9_-]{40,200})`), 3},
	{"openai-key", "An OpenAI key", High, re(`\b(sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,200}T3BlbkFJ[A-Za-z0-9_-]{20,200})`), 3},
	{"huggingface-token", "A Hugging Face token", High, re(`\b(hf_[A-Za-z]{34})\b`), 3},
	{"digitalocean-token", "A DigitalOcean token", Critical, re(`\b(do[opr]_v1_[a-f0-9]{64})\b`), 3},
	{"docker-token", "A Docker Hub token", High, re(`\b(dckr_pat_[A-Za-z0-9_-]{27})`), 3},
	{"shopify-token", "A Shopify token", High, re(`\b(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b`), 3},
	{"vault-token", "A Vault token", High, re(`\b(hvs\.[A-Za-z0-9_-]{24,200})`), 3},
	{"telegram-token", "A Telegram bot token", High, re(`\b(\d{8,10}:AA[A-Za-z0-9_-]{33})\b`), 3},
	{"vedette-key", "An API key of this service", High, re(`\b(svc_sk_[A-Za-z0-9]{32})\b`), 3},
	{"azure-storage-key", "An Azure storage key", Critical, re(`AccountKey=([A-Za-z0-9+/]{86}==)`), 4},
	{"url-password", "A password in a URL", High,
		re(`\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@"'<>{}$]{1,100}:([^\s:/@"'<>{}$]{6,100})@[A-Za-z0-9]`), 2.5},
	{"assigned-secret", "What looks like a secret", Medium,
		re(`(?i)(?:passw(?:or)?d|secret|token|api_?key|private_?key|credential)s?["']?\s*(?::=|=>|[:=])\s*` +
			"[\"'`]" + `([A-Za-z0-9_/+=.~!@#%^&*-]{16,200})` + "[\"'`]"), 3.5},
	{"assigned-secret", "What looks like a secret", Medium, // as of .env files and ENV of Dockerfiles
		re(`^\s*(?:export |ENV |ARG )?[A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_KEY)[A-Z0-9_]*=([A-Za-z0-9_/+=.~-]{16,200})\s*$`),
		3.5},
}
