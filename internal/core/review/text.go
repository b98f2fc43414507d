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
func plain(text string) string {
	return "`" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ", "|", "/").Replace(errs.Clip(text, 200)) + "`"
}

// said is the comment on a line.
func (w work) said(f rule.Finding) string {
	text := fmt.Sprintf("**%s** (%s, `%s`)", f.Title, f.Severity, f.Rule)
	if f.Shown != "" {
		text += ": " + plain(f.Shown)
	}
	if *w.config.Tone == ToneDetailed {
		text += "\n\n" + f.Why
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
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Severity, f.Title, plain(place(f)))
	}
	if n := len(found.findings) - maxShown; n > 0 {
		fmt.Fprintf(&b, "\n%d more are not shown.\n", n)
	}
	if len(found.left) > 0 {
		b.WriteString("\nNot read:\n")
		for _, name := range found.left[:min(len(found.left), maxShown)] {
			b.WriteString("- " + plain(name) + "\n")
		}
	}
	return b.String()
}
