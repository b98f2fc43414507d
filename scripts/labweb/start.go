package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/lab/web"
)

// lab is what runs.
type lab struct {
	dir      string
	python   string // the program
	started  []started
	servers  []*http.Server
	postgres int // ports; 0 when it does not run
	mariadb  int

	alive, ends *os.File // a pipe: what was started ends when it is closed
}

// started is a program that was started, with all that it starts.
type started struct{ ended chan struct{} }

// application is one that runs, behind a proxy that counts requests.
type application struct {
	name     string
	url      string
	place    web.Place
	cases    []web.Case
	flow     *web.Flow // nil for the pages of one input
	requests atomic.Int64
}

func (l *lab) stop() {
	for _, s := range l.servers {
		_ = s.Close() // it ends anyway
	}
	if l.ends != nil {
		_ = l.ends.Close()
		_ = l.alive.Close()
	}
	for _, s := range l.started {
		<-s.ended
	}
}

func freePort() (int, error) {
	ports, err := freePorts(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// freePorts are different ports: all are held until the last one is known.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // of a TCP listener
	}
	return ports, nil
}

// program starts one of lab/web/start and waits until ready says that it runs.
func (l *lab) program(ctx context.Context, what string, ready func(port int, dir string) bool, env ...string) (int, error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(l.dir, what)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	log, err := os.Create(filepath.Join(l.dir, what+".log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	cmd := exec.Command("lab/web/watch", l.dir, "lab/web/start", what, strconv.Itoa(port), dir)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if l.alive == nil { // closed when the lab ends, however that is
		var err error
		if l.alive, l.ends, err = os.Pipe(); err != nil {
			return 0, err
		}
	}
	cmd.Stdin = l.alive
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its log says why
	}()
	l.started = append(l.started, started{ended})
	end := time.Now().Add(2 * time.Minute)
	for ; time.Now().Before(end) && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		if ready(port, dir) {
			return port, nil
		}
		select {
		case <-ended:
			end = time.Time{}
		default:
		}
	}
	text, _ := os.ReadFile(log.Name()) // nothing, if it cannot be read
	return 0, fmt.Errorf("it did not start: %s", text[max(0, len(text)-500):])
}

func marked(_ int, dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "ready"))
	return err == nil
}

func answers(port int, _ string) bool {
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/home.html", port))
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// databases starts the databases that a stack needs and do not run yet.
func (l *lab) databases(ctx context.Context, stack string) (err error) {
	if stack == "php" && l.mariadb == 0 {
		l.mariadb, err = l.program(ctx, "mariadb", marked)
	}
	if err == nil && (stack == "java" || stack == "python" || stack == "node") && l.postgres == 0 {
		l.postgres, err = l.program(ctx, "postgres", marked)
	}
	return err
}

// application starts one application, and the proxy before it.
func (l *lab) application(ctx context.Context, name, classes string) (*application, error) {
	if err := l.databases(ctx, name); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &application{name: name, url: "http://" + listener.Addr().String()}
	a.place = web.Place{Self: a.url, Files: filepath.Join(l.dir, name+"-files")}
	if a.cases, err = casesOf(name, classes); err != nil || len(a.cases) == 0 {
		return nil, errors.Join(err, errors.New("it has no such case"))
	}
	site := filepath.Join(l.dir, name+"-site")
	if err := web.WriteSite(site, a.place, a.cases); err != nil {
		return nil, err
	}
	inner, err := l.handler(ctx, name, site, a)
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: timeoutOfHeaders, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		inner.ServeHTTP(w, r)
	})}
	l.servers = append(l.servers, server)
	go server.Serve(listener) //nolint:errcheck // it ends when it is closed
	return a, nil
}

// handler is what answers: the Go application itself, or a proxy to a program.
func (l *lab) handler(ctx context.Context, name, site string, a *application) (http.Handler, error) {
	if name == "go" {
		return web.NewApp(site, a.place, a.cases)
	}
	list, err := writeCases(filepath.Dir(site), a.cases)
	if err != nil {
		return nil, err
	}
	own := filepath.Join(l.dir, name+".tsv")
	if err := os.Rename(list, own); err != nil {
		return nil, err
	}
	port, err := l.program(ctx, name, answers, "LAB_CASES="+own, "LAB_PYTHON="+l.python, "LAB_SELF="+a.place.Self, "LAB_FILES="+a.place.Files,
		"LAB_SITE="+site, "LAB_POSTGRES_PORT="+strconv.Itoa(l.postgres), "LAB_MARIADB_PORT="+strconv.Itoa(l.mariadb))
	if err != nil {
		return nil, err
	}
	return proxy(port), nil
}

// timeoutOfHeaders is how long a client may take to send the headers of a request.
const timeoutOfHeaders = time.Minute

// proxy passes requests on to a port of this machine as they came.
func proxy(port int) http.Handler {
	to := &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, r.In.Host
			for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
				if values, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = values
				}
			}
			r.Out.URL.RawQuery = r.In.URL.RawQuery // as it was sent, faults and all
			if r.In.ContentLength > 0 {
				whole(r.Out)
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

// whole reads the body of a request before it is passed on. A server that answers at once, as that of PHP does, would
// otherwise have its answer broken off: the body is closed when the answer begins, while its end is still awaited.
func whole(r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, r.ContentLength))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
}

// failing is the end of a body that could not be read; io.EOF without an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, cmp.Or(f.err, io.EOF) }
