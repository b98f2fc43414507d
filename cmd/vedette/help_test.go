package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// helpOf is the output of a command's --help.
func helpOf(t *testing.T, command ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	if code := run(t.Context(), append(slices.Clone(command), "--help"), nil, &out, &stderr); code != 0 {
		t.Errorf("vedette %s --help: exit %d\n%s%s", strings.Join(command, " "), code, &out, &stderr)
	}
	return out.String()
}

// section is the indented part of a help text under a heading.
func section(help, heading string) (lines []string) {
	_, rest, _ := strings.Cut(help, "\n"+heading+":\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "  ") {
			break
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// commandsBelow walks the commands of the product by their help texts.
func commandsBelow(t *testing.T, command []string) (all [][]string) {
	t.Helper()
	all = append(all, command)
	for _, line := range section(helpOf(t, append(slices.Clone(command), "--help-all")...), "Available Commands") {
		name, _, _ := strings.Cut(line, " ")
		all = append(all, commandsBelow(t, append(slices.Clone(command), name))...)
	}
	return all
}

// TestHelp checks the help of every command: it says what the command does, begins with an example of the usual case,
// and fits a screen; its examples are valid.
func TestHelp(t *testing.T) {
	t.Parallel()
	all := commandsBelow(t, nil)
	if len(all) < 20 {
		t.Errorf("the help lists only %d commands: %q", len(all), all)
	}
	for _, command := range all {
		name := "vedette " + strings.Join(command, " ")
		help, full := helpOf(t, command...), helpOf(t, append(slices.Clone(command), "--help-all")...)
		checkSize(t, name, help)
		if first, _, _ := strings.Cut(help, "\n"); len(first) < 10 {
			t.Errorf("%s --help does not say what it is for", name)
		}
		if !strings.Contains(help, "--help-all") && help != full {
			t.Errorf("%s --help leaves something out without saying so", name)
		}
		examples := section(full, "Examples")
		if len(section(help, "Available Commands")) > 0 && len(examples) == 0 {
			continue // it groups others
		}
		if _, rest, _ := strings.Cut(help, "\n\n"); !strings.HasPrefix(rest, "Examples:\n  ") {
			t.Errorf("%s --help does not begin with an example", name)
		}
		for _, example := range examples {
			checkExample(t, command, full, example)
		}
	}
}

// checkSize fails when a help text does not fit a screen of 40 rows and 80 columns.
func checkSize(t *testing.T, name, help string) {
	t.Helper()
	rows := 0
	for line := range strings.Lines(help) {
		rows += 1 + max(0, utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1)/80
	}
	if rows > 40 {
		t.Errorf("%s --help takes %d rows:\n%s", name, rows, help)
	}
}

// vedetteCall is the part of a shell line that calls vedette.
var vedetteCall = regexp.MustCompile(`\bvedette ([^|>)]*)`)

// checkExample checks an example's flags and has the command parse it; with --help at the end it
// does nothing else.
func checkExample(t *testing.T, command []string, help, example string) {
	t.Helper()
	m := vedetteCall.FindStringSubmatch(example)
	if m == nil {
		if !strings.HasPrefix(example, "export ") {
			t.Errorf("an example of %s does not call vedette: %s", strings.Join(command, " "), example)
		}
		return
	}
	args := shellWords(m[1])
	if len(command) > 0 && (len(args) < len(command) || !slices.Equal(args[:len(command)], command)) {
		t.Errorf("an example of %s shows another command: %s", strings.Join(command, " "), example)
		return
	}
	for _, arg := range args[len(command):] {
		if len(command) == 0 {
			break // the flags are those of another command
		}
		flag, _, _ := strings.Cut(arg, "=")
		if strings.HasPrefix(flag, "-") &&
			!regexp.MustCompile(`(?m)^ +(-\w+, )?`+regexp.QuoteMeta(flag)+`[, ]`).MatchString(help) {
			t.Errorf("the flag %s of an example is not in the help of %s", flag, strings.Join(command, " "))
		}
	}
	helpOf(t, args...)
}

// shellWords splits a line as a shell does, as far as our examples need it.
func shellWords(line string) (args []string) {
	for _, w := range regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(w, `"'`))
	}
	return args
}
