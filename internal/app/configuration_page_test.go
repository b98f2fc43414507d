package app

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/operate/configuration.md anew")

const configurationIntro = `# Configuration

Every option is a flag of ` + "`vedette serve` and `vedette worker`" + `, a variable in the environment, and a key in a YAML file. The file is named by
` + "`--config` or `VEDETTE_CONFIG`" + `. A flag wins over the environment, the environment over the file, the file over the default. An unknown key in
the file, or a value that cannot be read, stops the start with a message that names it.

` + "```yaml file=vedette.yaml" + `
listen: 127.0.0.1:8080
data_dir: ./data
log_format: json
deny_targets: [10.0.0.0/8, 192.168.0.0/16]
` + "```" + `

` + "```sh" + `
vedette config show --origin --config vedette.yaml   # each value, and where it comes from; secrets are not printed
` + "```" + `

Repeatable options take several values: repeat the flag, separate the values by commas in the environment, write a list in the file. Durations
are written as in ` + "`90s` or `12h`" + `. ` + "`vedette user`, `vedette token`, `vedette templates`" + ` and other commands that only open the database have
the options that are marked with *.

This page is written by a test; after a change of an option run
` + "`go test ./internal/app -run TestConfigurationPage -update`" + `.

| key in the file | flag | environment | default | what |
|---|---|---|---|---|
`

// TestConfigurationPage compares the operators' reference with the options; -update writes it.
func TestConfigurationPage(t *testing.T) {
	const file = "../../docs/operate/configuration.md"
	want := bytes.NewBufferString(configurationIntro)
	for _, o := range Options() {
		mark := ""
		if o.Shared {
			mark = " *"
		}
		fmt.Fprintf(want, "| `%s`%s | `--%s` | `%s` | %s | %s |\n", o.Key, mark, o.Flag(), o.Env(), shownDefault(o.Default),
			strings.ReplaceAll(o.Help, "|", `\|`))
	}
	if *update {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the options say; run this test with -update", file)
	}
}

// shownDefault is a default as the page shows it; nothing stands for "not set".
func shownDefault(value any) string {
	if d, ok := value.(time.Duration); ok && d == 0 {
		return "`0`"
	}
	if list, ok := value.([]string); ok {
		value = strings.Join(list, ",")
	}
	if text := fmt.Sprint(value); text != "" {
		return "`" + text + "`"
	}
	return ""
}
