// Package tracker files findings as issues and keeps up with them: on GitHub, GitLab, Jira, Linear, Azure DevOps,
// ServiceNow, or with any webhook. It has no state of its own: core/ticket decides what is written and what is taken
// in.
//
// Each tracker has statuses of its own; State is what they have in common. An issue is found again by a mark in it
// (find), so that a crash after opening leads to no second one, and a comment by a mark as well.
package tracker

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const timeout = 20 * time.Second // of one request

// Issue is an issue in a tracker.
type Issue struct {
	ID  string
	URL string
}

// Finding is what to file. Its texts may come from targets.
type Finding struct {
	Hash        string // identifies the finding, and so its issue
	Title       string
	Severity    string
	Description string
	Remediation string
	MatchedAt   string
	TemplateID  string
	Extracted   []string
	References  []string
	Request     string
	Response    string
}

// Filer talks to trackers. Every dial goes through its guard.
type Filer struct{ client *http.Client }

// New makes a filer.
func New(guard *netguard.Guard) *Filer { return &Filer{guard.Client(timeout)} }

// service is one tracker.
type service struct {
	find    func(ctx context.Context, mark string) (Issue, error) // without an ID: there is none
	open    func(ctx context.Context, f Finding, text string) (Issue, error)
	comment func(ctx context.Context, issue Issue, text string) error
	who     func(ctx context.Context) (Account, error)
	get     func(ctx context.Context, issue Issue) (Remote, error)
	set     func(ctx context.Context, now Remote, to State) error
	notes   func(ctx context.Context, issue Issue, since time.Time) ([]Note, error)
	changed func(ctx context.Context, since time.Time) (Changes, error)
}

// Account is who we are in a tracker.
type Account struct {
	ID   string // as events name who has caused them
	Name string // as people read it
}

func (f *Filer) service(t Tracker) service {
	switch t.Provider {
	case "github":
		return f.github(t)
	case "gitlab":
		return f.gitlab(t)
	case "jira":
		return f.jira(t)
	case "linear":
		return f.linear(t)
	case "azure":
		return f.azure(t)
	case "servicenow":
		return f.servicenow(t)
	}
	return f.custom(t)
}

// Find is the issue of a hash, if the tracker has one that can still be worked on; without an ID it has none. Errors
// are *apiclient.Error.
func (f *Filer) Find(ctx context.Context, t Tracker, hash string) (Issue, error) {
	return f.service(t).find(ctx, mark(hash))
}

// Open makes an issue of a finding. Call Find before: one opened just before a crash is not on record. Errors are
// *apiclient.Error.
func (f *Filer) Open(ctx context.Context, t Tracker, finding Finding) (Issue, error) {
	issue, err := f.service(t).open(ctx, finding, t.text(finding))
	if err == nil && issue.ID == "" {
		err = &apiclient.Error{Service: t.Provider, Status: http.StatusOK, Message: "the answer does not name the issue"}
	}
	return issue, err
}

// SeenAgain is the text of a comment about a finding that was seen once more.
func SeenAgain(matchedAt string) string { return "Seen again at " + code(matchedAt) + "." }

// Who asks a tracker who we are, and whether its project is there; this changes nothing.
func (f *Filer) Who(ctx context.Context, t Tracker) (Account, error) { return f.service(t).who(ctx) }

// Verify asks each tracker of a configuration who we are.
func (f *Filer) Verify(ctx context.Context, text []byte) (ok bool, message string) {
	config, err := Parse(text)
	if err != nil {
		return false, err.Error()
	}
	var lines []string
	for _, t := range config.Trackers {
		who, err := f.Who(ctx, t)
		if err != nil {
			return false, err.Error()
		}
		lines = append(lines, t.Provider+" knows us as "+who.Name)
	}
	return true, strings.Join(lines, "; ") + "."
}

// Wants reports whether findings of a severity are filed in this tracker.
func (t Tracker) Wants(severity string) bool {
	allowed := len(t.Allow.Severity) == 0 || slices.Contains(t.Allow.Severity, severity)
	return allowed && !slices.Contains(t.Deny.Severity, severity)
}

const marked = "vedette-finding-"

// mark is the last line of an issue, by which it is found again.
func mark(hash string) string { return marked + hash }

func title(f Finding) string {
	return errs.ClipChars(strings.Join(strings.Fields(f.Title+" ["+f.Severity+"] "+f.MatchedAt), " "), 200)
}

const (
	maxEvidence = 4000  // bytes of a request or a response in an issue
	maxText     = 30000 // bytes of its text; Jira takes 32,767 characters
)

// text is the issue in Markdown. What comes from a target is in code spans and blocks, where no markup counts.
func (t Tracker) text(f Finding) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "**%s:** %s\n\n", name, value)
		}
	}
	row("Severity", f.Severity)
	row("Template", code(f.TemplateID))
	row("Where", code(f.MatchedAt))
	row("Extracted", code(strings.Join(f.Extracted, ", ")))
	section := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			fmt.Fprintf(&b, "### %s\n\n%s\n\n", name, value)
		}
	}
	section("Description", plain(f.Description))
	section("Remediation", plain(f.Remediation))
	section("Request", block(f.Request))
	section("Response", block(f.Response))
	if len(f.References) > 0 {
		section("References", "- "+strings.Join(f.References, "\n- "))
	}
	// A target that writes the mark of another finding into its answers does not become that one's issue.
	text := strings.ReplaceAll(b.String(), marked, marked[:len(marked)-1]+"\u200b-")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n```\n\n(cut)\n\n"
	}
	return text + mark(f.Hash) + "\n"
}

// code makes a code span that back-quotes in the text cannot end.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	quotes := strings.Repeat("`", longest(text)+1)
	return quotes + " " + text + " " + quotes
}

// block makes a code block that back-quotes in the text cannot end.
func block(text string) string {
	if text == "" {
		return ""
	}
	if len(text) > maxEvidence {
		text = text[:maxEvidence] + "\n… (cut)"
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	quotes := strings.Repeat("`", max(3, longest(text)+1))
	return quotes + "\n" + text + "\n" + quotes
}

// longest is the length of the longest run of back-quotes.
func longest(text string) (most int) {
	for _, run := range strings.FieldsFunc(text, func(c rune) bool { return c != '`' }) {
		most = max(most, len(run))
	}
	return most
}

// plain disables mentions, so that no person is notified.
func plain(text string) string { return strings.ReplaceAll(text, "@", "@\u200b") }
