package loop

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/redact"
)

//go:embed prompts/*.md
var prompts embed.FS

// prompt is a text of prompts/ with {{boundary}} and {{secrets}} filled in.
func (r *run) prompt(name string) string {
	text, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(err) // the file is embedded
	}
	var references []string
	for _, name := range slices.Sorted(maps.Keys(r.secrets.Values)) {
		references = append(references, redact.Reference(name))
	}
	return strings.NewReplacer("{{boundary}}", r.boundary, "{{secrets}}",
		strings.Join(references, ", ")).Replace(strings.TrimSpace(string(text)))
}

// system is the system prompt of main or a sub-agent.
func (r *run) system(subagent bool) string {
	parts := []string{r.prompt("system")}
	if len(r.secrets.Values) > 0 {
		parts = append(parts, r.prompt("secrets"))
	}
	switch r.Mode {
	case ModePlan:
		if !subagent {
			parts = append(parts, r.prompt("plan"))
		}
	case ModeChat:
		parts = append(parts, r.prompt("chat"))
	}
	if r.Mode != ModeChat {
		parts = append(parts, r.prompt("delegate"))
	}
	if subagent {
		parts = append(parts, r.prompt("subagent"))
	}
	if r.Context != "" {
		parts = append(parts, r.Context)
	}
	return strings.Join(parts, "\n\n")
}

// opening is the first messages: earlier streams, the instruction, its files.
func (r *run) opening() []llm.Message {
	var messages []llm.Message
	for _, e := range r.Earlier {
		messages = append(messages,
			llm.Message{Role: llm.User, Text: e.Instruction},
			llm.Message{Role: llm.Assistant, Text: cmp.Or(e.Answer, "(This turn was stopped.)")})
	}
	var text strings.Builder
	text.WriteString(r.Instruction)
	for _, a := range r.Attachments {
		fmt.Fprintf(&text, "\n\nThe attached file %q:\n%s", oneLine(a.Name),
			r.asData(shorten(a.Text, r.Window/len(r.Attachments))))
	}
	return append(messages, llm.Message{Role: llm.User, Text: text.String()})
}

// asData encloses foreign text in lines that it cannot contain: the boundary is random, and removed from the text.
func (r *run) asData(text string) string {
	return "--- data " + r.boundary + "\n" + r.withoutBoundary(text) + "\n--- end of data " + r.boundary
}

func (r *run) setBoundary(boundary string) {
	r.boundary, r.boundaryPattern = boundary, regexp.MustCompile("(?i)"+regexp.QuoteMeta(boundary))
}

// visible spells out invisible characters, in which text can be hidden: control and format characters, variation
// selectors.
func visible(text string) string {
	hidden := func(r rune) bool {
		return r != '\n' && r != '\t' &&
			(unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r))
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// oneLine is a short foreign text on one visible line.
func oneLine(text string) string {
	return visible(strings.Join(strings.Fields(shorten(text, 300)), " "))
}

// shorten keeps the beginning and the end of a text.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit*2/3, len(text)-limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d of %d bytes are not shown …]\n%s", text[:head], tail-head, len(text), text[tail:])
}

// resultText is what the model reads of a result: our description, then the data.
func (r *run) resultText(ret Returned, limit int) string {
	switch ret.Status {
	case CallDeclined:
		return "The person who was asked declined this call. It was not made. " + r.withoutBoundary(shorten(ret.Error, limit))
	case CallUnknown:
		return "Unknown: the process died while this call was under way, and it is not one to be made twice. Whether it did its work is not known. " + r.withoutBoundary(shorten(ret.Error, limit))
	case CallRefused:
		return "The call could not be made: " + shorten(r.withoutBoundary(ret.Error), limit)
	}
	text := map[CallStatus]string{
		CallCompleted: "The call completed.", CallFailed: "The call failed.",
		CallTimeout: "The call took too long and was stopped; what it brought may be partial.",
		CallAborted: "The call was stopped; what it brought may be partial.",
	}[ret.Status]
	var data []string
	for _, text := range []string{ret.Error, ret.Result.Text} {
		if text != "" {
			data = append(data, shorten(text, limit))
		}
	}
	if len(ret.Result.Candidate) > 0 {
		data = append(data, "finding kept for verification: "+shorten(string(ret.Result.Candidate), limit/2))
	}
	if len(data) > 0 {
		text += "\n" + r.asData(strings.Join(data, "\n"))
	}
	return text
}

// withoutBoundary is text outside of a data block, which must not imitate one.
func (r *run) withoutBoundary(text string) string {
	return r.boundaryPattern.ReplaceAllLiteralString(visible(text), "[boundary]")
}

// verificationText is the message to the model with the results of verification.
func (r *run) verificationText(findings []Candidate) string {
	var b strings.Builder
	for _, f := range findings {
		j := f.Verification
		fmt.Fprintf(&b, "%s, reproduced %d of %d times. %s\n%s\n", j.Result, j.Confirmed, j.Tried,
			shorten(j.Reason, 500), shorten(string(f.Candidate), 1500))
	}
	return "Each finding was verified from its evidence alone. Those that are not confirmed will not be reported. Find what was wrong with them, bring better evidence where there is any, or leave them.\n" + r.asData(b.String())
}
