// Package report says what is in a report that can be sent: one Document of blocks in the order in which it is read,
// made from what scans and tasks tested and found. The packages below it draw a Document as PDF, DOCX and HTML; none
// of them decides what is in it.
//
// The order is that of reports of testers: a summary of one page in words; who tested what, when and how, within
// which scope and limits; what was not tested and why; what was found, grouped by cause and the worst first, each
// with the part of the answer that proves it; the state of each finding; an appendix.
package report

import (
	"time"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
)

// Document is a report.
type Document struct {
	Title        string
	Subtitle     string
	Company      string // who wrote it; empty: nobody is named
	Logo         []byte // PNG or JPEG; empty: none
	At           time.Time
	Cover        [][2]string // names and values
	Tiles        []Bar       // findings by severity
	Notice       string      // who may read it
	Blocks       []Block
	CoverPicture Picture
}

// Picture is the format and the size of the logo in pixels.
type Picture struct {
	Format        string // png or jpeg; empty: no logo
	Width, Height int
}

// Kind is what a block is.
type Kind int

// The kinds, with the fields that they use.
const (
	Heading    Kind = iota // Text, Level, Break
	Paragraph              // Text
	Note                   // Text, small
	Facts                  // Facts
	List                   // Items
	Table                  // Header, Rows, Widths
	Bars                   // Bars
	Columns                // Bars, as columns
	FindingTag             // Text, Severity: the head of a cause
	Evidence               // Text (its title), Excerpt
)

// Block is a part of a report.
type Block struct {
	Kind     Kind
	Text     string
	Level    int  // of a heading, from 1
	Break    bool // it begins on a new page
	Severity string
	Facts    [][2]string // without empty values
	Items    []string
	Header   []string
	Rows     [][]string
	Widths   []float64 // of columns, as parts of 1
	Bars     []Bar
	Excerpt  fact.Excerpt
}

// Bar is a number with its name.
type Bar struct {
	Name     string
	N        int
	Severity string // for its colour; empty: none
}

// Audience is who a report is for.
type Audience string

// The audiences.
const (
	Technical Audience = "technical" // who mends what was found: everything
	Executive Audience = "executive" // who decides: without evidence, requests and the appendix
)

// Section is a part of a report that can be left out.
type Section string

// The sections.
const (
	Summary  Section = "summary"
	Scope    Section = "scope"    // who tested what, when and how
	Gaps     Section = "gaps"     // what was not tested and why
	Findings Section = "findings" // each cause
	Proof    Section = "proof"    // requests and answers
	Status   Section = "status"   // the state of each finding
	Appendix Section = "appendix"
)

// Sections are all of them, in order.
var Sections = []Section{Summary, Scope, Gaps, Findings, Proof, Status, Appendix}

// Style is how a team, or whoever asks for one report, wants it to look. It is stored and sent as JSON; an empty field
// leaves the default.
type Style struct {
	Title    string    `json:"title,omitempty" maxLength:"200" doc:"The title on the cover; default: Security findings."`
	Company  string    `json:"company,omitempty" maxLength:"200" doc:"Who wrote the report; in its head and its footer."`
	Client   string    `json:"client,omitempty" maxLength:"200" doc:"For whom it was written."`
	Author   string    `json:"author,omitempty" maxLength:"200" doc:"The people who tested."`
	Contact  string    `json:"contact,omitempty" maxLength:"200" doc:"Whom to ask."`
	Notice   string    `json:"notice,omitempty" maxLength:"1000" doc:"Who may read it; default: a sentence that it is confidential."`
	Audience Audience  `json:"audience,omitempty" enum:"technical,executive" doc:"technical, the default: everything. executive: without evidence and appendix."`
	Sections []Section `json:"sections,omitempty" maxItems:"7" enum:"summary,scope,gaps,findings,proof,status,appendix" doc:"Which sections it has; default: all of its audience."`
	Logo     []byte    `json:"logo,omitempty" doc:"A picture on the cover: PNG or JPEG in base64, at most 512 KiB and 4,000 pixels wide and high."`
}

// Or is a style with the fields of another one where it has none.
func (s Style) Or(other Style) Style {
	for _, one := range []struct{ mine, its *string }{{&s.Title, &other.Title}, {&s.Company, &other.Company},
		{&s.Client, &other.Client}, {&s.Author, &other.Author}, {&s.Contact, &other.Contact}, {&s.Notice, &other.Notice},
		{(*string)(&s.Audience), (*string)(&other.Audience)}} {
		if *one.mine == "" {
			*one.mine = *one.its
		}
	}
	if len(s.Sections) == 0 {
		s.Sections = other.Sections
	}
	if len(s.Logo) == 0 {
		s.Logo = other.Logo
	}
	return s
}

// Input is what a report is made of.
type Input struct {
	Style    Style
	Name     string // what it is about, such as the name of a scan
	Team     string // its name
	At       time.Time
	Masked   bool
	Works    []Work // what was done, the newest first
	MoreWork int    // further scans and tasks that are not described
	Totals   Totals
	Findings []Finding // those that are described, the worst first
}

// Work is a scan or a task.
type Work struct {
	Kind        string // scan or task
	Name        string
	ID          string
	By          string // who asked for it
	Method      string // how it was tested, in words
	Instruction string // of a task, as it was given
	Status      string
	Began       time.Time   // zero: not yet
	Ended       time.Time   // zero: not yet
	Scope       []string    // what was to be tested
	MoreScope   int         // of which this many are not in Scope
	Excluded    []string    // what was not to be reached
	Limits      [][2]string // such as the budget
	Done        [][2]string // numbers, such as how many requests were sent
	NotTested   []Gap
	Summary     string // of a task, in its words
}

// Gap is something that was not tested.
type Gap struct {
	What string
	Why  string
	N    int // how many tests; 0: it is no number
}

// Finding is a finding that is described.
type Finding struct {
	fact.Finding

	From      string // the scan or task that saw it
	Verified  string // how it was confirmed, in words; empty: not said
	Retest    string // the result of the last retest, in words; empty: none
	Exchanges []Exchange
}

// Exchange is a request and its answer.
type Exchange struct {
	Title    string // such as Detection
	Request  fact.Excerpt
	Response fact.Excerpt
}

// Cause is findings with one cause: a template's match at several places.
type Cause struct {
	Finding // of its first place

	Places []Finding
}
