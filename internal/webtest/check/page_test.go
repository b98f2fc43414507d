package check_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

var update = flag.Bool("update", false, "write the page anew")

const page = "../../../docs/reference/web-checks.md"

// The page of the reference has each class that is tested; -update writes it.
func TestPage(t *testing.T) {
	levels := map[string]client.Level{"file-inclusion": client.Safe, "shown-credentials": client.Safe} // found by others
	for _, c := range check.All() {
		if known, is := levels[c.Class]; !is || c.Level < known {
			levels[c.Class] = c.Level
		}
	}
	classes := kit.Classes()
	slices.SortFunc(classes, func(a, b string) int { return cmp.Compare(kit.About(a).Title, kit.About(b).Title) })
	var b strings.Builder
	fmt.Fprintf(&b, "# What is tested in web applications\n\n"+
		"The %d classes of weaknesses that [the tester of web applications](../use/webtest.md) looks for, with the lowest\n"+
		"[level](../use/webtest.md#how-much-it-may-do) at which one of its checks sends something; checks at `passive` look at\n"+
		"answers alone. `default-login` and `login-limit` need `--guess` besides; `bola` and `bfla` a user, better two.\n\n"+
		"`go test ./internal/webtest/check -update` writes this page.\n\n", len(classes))
	b.WriteString("| class | weakness | severity | CWE | from level |\n|---|---|---|--:|---|\n")
	for _, name := range classes {
		about := kit.About(name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s` |\n", name, about.Title, about.Severity, strconv.Itoa(about.CWE), levels[name])
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the checks are (-update writes it): %v", page, err)
	}
}
