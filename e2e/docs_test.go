package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// docPatterns are the pages for users and operators. Their commands run as they stand there; ADRs have none.
var docPatterns = []string{"../*.md", "../docs/*.md", "../docs/[b-z]*/*.md"}

// readDocs are the pages by their path from the root of the repository.
func readDocs(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range docPatterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			pages[strings.TrimPrefix(name, "../")] = readFile(t, name)
		}
	}
	if len(pages) < 20 {
		t.Fatalf("only %d pages were found", len(pages))
	}
	return pages
}

// TestDocs runs the commands of each page in order, in a folder of its own, against the real binary. What the pages call
// https://shop.example is a weak site on loopback; their addresses, folders and the database are the test's own.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages := readDocs(t)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, faults := docBlocks(pages[name])
			for _, fault := range faults {
				t.Errorf("%s:%s", name, fault)
			}
			if !slices.ContainsFunc(blocks, docBlock.acts) {
				return
			}
			r := newDocRun(t, name, blocks)
			if strings.HasPrefix(pages[name], docServer) {
				r.startServer()
			}
			for _, b := range blocks {
				r.do(b)
			}
		})
	}
}

// docRun is one page being carried out.
type docRun struct {
	t       *testing.T
	page    string
	dir     string
	replace *strings.Replacer
	env     []string
	nginx   []string // its files, as the page names them
	listen  []string // where nginx listens
}

func newDocRun(t *testing.T, page string, blocks []docBlock) *docRun {
	t.Helper()
	for _, program := range []string{"bash", "curl", "jq", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed; 'make test' as root on Debian installs it", program)
		}
	}
	r := &docRun{t: t, page: page, dir: t.TempDir()}
	site := httptest.NewServer(weaksite.New(1))
	t.Cleanup(site.Close)
	r.listen = freeAddresses(t, 2)
	tlsPort := r.listen[0][strings.LastIndex(r.listen[0], ":"):]
	pairs := []string{
		"https://shop.example", site.URL, "shop.example", strings.TrimPrefix(site.URL, "http://"),
		"127.0.0.1:8080", freeAddress(t), "127.0.0.1:9090", freeAddress(t),
		"https://vedette.example", "https://localhost" + tlsPort, "vedette.example", "localhost",
		"listen 443 ssl", "listen " + r.listen[0] + " ssl", "listen 80", "listen " + r.listen[1],
		"/etc/", r.dir + "/etc/", "/var/lib/vedette", r.dir + "/var/lib/vedette", "/var/backups", r.dir + "/var/backups",
	}
	if slices.ContainsFunc(blocks, func(b docBlock) bool { return strings.Contains(b.text, docDatabase) }) {
		pairs = append([]string{docDatabase, dbtest.URL(t, "postgres")}, pairs...)
	}
	r.replace = strings.NewReplacer(pairs...)
	bin := filepath.Join(r.dir, "bin")
	for _, folder := range []string{bin, r.dir + "/var/lib/vedette", r.dir + "/var/backups", r.dir + "/etc/vedette"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(binary(t), filepath.Join(bin, "vedette")); err != nil {
		t.Fatal(err)
	}
	authorities := filepath.Join(r.dir, "etc/ssl/vedette.crt")
	r.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + r.dir, "TMPDIR=" + r.dir,
		"LC_ALL=C.UTF-8", "CURL_CA_BUNDLE=" + authorities, "SSL_CERT_FILE=" + authorities}
	return r
}

// docDatabase is the database of the pages.
const docDatabase = "postgres://vedette:PASSWORD@127.0.0.1/vedette"

// docServer begins a page whose examples need what docs/use/api.md sets up: a server, its address in BASE and a key in
// VEDETTE_API_KEY.
const docServer = "<!-- test: server -->"

func (r *docRun) startServer() {
	r.t.Helper()
	r.start(docBlock{text: "vedette serve --listen 127.0.0.1:8080 --data-dir data --webhook-allow 127.0.0.0/8"})
	out, code := r.bash("vedette user create --email ada@example.com --admin --data-dir data\n" +
		"TOKEN=$(vedette token create --email ada@example.com --data-dir data)\nBASE=http://127.0.0.1:8080\n" +
		`VEDETTE_API_KEY=$(curl -sf -X POST $BASE/api/v1/user/apikey -H "Authorization: Bearer $TOKEN" | jq -r .key)`)
	if code != 0 {
		r.t.Fatalf("the server that the page needs: exit code %d\n%s", code, out)
	}
}

func (r *docRun) failf(b docBlock, format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s:%d: %s\nthe block:\n%s", r.page, b.line, fmt.Sprintf(format, args...), b.text)
}

// do carries out a block as its first line says.
func (r *docRun) do(b docBlock) {
	r.t.Helper()
	switch {
	case b.file != "":
		r.write(b)
	case !b.shell() || b.norun != "":
	case b.background:
		r.start(b)
	case b.startsNginx:
		r.startNginx()
	case b.language == "console":
		r.session(b)
	default:
		out, code := r.bash(b.text)
		if code != b.exit {
			r.failf(b, "exit code %d, not %d\n%s", code, b.exit, out)
		}
	}
}

// write makes the file of a block. Files of nginx and of systemd are checked or used as what they are.
func (r *docRun) write(b docBlock) {
	r.t.Helper()
	name := r.replace.Replace(b.file)
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	if !strings.HasPrefix(name, r.dir+"/") {
		r.failf(b, "the test would write %s, outside its folder", name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		r.t.Fatal(err)
	}
	text := r.replace.Replace(b.text)
	if strings.HasSuffix(name, ".service") {
		text = strings.ReplaceAll(text, "/usr/local/bin/vedette", filepath.Join(r.dir, "bin/vedette"))
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	switch {
	case strings.Contains(name, "/nginx/"):
		r.nginx = append(r.nginx, name)
	case strings.HasSuffix(name, ".service"):
		r.verifyUnit(b, name)
	}
}

// verifyUnit has systemd read a unit, where it is installed.
func (r *docRun) verifyUnit(b docBlock, name string) {
	r.t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		r.t.Log("systemd-analyze is not installed, so it does not read the unit")
		return
	}
	cmd := exec.Command("systemd-analyze", "verify", "--man=no", name)
	cmd.Env = r.env
	out, err := cmd.CombinedOutput()
	// Complaints about other units of this machine do not name ours.
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, filepath.Base(name)) {
			r.failf(b, "systemd-analyze (%v): %s", err, line)
		}
	}
}

// startNginx runs nginx with the files that the page wrote so far.
func (r *docRun) startNginx() {
	r.t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if nginx, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			r.t.Skip("nginx is not installed; 'make test' installs it on Debian, elsewhere install the package nginx")
		}
	}
	text := ""
	for _, name := range r.nginx {
		text += readFile(r.t, name)
	}
	runNginx(r.t, nginx, r.dir, text, r.listen)
}

// Each block continues in the folder and with the variables of the block before.
const (
	docPrologue = "set -a; [ -f ~/.state ] && . ~/.state; cd \"${DOC_FOLDER:-$HOME}\"\n" +
		"trap 'code=$?; DOC_FOLDER=$PWD; export -p >~/.state; exit $code' EXIT\nset -eo pipefail\n"
)

// bash runs commands to their end, and returns what they printed.
func (r *docRun) bash(text string) (out string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), longWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", docPrologue+r.replace.Replace(text))
	cmd.Env, cmd.Dir = r.env, r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // bash and what it runs
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return all.String(), cmd.ProcessState.ExitCode()
}

// start runs a server's command until the end of the test, and returns when it is ready.
func (r *docRun) start(b docBlock) {
	r.t.Helper()
	p := &process{t: r.t, stderr: newOutputBuffer(), ended: make(chan struct{})}
	script := strings.SplitN(docPrologue, "trap", 2)[0] + "exec env " + r.replace.Replace(strings.TrimSpace(b.text))
	p.cmd = exec.Command("bash", "-c", script)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr = r.env, r.dir, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	r.t.Cleanup(func() {
		p.kill()
		if r.t.Failed() {
			r.t.Logf("%s:%d wrote:\n%s", r.page, b.line, p.stderr)
		}
	})
	p.waitForOutput(`vedette (serves on|works on tasks)`)
}

// session runs the commands of a console block and compares what they print: "…" stands for any text in a line, or for
// any lines where it stands alone.
func (r *docRun) session(b docBlock) {
	r.t.Helper()
	var code int
	for _, step := range b.steps() {
		var out string
		if out, code = r.bash(step.command); code != 0 && code != b.exit {
			r.failf(b, "exit code %d of %s\n%s", code, step.command, out)
		}
		if !step.pattern(r.replace).MatchString(strings.TrimRight(out, "\n") + "\n") {
			r.failf(b, "%s printed\n%s", step.command, out)
		}
	}
	if code != b.exit {
		r.failf(b, "exit code %d, not %d", code, b.exit)
	}
}

// docStep is a command of a console block, and the output that the page shows.
type docStep struct{ command, output string }

func (s docStep) pattern(replace *strings.Replacer) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for line := range strings.Lines(replace.Replace(s.output)) {
		if line = strings.TrimSuffix(line, "\n"); strings.TrimSpace(line) == "…" {
			b.WriteString(`(?:.*\n)*`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, " ")), "…", ".*") + ` *\n`)
	}
	return regexp.MustCompile(b.String() + "$")
}

// TestPicture draws the picture of the README again and compares it.
func TestPicture(t *testing.T) {
	t.Parallel()
	again := filepath.Join(t.TempDir(), "demo.svg")
	cmd := exec.Command("go", "run", "../scripts/picture", "-out", again, binary(t), "demo", "--once")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if readFile(t, again) != readFile(t, "../docs/demo.svg") {
		t.Errorf("docs/demo.svg is not what the demo prints; run make picture and look at the difference:\n%s", readFile(t, again))
	}
}
