package load

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Profile is a file of scan options by the long names of their flags (section 1.9 of the
// template language). A zero or empty value was not written.
type Profile struct {
	Load Options // Paths, Filter, Allow, Lenient, LocalFiles and Aggression

	Targets, ExcludeHosts []string
	Headers, Vars         []string // "Name: value" and name=value

	RateLimit, Concurrency, BulkSize, PayloadConcurrency int
	Timeout                                              int // seconds
	Retries, MaxHostErrors, MaxRedirects, ReadSize       int // ReadSize in bytes
	FollowRedirects, FollowHostRedirects, NoRedirects    bool
	StopAtFirstMatch, NoInteractsh                       bool
	Attack                                               string

	// Notes are the options that were written and that scans here do not have.
	Notes []string
}

// profileKeys says where the value of a key goes: to texts, a text, a number or a switch.
var profileKeys = map[string]func(*Profile) any{
	"templates":               func(p *Profile) any { return &p.Load.Paths },
	"workflows":               func(p *Profile) any { return &p.Load.Paths },
	"tags":                    func(p *Profile) any { return &p.Load.Filter.Tags },
	"exclude-tags":            func(p *Profile) any { return &p.Load.Filter.ExcludeTags },
	"include-tags":            func(p *Profile) any { return &p.Load.Filter.IncludeTags },
	"author":                  func(p *Profile) any { return &p.Load.Filter.Authors },
	"severity":                func(p *Profile) any { return &p.Load.Filter.Severity },
	"exclude-severity":        func(p *Profile) any { return &p.Load.Filter.ExcludeSeverity },
	"type":                    func(p *Profile) any { return &p.Load.Filter.Type },
	"exclude-type":            func(p *Profile) any { return &p.Load.Filter.ExcludeType },
	"template-id":             func(p *Profile) any { return &p.Load.Filter.ID },
	"exclude-id":              func(p *Profile) any { return &p.Load.Filter.ExcludeID },
	"include-templates":       func(p *Profile) any { return &p.Load.Filter.IncludeTemplates },
	"exclude-templates":       func(p *Profile) any { return &p.Load.Filter.ExcludeTemplates },
	"template-condition":      func(p *Profile) any { return (*whole)(&p.Load.Filter.Conditions) },
	"headless":                func(p *Profile) any { return &p.Load.Allow.Headless },
	"code":                    func(p *Profile) any { return &p.Load.Allow.Code },
	"file":                    func(p *Profile) any { return &p.Load.Allow.File },
	"dast":                    func(p *Profile) any { return &p.Load.Allow.DAST },
	"fuzz":                    func(p *Profile) any { return &p.Load.Allow.DAST },
	"enable-self-contained":   func(p *Profile) any { return &p.Load.Allow.SelfContained },
	"enable-global-matchers":  func(p *Profile) any { return &p.Load.Allow.GlobalMatchers },
	"no-strict-syntax":        func(p *Profile) any { return &p.Load.Lenient },
	"allow-local-file-access": func(p *Profile) any { return &p.Load.LocalFiles },
	"target":                  func(p *Profile) any { return &p.Targets },
	"targets-inline":          func(p *Profile) any { return &p.Targets },
	"exclude-hosts":           func(p *Profile) any { return &p.ExcludeHosts },
	"header":                  func(p *Profile) any { return (*whole)(&p.Headers) },
	"var":                     func(p *Profile) any { return (*whole)(&p.Vars) },
	"rate-limit":              func(p *Profile) any { return &p.RateLimit },
	"concurrency":             func(p *Profile) any { return &p.Concurrency },
	"bulk-size":               func(p *Profile) any { return &p.BulkSize },
	"payload-concurrency":     func(p *Profile) any { return &p.PayloadConcurrency },
	"timeout":                 func(p *Profile) any { return &p.Timeout },
	"retries":                 func(p *Profile) any { return &p.Retries },
	"max-host-error":          func(p *Profile) any { return &p.MaxHostErrors },
	"max-redirects":           func(p *Profile) any { return &p.MaxRedirects },
	"response-size-read":      func(p *Profile) any { return &p.ReadSize },
	"follow-redirects":        func(p *Profile) any { return &p.FollowRedirects },
	"follow-host-redirects":   func(p *Profile) any { return &p.FollowHostRedirects },
	"disable-redirects":       func(p *Profile) any { return &p.NoRedirects },
	"stop-at-first-match":     func(p *Profile) any { return &p.StopAtFirstMatch },
	"no-interactsh":           func(p *Profile) any { return &p.NoInteractsh },
	"attack-type":             func(p *Profile) any { return &p.Attack },
	"fuzz-aggression":         func(p *Profile) any { return &p.Load.Aggression },

	"disable-unsigned-templates": func(p *Profile) any { return &p.Load.Allow.VerifiedOnly },
}

// otherOptions are the long names of the options that exist, and that profiles here
// only note.
var otherOptions = strings.Fields(`
list resume scan-all-ips ip-version input-mode required-only skip-format-validation vars-text-templating var-file-paths
new-templates new-templates-version automatic-scan template-url prompt workflow-url validate template-display tl tgl
remote-template-domain sign exclude-matchers output store-resp store-resp-dir silent no-color jsonl include-rr omit-raw
omit-template no-meta timestamp report-db matcher-status markdown-export sarif-export json-export jsonl-export pdf-export
redact config profile profile-list report-config resolvers system-resolvers disable-clustering passive force-http2
env-vars client-cert client-key client-ca show-match-line ztls sni dialer-keep-alive restrict-local-network-access
interface source-ip response-size-save reset tls-impersonate http-api-endpoint interactsh-server interactsh-token
interactions-cache-size interactions-eviction interactions-poll-duration interactions-cooldown-period fuzzing-type
fuzzing-mode dast-server dast-report dast-server-token dast-server-address display-fuzz-points fuzz-param-frequency
fuzz-scope fuzz-out-scope uncover uncover-query uncover-engine uncover-field uncover-limit uncover-ratelimit
rate-limit-duration per-host-rate-limit rate-limit-minute headless-bulk-size headless-concurrency js-concurrency
probe-concurrency template-loading-concurrency leave-default-ports track-error no-mhe project project-path stream
scan-strategy input-read-timeout no-httpx preflight-portscan no-stdin page-timeout show-browser headless-options
system-chrome cdp-endpoint list-headless-action debug debug-req debug-resp proxy proxy-internal list-dsl-function
trace-log error-log version hang-monitor verbose profile-mem vv show-var-dump var-dump-limit enable-pprof
templates-version health-check update update-templates update-template-dir disable-update-check honeypot-detect
honeypot-threshold suppress-honeypot stats stats-json stats-interval metrics-port http-stats auth team-id cloud-upload
scan-id scan-name dashboard dashboard-upload secret-file prefetch-secrets`)

// ReadProfile reads a profile: a file, or a name that one of the roots has in its folder
// profiles. The error names the file, line and key at fault.
func ReadProfile(name string, roots []string) (*Profile, error) {
	candidates := []string{name}
	if filepath.Base(name) == name {
		for _, root := range roots {
			at := filepath.Join(root, "profiles", name)
			candidates = append(candidates, at+".yml", at+".yaml")
		}
	}
	for _, at := range candidates {
		if info, err := os.Stat(at); err != nil || info.IsDir() {
			continue
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return nil, errs.Field("profile", "%v", err)
		}
		return parseProfile(at, data)
	}
	return nil, errs.Field("profile", "there is no profile %s", name)
}

// Profiles are the names of the profiles that the roots have, in order.
func Profiles(roots []string) (names []string) {
	for _, root := range roots {
		files, err := os.ReadDir(filepath.Join(root, "profiles"))
		if err != nil {
			continue // a folder without profiles
		}
		for _, file := range files {
			if ext := filepath.Ext(file.Name()); ext == ".yml" || ext == ".yaml" {
				names = append(names, strings.TrimSuffix(file.Name(), ext))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func parseProfile(path string, data []byte) (*Profile, error) {
	settings, err := syntax.Settings(path, data)
	if err != nil {
		return nil, err
	}
	p := new(Profile)
	for _, s := range settings {
		place, known := profileKeys[s.Name]
		switch {
		case !known && slices.Contains(otherOptions, s.Name):
			p.Notes = append(p.Notes, s.Name)
		case !known:
			return nil, syntax.Fault(path, s.Line, 0, s.Name, "there is no such option")
		case !set(place(p), s):
			return nil, syntax.Fault(path, s.Line, 0, s.Name, "the value is of the wrong kind")
		}
	}
	return p, nil
}

// whole are texts that may have commas inside.
type whole []string

// set puts a value in its place, if it is of the right kind.
func set(place any, s syntax.Variable) bool {
	switch place := place.(type) {
	case *[]string:
		list, ok := texts(s)
		*place = append(*place, words(list, false)...)
		return ok
	case *whole:
		list, ok := texts(s)
		*place = append(*place, list...)
		return ok
	case *string:
		*place = s.Value
		_, ok := s.Data.(string)
		return ok
	case *int:
		n, ok := s.Data.(int)
		*place = n
		return ok && n >= 0
	case *bool:
		on, ok := s.Data.(bool)
		*place = *place || on
		return ok
	}
	return false
}

// texts are the values of a setting: those of a list, or one.
func texts(s syntax.Variable) (out []string, ok bool) {
	list, isList := s.Data.([]any)
	if !isList {
		list = []any{s.Data}
	}
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case int:
			out = append(out, strconv.Itoa(v))
		case nil:
		default:
			return nil, false
		}
	}
	return out, true
}
