package docx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/export/report/reporttest"
)

func render(t *testing.T, d report.Document) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, d); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPartsAreWellFormed: each part is XML, each relation leads to a part, and nothing leads out of the file.
func TestPartsAreWellFormed(t *testing.T) {
	for _, d := range []report.Document{reporttest.Document(), report.Build(report.Input{Name: "nothing"})} {
		file := render(t, d)
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]string{}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			parts[f.Name] = string(text)
			if strings.HasSuffix(f.Name, ".png") {
				continue
			}
			for x := xml.NewDecoder(bytes.NewReader(text)); ; {
				token, err := x.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", f.Name, err)
				}
				if e, ok := token.(xml.StartElement); ok {
					for _, a := range e.Attr {
						if a.Name.Local == "TargetMode" || a.Name.Local == "Target" && strings.Contains(a.Value, ":") {
							t.Errorf("%s leads out of the file: %+v", f.Name, a)
						}
					}
				}
			}
		}
		for _, relation := range []string{"styles.xml", "footer1.xml"} {
			if parts["word/"+relation] == "" || !strings.Contains(parts["word/_rels/document.xml.rels"], `Target="`+relation+`"`) {
				t.Errorf("%s is missing", relation)
			}
		}
		if len(d.Logo) > 0 && parts["word/media/logo.png"] != string(d.Logo) {
			t.Error("the logo is missing")
		}
	}
}

// TestOfficeOpensIt: LibreOffice reads it, and shows what is in it.
func TestOfficeOpensIt(t *testing.T) {
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice (libreoffice-writer-nogui) is not here")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "report.docx"), render(t, reporttest.Document()), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), office, "-env:UserInstallation=file://"+dir+"/profile", "--headless",
		"--convert-to", "pdf", "--outdir", dir, dir+"/report.docx").CombinedOutput()
	file, readErr := os.ReadFile(filepath.Join(dir, "report.pdf"))
	if err != nil || readErr != nil {
		if strings.Contains(string(said), "no export filter") || strings.Contains(string(said), "could not be loaded") {
			t.Skip("LibreOffice Writer (libreoffice-writer-nogui) is not here")
		}
		t.Fatalf("%v, %v: %s", err, readErr, said)
	}
	if keep := os.Getenv("VEDETTE_KEEP_PDF"); keep != "" { // to look at
		if err := os.WriteFile(filepath.Join(keep, "docx.pdf"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("pdftotext (poppler-utils) is not here")
	}
	out, err := exec.CommandContext(t.Context(), "pdftotext", filepath.Join(dir, "report.pdf"), "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(out), "\u200b", "")), "")
	for _, want := range []string{"Penetration test", "Example Security GmbH", "CVE-2021-41773", "root:x:0:0:root:/root:/bin/bash",
		"What to do first", "Not tested", "<script>alert(1)</script>", "</w:t></w:r><w:r><w:t>", "State and retests"} {
		if !strings.Contains(text, strings.Join(strings.Fields(want), "")) {
			t.Errorf("the document does not say %q", want)
		}
	}
}
