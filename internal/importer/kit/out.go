package kit

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Sizes of what is kept of a record; more is cut, at a character.
const (
	maxTitle    = 512
	maxName     = 4 << 10
	maxText     = 64 << 10
	maxEvidence = 256 << 10
	maxList     = 500
	maxReasons  = 100 // distinct reasons that a summary counts
)

// Out takes what a reader finds: records, rejections, and counts of what is no finding.
type Out struct {
	ctx  context.Context
	give func(Item) error
	sum  *Summary
	file string // of an archive
	at   time.Time
	tool string // the format's
	def  Class
}

// Report says which tool wrote the report and when; empty values change nothing. Records that follow take them over,
// unless they have their own.
func (o *Out) Report(tool, version string, at time.Time) {
	if tool = strings.ToLower(strings.TrimSpace(tool)); tool != "" {
		o.sum.Tool = clip(tool, maxTitle)
	}
	if version != "" {
		o.sum.Version = clip(version, maxTitle)
	}
	if !at.IsZero() {
		o.at = at.UTC()
	}
}

// Add hands on a record. One without a title and a check is rejected. It fails when the receiver does.
func (o *Out) Add(r Record) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	r.Title = clip(oneLine(r.Title), maxTitle)
	r.Check = clip(oneLine(r.Check), maxName)
	if r.Title == "" {
		r.Title = clip(r.Check, maxTitle)
	}
	if r.Check == "" {
		r.Check = r.Title
	}
	if r.Title == "" {
		return o.Reject(r.Line, r.Position, "it names neither a check nor a title")
	}
	r.Tool = first(strings.ToLower(r.Tool), o.sum.Tool, o.tool)
	r.ToolVersion = first(r.ToolVersion, o.sum.Version)
	r.File = o.file
	if r.Class == "" {
		r.Class = o.def
	}
	if !slices.Contains(Severities, r.Severity) {
		r.Severity = Unknown
	}
	if r.SeenAt.IsZero() && !o.at.IsZero() {
		r.SeenAt, r.SeenFrom = o.at, SeenInReport
	} else if !r.SeenAt.IsZero() {
		r.SeenAt, r.SeenFrom = r.SeenAt.UTC(), SeenInRecord
	}
	r.Place.complete()
	r.Place.Package.complete()
	r.bound()
	o.sum.Accepted++
	o.sum.Severities[r.Severity]++
	return o.give(Item{Record: &r})
}

// Reject hands on that an item of the report is no record, and why; line and position may be unknown.
func (o *Out) Reject(line int, position, reason string) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	reason = clip(oneLine(reason), maxTitle)
	o.sum.Rejected++
	count(o.sum.Rejections, reason, 1)
	return o.give(Item{Rejected: &Rejection{Reason: reason, File: o.file, Line: line, Position: clip(position, maxTitle)}})
}

// Ignore counts n items that the report holds and that are no findings, with the reason.
func (o *Out) Ignore(n int, reason string) {
	if n > 0 {
		o.sum.Ignored += n
		count(o.sum.Ignores, reason, n)
	}
}

func count(reasons map[string]int, reason string, n int) {
	if _, known := reasons[reason]; !known && len(reasons) >= maxReasons {
		reason = "other reasons"
	}
	reasons[reason] += n
}

func (r *Record) bound() {
	for _, s := range []*string{
		&r.Tool, &r.ToolVersion, &r.Matcher, &r.ToolSeverity, &r.StatusText, &r.Reference, &r.Position,
		&r.Place.URL, &r.Place.Host, &r.Place.Path, &r.Place.File, &r.Place.Repository, &r.Place.Snippet, &r.Place.Symbol,
		&r.Place.Component, &r.Place.Parameter.Name, &r.Place.Package.PURL, &r.Place.Package.Name, &r.Place.Package.Version,
		&r.Place.Package.FixedIn, &r.Place.Package.Manifest, &r.Place.Package.Image, &r.Place.Resource.Kind,
		&r.Place.Resource.Namespace, &r.Place.Resource.Name, &r.Place.Commit, &r.Place.Service, &r.Place.Method,
	} {
		*s = clip(strings.TrimSpace(*s), maxName)
	}
	r.Confidence = clip(strings.ToLower(strings.TrimSpace(r.Confidence)), maxTitle)
	for _, s := range []*string{&r.Description, &r.Impact, &r.Remediation} {
		*s = clip(strings.TrimSpace(*s), maxText)
	}
	for _, s := range []*string{&r.Evidence.Request, &r.Evidence.Response, &r.Evidence.Matched} {
		*s = clip(*s, maxEvidence)
	}
	r.CVEs, r.OtherIDs = distinct(r.CVEs), distinct(r.OtherIDs)
	r.References, r.Tags = distinct(r.References), distinct(r.Tags)
	slices.Sort(r.CWEs)
	r.CWEs = slices.Compact(r.CWEs)
	r.CWEs = r.CWEs[:min(len(r.CWEs), maxList)]
	r.CVSS = r.CVSS[:min(len(r.CVSS), 8)]
	slices.SortStableFunc(r.CVSS, func(a, b CVSS) int { return strings.Compare(b.Version, a.Version) })
}

// complete fills the parts of the place that follow from others: those of the URL, the address that a host is.
func (p *Place) complete() {
	if p.URL != "" {
		p.fromURL()
	}
	p.Host = strings.TrimSuffix(strings.ToLower(strings.Trim(strings.TrimSpace(p.Host), "[]")), ".")
	p.Scheme, p.Protocol = strings.ToLower(p.Scheme), strings.ToLower(p.Protocol)
	if ip, err := netip.ParseAddr(strings.Trim(p.IP, "[] ")); err == nil {
		p.IP = ip.Unmap().String()
	}
	if ip, err := netip.ParseAddr(p.Host); err == nil {
		p.Host = ip.Unmap().String()
		p.IP = first(p.IP, p.Host)
	}
	p.Host = first(p.Host, p.IP)
	p.Method = strings.ToUpper(p.Method)
	if p.Port < 0 || p.Port > 65535 {
		p.Port = 0
	}
	if p.Port == 0 {
		p.Port = defaultPorts[p.Scheme]
	}
	if p.Protocol == "" && p.Port > 0 && p.Scheme != "" {
		p.Protocol = "tcp"
	}
}

// ecosystems are the types of purls for the names that tools use instead.
var ecosystems = map[string]string{
	"go": "golang", "gomod": "golang", "gomodules": "golang", "go-module": "golang",
	"gobinary": "golang", "golangdep": "golang",
	"pip": "pypi", "pipenv": "pypi", "poetry": "pypi", "python": "pypi", "python-pkg": "pypi", "uv": "pypi",
	"yarn": "npm", "pnpm": "npm", "node-pkg": "npm", "javascript": "npm", "node": "npm",
	"jar": "maven", "pom": "maven", "gradle": "maven", "java-archive": "maven", "java": "maven", "sbt": "maven",
	"bundler": "gem", "rubygems": "gem", "gemspec": "gem", "ruby": "gem",
	"crates.io": "cargo", "rust-crate": "cargo", "rustbinary": "cargo", "rust": "cargo",
	"packagist": "composer", "php": "composer", "dotnet-core": "nuget", "dotnet": "nuget",
	"debian": "deb", "ubuntu": "deb", "dpkg": "deb", "alpine": "apk", "wolfi": "apk", "chainguard": "apk", "linux": "",
	"redhat": "rpm", "centos": "rpm", "rocky": "rpm", "alma": "rpm", "amazon": "rpm", "oracle": "rpm", "suse": "rpm",
	"fedora": "rpm", "photon": "rpm", "cbl-mariner": "rpm", "azurelinux": "rpm",
}

// complete spells the ecosystem as purls do; what stands behind a colon is the version of a distribution.
func (p *Package) complete() {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(p.Ecosystem)), ":")
	if purl, known := ecosystems[name]; known {
		name = purl
	}
	p.Ecosystem = clip(name, maxTitle)
}

var defaultPorts = map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ssh": 22}

func (p *Place) fromURL() {
	raw := strings.TrimSpace(p.URL)
	if strings.HasPrefix(raw, "//") {
		raw = "https:" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" { // a URL with broken escapes still has a host
		scheme, rest, found := strings.Cut(raw, "://")
		if !found || strings.ContainsAny(scheme, " /?#") {
			return
		}
		authority, path, _ := strings.Cut(rest, "/")
		u, err = url.Parse(scheme + "://" + authority)
		if err != nil {
			return
		}
		path, _, _ = strings.Cut(path, "#")
		path, _, _ = strings.Cut(path, "?")
		p.Path = first(p.Path, "/"+path)
	}
	p.Scheme = first(p.Scheme, strings.ToLower(u.Scheme))
	p.Host = first(p.Host, u.Hostname())
	if p.Port == 0 {
		p.Port = Int(u.Port())
	}
	p.Path = first(p.Path, u.EscapedPath())
	if p.Path == "" && (p.Scheme == "http" || p.Scheme == "https") {
		p.Path = "/"
	}
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// First is the first text that is not blank.
func First(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}

// clip cuts a text at a character, and makes it valid UTF-8.
func clip(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = strings.Clone(s[:limit])
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// oneLine replaces runs of blanks and line ends by one blank.
func oneLine(s string) string {
	if len(s) > 4*maxName {
		s = clip(s, 4*maxName)
	}
	return strings.Join(strings.Fields(s), " ")
}

// distinct are the texts that are not blank, each once, in their order.
func distinct(texts []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, t := range texts {
		if t = clip(strings.TrimSpace(t), maxName); t != "" && !seen[t] && len(all) < maxList {
			seen[t] = true
			all = append(all, t)
		}
	}
	return all
}
