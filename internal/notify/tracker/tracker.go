// Package tracker files findings as issues: on GitHub, GitLab, Jira, Linear, or with any webhook. A finding that has an
// issue gets no second one.
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

// Filer files issues. Every dial goes through its guard.
type Filer struct{ client *http.Client }

// New makes a filer.
func New(guard *netguard.Guard) *Filer { return &Filer{guard.Client(timeout)} }

// service is one tracker: find an issue by a finding's mark, open one, comment on it, and ask who we are.
type service struct {
	find    func(ctx context.Context, mark string) (Issue, error) // without an ID: there is none
	open    func(ctx context.Context, f Finding, text string) (Issue, error)
	comment func(ctx context.Context, issue Issue, text string) error
	who     func(ctx context.Context) (string, error)
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
	}
	return f.custom(t)
}

// File makes an issue of a finding, or finds the one that it has, and comments on it when again is set (the finding was
// seen once more). known is the recorded issue, if any. Errors are *apiclient.Error.
func (f *Filer) File(
	ctx context.Context, t Tracker, finding Finding, known *Issue, again bool,
) (issue Issue, err error) {
	s := f.service(t)
	if known != nil {
		issue = *known
	} else if issue, err = s.find(ctx, mark(finding.Hash)); err != nil { // one opened just before a crash is not recorded
		return Issue{}, err
	}
	if known == nil && issue.ID == "" {
		return s.open(ctx, finding, t.text(finding))
	}
	if again {
		return issue, s.comment(ctx, issue, "Seen again at "+code(finding.MatchedAt)+".")
	}
	return issue, nil
}

// Verify asks each tracker who we are, which changes nothing.
func (f *Filer) Verify(ctx context.Context, text []byte) (ok bool, message string) {
	config, err := Parse(text)
	if err != nil {
		return false, err.Error()
	}
	var lines []string
	for _, t := range config.Trackers {
		who, err := f.service(t).who(ctx)
		if err != nil {
			return false, err.Error()
		}
		lines = append(lines, t.Provider+" knows us as "+who)
	}
	return true, strings.Join(lines, "; ") + "."
}

// Wants reports whether findings of a severity are filed in this tracker.
func (t Tracker) Wants(severity string) bool {
	allowed := len(t.Allow.Severity) == 0 || slices.Contains(t.Allow.Severity, severity)
	return allowed && !slices.Contains(t.Deny.Severity, severity)
}

func mark(hash string) string { return "vedette-finding-" + hash }

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
	text := b.String()
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

func (f *Filer) do(ctx context.Context, r apiclient.Request, out any) error {
	return apiclient.Do(ctx, f.client, r, out)
}
