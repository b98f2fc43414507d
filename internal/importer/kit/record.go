// Package kit has what readers of other tools' reports share: the record that they make, streams of JSON, XML, CSV
// and lines that stay small however large the file is, and how a format is recognised.
//
// A reader walks a report once (twice where a table that findings refer to may stand behind them), takes one item at a
// time out of it, and hands on one Record for each sighting. Memory is bounded by the largest item, which is bounded
// too: what is larger is rejected, with its place, and reading goes on.
package kit

import "time"

// Severity is how bad a tool says a weakness is, in one scale for all tools.
type Severity string

// The severities. Unknown means that the report says nothing that can be mapped.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
	Info     Severity = "info"
	Unknown  Severity = "unknown"
)

// Severities are all severities, worst first.
var Severities = []Severity{Critical, High, Medium, Low, Info, Unknown}

// Class is the kind of weakness, which decides what makes two sightings the same.
type Class string

// The classes.
const (
	ClassCVE        Class = "cve"        // a known vulnerability of what runs at a host
	ClassWeb        Class = "web"        // a weakness of an application: URL, parameter
	ClassConfig     Class = "config"     // a setting of a service, a cluster, a file that describes them
	ClassExposure   Class = "exposure"   // something can be reached: a port, a name, a page
	ClassCode       Class = "code"       // a weakness in source code
	ClassSecret     Class = "secret"     // a credential in a file, a repository or an image
	ClassPackage    Class = "package"    // a vulnerability of a dependency
	ClassCompliance Class = "compliance" // a control of a benchmark that is not met
)

// Status is what the tool, or a person in the tool, says about the finding.
type Status string

// The states. The zero value means that the tool has no states.
const (
	Open          Status = "open"
	Fixed         Status = "fixed"
	FalsePositive Status = "false_positive"
	AcceptedRisk  Status = "accepted_risk"
	NotAffected   Status = "not_affected"
)

// Where SeenAt comes from.
const (
	SeenInRecord = "record"
	SeenInReport = "report"
)

// Record is one sighting of a weakness by another tool, as the tool reported it: nothing is merged.
type Record struct {
	Tool        string `json:"tool"` // the scanner's name in lower case, such as nessus
	ToolVersion string `json:"tool_version,omitempty"`
	Check       string `json:"check"` // the tool's stable id of what it tested: rule, plugin, template; else the title
	Matcher     string `json:"matcher,omitempty"`
	Detail      string `json:"detail,omitempty"` // tells apart what one check reports at one place: a header, a cipher
	Class       Class  `json:"class"`
	Title       string `json:"title"`

	Severity     Severity `json:"severity"`
	ToolSeverity string   `json:"tool_severity,omitempty"` // as written in the report
	Confidence   string   `json:"confidence,omitempty"`    // the tool's word or number, in lower case

	CVEs     []string `json:"cves,omitempty"`
	CWEs     []int    `json:"cwes,omitempty"`
	OtherIDs []string `json:"other_ids,omitempty"` // GHSA-…, WASC-…, OSVDB-…, RUSTSEC-…
	CVSS     []CVSS   `json:"cvss,omitempty"`      // newest version first

	Description string   `json:"description,omitempty"`
	Impact      string   `json:"impact,omitempty"`
	Remediation string   `json:"remediation,omitempty"`
	References  []string `json:"references,omitempty"`
	Tags        []string `json:"tags,omitempty"`

	Place    Place    `json:"place"`
	Evidence Evidence `json:"evidence,omitzero"`

	Status     Status    `json:"status,omitempty"`
	StatusText string    `json:"status_text,omitempty"` // the tool's own word, where it says more
	SeenAt     time.Time `json:"seen_at,omitzero"`      // zero: the report has no time, use that of the upload
	SeenFrom   string    `json:"seen_from,omitempty"`   // record or report; empty with a zero SeenAt
	Reference  string    `json:"reference,omitempty"`   // the tool's id of this sighting: hash, uuid, number
	File       string    `json:"file,omitempty"`        // of an archive with several reports
	Line       int       `json:"line,omitempty"`        // of the report where the item begins, from 1
	Position   string    `json:"position,omitempty"`    // of the item in the report, such as results[3]
}

// CVSS is a score of the Common Vulnerability Scoring System.
type CVSS struct {
	Version string  `json:"version"` // 2.0, 3.0, 3.1 or 4.0
	Vector  string  `json:"vector,omitempty"`
	Score   float64 `json:"score,omitempty"` // 0 to 10; 0 with a vector may mean that no score was given
}

// Place is where the weakness is: what an identity needs, in the tool's words but with hosts in lower case.
type Place struct {
	URL       string    `json:"url,omitempty"` // as reported
	Scheme    string    `json:"scheme,omitempty"`
	Host      string    `json:"host,omitempty"` // a name, or an address if the tool knows no name
	IP        string    `json:"ip,omitempty"`
	Port      int       `json:"port,omitempty"`
	Protocol  string    `json:"protocol,omitempty"` // tcp, udp, sctp, icmp
	Service   string    `json:"service,omitempty"`  // the name of the service on the port, if the tool knows it
	Path      string    `json:"path,omitempty"`     // of the URL, without query
	Method    string    `json:"method,omitempty"`
	Parameter Parameter `json:"parameter,omitzero"`

	File       string `json:"file,omitempty"`
	StartLine  int    `json:"start_line,omitempty"` // from 1
	EndLine    int    `json:"end_line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Repository string `json:"repository,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Snippet    string `json:"snippet,omitempty"`
	Symbol     string `json:"symbol,omitempty"` // function, class, or another logical location

	Package   Package  `json:"package,omitzero"`
	Resource  Resource `json:"resource,omitzero"`
	Component string   `json:"component,omitempty"` // of what a tool calls component, project or target
}

// Parameter is an input of a request.
type Parameter struct {
	Name string `json:"name"`
	In   string `json:"in,omitempty"` // query, form, json, header, cookie, path; empty: the tool does not say
}

// Package is a dependency.
type Package struct {
	PURL      string `json:"purl,omitempty"`
	Ecosystem string `json:"ecosystem,omitempty"` // the type of a purl: npm, pypi, deb, golang …
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"` // with its namespace, as the ecosystem writes it
	Version   string `json:"version,omitempty"`
	FixedIn   string `json:"fixed_in,omitempty"` // versions without the weakness
	Manifest  string `json:"manifest,omitempty"` // the file that names or contains it
	Image     string `json:"image,omitempty"`    // the container image that contains it
}

// Resource is something in a cloud or a cluster.
type Resource struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// Evidence is what the tool shows for its claim. Each text is bounded by the kit.
type Evidence struct {
	Request  string `json:"request,omitempty"`
	Response string `json:"response,omitempty"`
	Matched  string `json:"matched,omitempty"`
}

// Rejection is an item of a report that is no record, and why.
type Rejection struct {
	Reason   string `json:"reason"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Position string `json:"position,omitempty"`
}

// Item is a record or a rejection.
type Item struct {
	Record   *Record    `json:"record,omitempty"`
	Rejected *Rejection `json:"rejected,omitempty"`
}

// Summary counts what a report held.
type Summary struct {
	Format     string           `json:"format"`
	Tool       string           `json:"tool,omitempty"`
	Version    string           `json:"tool_version,omitempty"`
	Accepted   int              `json:"accepted"`
	Rejected   int              `json:"rejected"`
	Ignored    int              `json:"ignored"`
	Severities map[Severity]int `json:"severities"`
	Rejections map[string]int   `json:"rejections"` // by reason
	Ignores    map[string]int   `json:"ignores"`    // by reason: what the report holds that is no finding
}
