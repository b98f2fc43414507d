package pdf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export/report/reporttest"
)

// TestPDFSaysEverything: each text of a report is in it.
func TestPDFSaysEverything(t *testing.T) {
	var out bytes.Buffer
	if err := Write(t.Context(), &out, reporttest.Document()); err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("VEDETTE_KEEP_PDF"); keep != "" { // to look at
		if err := os.WriteFile(filepath.Join(keep, "report.pdf"), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext (poppler-utils) is not here")
	}
	path := filepath.Join(t.TempDir(), "report.pdf")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", path, "-").CombinedOutput()
	if err != nil || bytes.Contains(said, []byte("Syntax Error")) {
		t.Fatalf("%v: %s", err, said)
	}
	text := squeeze(string(said))
	for _, want := range []string{"Penetration test", "Example Security GmbH", "Shop AG", "CVE-2021-41773", "root:x:0:0:root:/root:/bin/bash",
		"What to do first", "Not tested", "<script>alert(1)</script>", "State and retests", "It never logs in.", "file (query)",
		"alice@example.com", "3 of 3 further requests", `\u{202e}gnp.exe`, "1.", "Places"} {
		if !strings.Contains(text, squeeze(want)) {
			t.Errorf("the report does not say %q", want)
		}
	}
}
