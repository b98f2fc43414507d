package toolkit

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/provision"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// registry has one package, greet 1.2.0, for npm under /npm/ and for pip under /pip/.
func registry(t *testing.T) *httptest.Server {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	tarball := tar.NewWriter(zipped)
	for name, text := range map[string]string{
		"package/package.json": `{"name": "greet", "version": "1.2.0", "main": "index.js", "scripts": {"install": "touch /packages/ran"}}`,
		"package/index.js":     `exports.greet = (who) => "hello " + who;`,
	} {
		if err := tarball.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		_, _ = tarball.Write([]byte(text))
	}
	_, _ = tarball.Close(), zipped.Close()
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for name, text := range map[string]string{
		"greet/__init__.py":              "def greet(who): return 'hello ' + who\n",
		"greet-1.2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1.2.0\n",
		"greet-1.2.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"greet-1.2.0.dist-info/RECORD":   "",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	_ = z.Close()
	sum := sha512.Sum512(packed.Bytes())
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/npm/greet", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name": "greet", "dist-tags": {"latest": "1.2.0"}, "versions": {"1.2.0": {"name": "greet", "version": "1.2.0",
			"hasInstallScript": true, "dist": {"tarball": "%s/npm/greet.tgz", "integrity": "sha512-%s"}}}}`, s.URL,
			base64.StdEncoding.EncodeToString(sum[:]))
	})
	mux.HandleFunc("/npm/greet.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed.Bytes()) })
	mux.HandleFunc("/pip/greet/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<a href="/pip/files/greet-1.2.0-py3-none-any.whl">greet-1.2.0-py3-none-any.whl</a>`))
	})
	mux.HandleFunc("/pip/files/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel.Bytes()) })
	return s
}

// shop is a desk whose installations reach a registry, if there is one.
func shop(t *testing.T, d *db.DB, from *httptest.Server) desk {
	t.Helper()
	o := open(t, d)
	hosts := []string{}
	if from != nil {
		hosts = []string{from.Listener.Addr().String()}
		o.NPMRegistry, o.PipIndex = from.URL+"/npm/", from.URL+"/pip/"
	}
	folders, err := provision.New(hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Folders = folders
	t.Cleanup(func() {
		o.Close()
		if err := folders.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// Packages are installed once, when that is asked for or a tool needs them, and tools import them.
func TestPackages(t *testing.T) {
	for language, c := range map[Language]struct{ database, version, code string }{
		TypeScript: {"sqlite", "^1.0.0", `import { greet } from "greet"; export function run(input: { who: string }) { return greet(input.who); }`},
		Python:     {"postgres", ">=1,<2", "import greet\ndef run(input): return greet.greet(input['who'])"},
	} {
		t.Run(string(language), func(t *testing.T) {
			needs(t, language)
			if _, err := sandbox.LookPath("npm"); err != nil && language != Python {
				t.Skip(err)
			}
			// One language on each database: an installation takes seconds.
			o := shop(t, dbtest.Open(t, c.database), registry(t))
			kit, err := o.Create(o.alice, "kit", Text{Name: "n", Language: language, Dependencies: map[string]string{"greet": c.version}})
			if err != nil || kit.Status != NotStarted {
				t.Fatal(kit, err)
			}
			made, err := o.CreateTool(o.alice, "kit", tool("t", c.code))
			if err != nil {
				t.Fatal(err)
			}
			input := json.RawMessage(`{"who": "ada"}`)
			if _, err = o.Test(o.alice, made.ID, input, nil); !strings.Contains(fmt.Sprint(err), "are being installed") {
				t.Errorf("packages that are not there: %v", err)
			}
			o.background.Wait()
			if kit, err = o.Find(o.alice, kit.ID); err != nil || kit.Status != Installed {
				t.Fatal(kit, err)
			}
			got, err := o.Test(o.alice, made.ID, input, nil)
			if err != nil || string(got.Result) != `"hello ada"` {
				t.Errorf("%q %q %q %v", got.Result, got.Fault, got.Logs, err)
			}
			folder, release, err := o.packages(o.alice, kit)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, "ran")); err == nil {
				t.Error("npm ran a script of a package")
			}
			release()
			if kit, err = o.Install(o.alice, kit.ID); err != nil || kit.Status != Installed {
				t.Errorf("installed again: %v, %v", kit, err)
			}
			offers, missing, _, err := o.ForTask(t.Context(), o.team, o.ids["alice@example.com"], nil)
			if err != nil || len(offers) != 1 {
				t.Fatal(offers, missing, err)
			}
			if got, err = offers[0].Call(t.Context(), input, nil); err != nil || string(got.Result) != `"hello ada"` {
				t.Errorf("%q %q %v", got.Result, got.Fault, err)
			}
			// Another set of packages is another installation, which fails here.
			kit, err = o.Update(o.alice, kit.ID, Change{Dependencies: map[string]string{"greet": "9.9.9"}})
			if err != nil || kit.Status != NotStarted {
				t.Fatal(kit, err)
			}
			offers, missing, _, err = o.ForTask(t.Context(), o.team, o.ids["alice@example.com"], nil)
			if err != nil || len(offers) != 0 || len(missing) != 1 || !strings.Contains(missing[0].Why, "could not be installed") {
				t.Errorf("%v, %v, %v", offers, missing, err)
			}
			if kit, err = o.Find(o.alice, kit.ID); err != nil || kit.Status != Failed || !strings.Contains(kit.Fault, "9.9.9") {
				t.Errorf("%+v, %v", kit, err)
			}
			if _, err = o.Test(o.alice, made.ID, input, nil); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "9.9.9") {
				t.Errorf("packages that are not there: %v", err)
			}
		})
	}
}

// Without hosts for installations, the reason says so. An installation that was interrupted is not shown as one that runs.
func TestPackagesWithoutANetwork(t *testing.T) {
	needs(t, Python)
	o := shop(t, dbtest.Open(t, "sqlite"), nil)
	kit, err := o.Create(o.alice, "kit", Text{Name: "n", Language: Python, Dependencies: map[string]string{"greet": "*"}})
	if err != nil {
		t.Fatal(err)
	}
	if kit, err = o.Install(o.alice, kit.ID); err != nil || kit.Status != Installing {
		t.Fatal(kit, err)
	}
	o.background.Wait()
	if kit, err = o.Find(o.alice, kit.ID); err != nil || kit.Status != Failed || !strings.Contains(kit.Fault, "install_hosts") {
		t.Errorf("%+v, %v", kit, err)
	}
	if err := o.setStatus(o.alice, kit, Installing, ""); err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if kit, err = o.Find(o.alice, kit.ID); err != nil || kit.Status != Failed || kit.Fault != interrupted {
		t.Errorf("%+v, %v", kit, err)
	}
}

// Names and versions lead to the registry alone, and are no options.
func TestNamesOfPackages(t *testing.T) {
	for _, c := range []struct {
		language      Language
		name, version string
		fine          bool
	}{
		{TypeScript, "jose", "^5.9.0", true}, {TypeScript, "@scope/name", ">=1 <2 || 3.x", true}, {JavaScript, "a", "latest", true},
		{TypeScript, "a", "", true}, {TypeScript, "a", "file:/etc", false}, {TypeScript, "a", "github:x/y", false},
		{TypeScript, "a", "x/y", false}, {TypeScript, "a", "http://x.example/y.tgz", false}, {TypeScript, "../a", "1", false},
		{TypeScript, "A b", "1", false}, {TypeScript, "a", strings.Repeat("1", 101), false}, {TypeScript, "", "1", false},
		{Python, "PyJWT", ">=2,<3", true}, {Python, "requests[socks]", "2.31.0", true}, {Python, "a", "*", true},
		{Python, "a", "", true}, {Python, "a", "~=1.0", true}, {Python, "a", " --index-url http://x.example", false},
		{Python, "-r", "1", false}, {Python, "a @ file:///etc", "1", false}, {Python, "a", "latest", false},
		{Python, "a", "1\n-e .", false}, {Python, "a;x", "1", false},
	} {
		err := checkPackages(c.language, map[string]string{c.name: c.version})
		if (err == nil) != c.fine {
			t.Errorf("%s %q %q: %v", c.language, c.name, c.version, err)
		}
	}
	many := map[string]string{}
	for i := range maxPackages + 1 {
		many[fmt.Sprint("a", i)] = "1"
	}
	if checkPackages(Python, many) == nil {
		t.Error("there are too many")
	}
	if got := string(requirements(map[string]string{"b": "1.0", "a": ">=1", "c": "*"})); got != "a>=1\nb==1.0\nc\n" {
		t.Errorf("%q", got)
	}
}
