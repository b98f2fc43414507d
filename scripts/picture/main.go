// Command picture draws what a command prints as an SVG, for the README:
//
//	picture -out FILE COMMAND ARG...
//
// Colours follow the words of severities. Ports, ids and times are made the same in every run, so that the
// picture changes only when the product does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(out string, command []string) error {
	if out == "" || len(command) == 0 {
		return errors.New("it needs -out FILE and a command")
	}
	//nolint:gosec // the Makefile and a test name the command
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return os.WriteFile(out, []byte(draw("$ make demo\n"+steady(string(printed)))), 0o600)
}

var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "https://shop.example"},
	{regexp.MustCompile(`in \d+\.\d s`), "in 0.3 s"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "01a20653-9dda-777c-b494-0e9c9e8d7673"},
	{regexp.MustCompile(`requests: \d+`), "requests: 292"},
	{regexp.MustCompile(`to targets: \d+`), "to targets: 327"},
}

// steady is output without what differs from run to run; findings are in the order of their severity and text.
func steady(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	var findings, rest []string
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if rank(lines[i]) >= 0 && i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ") {
			findings = append(findings, fmt.Sprintf("%-58s%s", lines[i], strings.TrimSpace(lines[i+1])))
			i++
			continue
		}
		rest = append(rest, lines[i])
	}
	slices.SortStableFunc(findings, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return strings.Join(slices.Concat(findings, rest), "\n") + "\n"
}

var severities = []string{"critical", "high", "medium", "low", "info"}

// rank is the place of the severity that a line begins with; -1: it begins with none.
func rank(line string) int {
	word, _, _ := strings.Cut(line, " ")
	return slices.Index(severities, word)
}

// Sizes in pixels, for a monospaced font of 13.
const (
	lineHeight, charWidth, margin = 18, 7.9, 16
)

var colours = []string{"#ff5c57", "#ff9f43", "#f3d250", "#5fb3f3", "#9aa8b5"}

// columns are those of a wide terminal, which breaks longer lines.
const columns = 120

// broken are the lines of a text as a terminal shows them, broken at blanks.
func broken(text string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for len(line) > columns {
			at := strings.LastIndexByte(line[:columns], ' ')
			if at <= 0 {
				break
			}
			lines, line = append(lines, line[:at]), line[at+1:]
		}
		lines = append(lines, line)
	}
	return lines
}

func draw(text string) string {
	lines, longest := broken(text), 0
	for _, line := range lines {
		longest = max(longest, len([]rune(line)))
	}
	width, height := int(float64(longest)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">
<rect width="100%%" height="100%%" rx="8" fill="#12181f"/>
<g font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13" fill="#e6ebf0" xml:space="preserve">
`, width, height, width, height)
	for i, line := range lines {
		y := margin + (i+1)*lineHeight - 5
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", margin, y, coloured(line))
	}
	return b.String() + "</g>\n</svg>\n"
}

// coloured is a line as SVG text; the severity that it begins with has its colour.
func coloured(line string) string {
	r := rank(line)
	if r < 0 {
		return html.EscapeString(line)
	}
	word, rest, _ := strings.Cut(line, " ")
	return `<tspan fill="` + colours[r] + `">` + word + "</tspan> " + html.EscapeString(rest)
}
