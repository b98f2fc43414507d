// Package job has the arguments of the jobs that findings queue; jobs says who does them.
package job

// News is the job that tells people that findings are open again, or late.
type News struct {
	TeamID     string   `json:"team_id"`
	RiskEnded  bool     `json:"risk_ended"` // else About says what is the matter
	About      About    `json:"about,omitempty"`
	Weaknesses []string `json:"weaknesses"` // those that are open
	Operation  string   `json:"operation"`  // of their timelines
}

// About is what is the matter with findings.
type About string

// What may be the matter.
const (
	Regression About = "" // they were fixed, and are there again
	DueSoon    About = "due_soon"
	Overdue    About = "overdue"
)

// Kind implements queue.Args.
func (News) Kind() string { return "finding.news" }

// Retest is the job that tests for a finding again.
type Retest struct {
	TeamID    string `json:"team_id"`
	FindingID string `json:"finding_id"`
	N         int64  `json:"n"`
}

// Kind implements queue.Args.
func (Retest) Kind() string { return "finding.retest" }

// File is the job that files a finding of a run in one tracker.
type File struct {
	TeamID    string `json:"team_id"`
	FindingID string `json:"finding_id"`
	ConfigID  string `json:"config_id"`
	Provider  string `json:"provider"`
	SeenIn    string `json:"seen_in"`
}

// Kind implements queue.Args.
func (File) Kind() string { return "finding.file" }

// Ticket is the job that brings a ticket and its issue in step. At most one waits for each ticket.
type Ticket struct {
	TeamID   string `json:"team_id"`
	Hash     string `json:"hash"` // the weakness
	ConfigID string `json:"config_id"`
	Provider string `json:"provider"`
}

// Kind implements queue.Args.
func (Ticket) Kind() string { return "ticket.sync" }
