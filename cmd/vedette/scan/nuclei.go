package scan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// nucleiFlags are flags of nuclei that have no effect here, and why. Each is LONG or LONG,SHORT; those with = have a
// value.
type nucleiFlags struct{ why, names string }

// unsupportedFlags are an error.
var unsupportedFlags = []nucleiFlags{
	{"addresses of a name are not scanned one by one: give them as targets", "scan-all-ips,sa ip-version,iv"},
	{"write the requests out: recorded requests are read as they are",
		"vars-text-templating,vtt var-file-paths,vfp"},
	{"name the targets with --target or --list", "targets-inline"},
	{"see 'vedette templates --help'",
		"new-templates,nt new-templates-version,ntv tgl template-display,td update-templates,ut templates-version,tv"},
	{"see 'vedette templates sign'", "sign"},
	{"describe what you want to 'vedette task' instead", "prompt,ai automatic-scan,as"},
	{"print events with --jsonl and convert them, or let a server export them",
		"report-db,rdb report-config,rc markdown-export,me sarif-export,se json-export,je jsonl-export,jle pdf-export,pe"},
	{"events hold requests and responses: use --jsonl -o FILE",
		"store-resp,sresp store-resp-dir,srd response-size-save,rss redact,rd show-match-line,sml"},
	{"events hold requests and responses: use --jsonl",
		"debug debug-req,dreq debug-resp,dresp vv show-var-dump,svd var-dump-limit,vdl"},
	{"--coverage FILE lists what failed and why", "trace-log,tlog error-log,elog hang-monitor,hm"},
	{"give the variables with --var", "env-vars,ev"},
	{"the system's network configuration is used",
		"proxy-internal,pi interface,i source-ip,sip dialer-keep-alive,dka preflight-portscan"},
	{"TLS and HTTP versions are chosen for each server",
		"force-http2,fh2 tls-impersonate,tlsi"},
	{"fuzzing works on the targets' own requests",
		"dast-server,dts dast-report,dtr dast-server-token,dtst dast-server-address,dtsa display-fuzz-points,dfp fuzz-scope,cs fuzz-out-scope,cos"},
	{"give targets yourself", "uncover,uc uncover-query,uq uncover-engine,ue uncover-field,uf uncover-limit,ul uncover-ratelimit,ur"},
	{"pages have no window: a template's screenshot action shows one", "show-browser,sb"},
	{"the browser is locked down, and started with its own options", "headless-options,ho"},
	{"only a browser that was started here is held to the scope", "cdp-endpoint,cdpe"},
	{"see docs/reference/template-language.md", "list-headless-action,lha"},
	{"suspicious hosts are marked, not hidden", "suppress-honeypot,shp"},
	{"there is no service to stderr to",
		"auth team-id,tid cloud-upload,cup scan-id,sid scan-name,sname dashboard,pd dashboard-upload,pdu http-api-endpoint,hae"},
	{"give the secrets as --header", "secret-file,sf prefetch-secrets,ps"},
	{"--stats prints the figures", "metrics-port,mp http-stats,hps enable-pprof,ep profile-mem"},
	{"see 'vedette version'", "version update,up reset"},
	{"see 'vedette doctor'", "health-check,hc"},
	{"see docs/reference/template-language.md", "list-dsl-function,ldf"},
}

// ignoredFlags are accepted with a note.
var ignoredFlags = []nucleiFlags{
	{"updates are never looked for", "disable-update-check,duc"},
	{"names are looked up by the system anyway", "system-resolvers,sr"},
	{"TLS versions and ciphers are chosen for each server, old ones too", "ztls"},
	{"bad certificates are findings, not errors", "client-ca,ca="},
	{"equal requests are always sent once, and every template gets its answer", "disable-clustering,dc"},
	{"a host is asked again before it is given up, and what it missed is in --coverage",
		"max-host-error,mhe= no-mhe,nmhe track-error,te="},
	{"--concurrency and --bulk-size decide alone",
		"payload-concurrency,pc= probe-concurrency,prc= template-loading-concurrency,tlc= js-concurrency,jsc="},
	{"--headless-concurrency is the number of pages of all targets", "headless-bulk-size,hbs="},
	{"the installed browser is used anyway", "system-chrome,sc"},
	{"targets and requests are ordered by what is needed first", "scan-strategy,ss= stream"},
	{"targets without a scheme are asked as they are scanned",
		"no-httpx,nh leave-default-ports,ldp input-read-timeout,irt="},
	{"requests are not kept between scans; see --resume", "project project-path="},
	{"events do not hold templates", "omit-template,ot"},
	{"such hosts are always marked", "honeypot-detect,hpd honeypot-threshold,hpt="},
}

type unsupported struct{ name, why string }

func (a unsupported) Error() string {
	return fmt.Sprintf("vedette scan has no --%s: %s", a.name, a.why)
}

// addNucleiFlags defines the flags of nuclei that have no effect, or another name here, hidden.
func (f *scanFlags) addNucleiFlags(cmd *cobra.Command) {
	define(cmd, "", f.oast.synonyms(), true)
	for _, group := range unsupportedFlags {
		for names := range strings.FieldsSeq(group.names) {
			long, _, _ := strings.Cut(names, ",")
			v := value{get: func() string { return "" }, set: func(string) error { return unsupported{long, group.why} }}
			define(cmd, "", []option{{names, group.why, v}}, true)
		}
	}
	for _, group := range ignoredFlags {
		for names := range strings.FieldsSeq(group.names) {
			names, hasValue := strings.CutSuffix(names, "=")
			long, _, _ := strings.Cut(names, ",")
			v := value{get: func() string { return "" }, set: func(string) error {
				f.notes = append(f.notes, fmt.Sprintf("--%s changes nothing: %s", long, group.why))
				return nil
			}}
			if hasValue {
				v.kind = "value"
			}
			define(cmd, "", []option{{names, group.why, v}}, true)
		}
	}
}

// flagError is a usage error with a plain message.
func flagError(cmd *cobra.Command, err error) error {
	if a, ok := errors.AsType[unsupported](err); ok {
		err = a
	}
	return cli.FlagError(cmd, err)
}
