package starter_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/reference/starter-catalogue.md anew")

// TestTable holds the table in the documentation against the templates; -update
// writes it.
func TestTable(t *testing.T) {
	const file = "../../../../docs/reference/starter-catalogue.md"
	var want bytes.Buffer
	all := templates(t)
	fmt.Fprintf(&want, `# The starter catalogue

The %d templates that every Vedette carries in its binary. Each is harmless: it sends
GET, HEAD or OPTIONS requests and changes nothing. Each has test cases with a server
that must be found and a look-alike that must not, in
`+"`internal/engine/templates/starter/testdata`"+`.

This page is written by a test; after a change of the catalogue run
`+"`go test ./internal/engine/templates/starter -run TestTable -update`"+`.

| id | name | severity | tags |
|---|---|---|---|
`, len(all))
	for _, tmpl := range all {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n",
			tmpl.ID, tmpl.Info.Name, tmpl.Info.Severity, strings.Join(tmpl.Info.Tags, ", "))
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
		t.Errorf("%s is not what the templates say; run this test with -update", file)
	}
}
