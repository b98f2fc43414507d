package scan

import (
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// scanFlags are the flags of vedette scan, with the names of nuclei (template language, appendix A).
type scanFlags struct {
	targets, lists, exclude []string
	scope, scopePorts, deny []string
	noLocal, noStdin        bool
	inputs                  inputFlags
	resume, coverage        string

	templates []string
	workflows []string
	remote    remoteFlags

	certificates []string // that sign templates, as files

	folder   string // relative paths of templates refer to it
	load     templates.Options
	validate bool
	listed   bool // the templates are listed, and nothing is sent
	config   string
	profile  string
	profiles bool // are to be listed

	headers, vars []string
	proxy         string
	resolvers     []string
	sni           string
	cert, key     string
	program       program.Options
	stopAtFirst   bool
	frequency     int // of a fuzzed parameter

	oast  oastFlags
	pages pageFlags

	rate, ratePerMinute         int
	rateWindow                  time.Duration
	ratePerHost                 bool
	concurrency, targetsAtOnce  int
	timeout, retries            int
	maxRequests                 int
	out, fail                   string
	jsonl, silent               bool
	raw, omitRaw                bool
	noColor, noMeta, timestamps bool
	status                      bool
	stats, statsJSON            bool
	verbose                     bool
	statsEvery                  int

	notes []string // what was asked for and changes nothing here
}

func newScanFlags() *scanFlags {
	return &scanFlags{
		rate: 150, rateWindow: time.Second, concurrency: 25, targetsAtOnce: 50, timeout: 10, retries: 1, raw: true,
		statsEvery: 5, frequency: fuzz.DefaultFrequency,
		load: templates.Options{Aggression: "low"}, inputs: inputFlags{mode: "list"},
	}
}

func (f *scanFlags) groups() []optionGroup {
	return []optionGroup{
		{"Targets", f.targetOptions()},
		{"Templates", f.templateOptions()},
		{"Filters", f.filterOptions()},
		{"Requests", f.requestOptions()},
		{"Out-of-band interactions", f.oastOptions()},
		{"Browser", f.pages.options()},
		{"Pace", f.paceOptions()},
		{"Output", f.outputOptions()},
		{"Settings", f.settingOptions()},
	}
}

func (f *scanFlags) targetOptions() []option {
	return []option{
		{"target,u",
			"URL, host, host:port, address or network (CIDR); separated by commas or repeated", words(&f.targets, "target")},
		{"list,l",
			"file with one target a line; - is standard input, which is also read when there is no target",
			texts(&f.lists, "file")},
		{"input-mode,im",
			"what the files of --list hold: list (targets, the default), or recorded requests for fuzzing templates to change: " +
				"burp (XML), jsonl (proxify), yaml, openapi, swagger, postman, or raw (text, with lines of ### between requests)",
			oneOf(&f.inputs.mode, append([]string{"list"}, recorded.Formats()...)...)},
		{"required-only,ro",
			"leave out optional parameters of OpenAPI and Swagger descriptions", toggle(&f.inputs.requiredOnly)},
		{"skip-format-validation,sfv",
			"leave out recorded requests with a fault, and make up values that a description lacks", toggle(&f.inputs.lenient)},
		{"exclude-hosts,eh",
			"hosts, networks or regular expressions of hosts that are never contacted, or a file of them", wordsOf(&f.exclude)},
		{"deny-targets", "network (CIDR) that is never contacted", words(&f.deny, "cidr")},
		{"restrict-local-network-access,lna", "contact no private, local or link-local address", toggle(&f.noLocal)},
		{"scope",
			"another host that may be contacted, such as one that a self-contained template names", words(&f.scope, "host")},
		{"scope-ports",
			"ports that may be contacted besides those that targets name (default: all ports of the hosts in scope)",
			words(&f.scopePorts, "port")},
		{"no-stdin", "do not read targets from standard input", toggle(&f.noStdin)},
		{"resume",
			"file that records what is done; when it exists, the scan continues from there", text(&f.resume, "file")},
		{"coverage",
			"file for what was tested and what was not: JSON, or a table when its name ends with .txt",
			text(&f.coverage, "file")},
	}
}

func (f *scanFlags) templateOptions() []option {
	allow := &f.load.Allow
	return []option{
		{"templates,t",
			"template file, folder, glob, or text file that lists them (default: the starter templates)",
			words(&f.templates, "path")},
		{"workflows,w", "workflow file or folder", words(&f.workflows, "path")},
		{"template-url,turl", "URL of a template, or of a list of such URLs", words(&f.remote.templates, "url")},
		{"workflow-url,wurl", "URL of a workflow, or of a list of such URLs", words(&f.remote.workflows, "url")},
		{"remote-template-domain",
			"host (host:port) that --template-url and --workflow-url may name", words(&f.remote.trusted, "host")},
		{"template-certificate",
			"PEM file with a certificate whose signatures on templates are trusted (also " + cli.CertificateVariables + ")",
			texts(&f.certificates, "file")},
		{"update-template-dir,ud",
			"folder of templates that relative paths refer to; without --templates, all of it is used",
			text(&f.folder, "folder")},
		{"validate", "check the templates and send nothing, as 'vedette templates validate' does", toggle(&f.validate)},
		{"tl", "print the paths of the templates that would run, and send nothing", toggle(&f.listed)},
		{"no-strict-syntax,nss", "ignore unknown keys in templates", toggle(&f.load.Lenient)},
		{"allow-local-file-access,lfa",
			"let templates read payloads from anywhere on this machine", toggle(&f.load.LocalFiles)},
		{"dast", "run fuzzing templates only", toggle(&allow.DAST)},
		{"fuzz", "the old name of --dast", toggle(&allow.DAST)},
		{"fuzz-aggression,fa",
			"payloads of fuzzing templates: low, medium or high", oneOf(&f.load.Aggression, "low", "medium", "high")},
		{"fuzzing-type,ft",
			"how fuzzing rules change a value, overriding the templates",
			oneOf(&f.program.FuzzType, "replace", "prefix", "postfix", "infix")},
		{"fuzzing-mode,fm",
			"whether fuzzing rules change one value at a time or all, overriding the templates",
			oneOf(&f.program.FuzzMode, "single", "multiple")},
		{"fuzz-param-frequency",
			"how often a parameter of a host is fuzzed without a match, before it is skipped (default 10)",
			number(&f.frequency, 1)},
		{"enable-self-contained,esc",
			"run templates that name their own hosts; see --scope", toggle(&allow.SelfContained)},
		{"enable-global-matchers,egm",
			"match every response against the templates with global matchers", toggle(&allow.GlobalMatchers)},
		{"passive",
			"send nothing: match the HTTP responses in the files that targets name, and in the .txt files of folders",
			toggle(&allow.Passive)},
		{"disable-unsigned-templates,dut", "run verified templates only", toggle(&allow.VerifiedOnly)},
		{"code",
			"run templates that run programs on this machine, when their signatures are trusted; see --template-certificate",
			toggle(&allow.Code)},
		{"code-network",
			"let these programs use the network of this machine, where no scope holds; else they have none",
			toggle(&f.program.CodeNetwork)},
		{"headless", "run templates that drive a browser, in the installed Chromium", toggle(&allow.Headless)},
		{"file", "run templates that read files; targets may then be files and folders", toggle(&allow.File)},
	}
}

func (f *scanFlags) filterOptions() []option {
	filter := &f.load.Filter
	return []option{
		{"tags", "only templates with one of these tags", wordsOf(&filter.Tags)},
		{"exclude-tags,etags", "no templates with one of these tags", wordsOf(&filter.ExcludeTags)},
		{"include-tags,itags",
			"templates with one of these tags, even when something excludes them", wordsOf(&filter.IncludeTags)},
		{"severity,s", "only templates of these severities", chosen(&filter.Severity, cli.Severities...)},
		{"exclude-severity,es", "no templates of these severities", chosen(&filter.ExcludeSeverity, cli.Severities...)},
		{"author,a", "only templates by one of these authors", wordsOf(&filter.Authors)},
		{"template-id,id", "only templates with one of these ids; * ? and [] are wildcards", wordsOf(&filter.ID)},
		{"exclude-id,eid", "no templates with one of these ids", wordsOf(&filter.ExcludeID)},
		{"include-templates,it",
			"paths of templates that run even when something excludes them", words(&filter.IncludeTemplates, "path")},
		{"exclude-templates,et", "paths of templates that do not run", words(&filter.ExcludeTemplates, "path")},
		{"exclude-matchers,em",
			"matchers that are left out, as template:matcher; either may be *", wordsOf(&f.program.ExcludedMatchers)},
		{"type,pt", "only templates of these types, such as http or dns", chosen(&filter.Type, templateTypes...)},
		{"exclude-type,ept", "no templates of these types", chosen(&filter.ExcludeType, templateTypes...)},
		{"template-condition,tc",
			"only templates for which this expression is true; repeatable", texts(&filter.Conditions, "expression")},
	}
}

var templateTypes = []string{"http", "dns", "file", "headless", "tcp", "network", "ssl", "websocket", "whois", "code",
	"javascript", "workflow", "workflows"}

func (f *scanFlags) requestOptions() []option {
	p := &f.program
	return []option{
		{"header,H",
			"header for every request, as 'Name: value', or a file of them; repeatable", texts(&f.headers, "header")},
		{"var,V",
			"variable for templates, as name=value; when value is a file, its lines are payloads; repeatable",
			texts(&f.vars, "name=value")},
		{"proxy,p", cli.ProxyHelp, text(&f.proxy, "url")},
		{"resolvers,r",
			"DNS servers that look names up, as addresses or a file of them (default: the system's)",
			words(&f.resolvers, "address")},
		{"sni", "server name that TLS handshakes give (default: the host's)", text(&f.sni, "name")},
		{"client-cert,cc", "PEM file with a certificate to show to servers that ask for one", text(&f.cert, "file")},
		{"client-key,ck", "PEM file with the key of --client-cert", text(&f.key, "file")},
		{"follow-redirects,fr", "follow redirects in all templates", toggle(&p.FollowRedirects)},
		{"follow-host-redirects,fhr",
			"follow redirects on the same host in all templates", toggle(&p.FollowHostRedirects)},
		{"max-redirects,mr", "maximum number of redirects to follow (default 10)", number(&p.MaxRedirects, 0)},
		{"disable-redirects,dr", "follow no redirects", toggle(&p.NoRedirects)},
		{"attack-type,at",
			"how all templates combine payloads: batteringram, pitchfork or clusterbomb",
			oneOf(&p.Attack, "batteringram", "pitchfork", "clusterbomb")},
		{"response-size-read,rsr",
			"maximum size of a response to read, in bytes (default: as the template says, or 10 MiB)", number(&p.MaxSize, 0)},
		{"stop-at-first-match,spm", "stop each template at its first match on a target", toggle(&f.stopAtFirst)},
		{"timeout", "seconds to wait for a connection, and for a response", number(&f.timeout, 1)},
		{"retries", "how often a failed request is retried", number(&f.retries, 0)},
	}
}

func (f *scanFlags) paceOptions() []option {
	return []option{
		{"rate-limit,rl", "maximum number of requests in each --rate-limit-duration; 0: no limit", number(&f.rate, 0)},
		{"rate-limit-duration,rld", "period of --rate-limit", span(&f.rateWindow)},
		{"rate-limit-minute,rlm",
			"maximum number of requests a minute, instead of --rate-limit", number(&f.ratePerMinute, 0)},
		{"per-host-rate-limit",
			"apply the rate limit to each host instead of to the whole scan", toggle(&f.ratePerHost)},
		{"concurrency,c", "parallel requests to one host", number(&f.concurrency, 1)},
		{"bulk-size,bs", "parallel targets", number(&f.targetsAtOnce, 1)},
		{"max-requests", "end the scan after so many requests; 0: no limit", number(&f.maxRequests, 0)},
	}
}

func (f *scanFlags) outputOptions() []option {
	return []option{
		{"output,o",
			"file that findings are also written to; json prints events as --jsonl does", text(&f.out, "file")},
		{"jsonl,j", "print events as JSON, one a line", toggle(&f.jsonl)},
		{"silent", "print findings only", toggle(&f.silent)},
		{"no-color,nc", "print without colours", toggle(&f.noColor)},
		{"omit-raw,or", "omit requests and responses from events", toggle(&f.omitRaw)},
		{"include-rr,irr", "include requests and responses in events", toggle(&f.raw)},
		{"no-meta,nm", "print only where findings are", toggle(&f.noMeta)},
		{"timestamp,ts", "print the time of each finding", toggle(&f.timestamps)},
		{"matcher-status,ms", "also print an event for each template that did not match", toggle(&f.status)},
		{"fail-on", "exit with 6 when there is a finding of this severity or worse", oneOf(&f.fail, cli.Severities...)},
		{"stats", "print progress", toggle(&f.stats)},
		{"verbose,v", "print what the scripts of templates log, to standard error", toggle(&f.verbose)},
		{"stats-json,sj", "print progress as JSON, one object a line", toggle(&f.statsJSON)},
		{"stats-interval,si", "seconds between two progress lines", number(&f.statsEvery, 1)},
	}
}

func (f *scanFlags) settingOptions() []option {
	return []option{
		{"config",
			"YAML file with flags by their long names; flags on the command line override it", text(&f.config, "file")},
		{"profile,tp",
			"the same as --config: a file, or a name in the folder profiles of the templates", text(&f.profile, "name")},
		{"profile-list,tpl", "list the profiles of the templates", toggle(&f.profiles)},
	}
}
