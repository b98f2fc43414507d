package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// answered is the status of an answer, and its code, message or state.
func (c caller) answered(method, path string, body any) string {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	// A server without descriptors takes no new connection, such as the client may happen to open.
	ctx, cancel := context.WithTimeout(c.t.Context(), shortWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/api/v1/files") {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	resp, err := cmp.Or(c.client, http.DefaultClient).Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if text, err = io.ReadAll(resp.Body); err != nil {
		return err.Error()
	}
	if resp.StatusCode >= http.StatusServiceUnavailable && path != "/readyz" && resp.Header.Get("Retry-After") == "" {
		c.t.Errorf("%s %s: %s names no time to try again", method, path, resp.Status)
	}
	var doc struct{ Code, Message, Status string }
	_ = json.Unmarshal(text, &doc)
	for _, word := range []string{doc.Code, doc.Message, doc.Status} {
		if word != "" {
			return fmt.Sprint(resp.StatusCode, " ", word)
		}
	}
	return fmt.Sprint(resp.StatusCode)
}

// putFile stores a file of a user's.
func (c caller) putFile(key string) string {
	c.t.Helper()
	return c.answered("POST", "/api/v1/files?key="+key, "text")
}

// disturbed is a scan and a task of a server that wait for their site while something happens to the server, and what
// they find when nothing does.
type disturbed struct {
	site               *heldSite
	scan, task         string
	wantScan, wantTask []string
}

// beginDisturbed begins a scan and a task that both have sent a request which the site holds, and have found something.
func beginDisturbed(c caller) *disturbed {
	c.t.Helper()
	calm := httptest.NewServer(weaksite.New(1))
	defer calm.Close()
	w := undisturbed(c, calm.URL)
	d := &disturbed{site: newHeldSite(c.t, pathIs("/server-status")), wantScan: w.wantScan, wantTask: w.wantTask}
	d.scan, d.task = c.launchScan(d.site.URL), c.honestTask(d.site.URL)
	d.site.waitHeld(c.t)
	until(c.t, longWait, "a finding is stored", func() bool { return len(c.scanFindings(d.scan, d.site.URL)) > 0 })
	return d
}

// check waits for the scan and the task, which have found all there is, once, and were charged no failed attempt.
func (d *disturbed) check(c caller) {
	c.t.Helper()
	if s := c.scanEnds(d.scan, takeoverWait); s.Status != "finished" || s.Progress != 100 {
		c.t.Errorf("the scan: %+v", s)
	}
	if got := c.scanFindings(d.scan, d.site.URL); !slices.Equal(got, d.wantScan) {
		c.t.Errorf("the scan found\n  %q\nnot\n  %q", got, d.wantScan)
	}
	c.waitForTask(d.task, takeoverWait)
	checkOnce(c.t, c, d.task, d.site.URL, d.wantTask)
}

// coverReadOnly puts a read-only view of a folder over it, until the returned function takes it away.
func coverReadOnly(t *testing.T, folder string) (uncover func()) {
	t.Helper()
	if err := syscall.Mount(folder, folder, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("only root can mount here: %v", err)
	}
	covered := true
	uncover = func() {
		if covered {
			covered = false
			if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(uncover)
	if err := syscall.Mount("", folder, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return uncover
}

// TestReadOnlyDataFolder: the volume of the data folder becomes read-only under a server whose database is elsewhere,
// and later writable again. Meanwhile new work is refused in words, /readyz says why, and reads go on; afterwards all
// goes on by itself, and nothing is lost.
func TestReadOnlyDataFolder(t *testing.T) {
	t.Parallel()
	dep := newDeployment(t, "postgres")
	c := dep.serveWithUser()
	d := beginDisturbed(c)
	if got := c.putFile("before.txt"); !strings.HasPrefix(got, "20") {
		t.Fatal(got)
	}
	uncover := coverReadOnly(t, strings.TrimPrefix(dep.env[1], "VEDETTE_DATA_DIR="))
	until(t, longWait, "the server says that it cannot write", func() bool {
		return c.answered("GET", "/readyz", nil) == "503 storage unavailable"
	})
	for _, r := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/tasks", `{"task":"check http://127.0.0.1:9/"}`, "503 storage_unavailable"},
		{"POST", "/v1/scans", `{"targets":["http://127.0.0.1:9/"],"all":true}`, "503 "},
		{"POST", "/api/v1/files?key=during.txt", `"text"`, "503 storage_unavailable"},
		{"PUT", "/api/v1/files?key=before.txt", `"other"`, "503 storage_unavailable"},
		{"GET", "/api/v1/files/download?key=before.txt", "null", "200"},
		{"GET", "/v1/scans/" + d.scan, "null", "200"},
		{"GET", "/healthz", "null", "200 ok"},
	} {
		if got := c.answered(r.method, r.path, json.RawMessage(r.body)); !strings.HasPrefix(got, r.want) {
			t.Errorf("%s %s: %s, want %s", r.method, r.path, got, r.want)
		}
	}
	d.site.release()
	uncover()
	until(t, longWait, "the server is ready", func() bool { return c.answered("GET", "/readyz", nil) == "200 ready" })
	if got := c.putFile("after.txt"); !strings.HasPrefix(got, "20") {
		t.Error(got)
	}
	d.check(c)
	database := dep.openDB()
	if got := charges(t, database, teamOf(t, database, d.task)); len(got) > 0 {
		t.Errorf("attempts were charged: %+v", got)
	}
}

// disk is an ext4 volume in a file.
type disk struct {
	t          *testing.T
	image, dir string
	loop       string
}

// newDisk mounts a volume of 64 MB that becomes read-only at its first error.
func newDisk(t *testing.T) *disk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a volume")
	}
	folder := t.TempDir()
	d := &disk{t: t, image: filepath.Join(folder, "image"), dir: filepath.Join(folder, "disk")}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", d.image).CombinedOutput(); err != nil {
		t.Skipf("no ext4 can be made here: %v %s", err, out)
	}
	d.mount()
	t.Cleanup(d.unmount)
	return d
}

func (d *disk) mount() {
	d.t.Helper()
	if out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", d.image, d.dir).CombinedOutput(); err != nil {
		d.t.Skipf("no volume can be mounted here: %v %s", err, out)
	}
	out, err := exec.Command("losetup", "-n", "-O", "NAME", "-j", d.image).Output()
	if err != nil {
		d.t.Fatal(err)
	}
	d.loop = filepath.Base(string(bytes.TrimSpace(out)))
}

func (d *disk) unmount() {
	if err := syscall.Unmount(d.dir, 0); err != nil {
		d.t.Errorf("unmounting: %v", err)
	}
}

// free waits until no mount namespace has the volume any more: those that other tests made while it was mounted have it
// until they end, and a new mount would be of the same, read-only file system.
func (d *disk) free() {
	d.t.Helper()
	until(d.t, longWait, "the volume is free", func() bool {
		out, err := exec.Command("losetup", "-n", "-O", "NAME", "-j", d.image).Output()
		return err == nil && len(bytes.TrimSpace(out)) == 0
	})
}

// fail has the kernel meet an error on the volume, as a broken disk does: ext4 then refuses all writes until it is
// mounted anew, those to open files too.
func (d *disk) fail() {
	d.t.Helper()
	err := os.WriteFile("/sys/fs/ext4/"+d.loop+"/trigger_fs_error", []byte("a test"), 0)
	if err != nil {
		d.t.Skipf("no error can be made here: %v", err)
	}
}

// TestDiskFails: the disk with the SQLite database becomes read-only in the middle of a scan and a task, as ext4 does
// after an error. Reads go on, writes and new work are refused in words, and /readyz says why. When the operator has
// mounted the disk again and started the server, both are finished, with nothing lost and nothing twice.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	volume := newDisk(t)
	dep := deployment{t, []string{"VEDETTE_DATABASE=", "VEDETTE_DATA_DIR=" + volume.dir, "VEDETTE_LISTEN=127.0.0.1:0"}}
	token := dep.admin("ada@example.com")
	first := dep.serve()
	t.Cleanup(first.kill) // before the volume is unmounted
	c := first.as(token)
	d := beginDisturbed(c)
	volume.fail()
	until(t, longWait, "the server says that it cannot write", func() bool {
		return c.answered("GET", "/readyz", nil) == "503 storage unavailable"
	})
	for _, r := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/tasks", `{"task":"check http://127.0.0.1:9/"}`, "503 storage_unavailable"},
		{"POST", "/v1/scans", `{"targets":["http://127.0.0.1:9/"],"all":true}`, "503 "},
		{"POST", "/api/v1/tasks/" + d.task + "/abort", `{}`, "503 storage_unavailable"},
		{"GET", "/api/v1/tasks/" + d.task, "null", "200"},
		{"GET", "/v1/scans/" + d.scan, "null", "200"},
		{"GET", "/healthz", "null", "200 ok"},
	} {
		if got := c.answered(r.method, r.path, json.RawMessage(r.body)); !strings.HasPrefix(got, r.want) {
			t.Errorf("%s %s: %s, want %s", r.method, r.path, got, r.want)
		}
	}
	d.site.release()
	first.signal(syscall.SIGTERM)
	first.wait(longWait)
	volume.unmount()
	volume.free()
	volume.mount()

	second := dep.serve()
	t.Cleanup(second.kill)
	c = second.as(token)
	d.check(c)
	if got := c.answered("GET", "/readyz", nil); got != "200 ready" {
		t.Error(got)
	}
}

// openFiles sets how many descriptors a process may have, and returns what restores the limit.
func (p *process) openFiles(most uint64) (restore func()) {
	p.t.Helper()
	var old unix.Rlimit
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		p.t.Fatal(err)
	}
	set := func(to unix.Rlimit) {
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &to, nil); err != nil {
			p.t.Fatal(err)
		}
	}
	set(unix.Rlimit{Cur: most, Max: old.Max})
	return func() { set(old) }
}

// descriptors is how many a process has.
func (p *process) descriptors() uint64 {
	p.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return uint64(len(list))
}

// TestNoDescriptorsLeft: a server may open nothing more while a scan and a task run. What it still has goes on to
// answer, new work is refused in words, /readyz says why; with descriptors again, all goes on by itself.
func TestNoDescriptorsLeft(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		s := dep.serve()
		c := s.as(token)
		// The test servers of others close the idle connections of the default client when they end.
		c.client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
		defer c.client.CloseIdleConnections()
		d := beginDisturbed(c)
		kept := c.answered("GET", "/readyz", nil) // on a connection that stays open
		if kept != "200 ready" {
			t.Fatal(kept)
		}
		restore := s.openFiles(8) // fewer than it has
		until(t, longWait, "the server says that it can open nothing", func() bool {
			return c.answered("GET", "/readyz", nil) == "503 too many open files"
		})
		until(t, longWait, "a new task is refused", func() bool {
			got := c.answered("POST", "/api/v1/tasks", object("task", "check http://127.0.0.1:9/"))
			if strings.HasPrefix(got, "2") {
				t.Fatalf("a new task: %s", got)
			}
			return got == "503 too_many_open_files"
		})
		until(t, longWait, "reads are answered", func() bool {
			got := c.answered("GET", "/api/v1/tasks/"+d.task, nil)
			return strings.HasPrefix(got, "200") || got == "503 too_many_open_files"
		})
		restore()
		until(t, longWait, "the server is ready", func() bool { return c.answered("GET", "/readyz", nil) == "200 ready" })
		d.site.release()
		d.check(c)
		database := dep.openDB()
		if got := charges(t, database, teamOf(t, database, d.task)); len(got) > 0 {
			t.Errorf("attempts were charged: %+v", got)
		}
	})
}

// TestClientsHoldConnections: a stranger opens connections and holds them, more than the server may have descriptors.
// Another's requests are answered, and what runs has descriptors enough.
func TestClientsHoldConnections(t *testing.T) {
	t.Parallel()
	dep := newDeployment(t, "sqlite")
	token := dep.admin("ada@example.com")
	s := dep.serve()
	c := s.as(token)
	const most = 200
	s.openFiles(most)
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for i := range 3 * most {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		if i%2 == 0 { // half of them have begun a request
			_, _ = io.WriteString(conn, "GET /v1/scans HTTP/1.1\r\n")
		}
	}
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()
	// The held ones came first, and nothing ends them sooner than after ten seconds.
	began := time.Now()
	if got := c.answered("GET", "/readyz", nil); got != "200 ready" || time.Since(began) > shortWait {
		t.Errorf("/readyz: %s after %s", got, time.Since(began))
	}
	if n := s.descriptors(); n > most*3/4 {
		t.Errorf("%d of %d descriptors are in use", n, most)
	}
	if s := c.scanEnds(c.launchScan(site.URL), longWait); s.Status != "finished" {
		t.Errorf("the scan: %+v", s)
	}
}

// TestDatabaseFailsOver: PostgreSQL ends at once in the middle of a scan and a task, twice, stays away for longer than
// a lease, and starts again. Both are finished, with nothing lost and nothing twice.
func TestDatabaseFailsOver(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t)
	dep := deployment{t, []string{"VEDETTE_DATABASE=" + server.URL(), "VEDETTE_DATA_DIR=" + t.TempDir(),
		"VEDETTE_LISTEN=127.0.0.1:0"}}
	c := dep.serveWithUser()
	d := beginDisturbed(c)
	for _, crash := range []bool{true, false} {
		server.Stop(crash)
		until(t, longWait, "the server says that its database is away", func() bool {
			return c.answered("GET", "/readyz", nil) == "503 database unavailable"
		})
		if got := c.answered("POST", "/api/v1/tasks", object("task", "check http://127.0.0.1:9/")); got != "503 database_unavailable" {
			t.Errorf("a new task: %s", got)
		}
		if crash {
			d.site.release() // their results find no database
		}
		server.Start()
		until(t, longWait, "the server is ready", func() bool { return c.answered("GET", "/readyz", nil) == "200 ready" })
	}
	d.check(c)
}
