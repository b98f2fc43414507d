package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/scan"
)

func TestScanArgs(t *testing.T) {
	for line, want := range map[string]string{
		"scan -u x -etags a,b -tc e":               "scan --target x --exclude-tags a,b --template-condition e",
		"scan -tags=a --etags=b -s=high":           "scan --tags=a --exclude-tags=b --severity=high",
		"scan -silent -target x -j":                "scan --silent --target x --jsonl",
		"scan -irr=false -nc":                      "scan --include-rr=false --no-color",
		"scan -H -tags -V -u=b -u c":               "scan --header -tags --var -u=b --target c", // values stay as they are
		"scan -tc -1<2 -silent":                    "scan --template-condition -1<2 --silent",
		"scan -nonsense --other -z":                "scan --nonsense --other -z",
		"scan -l - -u -":                           "scan --list - --target -",
		"scan -silent -- -tags":                    "scan --silent -- -tags",
		"scan -help":                               "scan --help",
		"scan -sresp -mhe 30 -duc -u x":            "scan --store-resp --max-host-error 30 --disable-update-check --target x",
		"scan -u":                                  "scan --target",
		"templates list -o json":                   "templates list -o json",
		"serve -listen x":                          "serve -listen x",
		"nonsense -u x":                            "nonsense -u x",
		"scan -rl 5 --rl 6 -rate-limit 7 --rl=8 -": "scan --rate-limit 5 --rate-limit 6 --rate-limit 7 --rate-limit=8 -",
	} {
		args := strings.Fields(line)
		before := slices.Clone(args)
		if got := strings.Join(scan.Args(newRoot(), args), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
		if !slices.Equal(args, before) {
			t.Errorf("%s: the arguments were changed", line)
		}
	}
}

// What a run says, and its exit code.
func command(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// An absent flag is told of by its long name, with what to do instead, wherever it
// stands and however it is written.
func TestAbsentFlag(t *testing.T) {
	for _, args := range [][]string{
		{"scan", "-uncover"}, {"scan", "-uc"}, {"scan", "--uc", "-u", "x"}, {"scan", "-u", "x", "-uncover=true"},
		{"scan", "-uc", "word"},
	} {
		code, out, talk := command(t, args...)
		if code != cli.ExitUsage || out != "" ||
			!strings.HasPrefix(talk, "vedette: vedette scan has no --uncover: give targets yourself\n") {
			t.Errorf("%q: %d %q %q", args, code, out, talk)
		}
	}
}
