// Package tracker files findings as issues: on GitHub, GitLab, Jira, Linear, or with any
// webhook. A finding that has an issue already gets no second one.
package tracker

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

const timeout = 20 * time.Second // of one request

// Issue is an issue in a tracker.
type Issue struct {
	ID  string
	URL string
}

// Finding is what is to be filed. Its texts may come from targets.
type Finding struct {
	Hash        string // the same for the same thing at the same place: what an issue is known by
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

// service is one tracker at work: find an issue by a finding's mark, open one, say in it
// that the finding was seen again, and ask who we are.
type service struct {
	find    func(ctx context.Context, mark string) (Issue, bool, error)
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

// File makes an issue of a finding, or finds the one that it has: then it adds a comment
// when again is set (the finding was seen once more). known is the issue that is on
// record for it, if any. Errors are *apiclient.Error.
func (f *Filer) File(ctx context.Context, t Tracker, finding Finding, known *Issue, again bool) (Issue, error) {
	s := f.service(t)
	var issue Issue
	found := known != nil
	if found {
		issue = *known
	} else {
		// What was opened just before a crash is on no record of ours.
		var err error
		if issue, found, err = s.find(ctx, mark(finding.Hash)); err != nil {
			return Issue{}, err
		}
	}
	if !found {
		return s.open(ctx, finding, t.text(finding))
	}
	if again {
		return issue, s.comment(ctx, issue, "Seen again at "+code(finding.MatchedAt)+".")
	}
	return issue, nil
}

// Verify asks each tracker who we are there, which changes nothing.
func (f *Filer) Verify(ctx context.Context, text []byte) (ok bool, said string) {
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

// Wants says whether findings of a severity are filed in this tracker.
func (t Tracker) Wants(severity string) bool {
	if len(t.Allow.Severity) > 0 && !slices.Contains(t.Allow.Severity, severity) {
		return false
	}
	return !slices.Contains(t.Deny.Severity, severity)
}

// mark is the line by which an issue is found again.
func mark(hash string) string { return "vedette-finding-" + hash }

// title is one line, as trackers want it.
func title(f Finding) string {
	line := strings.Join(strings.Fields(f.Title+" ["+f.Severity+"] "+f.MatchedAt), " ")
	if runes := []rune(line); len(runes) > 200 {
		line = string(runes[:199]) + "…"
	}
	return line
}

const (
	maxEvidence = 4000  // bytes of a request or a response in an issue
	maxText     = 30000 // bytes of its text; Jira takes 32,767 characters
)

// text is the issue in Markdown. What comes from a target stands in code, where nothing
// means anything.
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

// code puts one line into a code span that its back-quotes cannot end.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longest(text)+1)
	return fence + " " + text + " " + fence
}

// block puts text into a fence that its back-quotes cannot end.
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
	fence := strings.Repeat("`", max(3, longest(text)+1))
	return fence + "\n" + text + "\n" + fence
}

// longest is the longest run of back-quotes in a text.
func longest(text string) int {
	most, run := 0, 0
	for _, c := range text {
		if c == '`' {
			run++
			most = max(most, run)
		} else {
			run = 0
		}
	}
	return most
}

// plain takes the calls out of a template's words: nobody is notified by them.
func plain(text string) string { return strings.ReplaceAll(text, "@", "@\u200b") }

func (f *Filer) do(ctx context.Context, r apiclient.Request, out any) error {
	return apiclient.Do(ctx, f.client, r, out)
}
