package e2e

import (
	"archive/tar"
	"compress/gzip"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// dist runs scripts/dist for this machine into a new folder and returns the folder.
func dist(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	const flags = "-s -w -X main.version=v9 -X main.date=2026-01-02T03:04:05Z"
	cmd := exec.Command("scripts/dist", "v9", flags, "1767323045", out, runtime.GOARCH)
	cmd.Dir = ".."
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/dist: %v\n%s", err, text)
	}
	return out
}

// TestDist builds the release for this machine twice: it has what its Containerfile and its unit need, its binary
// needs nothing else, and both builds have the same bytes.
func TestDist(t *testing.T) {
	t.Parallel()
	out := dist(t)
	name := "vedette-v9-linux-" + runtime.GOARCH
	if again := dist(t); readFile(t, filepath.Join(out, "SHA256SUMS")) != readFile(t, filepath.Join(again, "SHA256SUMS")) {
		t.Error("two builds differ")
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = out
	if text, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	files := inArchive(t, filepath.Join(out, name+".tar.gz"))
	for _, want := range []string{"vedette", "vedette.service", "Containerfile", "LICENSE", "man/vedette.1",
		"man/vedette-scan.1", "completions/vedette.bash", "completions/vedette.fish"} {
		if !files[name+"/"+want] {
			t.Errorf("%s is not in the archive", want)
		}
	}
	container := readFile(t, filepath.Join(out, name, "Containerfile"))
	for line := range strings.Lines(container) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "COPY" {
			if from := words[len(words)-2]; !files[name+"/"+from] && !files[name+"/"+from+"/"] {
				t.Errorf("the Containerfile copies %s, which is not in the archive", from)
			}
		}
	}
	if !strings.Contains(container, "\nFROM scratch\n") || !strings.Contains(container, "\nUSER 65532:65532\n") {
		t.Errorf("the image has something besides us, or runs as root:\n%s", container)
	}
	checkStatic(t, filepath.Join(out, name, "vedette"))
	sbom := readFile(t, filepath.Join(out, name+".cdx.json"))
	if !strings.Contains(sbom, "pkg:golang/modernc.org/sqlite@v") {
		t.Errorf("the SBOM does not list SQLite: %.300s", sbom)
	}
	version, err := exec.Command(filepath.Join(out, name, "vedette"), "version").Output()
	if err != nil || !strings.HasPrefix(string(version), "vedette v9 ") {
		t.Errorf("%q, %v", version, err)
	}
	checkUnit(t, filepath.Join(out, name))
}

// TestSignedRelease signs checksums as a releaser does and checks them as the installation page says.
func TestSignedRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	must := func(name string, args ...string) {
		t.Helper()
		if text, err := run(name, args...); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, text)
		}
	}
	sign, err := filepath.Abs("../scripts/sign")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("SHA256SUMS", "00 vedette\n")
	for _, key := range []string{"releaser", "other"} {
		must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	}
	must(sign, "releaser", ".")
	write("vedette.signers", "vedette "+readFile(t, filepath.Join(dir, "releaser.pub")))

	page := readFile(t, "../docs/operate/install.md")
	_, after, _ := strings.Cut(page, "\nssh-keygen -Y verify")
	line, _, ok := strings.Cut(after, "\n")
	if !ok {
		t.Fatal("the installation page does not say how to check the signature")
	}
	check := "ssh-keygen -Y verify" + line
	must("bash", "-c", check)
	must(sign, "other", ".")
	if text, err := run("bash", "-c", check); err == nil {
		t.Errorf("the signature of another key is taken: %s", text)
	}
	must(sign, "releaser", ".")
	write("SHA256SUMS", "01 vedette\n")
	if text, err := run("bash", "-c", check); err == nil {
		t.Errorf("changed checksums are taken: %s", text)
	}
}

// inArchive are the names in a .tar.gz.
func inArchive(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		names[h.Name] = true
		if h.Uid != 0 || h.ModTime.Unix() != 1767323045 {
			t.Errorf("%s belongs to %d and is of %s", h.Name, h.Uid, h.ModTime)
		}
	}
}

// checkStatic fails if a binary needs a loader.
func checkStatic(t *testing.T, path string) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary is not static")
		}
	}
}

// checkUnit has systemd check the unit, with the binary where it is now, if there is a systemd.
func checkUnit(t *testing.T, folder string) {
	t.Helper()
	unit := readFile(t, filepath.Join(folder, "vedette.service"))
	for _, line := range []string{
		"NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=vedette", "User=vedette",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit does not say %s", line)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed: the unit was only read")
		return
	}
	here := filepath.Join(t.TempDir(), "vedette.service")
	unit = strings.Replace(unit, "/usr/local/bin/vedette", filepath.Join(folder, "vedette"), 1)
	if err := os.WriteFile(here, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(analyze, "verify", here).CombinedOutput(); err != nil || len(text) > 0 {
		t.Errorf("systemd-analyze: %v\n%s", err, text)
	}
}
