package findings

import (
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset/document"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
)

// VulnerabilityEvent is what was seen (specification, VulnerabilityEvent); its keys are
// those of the events that nuclei writes.
type VulnerabilityEvent struct {
	CurlCommand      string                          `json:"curl-command,omitempty" doc:"The request as a curl command."`
	ExtractedResults []string                        `json:"extracted-results,omitempty" doc:"What was extracted from the answer."`
	ExtractorName    string                          `json:"extractor-name,omitempty" doc:"The name of the extractor."`
	Host             string                          `json:"host,omitempty"`
	Info             VulnerabilityInfo               `json:"info" doc:"What the template says of itself."`
	IP               string                          `json:"ip,omitempty"`
	MatchedAt        string                          `json:"matched-at,omitempty" doc:"Location: a URL, or host and port."`
	MatchedLine      []int                           `json:"matched-line,omitempty" doc:"The lines of a file that matched, as an uploaded result says; absent for pages."`
	MatcherName      string                          `json:"matcher-name,omitempty" doc:"The name of the matcher that matched."`
	MatcherStatus    bool                            `json:"matcher-status"`
	Path             string                          `json:"path,omitempty" doc:"The path that was asked for, without the query."`
	Request          string                          `json:"request,omitempty" doc:"The request as it was sent; not in lists."`
	Response         string                          `json:"response,omitempty" doc:"What came back; not in lists."`
	Compared         []ComparedRequest               `json:"compared,omitempty" doc:"Requests with whose answers that one was compared, such as the other one of a blind test or the control of a verification; not in lists."`
	TemplateID       string                          `json:"template-id"`
	TemplatePath     string                          `json:"template-path,omitempty"`
	Timestamp        string                          `json:"timestamp,omitempty"`
	Type             string                          `json:"type,omitempty" doc:"The protocol."`
	Error            string                          `json:"error,omitempty"`
	IssueTrackers    map[string]VulnerabilityTracker `json:"issue_trackers,omitempty" doc:"The issues that were filed for it, by tracker: jira, github, gitlab, linear, custom."`
	Port             string                          `json:"port,omitempty"`
}

// ComparedRequest is a request that the one of a finding was compared with.
type ComparedRequest struct {
	Note     string `json:"note,omitempty" doc:"What it shows."`
	Request  string `json:"request" doc:"At most 16 KiB."`
	Response string `json:"response" doc:"At most 16 KiB."`
}

// VulnerabilityTracker is an issue in a tracker.
type VulnerabilityTracker struct {
	ID  string `json:"id"`
	URL string `json:"url"`
}

// VulnerabilityInfo is what a template says of itself.
type VulnerabilityInfo struct {
	Name           string                       `json:"name"`
	Author         []string                     `json:"author"`
	Tags           []string                     `json:"tags"`
	Description    string                       `json:"description,omitempty"`
	Impact         string                       `json:"impact,omitempty"`
	Remediation    string                       `json:"remediation,omitempty"`
	Severity       string                       `json:"severity" doc:"One of critical, high, medium, low, info, unknown."`
	Reference      []string                     `json:"reference,omitempty"`
	Classification *VulnerabilityClassification `json:"classification,omitempty" doc:"Its place in public catalogues."`
	Metadata       map[string]any               `json:"metadata,omitempty" doc:"What else the template says."`
}

// VulnerabilityClassification places a finding in public catalogues.
type VulnerabilityClassification struct {
	CPE            string   `json:"cpe,omitempty" doc:"The product."`
	CVEID          []string `json:"cve-id,omitempty"`
	CVSSMetrics    string   `json:"cvss-metrics,omitempty"`
	CVSSScore      float64  `json:"cvss-score,omitempty"`
	CWEID          []string `json:"cwe-id,omitempty"`
	EPSSPercentile float64  `json:"epss-percentile,omitempty"`
	EPSSScore      float64  `json:"epss-score,omitempty"`
}

// Vulnerability is what a finding is in lists and alone.
type Vulnerability struct {
	ID              string     `json:"id,omitempty" doc:"The same as vuln_id."`
	VulnID          string     `json:"vuln_id"`
	VulnHash        string     `json:"vuln_hash,omitempty" doc:"Of what was found where: the same in every scan."`
	VulnStatus      string     `json:"vuln_status,omitempty" enum:"open,false_positive,fixed,duplicate,fix_in_progress,accepted_risk,triaged" doc:"Triage status."`
	Proof           string     `json:"proof" enum:"replayable,unproven" doc:"replayable: the template that showed it is known, so that the proof can be sent again. unproven: it is not, as in the report of another tool."`
	ScanID          string     `json:"scan_id" doc:"The scan that saw it; empty where a task did."`
	TaskID          string     `json:"task_id,omitempty" doc:"The task that saw it."`
	Target          string     `json:"target"`
	TemplateID      string     `json:"template_id"`
	TemplatePath    string     `json:"template_path,omitempty"`
	TemplateURL     string     `json:"template_url,omitempty" doc:"Where the template can be read: a path of this server, or the URL in an uploaded result; absent for a team's own."`
	TemplateEncoded string     `json:"template_encoded,omitempty" doc:"The template in base64, where it is a team's own of at most 64 KiB or came with an uploaded result; not in lists."`
	MatcherStatus   bool       `json:"matcher_status"`
	Port            int        `json:"port,omitempty"`
	Labels          []string   `json:"labels"`
	State           string     `json:"state,omitempty" enum:"open,triaged,in_progress,fixed,regressed,false_positive,accepted_risk,duplicate" doc:"vuln_status, and regressed where what was fixed is open again."`
	Assignee        string     `json:"assignee,omitempty" doc:"The member of the team who works on it."`
	DueAt           *time.Time `json:"due_at,omitempty" doc:"By when it is to be fixed, by the policy of the team; absent: it has no date."`
	DueState        string     `json:"due_state,omitempty" enum:"due,soon,overdue" doc:"How late it is; absent: it has no date, or nobody is to fix it any more."`
	EPSSScore       *float64   `json:"epss_score,omitempty" doc:"How likely its CVE is to be exploited, by the feed that the operator has loaded; of several CVEs the highest."`
	IsKEV           bool       `json:"is_kev,omitempty" doc:"true: its CVE is known to be exploited, by the feed that the operator has loaded."`
	CVEs            []CVEFeeds `json:"cves,omitempty" doc:"What the feeds of the operator know of its CVEs; not in exports."`
	IsRegression    bool       `json:"is_regression" doc:"It was fixed, and came back."`
	IsInternal      bool       `json:"is_internal"`
	Remediation     string     `json:"remediation,omitempty"`
	Description     string     `json:"description,omitempty"`
	Impact          string     `json:"impact,omitempty"`
	Reference       []string   `json:"reference,omitempty"`
	CreatedAt       time.Time  `json:"created_at" doc:"First detection."`
	UpdatedAt       time.Time  `json:"updated_at"`
}

// ScanVulnerability is one finding (specification, Scan vulnerability).
type ScanVulnerability struct {
	Vulnerability
	Event         VulnerabilityEvent           `json:"event" doc:"What was seen."`
	AssetMetadata *document.EnumerationContent `json:"asset_metadata,omitempty" doc:"The asset at the host and port."`
}

// VulnerabilityResult is a finding in a list.
type VulnerabilityResult struct {
	Vulnerability
	Event         []VulnerabilityEvent         `json:"event"`
	ResultType    string                       `json:"result_type"`
	AssetMetadata *document.EnumerationContent `json:"asset_metadata,omitempty" doc:"The asset at the host and port; only with asset_metadata=true."`
	host          string
}

func vulnerabilityOf(f finding.Finding) Vulnerability {
	e := f.Event
	v := Vulnerability{
		ID: f.ID, VulnID: f.ID, VulnHash: f.Hash, VulnStatus: string(f.Status), Proof: proofOf(f), ScanID: f.ScanID,
		Target:       f.Target,
		TemplateID:   f.TemplateID,
		TemplatePath: e.TemplatePath, TemplateURL: f.TemplateURL, TemplateEncoded: f.TemplateEncoded,
		MatcherStatus: e.MatcherStatus, Port: f.Port,
		Labels: f.Labels, State: string(move.StateOf(f.Status, f.IsRegression)), Assignee: f.Assignee,
		IsRegression: f.IsRegression, IsInternal: f.IsInternal, Remediation: e.Info.Remediation,
		Description: e.Info.Description,
		Impact:      e.Info.Impact, Reference: e.Info.Reference, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
	if f.IsTask {
		v.TaskID, v.ScanID = f.ScanID, ""
	}
	v.follow(f.Follows)
	return v
}

func eventOf(f finding.Finding) VulnerabilityEvent {
	e := f.Event
	out := VulnerabilityEvent{
		CurlCommand: e.CurlCommand, ExtractedResults: e.ExtractedResults, ExtractorName: e.ExtractorName, Host: e.Host,
		IP: e.IP, MatchedAt: e.MatchedAt,
		MatchedLine: e.MatchedLine, MatcherName: e.MatcherName, MatcherStatus: e.MatcherStatus, Path: e.Path,
		Request: e.Request, Response: e.Response,
		TemplateID: e.TemplateID, TemplatePath: e.TemplatePath, Type: e.Type, Error: e.Error, Port: e.Port,
		Info: VulnerabilityInfo{
			Name: e.Info.Name, Author: rest.OrEmpty(e.Info.Author), Tags: rest.OrEmpty(e.Info.Tags),
			Description: e.Info.Description, Impact: e.Info.Impact,
			Remediation: e.Info.Remediation, Severity: f.Severity, Reference: e.Info.Reference, Metadata: e.Info.Metadata,
		},
	}
	if !e.Timestamp.IsZero() {
		out.Timestamp = e.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	for _, one := range e.Compared {
		out.Compared = append(out.Compared, ComparedRequest(one))
	}
	if c := e.Info.Classification; c != nil {
		out.Info.Classification = &VulnerabilityClassification{c.CPE, c.CVEID, c.CVSSMetrics, c.CVSSScore, c.CWEID,
			c.EPSSPercentile, c.EPSSScore}
	}
	for name, issue := range e.IssueTrackers {
		if out.IssueTrackers == nil {
			out.IssueTrackers = map[string]VulnerabilityTracker{}
		}
		out.IssueTrackers[name] = VulnerabilityTracker{issue.ID, issue.URL}
	}
	return out
}

func resultOf(f finding.Finding) VulnerabilityResult {
	return VulnerabilityResult{vulnerabilityOf(f), []VulnerabilityEvent{eventOf(f)}, "matched", nil, f.Host}
}
