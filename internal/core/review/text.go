package review

import (
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// counted says how many findings there are.
func counted(found []rule.Finding) string {
	switch len(found) {
	case 0:
		return "No findings"
	case 1:
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", len(found))
}

// plain is a text of somebody's as code in Markdown, which it cannot leave.
func plain(text string) string { return quoted(text, 200) }

func quoted(text string, most int) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ", "|", "/").Replace(errs.Clip(text, most)) + "`"
}

// said is the comment on a line.
func (w work) said(f rule.Finding) string {
	if f.FoundBy == rule.ByModel { // whose words strangers may have had a hand in
		text := fmt.Sprintf("**The opinion of a language model** (%s): %s", f.Severity, plain(f.Title))
		if *w.config.Tone == ToneDetailed {
			text += "\n\n" + quoted(f.Why, 1000)
		}
		return text
	}
	title, why := f.Title, f.Why
	if f.FoundBy != rule.ByRules { // a program may repeat what strangers wrote
		title, why = plain(f.Title), quoted(f.Why, 1000)
	}
	text := fmt.Sprintf("**%s** (%s, %s)", title, f.Severity, plain(f.Rule))
	if f.Shown != "" {
		text += ": " + plain(f.Shown)
	}
	if *w.config.Tone == ToneDetailed {
		text += "\n\n" + why
	}
	if *w.config.Suggest && f.Fixed != "" && !strings.Contains(f.Fixed, "```") {
		text += "\n\n```suggestion\n" + f.Fixed + "\n```"
	}
	return text
}

const maxShown = 50

// text is the summary.
func (w work) text(found examined) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s.\n", counted(found.findings), plain(errs.Clip(w.v.Head, 12)))
	if *w.config.Summary {
		fmt.Fprintf(&b, "\n%d changed files were read, on the lines that they add.", found.files)
		if found.below > 0 {
			fmt.Fprintf(&b, " %d findings are below the threshold, %s.", found.below, *w.config.Severity)
		}
		b.WriteString("\n")
	}
	if len(found.findings) > 0 {
		b.WriteString("\n| severity | finding | place |\n|---|---|---|\n")
	}
	for _, f := range found.findings[:min(len(found.findings), maxShown)] {
		title := f.Title
		switch f.FoundBy {
		case rule.ByModel:
			title = plain(title) + " (the opinion of a model)"
		case rule.ByGitleaks, rule.BySemgrep:
			title = plain(title) + " (" + string(f.FoundBy) + ")"
		case rule.ByRules:
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Severity, title, plain(place(f)))
	}
	if n := len(found.findings) - maxShown; n > 0 {
		fmt.Fprintf(&b, "\n%d more are not shown.\n", n)
	}
	listed(&b, "Not read", found.left)
	if len(found.ran) > 0 {
		b.WriteString("\nThese programs looked at the files, too: " + strings.Join(found.ran, ", ") + ".\n")
	}
	listed(&b, "Programs that did not look at the files", found.problems)
	listed(&b, "Not shown to programs", found.unseen)
	if said := found.said; said != nil {
		fmt.Fprintf(&b, "\nThe language model %s read the change, too. What it says is its opinion, which nobody has verified, and fails no check.", plain(said.Model))
		if said.Problem != "" {
			fmt.Fprintf(&b, " It did not say anything of all of it: %s.", plain(said.Problem))
		}
		if said.Rejected > 0 {
			fmt.Fprintf(&b, " %d of its answers were about no line that the change adds.", said.Rejected)
		}
		b.WriteString("\n")
		listed(&b, "Not read by the model", said.Left)
	}
	return b.String()
}

func listed(b *strings.Builder, title string, names []string) {
	if len(names) == 0 {
		return
	}
	b.WriteString("\n" + title + ":\n")
	for _, name := range names[:min(len(names), maxShown)] {
		b.WriteString("- " + plain(name) + "\n")
	}
	if n := len(names) - maxShown; n > 0 {
		fmt.Fprintf(b, "- and %d more\n", n)
	}
}
