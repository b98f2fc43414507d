package scan

import (
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// scanFlags are the flags of vedette scan, under the names that users of nuclei know
// (template language, appendix A).
type scanFlags struct {
	targets, lists, exclude []string
	scope, deny             []string
	noLocal, noStdin        bool
	resume, coverage        string

	templates []string
	workflows []string
	folder    string // of templates, where relative paths are looked for
	load      templates.Options
	matchers  []string // that are left out
	validate  bool
	config    string
	profile   string
	profiles  bool // are to be listed

	headers, vars []string
	program       program.Options
	stopAtFirst   bool

	rate, ratePerMinute    int
	rateWindow             time.Duration
	ratePerHost            bool
	concurrency, atOnce    int
	timeout, retries       int
	maxRequests            int
	out, fail              string
	jsonl, silent          bool
	raw, omitRaw           bool
	noColor, noMeta, stamp bool
	status                 bool
	stats, statsJSON       bool
	statsEvery             int

	noted []string // what was asked for and changes nothing here
}

// newScanFlags are the defaults.
func newScanFlags() *scanFlags {
	return &scanFlags{
		rate: 150, rateWindow: time.Second, concurrency: 25, atOnce: 50, timeout: 10, retries: 1, raw: true, statsEvery: 5,
		load: templates.Options{Aggression: "low"},
	}
}

// groups are the flags as the help shows them.
func (f *scanFlags) groups() []optionGroup {
	return []optionGroup{
		{"Targets", f.targetOptions()},
		{"Templates", f.templateOptions()},
		{"Filters", f.filterOptions()},
		{"Requests", f.requestOptions()},
		{"Pace", f.paceOptions()},
		{"Output", f.outputOptions()},
		{"Settings", f.settingOptions()},
	}
}

func (f *scanFlags) targetOptions() []option {
	return []option{
		{"target,u", "URL, host, host:port, address or network (CIDR); with commas or repeated", words(&f.targets, "target")},
		{"list,l", "file with a target a line; - is standard input, which is read without any target, too", texts(&f.lists, "file")},
		{"exclude-hosts,eh", "hosts, networks or regular expressions of hosts that are never contacted, or a file of them", wordsOf(&f.exclude)},
		{"deny-targets", "network (CIDR) that is never contacted", words(&f.deny, "cidr")},
		{"restrict-local-network-access,lna", "contact no private, local or link-local address", toggle(&f.noLocal)},
		{"scope", "further host that may be contacted, such as one of a self-contained template", words(&f.scope, "host")},
		{"no-stdin", "do not read targets from standard input", toggle(&f.noStdin)},
		{"resume", "keep in this file what is done, and go on from there when it is there already", text(&f.resume, "file")},
		{"coverage", "write to this file what was tested and what was not, as JSON, or as a table when it ends with .txt", text(&f.coverage, "file")},
	}
}

func (f *scanFlags) templateOptions() []option {
	allow := &f.load.Allow
	return []option{
		{"templates,t", "template file, folder, glob, or text file that lists them (default: the starter catalogue)", words(&f.templates, "path")},
		{"workflows,w", "workflow file or folder", words(&f.workflows, "path")},
		{"update-template-dir,ud", "folder of templates: relative paths are looked for in it, and without any all of it is used", text(&f.folder, "folder")},
		{"validate", "check the templates and send nothing, as 'vedette templates validate' does", toggle(&f.validate)},
		{"no-strict-syntax,nss", "pass over unknown keys in templates", toggle(&f.load.Lenient)},
		{"allow-local-file-access,lfa", "let templates read payloads from anywhere on this machine", toggle(&f.load.LocalFiles)},
		{"dast", "run fuzzing templates, and nothing but these", toggle(&allow.DAST)},
		{"fuzz", "the old name of --dast", toggle(&allow.DAST)},
		{"fuzz-aggression,fa", "payloads of fuzzing templates: low, medium or high", oneOf(&f.load.Aggression, "low", "medium", "high")},
		{"fuzzing-type,ft", "how all fuzzing rules change a value, whatever they say", oneOf(&f.program.FuzzType, "replace", "prefix", "postfix", "infix")},
		{"fuzzing-mode,fm", "whether all fuzzing rules change one value at a time or all", oneOf(&f.program.FuzzMode, "single", "multiple")},
		{"enable-self-contained,esc", "run templates that name their own hosts; see --scope", toggle(&allow.SelfContained)},
		{"enable-global-matchers,egm", "judge every answer by the templates that want to see all", toggle(&allow.GlobalMatchers)},
		{"disable-unsigned-templates,dut", "run verified templates only", toggle(&allow.VerifiedOnly)},
		{"code", "count templates that run programs as not supported, instead of skipping them", toggle(&allow.Code)},
		{"headless", "count templates that drive a browser as not supported, instead of skipping them", toggle(&allow.Headless)},
		{"file", "count templates that read files as not supported, instead of skipping them", toggle(&allow.File)},
	}
}

func (f *scanFlags) filterOptions() []option {
	filter := &f.load.Filter
	return []option{
		{"tags", "only templates with one of these tags", wordsOf(&filter.Tags)},
		{"exclude-tags,etags", "no templates with one of these tags", wordsOf(&filter.ExcludeTags)},
		{"include-tags,itags", "templates with one of these tags, whatever excludes them", wordsOf(&filter.IncludeTags)},
		{"severity,s", "only templates of these severities", chosen(&filter.Severity, cli.Severities...)},
		{"exclude-severity,es", "no templates of these severities", chosen(&filter.ExcludeSeverity, cli.Severities...)},
		{"author,a", "only templates by one of these authors", wordsOf(&filter.Authors)},
		{"template-id,id", "only templates with one of these ids; * ? and [] stand for letters", wordsOf(&filter.ID)},
		{"exclude-id,eid", "no templates with one of these ids", wordsOf(&filter.ExcludeID)},
		{"include-templates,it", "paths of templates that run whatever excludes them", words(&filter.IncludeTemplates, "path")},
		{"exclude-templates,et", "paths of templates that do not run", words(&filter.ExcludeTemplates, "path")},
		{"exclude-matchers,em", "matchers that are left out, as template:matcher; either may be *", wordsOf(&f.matchers)},
		{"type,pt", "only templates of these types, such as http or dns", chosen(&filter.Type, templateTypes...)},
		{"exclude-type,ept", "no templates of these types", chosen(&filter.ExcludeType, templateTypes...)},
		{"template-condition,tc", "only templates for which this expression is true; repeatable", texts(&filter.Conditions, "expression")},
	}
}

// templateTypes are the words of --type.
var templateTypes = []string{"http", "dns", "file", "headless", "tcp", "network", "ssl", "websocket", "whois", "code", "javascript", "workflow", "workflows"}

func (f *scanFlags) requestOptions() []option {
	p := &f.program
	return []option{
		{"header,H", "header for every request, as 'Name: value', or a file of them; repeatable", texts(&f.headers, "header")},
		{"var,V", "variable for templates, as name=value; the lines of a file it names are payloads, too; repeatable", texts(&f.vars, "name=value")},
		{"follow-redirects,fr", "follow redirects in all templates", toggle(&p.FollowRedirects)},
		{"follow-host-redirects,fhr", "follow redirects on the same host in all templates", toggle(&p.FollowHostRedirects)},
		{"max-redirects,mr", "redirects to follow at most (default 10)", number(&p.MaxRedirects, 0)},
		{"disable-redirects,dr", "follow no redirects", toggle(&p.NoRedirects)},
		{"attack-type,at", "how all templates combine payloads: batteringram, pitchfork or clusterbomb", oneOf(&p.Attack, "batteringram", "pitchfork", "clusterbomb")},
		{"response-size-read,rsr", "bytes of an answer to read (default: the template's word, or 10 MiB)", number(&p.MaxSize, 0)},
		{"stop-at-first-match,spm", "stop each template at its first match on a target", toggle(&f.stopAtFirst)},
		{"timeout", "seconds to wait for a connection, and for an answer", number(&f.timeout, 1)},
		{"retries", "further tries of a request that failed", number(&f.retries, 0)},
	}
}

func (f *scanFlags) paceOptions() []option {
	return []option{
		{"rate-limit,rl", "requests in each --rate-limit-duration at most; 0: no limit", number(&f.rate, 0)},
		{"rate-limit-duration,rld", "what --rate-limit is counted over", span(&f.rateWindow)},
		{"rate-limit-minute,rlm", "requests a minute at most, instead of --rate-limit", number(&f.ratePerMinute, 0)},
		{"per-host-rate-limit", "the rate is that of each host, and there is none for all", toggle(&f.ratePerHost)},
		{"concurrency,c", "requests to one host at once", number(&f.concurrency, 1)},
		{"bulk-size,bs", "targets at once", number(&f.atOnce, 1)},
		{"max-requests", "end the scan after so many requests; 0: no limit", number(&f.maxRequests, 0)},
	}
}

func (f *scanFlags) outputOptions() []option {
	return []option{
		{"output,o", "write findings to this file, too; json prints events as --jsonl does", text(&f.out, "file")},
		{"jsonl,j", "print events as JSON, one a line", toggle(&f.jsonl)},
		{"silent", "print findings only", toggle(&f.silent)},
		{"no-color,nc", "print without colours", toggle(&f.noColor)},
		{"omit-raw,or", "leave requests and responses out of events", toggle(&f.omitRaw)},
		{"include-rr,irr", "put requests and responses into events", toggle(&f.raw)},
		{"no-meta,nm", "print the places of findings only", toggle(&f.noMeta)},
		{"timestamp,ts", "print when each was found", toggle(&f.stamp)},
		{"matcher-status,ms", "print an event for each template that did not match, too", toggle(&f.status)},
		{"fail-on", "exit with 6 when there is a finding of this severity or worse", oneOf(&f.fail, cli.Severities...)},
		{"stats", "print how far the scan is", toggle(&f.stats)},
		{"stats-json,sj", "print it as JSON, one object a line", toggle(&f.statsJSON)},
		{"stats-interval,si", "seconds between two prints", number(&f.statsEvery, 1)},
	}
}

func (f *scanFlags) settingOptions() []option {
	return []option{
		{"config", "file (YAML) with flags by their long names; those of the command line win", text(&f.config, "file")},
		{"profile,tp", "the same, as a file or as a name in the folder profiles of the templates", text(&f.profile, "name")},
		{"profile-list,tpl", "list the profiles of the templates", toggle(&f.profiles)},
	}
}
