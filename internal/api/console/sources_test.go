package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheBuildIsOfTheSources: who changes web/ builds it again (make web). That the build gives these very bytes is
// checked by make drift, which needs Node.
func TestTheBuildIsOfTheSources(t *testing.T) {
	const web = "../../../web"
	names := []string{"index.html", "vite.config.ts", "licences.ts", "package-lock.json"}
	for _, folder := range []string{"src", "public"} {
		err := filepath.WalkDir(filepath.Join(web, folder), func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasPrefix(name, filepath.Join(web, "src/api")+"/") {
				return err
			}
			name, err = filepath.Rel(web, name)
			names = append(names, name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(web, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(text), name)
	}
	written, err := dist.ReadFile("dist/sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(all.Sum(nil)); got != strings.TrimSpace(string(written)) {
		t.Errorf("internal/api/console/dist is not built from web/ as it is (run make web): %s, %s", got, written)
	}
}
