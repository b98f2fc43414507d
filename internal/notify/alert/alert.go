// Package alert sends alerts about scans and enumerations: to Slack, Discord, Microsoft Teams, Telegram, by mail, and
// to any webhook.
package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what an alert is about.
type Kind string

// The kinds.
const (
	Running    Kind = "running"        // a scan or an enumeration started
	Finished   Kind = "finished"       // it came to its end
	Failed     Kind = "failed_stopped" // it failed, or was stopped
	NewVuln    Kind = "new_vuln"       // a rescan found what was not there before
	NewAsset   Kind = "new_asset"      // a discovery found what was not there before
	SourceDrop Kind = "source_drop"    // a source of a discovery found far less than before
	Regression Kind = "regression"     // a finding that was fixed is there again
	RiskEnded  Kind = "risk_ended"     // the time is over for which the risk of a finding was accepted
	DueSoon    Kind = "due_soon"       // a finding is to be fixed soon
	Overdue    Kind = "overdue"        // a finding was to be fixed by now
	Report     Kind = "report"         // a report that is made on a schedule is ready
)

// Kinds are all kinds.
var Kinds = []Kind{Running, Finished, Failed, NewVuln, NewAsset, SourceDrop, Regression, RiskEnded, DueSoon, Overdue,
	Report}

// Alert is what happened. Its JSON is the body for webhooks; members of other kinds are null.
type Alert struct {
	ID              string     `json:"-"` // the same when it is sent again
	Kind            Kind       `json:"type"`
	Message         string     `json:"message"`
	ScanName        string     `json:"scan_name,omitempty"`
	ScanID          string     `json:"scan_id,omitempty"`
	EnumerationName string     `json:"enumeration_name,omitempty"`
	EnumerationID   string     `json:"enumeration_id,omitempty"`
	ReportName      string     `json:"report_name,omitempty"`
	ExportID        string     `json:"export_id,omitempty"` // of a report
	Running         *Start     `json:"running"`
	Finished        *End       `json:"finished"`
	Failed          *Breakdown `json:"failed_stopped"`
}

// Start is the beginning of a scan; an enumeration has only StartedAt.
type Start struct {
	StartedAt      time.Time `json:"started_at"`
	TotalTargets   int       `json:"total_targets,omitempty"`
	TotalTemplates int       `json:"total_templates,omitempty"`
	TotalRequests  int       `json:"total_requests,omitempty"`
}

// End is the end of a scan or an enumeration, with its results.
type End struct {
	FinishedAt      time.Time      `json:"finished_at"`
	ScanTime        string         `json:"scan_time,omitempty"` // such as 4500s
	TotalMatches    int            `json:"total_matches"`
	Severities      map[string]int `json:"severity_breakdown,omitempty"`
	NewVulns        int            `json:"rescan_new_vulnerabilities,omitempty"`
	NewVulnsList    []Vuln         `json:"rescan_vulns_list,omitempty"` // 15 at most
	EnumerationTime string         `json:"enumeration_time,omitempty"`
	TotalAssets     int            `json:"total_assets,omitempty"`
	NewAssets       int            `json:"new_assets,omitempty"`
	NewAssetsList   []Asset        `json:"new_assets_list,omitempty"`
}

// Vuln is one kind of finding, counted.
type Vuln struct {
	Name     string `json:"Name"`
	Severity string `json:"Severity"`
	Count    int    `json:"Count"`
}

// Asset is one thing that was discovered.
type Asset struct {
	Host string   `json:"host"`
	Port int      `json:"port"`
	IP   []string `json:"ip"`
}

// Breakdown is a failure or a stop.
type Breakdown struct {
	Timestamp time.Time `json:"timestamp"`
	Progress  int       `json:"progress"` // 0 to 100
	Reason    string    `json:"failure_reason"`
}

const maxListed = 15

// only keeps the counts and lists of some severities; none: all.
func (a Alert) only(severities []string) Alert {
	if len(severities) == 0 || a.Finished == nil {
		return a
	}
	end := *a.Finished
	end.Severities, end.TotalMatches, end.NewVulnsList = map[string]int{}, 0, nil
	for name, n := range a.Finished.Severities {
		if slices.Contains(severities, name) {
			end.Severities[name] = n
			end.TotalMatches += n
		}
	}
	for _, v := range a.Finished.NewVulnsList {
		if slices.Contains(severities, v.Severity) {
			end.NewVulnsList = append(end.NewVulnsList, v)
		}
	}
	if a.Finished.NewVulnsList != nil {
		end.NewVulns = 0
		for _, v := range end.NewVulnsList {
			end.NewVulns += v.Count
		}
	}
	a.Finished = &end
	return a
}

// text is the alert in words. It has text from targets as it is: each channel encodes it.
func (a Alert) text() string {
	var b strings.Builder
	b.WriteString(a.Message)
	if f := a.Failed; f != nil && f.Reason != "" {
		fmt.Fprintf(&b, "\n%d %%: %s", f.Progress, f.Reason)
	}
	if a.Finished == nil {
		return b.String()
	}
	var counts []string
	for _, severity := range []string{"critical", "high", "medium", "low", "info", "unknown"} {
		if n := a.Finished.Severities[severity]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, severity))
		}
	}
	if len(counts) > 0 {
		b.WriteString("\n" + strings.Join(counts, ", "))
	}
	for _, v := range a.Finished.NewVulnsList[:min(len(a.Finished.NewVulnsList), maxListed)] {
		fmt.Fprintf(&b, "\n• %s (%s) × %d", v.Name, v.Severity, v.Count)
	}
	for _, asset := range a.Finished.NewAssetsList[:min(len(a.Finished.NewAssetsList), maxListed)] {
		fmt.Fprintf(&b, "\n• %s:%d", asset.Host, asset.Port)
	}
	return b.String()
}
