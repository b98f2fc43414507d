package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxHosts is the number of addresses that the server listens on.
const maxHosts = 8

// nginx is Debian's web server with one small site on 127.0.0.1 to 127.0.0.8. Its
// access log gives the number and time of requests.
type nginx struct {
	folder string
	port   int
	server *exec.Cmd
	done   chan error
}

const nginxConfig = `daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log crit;
events { worker_connections 4096; }
http {
  log_format moment '$msec';
  access_log %[1]s/access.log moment;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  keepalive_requests 100000; keepalive_timeout 60s;
  types { text/html html; text/plain txt; }
  default_type text/plain;
  server {
%[2]s    root %[1]s/site;
    location / { try_files $uri $uri/index.html =404; }
  }
}
`

// files are the site's files: a welcome page and some that should not be public.
var files = map[string]string{
	"index.html":    "<!DOCTYPE html>\n<html>\n<head>\n<title>Welcome to nginx!</title>\n</head>\n<body>\n<h1>Welcome to nginx!</h1>\n<p>If you see this page, the nginx web server is successfully installed and\nworking.</p>\n</body>\n</html>\n",
	"robots.txt":    "User-agent: *\nDisallow: /admin/\n",
	".git/config":   "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote \"origin\"]\n\turl = https://example.org/site.git\n",
	".git/HEAD":     "ref: refs/heads/main\n",
	".env":          "APP_ENV=production\nAPP_KEY=base64:bm90aGluZw==\nDB_PASSWORD=secret\n",
	"security.txt":  "Contact: mailto:security@example.org\n",
	"composer.json": "{\"name\": \"example/site\", \"require\": {\"php\": \">=8.1\"}}\n",
	"Dockerfile":    "FROM debian:12\nRUN apt-get update\nCMD [\"nginx\"]\n",
	"package.json":  "{\"name\": \"site\", \"version\": \"1.0.0\", \"dependencies\": {}}\n",
	"readme.txt":    "=== Site ===\nStable tag: 1.0\n",
}

func startNginx(ctx context.Context) (*nginx, error) {
	folder, err := os.MkdirTemp("", "oracle-nginx-")
	if err != nil {
		return nil, err
	}
	n := &nginx{folder: folder, done: make(chan error, 1)}
	if err := os.Chmod(folder, 0o755); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := write(filepath.Join(folder, "site", name), []byte(text)); err != nil {
			return nil, err
		}
	}
	if n.port, err = freePort(); err != nil {
		return nil, err
	}
	var listen strings.Builder
	for i := range maxHosts {
		fmt.Fprintf(&listen, "    listen 127.0.0.%d:%d backlog=4096;\n", i+1, n.port)
	}
	config := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, folder, listen.String()), 0o644); err != nil {
		return nil, err
	}
	n.server = exec.CommandContext(ctx, "nginx", "-c", config, "-e", filepath.Join(folder, "error.log"), "-p", folder)
	n.server.Stderr = os.Stderr
	if err := n.server.Start(); err != nil {
		return nil, err
	}
	go func() { n.done <- n.server.Wait() }()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.host(maxHosts-1))
		if err == nil {
			return n, conn.Close()
		}
		select {
		case err := <-n.done:
			return nil, fmt.Errorf("nginx does not start: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (n *nginx) host(i int) string { return fmt.Sprintf("127.0.0.%d:%d", i+1, n.port) }

func (n *nginx) stop() {
	_ = n.server.Process.Signal(os.Interrupt)
	<-n.done
	_ = os.RemoveAll(n.folder)
}

func (n *nginx) forget() error { return os.Truncate(filepath.Join(n.folder, "access.log"), 0) }

// log returns the number of requests since forget, and the time of the first.
func (n *nginx) log() (requests int, first time.Time, err error) {
	text, err := os.ReadFile(filepath.Join(n.folder, "access.log"))
	if err != nil {
		return 0, first, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(string(line)), 64); err == nil {
		first = time.UnixMilli(int64(seconds * 1000))
	}
	return bytes.Count(text, []byte("\n")), first, nil
}
