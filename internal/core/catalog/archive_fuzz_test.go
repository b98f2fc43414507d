package catalog

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// FuzzArchive opens anything as an archive of templates: it is refused by the field, or read within bounds.
func FuzzArchive(f *testing.F) {
	for _, name := range []string{"templates-v1.2/a.yaml", "../a.yaml", "a\\b.yaml", "/a.yaml", ".hidden/a.yaml", "a.yaml/", "a.yaml/b.yaml"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create(name)
		if err != nil {
			f.Fatal(err)
		}
		_, _ = w.Write([]byte("id: a\ninfo: {name: n}\n"))
		if err := z.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		name := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(name, archive, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := update.Open(t.Context(), update.Source{From: name}, nil)
		if err != nil {
			if !errs.Is(err, errs.Invalid) {
				t.Errorf("%v", err)
			}
			return
		}
		defer o.Close()
		got, err := collect(t.Context(), o.FS)
		if err == nil && len(got.digest) != 64 {
			t.Errorf("%+v", got)
		}
	})
}
