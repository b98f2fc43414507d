package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// answered is the status, the code and the kind of an answer of the agent API; of the platform API, which has no codes
// in its errors, the message.
func (h *testServer) answered(method, path string, p *person, body string) string {
	got := h.do(h.request(method, path, p, body))
	var doc struct{ Code, Message string }
	_ = json.Unmarshal(got.body, &doc)
	if got.status >= http.StatusServiceUnavailable && got.header.Get("Retry-After") == "" {
		h.t.Errorf("%s %s: a %d that names no time to try again", method, path, got.status)
	}
	if doc.Code != "" {
		return fmt.Sprint(got.status, " ", doc.Code)
	}
	return fmt.Sprint(got.status, " ", doc.Message)
}

// TestDatabaseAway: while PostgreSQL is stopped, requests are refused in words and health checks say so; when it runs
// again, so does the server, and what it had answered before is there.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"stopped": false, "crashed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dbtest.NewServer(t)
			h := serve(t, "sqlite", "DATABASE="+server.URL(), "ROLE=all")
			ada := h.person("ada", "", account.Admin)
			taskID, _ := h.task(ada)
			for round := range 2 {
				server.Stop(crash)
				for _, r := range []struct{ method, path, body, words string }{
					{"GET", "/api/v1/tasks/" + taskID, "", "database_unavailable"},
					{"POST", "/api/v1/tasks", `{"task":"check http://127.0.0.1:9/"}`, "database_unavailable"},
					{"GET", "/v1/scans", "", "database"},
					{"POST", "/v1/scans", `{"targets":["http://127.0.0.1:9/"]}`, "database"},
					{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "database_unavailable"},
				} {
					if got := h.answered(r.method, r.path, &ada, r.body); !strings.HasPrefix(got, "503 ") || !strings.Contains(got, r.words) {
						t.Errorf("round %d: %s %s: %s", round, r.method, r.path, got)
					}
				}
				if got := h.get("/readyz"); got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "database unavailable") {
					t.Errorf("readyz: %d %s", got.status, got.body)
				}
				if got := h.get("/healthz"); got.status != http.StatusOK {
					t.Errorf("healthz: %d", got.status)
				}
				server.Start()
				until(t, "the server is ready", func() bool { return h.get("/readyz").status == http.StatusOK })
				if got := h.answered("GET", "/api/v1/tasks/"+taskID, &ada, ""); !strings.HasPrefix(got, "200") {
					t.Errorf("afterwards: %s", got)
				}
			}
			tasks, err := db.Value[int](t.Context(), h.db, `SELECT count(*) FROM task`)
			if err != nil || tasks != 1 {
				t.Errorf("there are %d tasks, %v: the refused ones were made", tasks, err)
			}
			until(t, "the task ends", func() bool {
				status, err := db.Value[string](t.Context(), h.db, `SELECT status FROM task_stream`)
				return err == nil && (status == "completed" || status == "failed")
			})
		})
	}
}

// smallDisk is a volume of its own, of some megabytes.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Skipf("only root can mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk writes a file until there are about so many bytes free, and returns its path.
func fillDisk(t *testing.T, dir string, leave int64) string {
	t.Helper()
	var volume syscall.Statfs_t
	if err := syscall.Statfs(dir, &volume); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "filler")
	size := max(int64(volume.Bavail)*volume.Bsize-leave, 0)
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDiskAlmostFull: below the floor new work is refused on all APIs, running work waits, the rest goes on, and when
// there is room all does, by itself.
func TestDiskAlmostFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 64)
	h := serve(t, "sqlite", "DATA_DIR="+dir, "DATABASE=", "MIN_FREE_SPACE=24", "ROLE=all")
	ada := h.person("ada", "", account.Admin)
	filler := fillDisk(t, dir, 20<<20)
	taskOf := func() int {
		n, err := db.Value[int](t.Context(), h.db, `SELECT count(*) FROM task`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, r := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/tasks", `{"task":"check http://127.0.0.1:9/"}`, "507 disk_full"},
		{"POST", "/v1/scans", `{"targets":["http://127.0.0.1:9/"],"recommended":true}`, "507 "},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_task","arguments":{"task":"check http://127.0.0.1:9/"}}}`, "200 "},
		{"GET", "/api/v1/tasks", "", "200 "},
		{"POST", "/api/v1/auth/login", `{"email":"ada@example.com","password":"correct-horse"}`, "200 "},
	} {
		if got := h.answered(r.method, r.path, &ada, r.body); !strings.HasPrefix(got, r.want) {
			t.Errorf("%s %s: %s, want %s", r.method, r.path, got, r.want)
		}
	}
	if taskOf() != 0 {
		t.Error("a refused task was made")
	}
	if got := h.get("/readyz"); got.status != http.StatusServiceUnavailable || !strings.Contains(string(got.body), "disk full") {
		t.Errorf("readyz: %d %s", got.status, got.body)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := h.answered("POST", "/api/v1/tasks", &ada, `{"task":"What can you do?"}`); !strings.HasPrefix(got, "202") {
		t.Errorf("with room: %s", got)
	}
	if got := h.get("/readyz"); got.status != http.StatusOK {
		t.Errorf("readyz with room: %d %s", got.status, got.body)
	}
	until(t, "the task ends", func() bool {
		status, err := db.Value[string](t.Context(), h.db, `SELECT status FROM task_stream`)
		return err == nil && status == "completed"
	})
}

// TestDiskFull: without a floor a disk fills up to the last byte. Writes are refused in words, reads go on, and so does
// everything when there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 48)
	h := serve(t, "sqlite", "DATA_DIR="+dir, "DATABASE=", "MIN_FREE_SPACE=0")
	ada := h.person("ada", "", account.Admin)
	taskID, _ := h.task(ada)
	filler := fillDisk(t, dir, 0)
	create := func() string {
		return h.answered("POST", "/api/v1/tasks", &ada, `{"task":"check http://127.0.0.1:9/ `+strings.Repeat("x", 9000)+`"}`)
	}
	made := 1
	until(t, "a write finds no room", func() bool {
		got := create()
		if strings.HasPrefix(got, "202") {
			made++
			return false
		}
		if got != "507 disk_full" {
			t.Fatalf("a full disk: %s", got)
		}
		return true
	})
	if got := h.answered("GET", "/api/v1/tasks/"+taskID, &ada, ""); !strings.HasPrefix(got, "200") {
		t.Errorf("reading: %s", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if got := create(); !strings.HasPrefix(got, "202") {
		t.Errorf("with room: %s", got)
	}
	if n, err := db.Value[int](t.Context(), h.db, `SELECT count(*) FROM task`); err != nil || n != made+1 {
		t.Errorf("%d tasks, %v, want %d", n, err, made+1)
	}
}
