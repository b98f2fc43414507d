package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docBlock is a fenced block of a page. The words after its language say what the test does with it:
//
//	(nothing)        sh and console blocks run to their end; others are only shown
//	exit=3           the block, or the last command of a console, must end with this code
//	background       a server: it runs until the page ends
//	file=NAME        the text is written to this file
//	starts=nginx     instead of the block, nginx is started with the files in /etc/nginx
//	norun REASON     not run; its vedette and make commands are compared with --help-all and the Makefile
type docBlock struct {
	line                    int
	language, text          string
	file, norun             string
	background, startsNginx bool
	exit                    int
}

func (b docBlock) shell() bool {
	return slices.Contains([]string{"sh", "bash", "shell", "console"}, b.language)
}

// acts is whether a test can do something with the block.
func (b docBlock) acts() bool { return b.file != "" || b.shell() && b.norun == "" }

// steps are the commands of a console block: lines that begin with "$ ", continued after a backslash.
func (b docBlock) steps() []docStep {
	var steps []docStep
	continued := false
	for line := range strings.Lines(b.text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			steps = append(steps, docStep{command: command})
		case len(steps) == 0:
			continue
		case continued:
			steps[len(steps)-1].command += line
		default:
			steps[len(steps)-1].output += line
		}
		continued = (isCommand || continued) && strings.HasSuffix(line, "\\\n")
	}
	return steps
}

// commandLine is a line that people would type.
var commandLine = regexp.MustCompile(`^(\$ )?(sudo |[A-Z_]+=\S* )*(curl|make|bin/vedette|vedette|go (test|run|build)|psql|apt|systemctl) `)

// docBlocks are the fenced blocks of a page, and what is wrong with them.
func docBlocks(text string) (blocks []docBlock, faults []string) {
	var open *docBlock
	indent, number := "", 0
	for line := range strings.Lines(text) {
		number++
		bare := strings.TrimSuffix(strings.TrimPrefix(line, indent), "\n")
		switch fence, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), "```"); {
		case open == nil && isFence:
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
			b, err := parseFence(strings.TrimSpace(fence))
			if err != nil {
				faults = append(faults, fmt.Sprintf("%d: %v", number, err))
			}
			b.line = number
			open = &b
		case open != nil && isFence:
			blocks = append(blocks, *open)
			open, indent = nil, ""
		case open != nil:
			open.text += bare + "\n"
			if !open.shell() && open.file == "" && commandLine.MatchString(bare) {
				faults = append(faults, fmt.Sprintf("%d: a command in a block that no test runs: mark the block sh", number))
			}
		case strings.HasPrefix(line, "    ") && commandLine.MatchString(strings.TrimSpace(line)):
			faults = append(faults, fmt.Sprintf("%d: a command outside a fenced block", number))
		}
	}
	if open != nil {
		faults = append(faults, fmt.Sprintf("%d: the block has no end", open.line))
	}
	return blocks, faults
}

func parseFence(info string) (b docBlock, err error) {
	words := strings.Fields(info)
	if len(words) == 0 {
		return b, nil
	}
	b.language = words[0]
	for i, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "background":
			b.background = true
		case "exit":
			if b.exit, err = strconv.Atoi(value); err != nil {
				return b, fmt.Errorf("exit=%s is no exit code", value)
			}
		case "file":
			b.file = value
		case "starts":
			b.startsNginx = true
		case "norun":
			if b.norun = strings.Join(words[i+2:], " "); b.norun == "" {
				return b, fmt.Errorf("norun needs a reason")
			}
			return b, nil
		default:
			return b, fmt.Errorf("the test does not know the mark %q", word)
		}
	}
	return b, nil
}

func TestDocBlocks(t *testing.T) {
	t.Parallel()
	const page = "```sh exit=3\nfalse\n```\n\n- ```console\n  $ echo a \\\n  b\n  a b\n  ```\n```sh norun\nx\n```\n" +
		"```text\ncurl http://x/\n```\n    make all\n```yaml file=a/b.yaml\na: 1\n```\n```sh soon\n"
	blocks, faults := docBlocks(strings.Replace(page, "- ```", "  ```", 1))
	if len(blocks) != 5 || blocks[0].exit != 3 || blocks[4].file != "a/b.yaml" || blocks[4].text != "a: 1\n" {
		t.Errorf("blocks: %+v", blocks)
	}
	if steps := blocks[1].steps(); len(steps) != 1 || steps[0].command != "echo a \\\nb\n" || steps[0].output != "a b\n" {
		t.Errorf("steps: %q", steps)
	}
	for _, want := range []string{"norun needs a reason", "that no test runs", "outside a fenced block", "the mark \"soon\"", "no end"} {
		if !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("no fault says %q: %q", want, faults)
		}
	}
	for output, matches := range map[string]bool{"a b\n": true, "one\na b\n": false} {
		if (docStep{output: "a …\n"}).pattern(strings.NewReplacer()).MatchString(output) != matches {
			t.Errorf("a … and %q", output)
		}
	}
	if !(docStep{output: "…\nend\n"}).pattern(strings.NewReplacer()).MatchString("1\n2\nend\n") {
		t.Error("… alone is not any lines")
	}
}

var (
	inlineCode  = regexp.MustCompile("`([^`\n]+)`")
	makeTarget  = regexp.MustCompile(`(?:^|\s)make ([a-z][a-z-]*)`)
	commandFlag = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*)`)
)

// TestDocCommands compares the commands that stand in sentences, or in blocks that do not run, with the binary's own
// --help-all and with the Makefile.
func TestDocCommands(t *testing.T) {
	t.Parallel()
	h := helpPages{t: t, pages: map[string]string{}}
	targets := regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(readFile(t, "../Makefile"), -1)
	pages := readDocs(t)
	delete(pages, "docs/known-gaps.md") // it names commands that are missing
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		blocks, _ := docBlocks(pages[name])
		var commands []string
		for _, m := range inlineCode.FindAllStringSubmatch(pages[name], -1) {
			commands = append(commands, m[1])
		}
		for _, b := range blocks {
			if b.shell() || strings.HasSuffix(b.file, ".service") {
				commands = append(commands, strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n")...)
			}
		}
		for _, command := range commands {
			for _, m := range makeTarget.FindAllStringSubmatch(command, -1) {
				if !slices.ContainsFunc(targets, func(t []string) bool { return t[1] == m[1] }) {
					t.Errorf("%s: the Makefile has no target for %q", name, command)
				}
			}
			if problem := h.check(command); problem != "" {
				t.Errorf("%s: %s: %s", name, command, problem)
			}
		}
	}
}

// helpPages are the --help pages of commands, by their words.
type helpPages struct {
	t     *testing.T
	pages map[string]string
}

func (h helpPages) of(words []string) string {
	key := strings.Join(words, " ")
	if _, known := h.pages[key]; !known {
		cmd := exec.Command(binary(h.t), append(slices.Clone(words), "--help-all")...)
		cmd.Dir = h.t.TempDir() // for the data of a command that is none
		out, err := cmd.CombinedOutput()
		if err != nil {
			h.t.Fatalf("vedette %s --help-all: %v\n%s", key, err, out)
		}
		h.pages[key] = string(out)
	}
	return h.pages[key]
}

// vedetteCommand finds a vedette command in a line: at its beginning, after variables, in $(…), after a pipe.
var vedetteCommand = regexp.MustCompile(`(?:^|[|(;]\s*|\$ |sudo (?:-u \S+ )?|[A-Z_]+=\S* )(?:bin/|/usr/local/bin/)?vedette ([^|)#;]*)`)

// check is what is wrong with the vedette commands of a line.
func (h helpPages) check(line string) string {
	for _, m := range vedetteCommand.FindAllStringSubmatch(line, -1) {
		words := []string{}
		for word := range strings.FieldsSeq(m[1]) {
			if strings.HasPrefix(word, "-") ||
				!regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(word)+` `).MatchString(h.of(words)) {
				break
			}
			words = append(words, word)
		}
		if first, _, _ := strings.Cut(m[1], " "); len(words) == 0 && !strings.HasPrefix(first, "-") && first != "" &&
			!regexp.MustCompile(`^[A-Z]+$`).MatchString(first) {
			return "there is no command " + first
		}
		for _, flag := range commandFlag.FindAllStringSubmatch(m[1], -1) {
			if flag[1] != "--help" && flag[1] != "--help-all" && !regexp.MustCompile(regexp.QuoteMeta(flag[1])+`[ ,\n]`).MatchString(h.of(words)) {
				return strings.Join(words, " ") + " has no flag " + flag[1]
			}
		}
	}
	return ""
}
