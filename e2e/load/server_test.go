// Package load benchmarks the finished binary over HTTP, with 1,000,000 findings
// in 10,000 scans and 1,000,000 assets in one enumeration: lists, the first one after a start,
// memory, exports and uploads.
//
//	make bench BENCH=Lists
//	make bench BENCH=Platform
//
// VEDETTE_BENCH_SQLITE and VEDETTE_BENCH_POSTGRES are URLs of databases that `make seed` has
// filled; without them each run fills its own, with VEDETTE_BENCH_FINDINGS findings or
// VEDETTE_BENCH_ASSETS assets.
package load

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// folder is where the binaries are built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "vedette-load-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := dbtest.Run(m)
	os.RemoveAll(folder)
	os.Exit(code)
}

var build = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", folder, "../../cmd/vedette",
		"../../scripts/seed").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	return nil
})

// command runs a program to its end and returns what it printed.
func command(b *testing.B, env []string, program string, args ...string) string {
	b.Helper()
	if err := build(); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(folder, program), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// deployment is a filled database and the environment of its server.
type deployment struct {
	env   []string
	token string
}

// seeded is a deployment of the named engine, filled by scripts/seed with these flags.
func seeded(b *testing.B, engine string, flags ...string) deployment {
	b.Helper()
	url := os.Getenv("VEDETTE_BENCH_" + strings.ToUpper(engine))
	if url == "" {
		url = dbtest.URL(b, engine)
		b.Log(command(b, nil, "seed", append(flags, "--database", url, "--email", seededEmail)...))
	}
	d := deployment{env: []string{"VEDETTE_DATABASE=" + url, "VEDETTE_DATA_DIR=" + b.TempDir(),
		"VEDETTE_LISTEN=127.0.0.1:0", "VEDETTE_API_RATE=0", "VEDETTE_ROLE=server", "VEDETTE_LOG_LEVEL=warn"}}
	d.token = command(b, d.env, "vedette", "token", "create", "--email", seededEmail)
	return d
}

const seededEmail = "seed@example.com"

// server is a running vedette.
type server struct {
	deployment
	base string
	cmd  *exec.Cmd
}

var serves = regexp.MustCompile(`vedette serves on (http://\S+) `)

// serve starts a server, until the end of the benchmark or stop.
func (d deployment) serve(b *testing.B) *server {
	b.Helper()
	s := &server{deployment: d, cmd: exec.Command(filepath.Join(folder, "vedette"), "serve")}
	s.cmd.Env = d.env
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // with the test process
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.stop)
	lines := bufio.NewScanner(stderr)
	for s.base == "" {
		if !lines.Scan() {
			b.Fatal("the server ended before it served")
		}
		if m := serves.FindStringSubmatch(lines.Text()); m != nil {
			s.base = m[1]
		}
	}
	go func() { _, _ = io.Copy(os.Stderr, stderr) }() // its warnings
	return s
}

// stop kills the server; it may be called twice.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// memory is the server's memory in MB: resident now (VmRSS:) or at its peak (VmHWM:).
func (s *server) memory(b *testing.B, what string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		b.Skip("there is no /proc to read the memory from")
	}
	_, rest, _ := strings.Cut(string(status), what)
	kilobytes, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kilobytes / 1024
}

// cpu is the CPU time that the server has used, in seconds, without that of PostgreSQL.
func (s *server) cpu(b *testing.B) float64 {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const ticks = 100 // a second, on every Linux
	return float64(user+system) / ticks
}

// ask sends a request and reads the answer, which must be 200.
func (s *server) ask(client *http.Client, method, path string, body io.Reader) (bytes int64, err error) {
	return s.send(client, method, path, "application/octet-stream", body, io.Discard)
}

// send is ask with a content type and a writer for the answer.
func (s *server) send(
	client *http.Client, method, path, contentType string, body io.Reader, out io.Writer,
) (bytes int64, err error) {
	req, err := http.NewRequest(method, s.base+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return 0, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return io.Copy(out, resp.Body)
}
