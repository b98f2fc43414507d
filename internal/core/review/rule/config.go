package rule

import (
	"path"
	"regexp"
	"strings"
)

// fileKind is what a file configures.
type fileKind int

const (
	dockerfile fileKind = iota
	workflow            // of GitHub Actions
	manifest            // of Kubernetes or Compose: YAML that is no workflow
	terraform
)

// kindsOf are what a file configures by its path.
func kindsOf(name string) []fileKind {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	switch {
	case base == "dockerfile" || base == "containerfile" || ext == ".dockerfile" || strings.HasPrefix(base, "dockerfile."):
		return []fileKind{dockerfile}
	case ext == ".tf" || strings.HasSuffix(base, ".tf.json"):
		return []fileKind{terraform}
	case ext != ".yml" && ext != ".yaml":
		return nil
	case strings.HasPrefix(name, ".github/workflows/") || base == "action.yml" || base == "action.yaml":
		return []fileKind{workflow}
	}
	return []fileKind{manifest}
}

// configRule finds a misconfiguration on a line.
type configRule struct {
	file       fileKind
	name       string
	severity   Severity
	finds      *regexp.Regexp
	unless     *regexp.Regexp // nil: nothing excuses the line
	fix        string         // what finds is replaced by, with its groups; empty: no line is suggested
	title, why string
}

// lists are, by rule, the keys of the lists whose items it is about.
var lists = map[string]*regexp.Regexp{"kubernetes-capability": re(`^(?:cap_)?add$`)}

// comment excuses lines of YAML, Dockerfiles and Terraform that configure nothing.
var comment = re(`^\s*(?:#|//)`)

// external are values of a workflow's context that others than the repository's members write.
const external = `github\.(?:event\.(?:issue|pull_request|comment|review|review_comment|discussion)\.(?:title|body)|` +
	`event\.pull_request\.head\.(?:ref|label|repo\.default_branch)|head_ref|event\.pages\.[^}]*page_name|` +
	`event\.(?:commits|head_commit)[^}]*(?:message|author\.(?:name|email)))`

var configRules = []configRule{
	{dockerfile, "docker-root", Medium, re(`(?i)^\s*USER\s+(?:root|0)(?::\S+)?\s*$`), nil, "",
		"The container runs as root",
		"Whoever breaks out of the program is root in the container, and nearer to the host. Name a user without rights at the end."},
	{dockerfile, "docker-unpinned-image", Low, re(`(?i)^\s*FROM\s+(?:--platform=\S+\s+)?\S+:latest(?:\s|$)`), nil, "",
		"The base image is whatever is newest",
		"A build tomorrow may differ from today's, and nobody has looked at what it takes in. Pin a version or, better, a digest."},
	{dockerfile, "docker-remote-add", Medium, re(`(?i)^\s*ADD\s+(?:--\S+\s+)*https?://`), re(`--checksum=`), "",
		"A file is added from the network without a checksum",
		"Whoever controls that server, or the way to it, decides what is in the image. Give ADD a --checksum."},
	{dockerfile, "docker-pipe-to-shell", High,
		re(`(?i)(?:curl|wget)\s[^|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b`), comment, "",
		"A script from the network is run as it comes",
		"Whoever controls that server, or the way to it, runs commands in the build. Fetch a pinned version and check its digest."},
	{dockerfile, "docker-no-certificate-check", High,
		re(`(?i)(?:curl\b[^|;&]*\s(?:-k|--insecure)\b|wget\s[^|;&]*--no-check-certificate|apt-get\s[^|;&]*--allow-unauthenticated|` +
			`pip3?\s[^|;&]*--trusted-host)`), comment, "",
		"A download is not authenticated", "Anybody on the way can replace what is downloaded. Leave the check of certificates on."},
	{dockerfile, "docker-sudo", Low, re(`(?i)^\s*RUN\s+(?:.*&&\s*)?sudo\s`), nil, "",
		"sudo is used in a build", "A build has the rights of its USER; sudo in the image stays for whoever breaks in."},
	{dockerfile, "docker-world-writable", Medium, re(`(?i)chmod\s+(?:-R\s+)?0?777\b`), comment, "",
		"Files are writable for everybody", "Any process in the container can replace them. Give rights to the user that needs them."},

	{workflow, "workflow-injection", High, re(`\$\{\{[^}]*` + external + `[^}]*\}\}`),
		re(`^\s*(?:#|[A-Za-z_][A-Za-z0-9_]*:\s*["']?\$\{\{|(?:-\s*)?(?:if|name|ref|group):)`), "",
		"Text that others write becomes part of a script",
		"A title or a branch can hold commands, which run with the workflow's token. Put the value into env, and use the variable in quotes."},
	{workflow, "workflow-target-trigger", Medium, re(`^\s*(?:-\s*)?pull_request_target\s*:?\s*$|\bon:.*\bpull_request_target\b`), comment, "",
		"The workflow runs with rights for pull requests from forks",
		"pull_request_target has secrets and a token that writes. It must never check out or run what the pull request brings."},
	{workflow, "workflow-write-all", Medium, re(`^(\s*permissions:\s*)write-all(\s*)$`), nil, "${1}read-all${2}",
		"The workflow's token may write everything",
		"A step that is taken over can push, release and change issues. Grant each job only what it needs."},
	{workflow, "workflow-unpinned-action", Low, re(`^\s*(?:-\s*)?uses:\s*["']?[\w.-]+/[\w./-]+@(?:main|master|HEAD|latest|develop)["']?\s*(?:#.*)?$`),
		nil, "", "An action is used at a branch",
		"Whoever can push to that branch runs code in this workflow. Pin the action to a commit."},
	{workflow, "workflow-pipe-to-shell", Medium, re(`(?:curl|wget)\s[^|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b`), comment, "",
		"A script from the network is run as it comes",
		"Whoever controls that server runs commands with the workflow's token. Fetch a pinned version and check its digest."},
	{workflow, "workflow-self-hosted", Low, re(`^\s*runs-on:\s*\[?\s*["']?self-hosted`), nil, "",
		"The job runs on a machine of yours",
		"In a public repository, pull requests of strangers may run there. Allow it only for trusted branches."},
	{workflow, "workflow-insecure-commands", High, re(`ACTIONS_ALLOW_UNSECURE_COMMANDS\s*:\s*["']?true`), comment, "",
		"Output can set the environment of later steps", "Whoever writes to the log can change what later steps run."},

	{manifest, "kubernetes-privileged", High, re(`^(\s*(?:-\s*)?privileged:\s*)["']?true["']?(\s*(?:#.*)?)$`), nil, "${1}false${2}",
		"A container runs with the rights of its host", "Whoever breaks into it has the host. Grant the capabilities that it needs, if any."},
	{manifest, "kubernetes-escalation", Medium, re(`^(\s*(?:-\s*)?allowPrivilegeEscalation:\s*)true(\s*(?:#.*)?)$`), nil, "${1}false${2}",
		"A process may get more rights than its parent", "It lets setuid programs in the image give root to whoever breaks in."},
	{manifest, "kubernetes-host-namespace", High, re(`^(\s*(?:-\s*)?host(?:PID|IPC|Network):\s*)true(\s*(?:#.*)?)$`), nil, "${1}false${2}",
		"A pod shares a namespace of its host", "It sees the host's processes or network, and what is there without a password."},
	{manifest, "kubernetes-run-as-root", Medium, re(`^\s*(?:-\s*)?(?:runAsUser:\s*0|runAsNonRoot:\s*false)\s*(?:#.*)?$`), nil, "",
		"A container runs as root", "Whoever breaks into it is root there, and nearer to the host. Run it as a user without rights."},
	{manifest, "kubernetes-capability", High, re(`^\s*(?:-\s*["']?(?:SYS_ADMIN|ALL|SYS_PTRACE|SYS_MODULE|CAP_SYS_ADMIN)["']?|` +
		`(?:cap_)?add:\s*\[[^\]]*\b(?:CAP_)?(?:SYS_ADMIN|ALL|SYS_PTRACE|SYS_MODULE)\b[^\]]*\])\s*(?:#.*)?$`),
		nil, "", "A container gets a capability that is near to root", "With it a program can leave the container."},
	{manifest, "docker-socket", High, re(`/(?:var/)?run/(?:docker|containerd/containerd|crio/crio)\.sock`), comment, "",
		"A container gets the socket of the container engine", "Whoever breaks into it can start containers with all rights of the host."},
	{manifest, "kubernetes-host-path", Medium, re(`^\s*path:\s*["']?/(?:etc|root|proc|sys|var/lib/kubelet)?["']?\s*$`), nil, "",
		"A folder of the host is mounted", "The container can read, and perhaps change, what the host lives from."},
	{manifest, "kubernetes-wildcard-role", High, re(`^\s*(?:-\s*)?(?:verbs|resources):\s*\[\s*["']\*["']\s*\]`), nil, "",
		"A role may do everything", "Whoever gets its token has what the role has. Name the verbs and resources that are needed."},
	{manifest, "container-unpinned-image", Low, re(`^\s*(?:-\s*)?image:\s*["']?\S+:latest["']?\s*(?:#.*)?$`), nil, "",
		"The image is whatever is newest", "A restart may run something else than what was tested. Pin a version or a digest."},

	{terraform, "terraform-open-ingress", High, re(`cidr_blocks\s*=\s*\[[^\]]*"(?:0\.0\.0\.0/0|::/0)"|source_ranges\s*=\s*\[[^\]]*"0\.0\.0\.0/0"`),
		comment, "", "A network rule is for the whole Internet",
		"If it is for traffic that comes in, everybody reaches the port. Name the networks that need it."},
	{terraform, "terraform-public-database", High, re(`^(\s*publicly_accessible\s*=\s*)true(\s*(?:#.*)?)$`), nil, "${1}false${2}",
		"A database is reachable from the Internet", "It can be guessed at by everybody. Keep it in a private network."},
	{terraform, "terraform-public-bucket", High, re(`^\s*acl\s*=\s*"public-read(?:-write)?"`), nil, "",
		"A bucket is public", "Everybody can list and read what is put there, today and later."},
	{terraform, "terraform-public-access", Medium,
		re(`^(\s*(?:block_public_acls|block_public_policy|ignore_public_acls|restrict_public_buckets)\s*=\s*)false(\s*(?:#.*)?)$`), nil,
		"${1}true${2}", "The guard against public buckets is off", "One wrong policy makes the bucket public."},
	{terraform, "terraform-not-encrypted", Medium, re(`^(\s*(?:storage_encrypted|encrypted|encrypt_at_rest)\s*=\s*)false(\s*(?:#.*)?)$`),
		nil, "${1}true${2}", "Stored data is not encrypted", "Whoever gets a disk or a snapshot can read it."},
	{terraform, "terraform-wildcard-policy", High, re(`(?i)"?\bactions?"?\s*[=:]\s*\[?\s*"\*"`), comment, "",
		"A policy allows everything", "Whoever gets these credentials has the account. Name the actions that are needed."},
	{terraform, "terraform-metadata-v1", Medium, re(`^(\s*http_tokens\s*=\s*)"optional"(\s*(?:#.*)?)$`), nil, `${1}"required"${2}`,
		"The metadata service answers without a token", "A request that a program can be made to send reads the machine's credentials."},
}
